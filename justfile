# The commands a contributor needs. `just` without a name lists them.

default:
    @just --list --unsorted

# Scan a directory for secrets with the release build
scan PATH=".":
    cargo run --release -- scan {{PATH}}

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

# Explore thread schedules with loom
loom:
    bash ci/loom.sh

# Explore schedules of whole pools in the simulator: just sim 60
sim SECONDS="30":
    bash ci/sim.sh {{SECONDS}}

# Run a benchmark suite: just bench executor
bench SUITE="executor":
    cargo run --release -p heist-bench -- {{SUITE}}

# Run everything that CI runs
ci:
    bash .ci/run
