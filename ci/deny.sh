#!/usr/bin/env bash
# Checks all dependencies with cargo-deny: licences, banned crates and sources against deny.toml,
# and known vulnerabilities against the advisory database, which has to be downloaded.
#
#     ci/deny.sh                 licences, bans and sources
#     ci/deny.sh advisories      known vulnerabilities
set -euo pipefail
cd "$(dirname "$0")/.."
command -v cargo-deny >/dev/null || cargo install --locked --quiet cargo-deny
if [ "${1:-}" = advisories ]; then
    exec cargo deny --all-features --workspace check advisories
fi
cargo fetch --locked --quiet
cargo deny --workspace --offline check licenses bans sources
