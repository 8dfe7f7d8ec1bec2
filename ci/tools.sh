#!/usr/bin/env bash
# Installs programs that are missing: those named as arguments, or those that the tests run, beside
# what every Linux system with a compiler has. Installs with apt-get (Debian and its relatives);
# elsewhere it fails and says which ones are missing. A test whose program is not there fails.
#
#     ci/tools.sh [PROGRAM...]
set -euo pipefail
programs=("$@")
[ ${#programs[@]} -gt 0 ] || programs=(bash git mkfifo mount ncdu strace tmux unshare)
missing=()
for program in "${programs[@]}"; do
    command -v "$program" >/dev/null && continue
    case $program in
        mkfifo) missing+=(coreutils) ;;
        unshare) missing+=(util-linux) ;;
        *) missing+=("$program") ;;
    esac
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "installing the missing packages: ${missing[*]}" >&2
if ! command -v apt-get >/dev/null; then
    echo "there is no apt-get: install them with this system's package manager" >&2
    exit 1
fi
as_root=(env)
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
