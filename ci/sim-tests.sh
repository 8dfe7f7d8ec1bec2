#!/usr/bin/env bash
# The simulator's own tests: every planted bug found, the corpus replayed, small scenarios
# completely.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=target-sim RUSTFLAGS="--cfg heist_sim --cfg heist_plant" \
    cargo test -p heist-sim --release --quiet "$@"
