#!/usr/bin/env bash
# The walker on `std::fs` and with disks that cannot be told apart, which is what systems other than
# Linux get: the same tests, and those of `tests/it/portable.rs`; warnings denied. (Clippy would
# build it all once more.)
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=target-portable RUSTFLAGS="--cfg heist_portable -D warnings"
cargo test -p heist-walk --quiet --lib --tests
