#!/usr/bin/env bash
# What takes longer than CI has time for: loom without bound for the protocols, with 2 pre-emptions for the whole
# pool; the tests over and over, to find a hang that shows once in thousands of runs; the full benchmark.
#
#     ci/full.sh [ROUNDS]      rounds of the test suite, 20 by default
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-20}

echo "== loom, unbounded, without the whole pool"
HEIST_LOOM_BOUND=none CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo test -p heist --release --test loom_intake --test loom_idle --test loom_termination -- --nocapture

echo "== loom, the whole pool with 2 pre-emptions"
HEIST_LOOM_LARGE_BOUND=2 CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo test -p heist --release --test loom_executor -- --nocapture

echo "== the test suite, $rounds times"
cargo test -p heist --release --no-run
for round in $(seq "$rounds"); do
    cargo test -p heist --release --quiet >/dev/null || { echo "round $round failed"; exit 1; }
done

echo "== the benchmark"
cargo run --release -q -p heist-bench -- executor
