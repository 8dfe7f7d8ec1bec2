#!/usr/bin/env bash
# Clippy over everything, warnings denied; the builds for the checkers too, since their backends are
# other code.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets --quiet -- -D warnings
# Tests and examples switch the feature `io` on; this is what everybody else gets.
cargo clippy -p heist-runtime --quiet -- -D warnings
CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo clippy -p heist -p heist-device -p heist-runtime --all-targets --quiet -- -D warnings
CARGO_TARGET_DIR=target-sim RUSTFLAGS="--cfg heist_sim --cfg heist_plant" \
    cargo clippy -p heist -p heist-device -p heist-runtime -p heist-sim --release --all-targets \
    --quiet -- -D warnings
