#!/usr/bin/env bash
# Texts that cost the scan as much CPU time per byte as possible: measures those that are known,
# then searches for worse ones. Fails if one costs more than BAR times as much as prose in a large
# object, whose work is limited, or far more than that in a small one.
#
#     ci/hostile.sh [SECONDS] [BAR]     seconds to search, 60 by default
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo run --release --quiet -p heist-bench -- scan hostile \
    --seconds "${1:-60}" --bar "${2:-400}" --free-bar 2500
