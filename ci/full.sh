#!/usr/bin/env bash
# What takes longer than CI has time for: loom without bound where that ends; the tests over and over, to find a
# hang that shows once in thousands of runs; the soak; the full benchmark.
#
#     ci/full.sh [ROUNDS]      rounds of the test suite, 20 by default
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-20}

echo "== loom, as far as each model's size allows"
HEIST_LOOM=full bash ci/loom.sh -- --nocapture

echo "== the test suite, $rounds times"
cargo test -p heist --release --no-run
for round in $(seq "$rounds"); do
    cargo test -p heist --release --quiet >/dev/null || { echo "round $round failed"; exit 1; }
done

echo "== soak"
bash ci/soak.sh

echo "== the benchmark"
cargo run --release -q -p heist-bench -- executor
