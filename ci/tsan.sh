#!/usr/bin/env bash
# The behaviour tests under ThreadSanitizer. First the canaries: data races that it must report,
# with the same suppressions, or its silence about the rest means nothing. About three minutes, half
# of them building.
#
# The standard library is not rebuilt (that needs its source and a nightly cargo), which is what the
# backend sync/backend_tsan.rs and the suppressions in ci/tsan.supp are about.
set -euo pipefail
cd "$(dirname "$0")/.."
# Without the sanitizer itself, which clippy has no use for.
CARGO_TARGET_DIR=target-tsan-lint RUSTFLAGS="--cfg heist_tsan" \
    cargo clippy -p heist -p heist-device -p heist-runtime --all-targets --quiet -- -D warnings
export CARGO_TARGET_DIR=target-tsan
export RUSTC_BOOTSTRAP=1 # for -Z on a stable compiler
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg heist_tsan"
export TSAN_OPTIONS="suppressions=$PWD/ci/tsan.supp"
# Everything is ten times slower. Hundreds of rounds are for ci/soak.sh, thousands of cases for
# ci/full.sh.
export HEIST_SOAK_ROUNDS=${HEIST_SOAK_ROUNDS:-50} PROPTEST_CASES=${PROPTEST_CASES:-20}
packages=(-p heist -p heist-device -p heist-runtime)
run() { cargo test "${packages[@]}" --target x86_64-unknown-linux-gnu --quiet "$@"; }

run --test tsan_canary --no-run
for canary in two_threads_race two_tasks_race; do
    # Reported is: the process fails, and the report names the function that races.
    if report=$(run --test tsan_canary "$canary" 2>&1); then
        echo "the canary $canary was not reported: ThreadSanitizer sees nothing" >&2
        exit 1
    fi
    if ! grep -q 'SUMMARY: ThreadSanitizer: data race .*Racy' <<<"$report"; then
        echo "$report" >&2
        echo "the canary $canary failed, but not with its race" >&2
        exit 1
    fi
    echo "canary $canary: reported, as it must be"
done

# Every behaviour test, except those that count allocations (ThreadSanitizer makes its own) or read
# the sources, and those of timers and sockets: async-io's locks are std's.
tests=(--lib)
programs=3 # the unit tests of each crate
seen=" "
for file in crates/heist{,-device,-runtime}/tests/{*.rs,*/main.rs}; do
    name=${file#crates/*/tests/} name=${name%/main.rs} name=${name%.rs}
    case $name in memory | tidy) continue ;; esac
    if grep -q '^#!\[cfg(not(any(heist_loom,' "$file" &&
        ! grep -q '^#!.*not(heist_tsan)' "$file"; then
        programs=$((programs + 1))
        # A name selects the tests of that name in every crate.
        [[ $seen == *" $name "* ]] || tests+=(--test "$name")
        seen+="$name "
    fi
done
# A process that may start no more threads has no room for ThreadSanitizer's own either.
run "${tests[@]}" "$@" -- --skip refused_threads
echo "ThreadSanitizer: no race reported in $programs test programs"
