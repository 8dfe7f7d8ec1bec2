#!/usr/bin/env bash
# Which lines of heist, heist-device and heist-runtime the unit and behaviour tests reach: a table
# by module, and the total. Two minutes, most of them building. Unit tests stand in the files that
# they test, so their own lines count too; documentation examples, loom and shuttle do not count.
#
#     ci/coverage.sh [--files]      with --files a line per file
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=target-coverage
export RUSTFLAGS=-Cinstrument-coverage
export LLVM_PROFILE_FILE=$PWD/target-coverage/profile/%p-%m.profraw
mkdir -p target-coverage

# rustc's LLVM writes the profile, and a tool that is too old cannot read it: LLVM 19 was the first
# to have the format that LLVM 22 still has. rustup's own tools match always; else the newest of the
# system's.
find_tools() {
    local bin
    bin=$(rustc --print target-libdir)/../bin
    if [[ -x $bin/llvm-cov && -x $bin/llvm-profdata ]]; then
        profdata=$bin/llvm-profdata cov=$bin/llvm-cov
        return 0
    fi
    local version
    for version in {30..19}; do
        if command -v "llvm-cov-$version" "llvm-profdata-$version" >/dev/null; then
            profdata=llvm-profdata-$version cov=llvm-cov-$version
            return 0
        fi
    done
    return 1
}
if ! find_tools; then
    echo "no llvm-cov of version 19 or later; installing Debian's llvm-19" >&2
    apt-get install -y --no-install-recommends llvm-19 >/dev/null || true
    find_tools || {
        echo "ci/coverage.sh needs llvm-profdata and llvm-cov, version 19 or later, for the" \
            "profile of rustc's $(rustc -vV | grep LLVM): install llvm-19, or run" \
            "\`rustup component add llvm-tools\`" >&2
        exit 1
    }
fi

packages=(-p heist -p heist-device -p heist-runtime)
cargo test "${packages[@]}" --lib --tests --no-run --message-format=json 2>/dev/null |
    grep -o '"executable":"[^"]*"' | cut -d'"' -f4 | sort -u >target-coverage/programs
# What build scripts have left.
rm -rf target-coverage/profile
cargo test "${packages[@]}" --lib --tests --quiet >target-coverage/tests.log 2>&1 || {
    cat target-coverage/tests.log >&2
    exit 1
}
"$profdata" merge --sparse target-coverage/profile/*.profraw -o target-coverage/all.profdata

objects=()
while read -r program; do objects+=(--object "$program"); done <target-coverage/programs
"$cov" report "${objects[@]}" --instr-profile target-coverage/all.profdata \
    --sources "$PWD"/crates/heist{,-device,-runtime}/src \
    >target-coverage/report

# Columns of the report: file; regions, missed, cover; functions, missed, executed; lines, missed,
# cover; branches.
LC_ALL=C sort target-coverage/report | awk -v by_file="${1:-}" '
    /\.rs / {
        module = $1
        # The report cuts off what all names have in common; what is left is the crate and its file.
        sub(/^.*crates\//, "", module)
        sub(/\/src\//, ": ", module)
        if (by_file != "--files") { sub(/\/.*/, "", module); sub(/\.rs$/, "", module) }
        if (!(module in lines)) { order[++modules] = module }
        regions[module] += $2; regions_missed[module] += $3
        functions[module] += $5; functions_missed[module] += $6
        lines[module] += $8; lines_missed[module] += $9
    }
    function row(name, l, lm, f, fm, r, rm) {
        printf "%-32s %6d %6d %6.1f %%   %5d %6d %6.1f %%   %6d %6d %6.1f %%\n", name,
            l, lm, 100 * (l - lm) / l, f, fm, 100 * (f - fm) / f, r, rm, 100 * (r - rm) / r
    }
    END {
        printf "%-32s %6s %6s %8s   %5s %6s %8s   %6s %6s %8s\n", "module",
            "lines", "missed", "cover", "funcs", "missed", "cover", "regions", "missed", "cover"
        for (i = 1; i <= modules; i++) {
            m = order[i]
            row(m, lines[m], lines_missed[m], functions[m], functions_missed[m],
                regions[m], regions_missed[m])
            l += lines[m]; lm += lines_missed[m]
            f += functions[m]; fm += functions_missed[m]
            r += regions[m]; rm += regions_missed[m]
        }
        if (l == 0) { print "no coverage was measured" > "/dev/stderr"; exit 1 }
        row("total", l, lm, f, fm, r, rm)
    }'
