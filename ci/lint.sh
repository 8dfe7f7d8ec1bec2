#!/usr/bin/env bash
# Clippy over everything, warnings denied; the loom build too, since its backend is other code.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets --quiet -- -D warnings
CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo clippy -p heist --all-targets --quiet -- -D warnings
