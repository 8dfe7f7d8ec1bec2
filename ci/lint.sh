#!/usr/bin/env bash
# Clippy over everything, warnings denied; the builds for the checkers too, since their backends are other code.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets --quiet -- -D warnings
# Tests and examples switch the feature `io` on; this is what everybody else gets.
cargo clippy -p heist --quiet -- -D warnings
CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo clippy -p heist --all-targets --quiet -- -D warnings
# Shuttle's locks are large, and so is whatever has one: the executor that an error gives back, a panic's payload.
CARGO_TARGET_DIR=target-shuttle RUSTFLAGS="--cfg heist_shuttle --cfg heist_plant" \
    cargo clippy -p heist --lib --test shuttle_pool --test shuttle_lanes --test shuttle_futures --quiet -- -D warnings \
    -A clippy::result_large_err -A clippy::large_enum_variant -A clippy::large_enum_variant
# Without the sanitizer itself, which clippy has no use for.
CARGO_TARGET_DIR=target-tsan-lint RUSTFLAGS="--cfg heist_tsan" \
    cargo clippy -p heist --all-targets --quiet -- -D warnings
CARGO_TARGET_DIR=target-sim RUSTFLAGS="--cfg heist_sim --cfg heist_plant" \
    cargo clippy -p heist -p heist-sim --release --all-targets --quiet -- -D warnings
