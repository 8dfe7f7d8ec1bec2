#!/usr/bin/env bash
# Plants random secrets in texts, scans them with every combination of rules and options, and fails
# if any report shows eight characters of one.
#
#     ci/mask.sh [CASES] [SEED]     about a minute by default
set -euo pipefail
cd "$(dirname "$0")/.."
HEIST_MASK_CASES=${1:-100000} HEIST_MASK_SEED=${2:-$(date +%s)} exec cargo test --release --quiet \
    -p heist-cli --bin heist masking_tests -- --nocapture
