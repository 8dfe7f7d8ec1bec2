#!/usr/bin/env bash
# The README's own test command, taken from the README so that the two cannot drift apart.
set -euo pipefail
cd "$(dirname "$0")/.."
bash ci/tools.sh
command=$(grep -m1 -oE '^cargo test.*$' README.md)
echo "running: $command"
eval "$command"
