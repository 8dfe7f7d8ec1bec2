//! Walks a directory tree in parallel: every directory is a task, and spawns one for each directory in it.
//!
//! Totals are kept per worker, so nothing is shared while the walk goes on. Errors are soft: a directory that cannot
//! be read is reported at the end, and the walk goes on.
//!
//! ```text
//! cargo run --release --example tree              # the current directory
//! cargo run --release --example tree -- /usr /etc
//! ```

use heist::{ExecutorConfig, Spawner};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, io};

/// What one worker has seen.
#[derive(Default)]
struct Totals {
    directories: u64,
    files: u64,
    bytes: u64,
    errors: Vec<(PathBuf, io::Error)>,
}

fn main() -> Result<(), heist::RunError> {
    let mut roots: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    if roots.is_empty() {
        roots.push(PathBuf::from("."));
    }
    let began = Instant::now();
    let output = heist::run(
        ExecutorConfig::default(),
        roots,
        |_worker| Totals::default(),
        |directory: PathBuf, ctx| {
            let (totals, mut spawner) = ctx.split();
            if let Err(error) = visit(&directory, totals, &mut spawner) {
                totals.errors.push((directory, error));
            }
        },
    )?;
    let took = began.elapsed();

    for (worker, totals) in output.scratch.iter().enumerate() {
        println!("worker {worker}: {} directories, {} files", totals.directories, totals.files);
    }
    for (path, error) in output.scratch.iter().flat_map(|totals| &totals.errors) {
        eprintln!("{}: {error}", path.display());
    }
    let sum = |figure: fn(&Totals) -> u64| output.scratch.iter().map(figure).sum::<u64>();
    println!(
        "{} directories, {} files, {} bytes in {took:.1?}; errors: {}",
        sum(|totals| totals.directories),
        sum(|totals| totals.files),
        sum(|totals| totals.bytes),
        sum(|totals| totals.errors.len() as u64),
    );
    println!("{}", output.metrics);
    Ok(())
}

/// Looks at the entries of one directory, and leaves those below it to others. Links are not followed, so the walk
/// comes to an end.
fn visit(
    directory: &Path,
    totals: &mut Totals,
    spawner: &mut Spawner<'_, PathBuf>,
) -> io::Result<()> {
    let entries = fs::read_dir(directory)?;
    totals.directories += 1;
    for entry in entries {
        let entry = entry?;
        // `DirEntry::metadata` does not follow links either.
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => spawner.spawn_local(entry.path()),
            Ok(metadata) => {
                totals.files += 1;
                totals.bytes += metadata.len();
            }
            Err(error) => totals.errors.push((entry.path(), error)),
        }
    }
    Ok(())
}
