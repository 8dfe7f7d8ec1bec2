//! Walks a directory tree in parallel: every directory is a task that spawns a task for each
//! subdirectory.
//!
//! This example shows tasks that spawn tasks. Each worker keeps its own totals, so the workers
//! share nothing during the walk. If a directory cannot be read, the walk continues, and the
//! program reports the error at the end.
//!
//! ```text
//! cargo run --release --example tree              # walks the current directory
//! cargo run --release --example tree -- /usr /etc
//! ```

use heist::{ExecutorConfig, RunOutput, Spawner};
use std::env;
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What one worker has counted.
#[derive(Default)]
struct Totals {
    directories: u64,
    files: u64,
    bytes: u64,
    errors: Vec<(PathBuf, io::Error)>,
}

impl Totals {
    fn add_file(&mut self, metadata: &Metadata) {
        self.files += 1;
        self.bytes += metadata.len();
    }
}

fn main() -> Result<ExitCode, heist::RunError> {
    let mut roots: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    if roots.iter().any(|root| root.as_os_str().as_encoded_bytes().starts_with(b"-")) {
        eprintln!("usage: tree [DIRECTORY or FILE]...");
        return Ok(ExitCode::from(2));
    }
    if roots.is_empty() {
        roots.push(PathBuf::from("."));
    }
    let began = Instant::now();
    let output = heist::run(
        ExecutorConfig::default(),
        roots,
        |_worker| Totals::default(),
        |path: PathBuf, ctx| {
            let (totals, mut spawner) = ctx.split();
            if let Err(error) = visit(&path, totals, &mut spawner) {
                totals.errors.push((path, error));
            }
        },
    )?;
    let took = began.elapsed();

    for (path, error) in output.scratch.iter().flat_map(|totals| &totals.errors) {
        // `{:?}` quotes the path, so that an empty path is visible.
        eprintln!("cannot read {path:?}: {error}");
    }
    Ok(match print(&output, took) {
        Ok(()) if output.scratch.iter().all(|totals| totals.errors.is_empty()) => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        // The reader of the output has closed it, as in `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Prints the totals of every worker and the sums. (`println!` would panic where this returns an
/// error.)
fn print(output: &RunOutput<Totals>, took: Duration) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (worker, totals) in output.scratch.iter().enumerate() {
        let Totals { directories, files, .. } = totals;
        writeln!(out, "worker {worker}: {directories} directories, {files} files")?;
    }
    let sum = |figure: fn(&Totals) -> u64| output.scratch.iter().map(figure).sum::<u64>();
    writeln!(
        out,
        "{} directories, {} files, {} bytes in {took:.1?}; errors: {}",
        sum(|totals| totals.directories),
        sum(|totals| totals.files),
        sum(|totals| totals.bytes),
        sum(|totals| totals.errors.len() as u64),
    )?;
    writeln!(out, "{}", output.metrics)
}

/// Counts the entries of one directory and spawns a task for each subdirectory. It does not follow
/// symbolic links, so the walk ends.
fn visit(path: &Path, totals: &mut Totals, spawner: &mut Spawner<'_, PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        // The path is a file that was given as an argument.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            totals.add_file(&fs::metadata(path)?);
            return Ok(());
        }
        entries => entries?,
    };
    totals.directories += 1;
    for entry in entries {
        let entry = entry?;
        // `DirEntry::metadata` does not follow symbolic links either.
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => spawner.spawn_local(entry.path()),
            Ok(metadata) => totals.add_file(&metadata),
            Err(error) => totals.errors.push((entry.path(), error)),
        }
    }
    Ok(())
}
