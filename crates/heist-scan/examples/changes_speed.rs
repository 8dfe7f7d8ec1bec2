//! Measures what the scan of a history costs, whole and by its changes alone, and compares the
//! matches.
//!
//! `changes_speed [--rounds N] [--changes-only] REPOSITORY`
//!
//! Takes each version of each file from `git log` and `git cat-file`, makes a delta to the version
//! before it, and scans all of them on one thread: first each whole, then only what changed. The
//! times are those of the processor.

use heist_scan::rules::RuleSet;
use heist_scan::{
    Copied, Detector, DetectorOptions, Memory, PathFreeMatch, Scratch, SecretDetector, Version,
};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// A version of a file.
struct Step {
    bytes: Vec<u8>,
    /// The version before it, as a number among all steps, and what was copied from it.
    base: Option<(usize, Vec<Copied>)>,
    is_base: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut rounds, mut changes_only) = (3, false);
    let mut repository = ".".to_owned();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--rounds" => rounds = arguments.next().ok_or("--rounds needs a number")?.parse()?,
            "--changes-only" => changes_only = true,
            _ => repository = argument,
        }
    }
    let steps = history(&repository)?;
    let bytes: usize = steps.iter().map(|step| step.bytes.len()).sum();
    let copied = |step: &Step| -> u64 {
        step.base.iter().flat_map(|(_, copies)| copies).map(|copy| copy.len).sum()
    };
    let novel = bytes as u64 - steps.iter().map(copied).sum::<u64>();
    println!("{} objects, {bytes} bytes, {:.1} % new", steps.len(), percent(novel, bytes as u64));

    let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    let mut scratch = detector.scratch();
    let (mut whole_best, mut changed_best) = (f64::MAX, f64::MAX);
    for _ in 0..if changes_only { rounds } else { 0 } {
        scan_changed(&detector, &mut scratch, &steps);
    }
    for _ in 0..if changes_only { 0 } else { rounds } {
        let begin = cpu_seconds();
        let whole = scan_whole(&detector, &mut scratch, &steps);
        let middle = cpu_seconds();
        let (changed, sizes) = scan_changed(&detector, &mut scratch, &steps);
        let end = cpu_seconds();
        println!("whole {:.3} s, changes {:.3} s", middle - begin, end - middle);
        (whole_best, changed_best) =
            (whole_best.min(middle - begin), changed_best.min(end - middle));
        let matches: usize = whole.iter().map(Vec::len).sum();
        let differing = whole.iter().zip(&changed).filter(|(one, other)| one != other).count();
        println!(
            "{matches} matches, {differing} objects differ; memory {:.1} % of the objects",
            percent(sizes as u64, bytes as u64)
        );
    }
    println!("best: {:.2} times less", whole_best / changed_best);
    Ok(())
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

/// What is found in an object: what the path decides is left out.
type Found = Vec<(u64, u64, u32)>;

fn settled(detector: &SecretDetector, matches: &mut Vec<PathFreeMatch>) -> Found {
    let settled = matches.drain(..).filter_map(|one| detector.settle(&one, Path::new("a.py")));
    let mut found: Found =
        settled.map(|one| (one.secret.start, one.secret.end, one.rule.0)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn scan_whole(detector: &SecretDetector, scratch: &mut Scratch, steps: &[Step]) -> Vec<Found> {
    let mut matches = Vec::new();
    let scan = |step: &Step| {
        let version = Version::new(&step.bytes).without_memory();
        detector.scan_changed(&version, scratch, &mut matches);
        settled(detector, &mut matches)
    };
    steps.iter().map(scan).collect()
}

fn scan_changed(
    detector: &SecretDetector,
    scratch: &mut Scratch,
    steps: &[Step],
) -> (Vec<Found>, usize) {
    let (mut matches, mut sizes) = (Vec::new(), 0);
    let mut memories: Vec<Memory> = Vec::new();
    let mut found = Vec::new();
    for step in steps {
        let mut version = Version::new(&step.bytes);
        if let Some((base, copies)) = &step.base {
            version = version.based_on(&memories[*base], copies);
        }
        if !step.is_base {
            version = version.without_memory();
        }
        let memory = detector.scan_changed(&version, scratch, &mut matches);
        sizes += memory.size();
        memories.push(memory);
        found.push(settled(detector, &mut matches));
    }
    (found, sizes)
}

/// Returns each version of each file in a repository once, each after its base.
fn history(repository: &str) -> Result<Vec<Step>, Box<dyn Error>> {
    let log = Command::new("git")
        .args(["-C", repository, "log", "--all", "--reverse", "--raw", "--no-abbrev"])
        .args(["--format=", "--no-renames"])
        .output()?;
    let mut cat_file = Command::new("git")
        .args(["-C", repository, "cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ask = cat_file.stdin.take().ok_or("no input")?;
    let mut answers = BufReader::new(cat_file.stdout.take().ok_or("no output")?);
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut steps: Vec<Step> = Vec::new();
    for line in String::from_utf8_lossy(&log.stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().take(5).collect();
        let [_, mode, old, new, _] = words[..] else { continue };
        if !mode.starts_with("100") || numbers.contains_key(new) {
            continue;
        }
        writeln!(ask, "{new}")?;
        let mut header = String::new();
        answers.read_line(&mut header)?;
        let len: usize = header.split_whitespace().nth(2).ok_or("no such object")?.parse()?;
        let mut bytes = vec![0; len + 1];
        answers.read_exact(&mut bytes)?;
        bytes.truncate(len);
        let base = numbers.get(old).copied();
        let base = base.map(|number| (number, delta(&steps[number].bytes, &bytes)));
        numbers.insert(new.to_owned(), steps.len());
        steps.push(Step { bytes, base, is_base: false });
    }
    drop(ask);
    cat_file.wait()?;
    let bases: HashSet<usize> =
        steps.iter().filter_map(|step| step.base.as_ref().map(|(number, _)| *number)).collect();
    for number in bases {
        steps[number].is_base = true;
    }
    Ok(steps)
}

const BLOCK: usize = 16;

/// Returns what of `version` is a copy of `base`: from each block of the base that occurs, as far
/// as both go on alike. That is how git finds deltas.
fn delta(base: &[u8], version: &[u8]) -> Vec<Copied> {
    let mut blocks: HashMap<&[u8], usize> = HashMap::new();
    for (number, block) in base.chunks_exact(BLOCK).enumerate() {
        blocks.entry(block).or_insert(number * BLOCK);
    }
    let (mut copies, mut done, mut at) = (Vec::new(), 0, 0);
    while at + BLOCK <= version.len() {
        let Some(&place) = blocks.get(&version[at..at + BLOCK]) else {
            at += 1;
            continue;
        };
        let before = base[..place].iter().rev().zip(version[done..at].iter().rev());
        let back = before.take_while(|(one, other)| one == other).count();
        let after = base[place..].iter().zip(&version[at..]);
        let len = back + after.take_while(|(one, other)| one == other).count();
        let (from, to) = ((place - back) as u64, (at - back) as u64);
        copies.push(Copied { from, to, len: len as u64 });
        at = at - back + len;
        done = at;
    }
    copies
}

#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
