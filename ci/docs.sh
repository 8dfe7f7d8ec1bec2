#!/usr/bin/env bash
# The documentation builds, every link in it resolves, warnings denied.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc -p heist --no-deps --quiet
