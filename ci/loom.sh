#!/usr/bin/env bash
# Every schedule of the protocols' models with at most 2 pre-emptions (1 for the whole pool with two workers),
# and every planted bug caught. With HEIST_LOOM=full, as ci/full.sh sets it: no bound for the small models, 4 for
# two workers of the idle protocol, 2 for the whole pool.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo test -p heist --release --quiet \
    --test loom_intake --test loom_idle --test loom_termination --test loom_rejected --test loom_executor \
    "$@"
