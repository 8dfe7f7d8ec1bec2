#!/usr/bin/env bash
# The attacks that the tests of heist-cli try for seconds, tried for minutes: 300 kills, every
# failing system call, 2,000 contended runs, 1,000 scans of a tree that changes, 50,000 random
# reports. Started by hand; about 20 minutes on two cores.
#
#     ci/attacks.sh [SEED]
#
# SEED chooses the moments of the kills, 1 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
export HEIST_SEED=${1:-1}

attack() {
    echo "== $1"
    cargo test --release --quiet -p heist-cli "${@:2}" -- --nocapture "$1"
}

HEIST_KILLS=300 attack kills:: --test it
HEIST_FAULTS=1 attack scan_faults:: --test it
HEIST_RUNS=2000 attack attacks::contention_changes_no_report --test it
HEIST_RUNS=1000 attack attacks::no_exchange_during_a_scan_leads_out_of_the_tree --test it
attack attacks::few_descriptors_are_enough_or_reported --test it
attack attacks::a_reader_that_goes_away_is_no_error_in_any_format --test it
PROPTEST_CASES=50000 attack hostile_names_and_texts_are_valid_in_every_format --bin heist
