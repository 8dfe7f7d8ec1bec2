#!/usr/bin/env bash
# Lists the public names of each published crate in docs/public-api.md: the names at the crate's
# root, and the number of names in each of its modules. A change of that file in a commit is a
# change of the public API.
#
#     ci/public-api.sh            writes docs/public-api.md
#     ci/public-api.sh --check    fails if docs/public-api.md is out of date
#     ci/public-api.sh --stdout [CRATE...]    prints the list, of these crates only
#
# Rustdoc's own index of all items (`all.html`) is the source: its JSON output needs a nightly
# compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}
crates=(heist heist-device heist-git heist-runtime heist-scan heist-walk)
if [[ $mode == --stdout && $# -gt 1 ]]; then crates=("${@:2}"); fi
packages=()
features=()
for crate in "${crates[@]}"; do
    packages+=(-p "$crate")
    if [[ $crate == heist-runtime ]]; then features=(--features io); fi
done
cargo doc --no-deps --quiet "${packages[@]}" "${features[@]}"
doc=${CARGO_TARGET_DIR:-target}/doc

# list CRATE: a line for each item, `kind path`.
list() {
    grep -oE '<a href="[^"]+">[^<]+</a>' "$doc/${1//-/_}/all.html" |
        sed -nE 's#<a href="([^"]*/)?([a-z]+)\.[A-Za-z0-9_]+\.html">([^<]+)</a>#\2 \3#p' |
        LC_ALL=C sort -u
}

report() {
    echo '# The public API'
    echo
    # shellcheck disable=SC2016 # The backquotes are Markdown's.
    echo 'Written by `ci/public-api.sh`. Modules are counted by their items; methods are not' \
        'counted.'
    echo
    echo '| crate | names at the root | names in modules | all |'
    echo '|---|---:|---:|---:|'
    for crate in "${crates[@]}"; do
        list "$crate" | awk -v crate="$crate" '
            { if ($2 ~ /::/) inner++; else root++ }
            END { printf "| `%s` | %d | %d | %d |\n", crate, root, inner, root + inner }'
    done
    for crate in "${crates[@]}"; do
        echo
        echo "## $crate"
        echo
        echo 'At the root:'
        list "$crate" |
            awk '$2 !~ /::/ { printf "%s`%s`", (n++ ? ", " : ""), $2 } END { print "" }' |
            fold -s -w 100 | sed 's/ *$//'
        list "$crate" | awk '
            $2 ~ /::/ { module = $2; sub(/::[^:]*$/, "", module); count[module]++ }
            END { for (module in count) printf "| `%s` | %d |\n", module, count[module] }' |
            LC_ALL=C sort | {
            read -r first || exit 0
            printf '\n| module | names |\n|---|---:|\n%s\n' "$first"
            cat
        }
    done
}

case $mode in
    --stdout) report ;;
    --check)
        report | diff -u docs/public-api.md - || {
            echo 'docs/public-api.md is out of date: run ci/public-api.sh' >&2
            exit 1
        }
        ;;
    '') report >docs/public-api.md ;;
    *)
        echo "ci/public-api.sh: unknown argument '$mode'" >&2
        exit 2
        ;;
esac
