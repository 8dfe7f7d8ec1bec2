//! The program `heist-sim`. See the crate documentation for what the simulator does.

#[cfg(heist_sim)]
mod cli;

#[cfg(heist_sim)]
fn main() -> std::process::ExitCode {
    cli::main()
}

#[cfg(not(heist_sim))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "heist-sim: built without the simulated machine; build and run it with `bash ci/sim.sh 60`"
    );
    std::process::ExitCode::from(2)
}
