#!/usr/bin/env bash
# Builds what a release ships from the commit that is checked out, and tries each part once:
#   - the packages of the published crates, each compiled from its package alone,
#   - a static binary with completions and man pages,
#   - a bill of materials,
#   - a .deb and an .rpm, installed into an empty root directory, run there, and removed again,
#   - a container image (docker, or buildah if no docker engine runs), which scans a directory.
# Everything is left in target/package. Needs root or sudo, and about ten minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_TARGET_DIR
out=$PWD/target/package
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) # instead of the time of the build
export SOURCE_DATE_EPOCH
host=$(rustc -vV | sed -n 's/^host: //p')
as_root=(env)
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
PATH=$PATH:/usr/sbin:/sbin
bash ci/tools.sh dpkg rpm
for tool in cargo-deb cargo-generate-rpm; do
    command -v "$tool" >/dev/null || cargo install --locked --quiet "$tool"
done
rm -rf "$out"
mkdir -p "$out"
root=$(mktemp -d)
trap '"${as_root[@]}" rm -rf "$root"' EXIT

echo "== the packages of the crates"
cargo package --locked --quiet --workspace \
    --exclude heist-bench --exclude heist-fuzz --exclude heist-sim
for crate in heist heist-cli heist-device heist-git heist-runtime heist-scan heist-walk; do
    files=$(tar -tf "$out/$crate"-[0-9]*.crate)
    for part in Cargo.toml README.md LICENSE-APACHE LICENSE-MIT; do
        grep -q "/$part\$" <<<"$files" || {
            echo "the package of $crate has no $part" >&2
            exit 1
        }
    done
done
# What cargo unpacked to compile it.
find "$out" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +

echo "== static binary, completions, man pages"
RUSTFLAGS="-C target-feature=+crt-static" \
    cargo build --locked --quiet --profile dist -p heist-cli --target "$host"
cp "target/$host/dist/heist" "$out/heist"
mkdir "$out/man" "$out/completions"
"$out/heist" man --dir "$out/man"
for shell in bash zsh fish; do
    "$out/heist" completions "$shell" >"$out/completions/heist.$shell"
done

echo "== bill of materials"
bash ci/sbom.sh "$out/heist.cdx.json"

# A scan of `$root/project` must find the one secret in it. The password is a new random one each
# time, and only the user who runs the container may read it.
mkdir -p "$root/project"
password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
echo "DATABASE_URL=postgres://app:$password@db.acme.net/shop" >"$root/project/.env"
chmod 600 "$root/project/.env"

# finds_the_secret COMMAND...
finds_the_secret() {
    local status=0
    "$@" >"$root/report" 2>"$root/messages" || status=$?
    if [ "$status" -ne 1 ] || ! grep -q '^1 secret in 1 place' "$root/report"; then
        cat "$root/report" "$root/messages" >&2
        echo "the scan ended with $status: $*" >&2
        exit 1
    fi
}

# try_installed ROOT: nothing but the package is in ROOT, so a missing library would show.
try_installed() {
    "${as_root[@]}" chroot "$1" /usr/bin/heist --version
    "${as_root[@]}" cp -r "$root/project" "$1/project"
    finds_the_secret "${as_root[@]}" chroot "$1" /usr/bin/heist scan /project
    "${as_root[@]}" rm -r "$1/project"
    local file
    # The .deb has compressed pages.
    for file in share/man/man1/heist-scan.1 share/bash-completion/completions/heist; do
        if [ ! -s "$1/usr/$file" ] && [ ! -s "$1/usr/$file.gz" ]; then
            echo "/usr/$file was not installed" >&2
            exit 1
        fi
    done
}

# nothing_left ROOT PACKAGE
nothing_left() {
    if [ -n "$(find "$1" -path "*heist*" ! -type d ! -path '*/var/lib/*')" ]; then
        echo "the removed $2 left files in $1" >&2
        exit 1
    fi
}

echo "== .deb"
cargo deb --quiet --no-build --locked -p heist-cli --profile dist --target "$host" \
    --output "$out/heist.deb"
mkdir -p "$root"/deb/var/lib/dpkg/{info,updates}
touch "$root/deb/var/lib/dpkg/status"
"${as_root[@]}" dpkg --root="$root/deb" --install "$out/heist.deb"
try_installed "$root/deb"
"${as_root[@]}" dpkg --root="$root/deb" --purge heist
nothing_left "$root/deb" .deb

echo "== .rpm"
cargo generate-rpm -p crates/heist-cli --target "$host" --profile dist -o "$out/heist.rpm"
mkdir "$root/rpm"
"${as_root[@]}" rpm --root="$root/rpm" --initdb
"${as_root[@]}" rpm --root="$root/rpm" --install "$out/heist.rpm"
try_installed "$root/rpm"
"${as_root[@]}" rpm --root="$root/rpm" --erase heist
nothing_left "$root/rpm" .rpm

echo "== container image"
mkdir "$root/image"
cp "$out/heist" LICENSE-APACHE LICENSE-MIT "$root/image"
user=$(id -u):$(id -g)
if [ "$user" = 0:0 ]; then
    user=1000:1000 # a container must not need root
    chown "$user" "$root/project/.env"
    chmod 755 "$root"
fi
if docker info >/dev/null 2>&1; then
    docker build --quiet -f packaging/Dockerfile -t heist "$root/image"
    finds_the_secret docker run --rm --network none --read-only --user "$user" \
        -v "$root/project:/scan:ro" heist scan
    docker save heist -o "$out/heist-image.tar"
else
    bash ci/tools.sh buildah
    buildah=("${as_root[@]}" buildah --storage-driver vfs --root "$root/storage"
        --runroot "$root/storage-run")
    "${buildah[@]}" build --quiet --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" \
        -f packaging/Dockerfile -t heist "$root/image"
    container=$("${buildah[@]}" from --pull-never heist)
    finds_the_secret "${buildah[@]}" run --isolation chroot --user "$user" \
        -v "$root/project:/scan:ro" "$container" -- /heist scan
    "${buildah[@]}" push --quiet heist "docker-archive:$out/heist-image.tar:heist:latest"
fi

(cd "$out" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >"$root/SHA256SUMS"
cp "$root/SHA256SUMS" "$out"
echo "== all in $out:"
(cd "$out" && du -h --apparent-size ./*)
