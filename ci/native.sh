#!/usr/bin/env bash
# Builds the tool and runs the unit tests of the published crates on this system. Hosted CI calls it
# on macOS, Windows and 64-bit ARM; on Linux x86-64 `.ci/run` does that and more.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release
cargo test --lib --bins
