//! Counts words in parallel, over borrowed text.
//!
//! This example shows [`heist::run`] and per-worker scratch. Every worker counts into its own map,
//! whose keys point into the text. `run` returns the maps, and `main` merges them at the end. The
//! text is never copied, and there is no lock and no channel.
//!
//! ```text
//! cargo run --release --example word_count                # counts generated text
//! cargo run --release --example word_count -- README.md crates
//! ```

use heist::ExecutorConfig;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

/// The size of a task: large enough that the cost of spawning it does not matter, small enough that
/// the work is shared evenly.
const CHUNK_BYTES: usize = 64 * 1024;

fn main() -> Result<ExitCode, heist::RunError> {
    let paths: Vec<_> = env::args_os().skip(1).map(PathBuf::from).collect();
    if paths.iter().any(|path| path.as_os_str().as_encoded_bytes().starts_with(b"-")) {
        eprintln!("usage: word_count [FILE or DIRECTORY]...");
        return Ok(ExitCode::from(2));
    }
    let (texts, all_read) =
        if paths.is_empty() { (vec![generated_text()], true) } else { read_all(paths) };
    let bytes: usize = texts.iter().map(String::len).sum();

    let config = ExecutorConfig::default();
    let workers = config.threads;
    let began = Instant::now();
    let output = heist::run(
        config,
        texts.iter().flat_map(|text| chunks(text)),
        |_worker| HashMap::<&str, u64>::new(),
        |chunk, ctx| {
            for word in chunk.split_whitespace() {
                *ctx.scratch.entry(word).or_default() += 1;
            }
        },
    )?;
    let mut counts = HashMap::new();
    for (word, count) in output.scratch.into_iter().flatten() {
        *counts.entry(word).or_insert(0_u64) += count;
    }
    let took = began.elapsed();

    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
    let summary = format!("in {bytes} bytes: {took:.1?} on {workers} workers");
    Ok(match print(&counts, &summary) {
        Ok(()) if all_read => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        // The reader of the output has closed it, as in `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Prints the ten most frequent words and the sums. (`println!` would panic where this returns an
/// error.)
fn print(counts: &[(&str, u64)], summary: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (word, count) in counts.iter().take(10) {
        writeln!(out, "{count:>10}  {word}")?;
    }
    let words: u64 = counts.iter().map(|(_, count)| count).sum();
    writeln!(out, "{words} words, {} of them different, {summary}", counts.len())
}

/// Cuts a text into pieces of about [`CHUNK_BYTES`], never inside a word.
fn chunks(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let bytes = text.as_bytes();
        let after = bytes.iter().skip(CHUNK_BYTES).position(u8::is_ascii_whitespace);
        let (chunk, rest) = text.split_at(after.map_or(bytes.len(), |found| CHUNK_BYTES + found));
        text = rest;
        Some(chunk)
    })
}

/// Reads the given files, and all files in the given directories. Reports files that cannot be read
/// or are not text, and skips them. The second result is `true` if nothing was skipped.
fn read_all(mut paths: Vec<PathBuf>) -> (Vec<String>, bool) {
    let (mut texts, mut all_read) = (Vec::new(), true);
    while let Some(path) = paths.pop() {
        let read = if path.is_dir() {
            list(&path).map(|entries| paths.extend(entries))
        } else {
            fs::read_to_string(&path).map(|text| texts.push(text))
        };
        if let Err(error) = read {
            // `{:?}` quotes the path, so that an empty path is visible.
            eprintln!("cannot read {path:?}: {error}");
            all_read = false;
        }
    }
    (texts, all_read)
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

/// Generates about 20 MB of text in which short words are frequent and long ones are rare.
fn generated_text() -> String {
    const SYLLABLES: [&str; 8] = ["to", "be", "or", "not", "that", "is", "the", "quest"];
    let mut rng = heist::rng::XorShift64::new(42);
    let mut text = String::new();
    while text.len() < 20_000_000 {
        text.push_str(SYLLABLES[rng.below_usize(SYLLABLES.len())]);
        if rng.below(4) > 0 {
            text.push(' ');
        }
    }
    text
}
