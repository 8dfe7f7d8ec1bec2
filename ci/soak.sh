#!/usr/bin/env bash
# Random pools, workloads and ends, thousands of times: looks for the hang that shows once in ten thousand runs. Says
# every ten seconds how far it is, prints the seed of a round that fails, and ends with the number of rounds.
#
#     ci/soak.sh [MINUTES] [SEED]      4 minutes by default; from a seed that no run had before
set -euo pipefail
cd "$(dirname "$0")/.."
export HEIST_SOAK_MINUTES=${1:-4} HEIST_SOAK_SEED=${2:-$(date +%s)000000}
cargo test -p heist --release --quiet --test soak --no-run
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The harness has the last word in a test program; here the summary has.
cargo test -p heist --release --quiet --test soak -- --nocapture 2>&1 | tee "$log"
grep '^soak: .* none failed$' "$log"
