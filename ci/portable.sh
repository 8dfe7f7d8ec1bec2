#!/usr/bin/env bash
# The walker on `std::fs`, which is what systems other than Linux get: lints, and the same tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=target-portable RUSTFLAGS="--cfg heist_portable"
cargo clippy -p heist-walk --all-targets --quiet -- -D warnings
cargo test -p heist-walk --quiet --lib --tests
