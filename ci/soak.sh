#!/usr/bin/env bash
# Random pools, workloads and ends, many thousands of times: looks for the hang that shows once in
# ten thousand runs. First typed tasks alone (`soak`), then everything that an executor or a runtime
# runs (`soak_mixed`). Reports its progress every ten seconds, prints the seed of a round that
# fails, and ends with the number of rounds of each.
#
#     ci/soak.sh [MINUTES] [SEED]
#
# MINUTES for each of the two, 4 by default; new seeds by default.
set -euo pipefail
cd "$(dirname "$0")/.."
export HEIST_SOAK_MINUTES=${1:-4} HEIST_SOAK_SEED=${2:-$(date +%s)000000}
cargo test -p heist -p heist-runtime --release --quiet --test soak --test soak_mixed --no-run
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The harness has the last word in a test program; here the summaries have.
cargo test -p heist -p heist-runtime --release --quiet --test soak --test soak_mixed \
    -- --nocapture 2>&1 | tee "$log"
grep '^soak of tasks: .* none failed$' "$log"
grep '^soak of everything: .* none failed$' "$log"
