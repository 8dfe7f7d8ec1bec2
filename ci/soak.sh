#!/usr/bin/env bash
# Random pools, workloads and ends, thousands of times: looks for the hang that shows once in ten thousand runs.
#
#     ci/soak.sh [ROUNDS]      200,000 by default, about four minutes
set -euo pipefail
cd "$(dirname "$0")/.."
HEIST_SOAK_ROUNDS=${1:-200000} cargo test -p heist --release --test soak
