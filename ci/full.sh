#!/usr/bin/env bash
# What takes longer than CI has time for: loom without bound where that ends; many more schedules of
# shuttle's and random programs; ThreadSanitizer; the tests over and over, to find a hang that shows
# once in thousands of runs; the soak; the full benchmark.
#
#     ci/full.sh [ROUNDS] [MINUTES]
#
# ROUNDS of the test suite, 20 by default; MINUTES of the soak, 10 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-20}
minutes=${2:-10}

echo "== loom, as far as each model's size allows"
HEIST_LOOM=full bash ci/loom.sh -- --nocapture

echo "== shuttle, ten times the schedules"
HEIST_SHUTTLE_SCALE=10 bash ci/shuttle.sh

echo "== ThreadSanitizer"
HEIST_SOAK_ROUNDS=1000 bash ci/tsan.sh

echo "== properties, 20,000 cases each"
PROPTEST_CASES=20000 cargo test -p heist --release --quiet --test it properties

echo "== the test suite, $rounds times"
cargo test -p heist -p heist-device -p heist-runtime --release --no-run
for round in $(seq "$rounds"); do
    cargo test -p heist -p heist-device -p heist-runtime --release --quiet >/dev/null || {
        echo "round $round failed"
        exit 1
    }
done

echo "== soak"
bash ci/soak.sh "$minutes"

echo "== the simulator, ten minutes"
bash ci/sim.sh 600 "$RANDOM"

echo "== mutants"
bash ci/mutants.sh

echo "== the benchmark"
cargo run --release -q -p heist-bench -- executor
