//! Measures what a scan costs without its detector: reads everything below the given paths and
//! finds nothing.
//!
//! `read_speed [--threads N] [--binary] [--plain] PATH...`
//!
//! `--plain` does the same without this library, on one thread: it lists all files first, and then
//! opens, reads and closes each file. Compare the times of both, and the CPU time of all threads.

use heist_scan::{Finding, NullDetector, Scan, Sink};
use heist_walk::Walk;
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

/// Discards the findings.
struct Discard;

impl Sink for Discard {
    fn finding(&self, _finding: Finding) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = Vec::new();
    let (mut scan, mut plain) = (Scan::new(NullDetector), false);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--threads") => {
                let number = arguments.next().ok_or("--threads needs a number")?;
                let number = number.to_str().ok_or("--threads needs a number")?.parse()?;
                scan = scan.threads(Some(number));
            }
            Some("--binary") => scan = scan.binary(true),
            Some("--plain") => plain = true,
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    if paths.is_empty() {
        paths.push(".".into());
    }
    if plain {
        return read_plainly(&paths);
    }
    let begin = Instant::now();
    let report = scan.walk(Walk::over(&paths)).run(Discard)?;
    println!("{:?}", begin.elapsed());
    println!("{} objects, {} bytes, {} workers", report.objects(), report.bytes, report.threads);
    println!("{:?}", report.outcomes);
    for (path, why) in &report.incomplete {
        println!("{}: {why}", path.display());
    }
    Ok(())
}

/// Reads all files with the standard library, on one thread.
fn read_plainly(paths: &[PathBuf]) -> Result<(), Box<dyn std::error::Error>> {
    let begin = Instant::now();
    let mut directories = paths.to_vec();
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    println!("{:?} to walk", begin.elapsed());
    let begin = Instant::now();
    let mut buffer = vec![0; (256 << 10) + 4096];
    let aligned = buffer.as_ptr().align_offset(4096).min(4096);
    let buffer = &mut buffer[aligned..aligned + (256 << 10)];
    let mut bytes = 0;
    for path in &files {
        let mut file = std::fs::File::open(path)?;
        loop {
            let count = file.read(buffer)?;
            bytes += count as u64;
            if count < buffer.len() {
                break;
            }
        }
    }
    println!("{:?} to read {} files, {bytes} bytes", begin.elapsed(), files.len());
    Ok(())
}
