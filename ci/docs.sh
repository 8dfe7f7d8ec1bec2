#!/usr/bin/env bash
# The documentation builds, every link in it resolves, warnings denied.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc -p heist --no-deps --quiet
RUSTDOCFLAGS="-D warnings" cargo doc -p heist-device --no-deps --quiet
RUSTDOCFLAGS="-D warnings" cargo doc -p heist-runtime --no-deps --quiet
RUSTDOCFLAGS="-D warnings" cargo doc -p heist-runtime --no-deps --features io --quiet
RUSTDOCFLAGS="-D warnings" cargo doc -p heist-walk --no-deps --quiet
RUSTDOCFLAGS="-D warnings" cargo doc -p heist-git --no-deps --quiet
RUSTDOCFLAGS="-D warnings" cargo doc -p heist-scan --no-deps --quiet
flags="--cfg heist_sim --cfg heist_plant"
CARGO_TARGET_DIR=target-sim RUSTFLAGS=$flags RUSTDOCFLAGS="-D warnings $flags" \
    cargo doc -p heist-sim --lib --no-deps --release --quiet
