#!/usr/bin/env bash
# ShellCheck over the scripts.
set -euo pipefail
cd "$(dirname "$0")/.."
bash ci/tools.sh shellcheck
shellcheck ci/*.sh .ci/run
