#!/usr/bin/env bash
# Every schedule of the models with at most 2 pre-emptions (1 in the largest ones), and every
# planted bug caught: about 3 minutes. With HEIST_LOOM=full, as ci/full.sh sets it, the small models
# without bound, those of two workers with 4, and the largest with 2.
#
#     ci/loom.sh                         everything
#     ci/loom.sh idle::                  the models of one protocol
#     ci/loom.sh idle::bites_no_light_fence    one model
#     ci/loom.sh -- --nocapture          everything, with these options of the test program
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=target-loom RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    cargo test -p heist -p heist-device --release --quiet --test loom "$@"
# A name selects loom models only.
[[ $# -eq 0 || $1 == -* ]] || exit 0
# The sequential model of budgets and the soak see planted bugs, too.
export CARGO_TARGET_DIR=target-plant RUSTFLAGS="--cfg heist_plant"
cargo test -p heist --release --quiet --test it bites
cargo test -p heist-runtime --release --quiet --test soak_mixed bites
