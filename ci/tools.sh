#!/usr/bin/env bash
# The programs that the tests run, beside those of every Linux system with a compiler. Installs the missing ones on
# Debian and its relatives; elsewhere says which ones are missing. A test whose program is not there fails.
set -euo pipefail
missing=()
for program in bash ncdu strace tmux; do
    command -v "$program" >/dev/null || missing+=("$program")
done
# Packages that have another name than the program.
command -v mkfifo >/dev/null || missing+=(coreutils)
command -v mount >/dev/null || missing+=(mount)
command -v unshare >/dev/null || missing+=(util-linux)
[ ${#missing[@]} -eq 0 ] && exit 0
echo "the tests need: ${missing[*]}" >&2
if ! command -v apt-get >/dev/null; then
    echo "install them with this system's package manager" >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
