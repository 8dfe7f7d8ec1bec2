#!/usr/bin/env bash
# Whole executors under shuttle's random schedulers, and every planted bug that it can see caught:
# about a minute. HEIST_SHUTTLE_SCALE=10 tries ten times as many schedules.
set -euo pipefail
cd "$(dirname "$0")/.."
# Shuttle's locks are large, and so is whatever has one: the executor that an error gives back, a
# panic's payload.
CARGO_TARGET_DIR=target-shuttle RUSTFLAGS="--cfg heist_shuttle --cfg heist_plant" \
    cargo clippy -p heist -p heist-device -p heist-runtime --lib --test shuttle --quiet -- \
    -D warnings -A clippy::result_large_err -A clippy::large_enum_variant
CARGO_TARGET_DIR=target-shuttle RUSTFLAGS="--cfg heist_shuttle --cfg heist_plant" \
    cargo test -p heist -p heist-device -p heist-runtime --release --quiet --test shuttle "$@"
