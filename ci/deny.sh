#!/usr/bin/env bash
# Checks licences, banned crates and sources of all dependencies against deny.toml. Security advisories
# need a downloaded database, so they are a check of their own.
#
#     ci/deny.sh                 licences, bans, sources; needs no network once the crates are there
#     ci/deny.sh advisories      known vulnerabilities; downloads the advisory database
set -euo pipefail
cd "$(dirname "$0")/.."
command -v cargo-deny >/dev/null || cargo install --locked --quiet cargo-deny
if [ "${1:-}" = advisories ]; then
    exec cargo deny check advisories
fi
cargo deny --offline check licenses bans sources
