#!/usr/bin/env bash
# Writes a software bill of materials for the tool: a CycloneDX 1.5 file that lists every crate the
# binary is built from, with its version, licence and checksum. Fails if a crate is missing that
# cargo compiles.
#
#     ci/sbom.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."
file=$(realpath -m "${1:?give the name of the file to write}")
command -v cargo-cyclonedx >/dev/null || cargo install --locked --quiet cargo-cyclonedx
bash ci/tools.sh python3
host=$(rustc -vV | sed -n 's/^host: //p')

# cargo-cyclonedx writes a file beside the Cargo.toml of every crate, so it works in a copy.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git archive HEAD | tar -x -C "$copy"
(cd "$copy" && cargo cyclonedx --quiet --manifest-path crates/heist-cli/Cargo.toml \
    --format json --spec-version 1.5 --target "$host" --override-filename sbom)
# The crates of this workspace are identified by their folders, which need not be absolute.
mkdir -p "$(dirname "$file")"
sed "s#file://$copy/#file:///#g" "$copy/crates/heist-cli/sbom.json" >"$file"

cargo tree --locked -p heist-cli --target "$host" --edges normal,build --prefix none \
    --format '{p}' | sed -E 's/^([^ ]+) v([^ ]+).*/\1 \2/' | LC_ALL=C sort -u >"$copy/expected"
python3 - "$file" <<'PYTHON' | LC_ALL=C sort -u >"$copy/listed"
import json
import sys

bom = json.load(open(sys.argv[1], encoding="utf-8"))
assert bom["bomFormat"] == "CycloneDX", "not a CycloneDX file"
for component in [bom["metadata"]["component"], *bom["components"]]:
    print(component["name"], component["version"])
    if not component.get("licenses"):
        sys.exit(f"{component['name']} has no licence")
PYTHON
# The list may have a few crates more: cargo-cyclonedx takes the optional dependencies that any
# crate of the workspace switches on.
missing=$(comm -23 "$copy/expected" "$copy/listed")
if [ -n "$missing" ]; then
    printf 'the bill of materials lacks these crates:\n%s\n' "$missing" >&2
    exit 1
fi
echo "$file lists $(wc -l <"$copy/listed") crates"
