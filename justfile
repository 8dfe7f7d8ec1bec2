# The commands a contributor needs. `just` without a name lists them.

default:
    @just --list --unsorted

# Scan a directory for secrets with the release build
scan PATH=".":
    cargo run --release -- scan {{ quote(PATH) }}

# Compile everything quickly, without producing binaries
check:
    cargo check --workspace --all-targets

# Run all tests
test:
    bash ci/test.sh

# Format the code
fmt:
    cargo fmt --all

# Lint as CI does
lint:
    bash ci/lint.sh

# Build the documentation and open it
doc:
    cargo doc --no-deps --open

# Explore thread schedules with loom, of all models or of one: just loom idle::
loom *ARGS:
    bash ci/loom.sh {{ ARGS }}

# Explore schedules of whole pools in the simulator: just sim 60
sim SECONDS="30":
    bash ci/sim.sh {{ SECONDS }}

# Run a benchmark suite: just bench executor
bench SUITE="executor" *ARGS:
    cargo run --release -p heist-bench -- {{ SUITE }} {{ ARGS }}

# Build and try everything that a release ships
package:
    bash ci/package.sh

# Run everything that must hold before a change lands
ci:
    bash .ci/run
