#!/usr/bin/env bash
# Plays schedules of the scheduler on the simulated machine, for half a minute by default; the last
# line has the figures.
#
#     ci/sim.sh [SECONDS] [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=target-sim RUSTFLAGS="--cfg heist_sim --cfg heist_plant"
cargo build -p heist-sim --release --quiet
target-sim/release/heist-sim run --seconds "${1:-30}" --seed "${2:-1}" --out target-sim/failures
