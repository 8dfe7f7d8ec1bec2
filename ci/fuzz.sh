#!/usr/bin/env bash
# Every fuzz target under libFuzzer, for a while each. What is found is left in
# target-fuzz/found; store it as a seed with `cargo run -p heist-fuzz --bin fuzz-corpus -- add
# TARGET FILE`, and it is replayed from then on.
#
#     ci/fuzz.sh [SECONDS] [TARGET...]
#
# SECONDS for each target, 300 by default; all targets by default.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-300}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    targets=(rules_loader parser_generic_secret parser_password parser_url_credentials parser_jwt
        parser_private_key parser_connection_string decoders detector baseline gitleaksignore
        ignore_file git_pack git_index git_midx git_commit_graph git_inflate)
fi
folder=${HEIST_FUZZ_FOLDER:-target-fuzz}
mkdir -p "$folder/found"
folder=$(cd "$folder" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')

corpus=$(cargo build --quiet -p heist-fuzz --bin fuzz-corpus --message-format=json |
    sed -n 's/.*"executable":"\([^"]*fuzz-corpus[^"]*\)".*/\1/p')

# Instrumented by LLVM's own pass, which the stable compiler has. With `--target`, build scripts are
# left alone: they would not link without libFuzzer.
passes="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
passes+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
passes+=" -Cllvm-args=-sanitizer-coverage-pc-table"
passes+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
binaries=()
for target in "${targets[@]}"; do
    binaries+=(--bin "$target")
done
CARGO_TARGET_DIR="$folder/build" \
    RUSTFLAGS="$passes --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1" \
    cargo build --quiet --release --target "$host" -p heist-fuzz --features libfuzzer \
    "${binaries[@]}"

failed=()
for target in "${targets[@]}"; do
    echo "== $target, $seconds s"
    "$corpus" unpack "$target" "$folder/seeds/$target"
    mkdir -p "$folder/corpus/$target" "$folder/found/$target"
    # The working folder is an empty one: a rule file that extends another must not find any.
    mkdir -p "$folder/empty"
    # Long inputs from the beginning: in a few minutes, they would not grow much beyond the seeds.
    (cd "$folder/empty" && "$folder/build/$host/release/$target" \
        -max_total_time="$seconds" -max_len=4096 -len_control=0 -timeout=30 -rss_limit_mb=2048 \
        -print_final_stats=1 -verbosity=1 -artifact_prefix="$folder/found/$target/" \
        "$folder/corpus/$target" "$folder/seeds/$target" >"$folder/$target.log" 2>&1) ||
        failed+=("$target")
    grep -E 'cov: ' "$folder/$target.log" | tail -1 || true
    grep -E '^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' \
        "$folder/$target.log" || true
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}; see $folder/TARGET.log and $folder/found/TARGET"
    exit 1
fi
