#!/usr/bin/env bash
# Scale by simulation: 2 to 256 workers, our protocols and the rejected ones; writes docs/scale.svg,
# docs/scale.json and the table in docs/SCALE.md. About three minutes of one core; the figures are
# the same on every machine.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=target-sim RUSTFLAGS="--cfg heist_sim --cfg heist_plant" \
    cargo run --release --quiet -p heist-sim -- scale --out docs "$@"
