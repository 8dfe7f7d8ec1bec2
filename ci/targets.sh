#!/usr/bin/env bash
# Checks that heist compiles for other systems: Linux with musl, Windows, macOS and FreeBSD. Nothing
# is linked or run.
#
# The standard library of each target is checked from its source, so no target has to be installed.
# That needs a compiler together with the source of its library: Debian's `rustc-web`, `cargo-web`
# and `rust-web-src`, which this script installs if they are missing. About four minutes.
#
#     ci/targets.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl x86_64-pc-windows-msvc
        aarch64-apple-darwin x86_64-unknown-freebsd)
fi
if [ ! -d /usr/lib/rustlib/src/rust ] || [ ! -x /usr/bin/cargo ]; then
    apt-get update -qq
    apt-get install -y --no-install-recommends rustc-web cargo-web rust-web-src >/dev/null
fi
export RUSTC=/usr/bin/rustc CARGO_TARGET_DIR=target-targets
export RUSTC_BOOTSTRAP=1 # for -Z on a stable compiler
failed=()
for target in "${targets[@]}"; do
    echo "== $target"
    /usr/bin/cargo check --quiet -Zbuild-std=std,panic_unwind --target "$target" \
        -p heist -p heist-device -p heist-runtime -p heist-walk -p heist-git -p heist-scan \
        -p heist-cli \
        --features io || failed+=("$target")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "does not compile for: ${failed[*]}"
    exit 1
fi
echo "compiles for: ${targets[*]}"
