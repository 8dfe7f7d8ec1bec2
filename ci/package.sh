#!/usr/bin/env bash
# Builds what a release ships, and installs each package once to see that it works:
#   - `cargo package` for every published crate,
#   - a static binary with completions and man pages,
#   - a .deb and an .rpm, from the metadata in crates/heist-cli/Cargo.toml,
#   - a container image (with docker or buildah, if one of them is there).
# Everything is left in target/package. Needs dpkg, and rpm to unpack the .rpm. About ten minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/package
rm -rf "$out"
mkdir -p "$out"

for tool in cargo-deb cargo-generate-rpm; do
    command -v "$tool" >/dev/null || cargo install --locked --quiet "$tool"
done

echo "== cargo package"
cargo package --workspace --no-verify --allow-dirty --quiet --exclude heist-bench --exclude heist-sim --exclude heist-fuzz
# One of them is compiled from its package alone: the tool, which depends on all the others.
cargo package --workspace --allow-dirty --quiet --exclude heist-bench --exclude heist-sim --exclude heist-fuzz

echo "== static binary, completions, man pages"
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="-C target-feature=+crt-static" cargo build --profile dist -p heist-cli --target "$host"
cp "target/$host/dist/heist" "$out/heist"
"$out/heist" man --dir "$out/man"
mkdir -p "$out/completions"
for shell in bash zsh fish; do
    "$out/heist" completions "$shell" >"$out/completions/heist.$shell"
done
ls -l "$out/heist"

echo "== .deb"
cargo deb --no-build -p heist-cli --profile dist --target "$host" --output "$out/heist.deb"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
dpkg-deb --extract "$out/heist.deb" "$root/deb"
"$root/deb/usr/bin/heist" --version
test -s "$root/deb/usr/share/man/man1/heist-scan.1.gz"
test -s "$root/deb/usr/share/bash-completion/completions/heist"

echo "== .rpm"
cargo generate-rpm -p crates/heist-cli --target "$host" --profile dist -o "$out/heist.rpm"
if command -v rpm2cpio >/dev/null; then
    mkdir "$root/rpm"
    (cd "$root/rpm" && rpm2cpio "$out/heist.rpm" | cpio --quiet -idm)
    "$root/rpm/usr/bin/heist" --version
else
    echo "rpm2cpio is not installed: the .rpm was built, but not unpacked" >&2
    exit 1
fi

echo "== container image"
if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
    docker build --quiet -f packaging/Dockerfile -t heist "$out"
    docker run --rm heist --version
elif command -v buildah >/dev/null; then
    buildah --storage-driver vfs build --isolation chroot -f packaging/Dockerfile -t heist "$out"
else
    echo "neither docker nor buildah is installed: no image was built" >&2
    exit 1
fi
echo "packages are in $out"
