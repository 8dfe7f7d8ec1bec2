#!/usr/bin/env bash
# Mutation testing of the protocols and the policy: changes them, one small thing at a time, and
# fails if the tests do not notice and ci/mutants-explained.txt does not say why that is right.
# About ten minutes.
#
#     ci/mutants.sh [ARGUMENTS]
#
# ARGUMENTS for cargo mutants, to test fewer or others: -f FILE, --in-diff FILE.
#
# The tests come in stages: the fast ones, the models, and last those that find a race only by luck.
# Each stage gets what survived the one before. A mutant that hangs is noticed too, by the stage's
# timeout: seconds for one run of it.
set -euo pipefail
cd "$(dirname "$0")/.."
# Every stage builds in a copy of the tree, which has its own target directory.
unset CARGO_TARGET_DIR
# Linking is most of the work, and mutants are not debugged.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=0
out=target-mutants
survivors=$out/survivors.txt

command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked
rm -rf "$out"
mkdir "$out"

# stage NAME TIMEOUT "TESTS" WHICH...
stage() {
    local name=$1 timeout=$2 tests status=0
    # Words on several lines; `read` ends with 1 because no NUL byte comes.
    read -r -d '' -a tests <<<"$3" || true
    echo "== $name tests"
    # As arguments for every call of cargo: those after `--` are for running only, and all tests
    # would be built.
    cargo mutants --output "$out/$name" --timeout "$timeout" "${tests[@]/#/--cargo-arg=}" \
        "${@:4}" || status=$?
    # 2: some were missed; 3: some timed out. Anything else is a failure to test at all.
    [[ $status == [023] ]] || exit "$status"
    cat "$out/$name"/mutants.out/missed.txt >"$survivors" 2>/dev/null || true
}

# Sets `which` to arguments that select the survivors of the last stage; fails if there are none.
select_survivors() {
    which=()
    while read -r name; do
        # shellcheck disable=SC2001 # `${name//}` has no way to put a backslash before each match.
        which+=(-f "${name%%:*}" --re "^$(sed 's/[][\.|*+?(){}^$]/\\&/g' <<<"$name")\$")
    done <"$survivors"
    ((${#which[@]}))
}

which=()
[[ " $*" == *" -f"* || " $*" == *" --file"* ]] ||
    for module in intake idle termination policy; do which+=(-f "crates/heist/src/$module/**"); done
stage unit 20 --lib "${which[@]}" "$@"

select_survivors && RUSTFLAGS="--cfg heist_loom --cfg heist_plant" \
    stage loom 60 "--release --test=loom" "${which[@]}" -- -- intake:: idle:: termination::

# The names at the end are modules of `it`, and the test of `soak`.
select_survivors && stage behaviour 60 "--test=it --test=soak" "${which[@]}" -- -- \
    executor:: ending:: panics:: idle:: backstop:: fairness:: metrics:: trace:: \
    every_task_is_accounted_for

# Line numbers move with every change, so the explanations do without. A name can stand there more
# than once.
unexplained=$(comm -23 <(sed -E 's/:[0-9]+:[0-9]+: /: /' "$survivors" | sort) \
    <(sed 's/ *# .*//' ci/mutants-explained.txt | sort))
if [[ -n $unexplained ]]; then
    echo 'No test notices, and nothing in ci/mutants-explained.txt says why that is right:'
    echo "$unexplained"
    exit 1
fi
echo "every mutant was caught or is explained"
