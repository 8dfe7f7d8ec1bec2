//! The simulator's command line.

#[cfg(heist_sim)]
mod cli;

#[cfg(heist_sim)]
fn main() -> std::process::ExitCode {
    cli::main()
}

#[cfg(not(heist_sim))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "heist-sim: built without the simulated machine; `bash ci/sim.sh 60` builds it with one"
    );
    std::process::ExitCode::from(2)
}
