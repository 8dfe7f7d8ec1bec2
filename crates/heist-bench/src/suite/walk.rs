//! The suite `walk`: programs walk whole trees in turns.
//!
//! The first run of every contender warms the caches and is not timed; its output is compared with
//! the truth. Long outputs are read only in that run and go to `/dev/null` in the timed rounds;
//! short ones are compared every time. Progress goes to stderr, and the table of each tree and
//! section goes to stdout as soon as it is complete.

use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{fs, iter};

use clap::{Args, ValueEnum as _};

use crate::disturbance::Disturbance;
use crate::measure::interleave;
use crate::report::check_writable;
use crate::walk::answer::{AnswerCheck, Claim, Reference};
use crate::walk::contender::{self, FLOOR, Finder, Section, WalkContender};
use crate::walk::stopwatch::{self, End, Lap};
use crate::walk::table::{self, Entrant, WalkRow};
use crate::walk::trees::{Folder, Size, WalkTree};

/// Writing to this file makes the kernel drop its caches.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Trees to walk: million, wide, flat, deep, links, registry, or the path of a directory
    /// [default: all named trees].
    #[arg(value_name = "TREE")]
    trees: Vec<OsString>,
    /// Use trees a tenth of the size and run 3 rounds.
    #[arg(long)]
    quick: bool,
    /// Timed runs of every contender on every tree [default: 7, or 3 with --quick].
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroUsize>,
    /// Folder in which trees are made and kept [default: `heist-bench-trees` in the system's
    /// temporary folder].
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Also write the results to this file, as a JSON array of objects.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Drop the kernel's caches before each run; needs root.
    #[arg(long)]
    cold: bool,
    /// Run only this contender, by its name in the table, and the floor; may be repeated.
    #[arg(long = "peer", value_name = "NAME", value_delimiter = ',')]
    peers: Vec<String>,
    /// Path of the program heist [default: beside this program].
    #[arg(long, value_name = "PATH")]
    heist: Option<PathBuf>,
    /// Do not measure; remove the trees that were made, or only the named ones.
    #[arg(long, conflicts_with_all = ["json", "cold", "peers", "heist", "rounds"])]
    remove: bool,
}

impl Options {
    fn size(&self) -> Size {
        if self.quick { Size::Quick } else { Size::Full }
    }

    fn rounds(&self) -> usize {
        self.rounds.map_or(if self.quick { 3 } else { 7 }, NonZeroUsize::get)
    }
}

/// What to walk.
#[derive(Clone, Debug)]
enum WalkTarget {
    Tree(WalkTree),
    Path(PathBuf),
}

/// Measures the selected trees, or all of them, or removes them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let targets = targets(&options.trees)?;
    let folder = Folder::new(options.keep.clone());
    if options.remove {
        return remove(&targets, &folder, options.quick);
    }
    if let Some(path) = &options.json {
        check_writable(path)?;
    }
    if options.cold {
        forget_files()?;
    }
    let entrants = entrants(&options.peers, options.heist.clone())?;
    let disturbance = Disturbance::watch();
    print(&preamble(options, &entrants))?;
    let mut rows: Vec<WalkRow> = Vec::new();
    for target in targets {
        let (name, path) = match target {
            WalkTarget::Path(path) => (path.display().to_string(), Ok(path)),
            WalkTarget::Tree(tree) => (tree.name().to_owned(), folder.ensure(tree, options.size())),
        };
        match path.and_then(|path| Ok((Reference::of(&path)?, path))) {
            Ok((reference, path)) => {
                race(options, &name, &path, &reference, &entrants.taking_part, &mut rows)?;
            }
            Err(reason) => print(&format!("## {name}\n\nSkipped: {reason}\n\n"))?,
        }
    }
    disturbance.warning().map_or(Ok(()), |warning| print(&format!("{warning}\n")))
}

fn targets(named: &[OsString]) -> Result<Vec<WalkTarget>, String> {
    if named.is_empty() {
        return Ok(WalkTree::value_variants().iter().copied().map(WalkTarget::Tree).collect());
    }
    let target = |name: &OsString| {
        let tree = name.to_str().and_then(|name| WalkTree::from_str(name, false).ok());
        let path = Path::new(name);
        match tree {
            Some(tree) => Ok(WalkTarget::Tree(tree)),
            None if path.is_dir() => Ok(WalkTarget::Path(path.to_owned())),
            None => Err(format!(
                "{} is neither a directory nor one of the trees: {}",
                path.display(),
                WalkTree::value_variants()
                    .iter()
                    .map(|tree| tree.name())
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        }
    };
    named.iter().map(target).collect()
}

fn remove(targets: &[WalkTarget], folder: &Folder, quick_only: bool) -> Result<(), String> {
    let sizes: &[Size] = if quick_only { &[Size::Quick] } else { &[Size::Full, Size::Quick] };
    for target in targets {
        match target {
            WalkTarget::Tree(tree) => {
                for size in sizes {
                    if folder.remove(*tree, *size)? {
                        eprintln!("removed {} ({size:?})", tree.name());
                    }
                }
            }
            WalkTarget::Path(path) => {
                return Err(format!(
                    "{} was not made by heist-bench and is not removed; name a tree instead",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

/// The contenders that take part, with their programs, and the reasons why others do not.
struct Entrants {
    taking_part: Vec<(&'static WalkContender, PathBuf)>,
    missing: Vec<String>,
}

fn entrants(wanted: &[String], heist: Option<PathBuf>) -> Result<Entrants, String> {
    let mut known: Vec<&str> = contender::all().map(|one| one.name).collect();
    known.sort_unstable();
    known.dedup();
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("there is no contender `{unknown}`; choose from {}", known.join(", ")));
    }
    let finder = Finder::new(heist)?;
    let mut entrants = Entrants { taking_part: Vec::new(), missing: Vec::new() };
    for one in contender::all() {
        if one.name != FLOOR && !wanted.is_empty() && !wanted.iter().any(|name| name == one.name) {
            continue;
        }
        match finder.find(one.program) {
            Ok(program) => entrants.taking_part.push((one, program)),
            Err(reason) => {
                let line = format!("{} is missing: {reason}", one.name);
                if entrants.missing.last() != Some(&line) {
                    entrants.missing.push(line);
                }
            }
        }
    }
    Ok(entrants)
}

/// Returns the text before the first table: conditions, versions, missing contenders.
fn preamble(options: &Options, entrants: &Entrants) -> String {
    let mut text = format!(
        "walk, {} trees, {} rounds, {} caches\n\n",
        if options.quick { "quick" } else { "full" },
        options.rounds(),
        if options.cold { "cold" } else { "warm" },
    );
    let mut programs: Vec<&Path> = entrants
        .taking_part
        .iter()
        .filter(|(one, _)| matches!(one.program, contender::Program::OnPath(_)))
        .map(|(_, program)| program.as_path())
        .collect();
    programs.sort_unstable();
    programs.dedup();
    let versions: Vec<String> = programs.into_iter().filter_map(version).collect();
    if !versions.is_empty() {
        text += &format!("Peers: {}.\n", versions.join("; "));
    }
    for line in &entrants.missing {
        text += &format!("{line}\n");
    }
    if let Some(bytes) = stopwatch::least_peak_bytes() {
        let least = bytes as f64 / f64::from(1 << 20);
        text += &format!("Peak memory below {least:.1} MiB cannot be measured.\n");
    }
    text + "\n"
}

/// Returns the first line that a program prints for `--version`.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = program.file_name()?.to_string_lossy().into_owned();
    // Some programs print the version without their name.
    Some(if line.to_lowercase().contains(&name) { line } else { format!("{name} {line}") })
}

/// Measures both sections on one tree.
fn race(
    options: &Options,
    name: &str,
    tree: &Path,
    reference: &Reference,
    entrants: &[(&'static WalkContender, PathBuf)],
    rows: &mut Vec<WalkRow>,
) -> Result<(), String> {
    print(&format!(
        "## {name}\n\n{} names, {} of them files; {} bytes on disk, {} apparent.\n\n",
        reference.names, reference.files, reference.disk_bytes, reference.apparent_bytes
    ))?;
    for section in Section::ALL {
        let mut racers: Vec<WalkRacer> = entrants
            .iter()
            .filter(|(one, _)| one.section == section)
            .map(|(one, program)| WalkRacer::new(one, one.command(program, tree)))
            .collect();
        // The selected peers may not have a contender in this section. The floor alone is worth
        // running only if it was selected.
        if racers.len() == 1 && !options.peers.is_empty() && options.peers != [FLOOR] {
            continue;
        }
        let started = Instant::now();
        let laps = interleave(options.rounds(), &mut racers, |racer| {
            let forgotten = if options.cold { forget_files() } else { Ok(()) };
            forgotten.and_then(|()| racer.run(reference))
        });
        let laps: Vec<Vec<Lap>> =
            laps.into_iter().map(|laps| laps.into_iter().collect()).collect::<Result<_, _>>()?;
        eprintln!("{name}, {section}: {:.1} s", started.elapsed().as_secs_f64());
        let floor = laps.first().cloned().unwrap_or_default();
        let results: Vec<WalkRow> = iter::zip(&racers, laps)
            .map(|(racer, laps)| WalkRow::new(racer.entrant(name, section), laps, &floor))
            .collect();
        print(&format!("### {name}: {section}\n\n{}\n", table::markdown(&results)))?;
        rows.extend(results);
        // After each section, so that an interrupted run keeps what it has.
        if let Some(path) = &options.json {
            let text = serde_json::to_string_pretty(rows).expect("plain numbers and strings");
            fs::write(path, text + "\n")
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// A contender on a tree, and what it has answered so far.
struct WalkRacer {
    contender: &'static WalkContender,
    command: Vec<OsString>,
    /// The answer of the first run, or of the first run whose answer was wrong.
    answer: Option<(AnswerCheck, End)>,
    /// The lap of a run that hit the time limit; the contender is not run again.
    given_up: Option<Lap>,
}

impl WalkRacer {
    fn new(contender: &'static WalkContender, command: Vec<OsString>) -> Self {
        Self { contender, command, answer: None, given_up: None }
    }

    fn run(&mut self, reference: &Reference) -> Result<Lap, String> {
        if let Some(lap) = self.given_up {
            return Ok(lap);
        }
        let format = self.contender.format;
        let wanted = self.answer.is_none() || !format.is_long();
        let read = |output: &mut dyn Read| -> io::Result<Vec<Claim>> { format.read(output) };
        let (lap, claims) = stopwatch::measure(&self.command, wanted.then_some(read))?;
        if let Some(claims) = claims {
            let verdict = AnswerCheck::of(&claims, reference);
            if self.answer.is_none_or(|(before, _)| before == AnswerCheck::Right) {
                self.answer = Some((verdict, lap.end));
            }
        }
        if lap.end == End::TimeLimit {
            self.given_up = Some(lap);
        }
        Ok(lap)
    }

    fn entrant(&self, tree: &str, section: Section) -> Entrant {
        let (verdict, end) = self.answer.unwrap_or((AnswerCheck::Silent, End::Code(0)));
        Entrant {
            tree: tree.to_owned(),
            section: section.to_string(),
            contender: self.contender.name.to_owned(),
            right: verdict == AnswerCheck::Right,
            answer: verdict.show(end),
        }
    }
}

/// Makes the kernel write back dirty data and drop its caches.
fn forget_files() -> Result<(), String> {
    rustix::fs::sync();
    fs::write(DROP_CACHES, "3").map_err(|error| {
        format!("cannot write to {DROP_CACHES}: {error}; run --cold as root, or leave it out")
    })
}

fn print(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| format!("cannot print the results: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_selected_by_name_or_path() {
        assert_eq!(targets(&[]).expect("all").len(), WalkTree::value_variants().len());
        let folder = tempfile::tempdir().expect("can create a temporary folder");
        let named = targets(&["deep".into(), folder.path().into()]).expect("both are there");
        assert!(matches!(&named[0], WalkTarget::Tree(WalkTree::Deep)));
        assert!(matches!(&named[1], WalkTarget::Path(path) if path == folder.path()));
        let error = targets(&["depp".into()]).expect_err("no such tree");
        assert!(error.contains("depp") && error.contains("deep"), "{error}");
    }

    #[test]
    fn selected_peers_run_beside_the_floor() {
        let chosen = entrants(&["walkdir".to_owned()], None).expect("it is known");
        let names: Vec<_> = chosen.taking_part.iter().map(|(one, _)| one.name).collect();
        assert_eq!(names, [FLOOR, FLOOR, "walkdir", "walkdir"]);
        assert!(
            entrants(&["walkdirr".to_owned()], None).is_err_and(|error| error.contains("walkdir"))
        );
    }

    #[test]
    fn only_trees_that_were_made_here_are_removed() {
        let folder = tempfile::tempdir().expect("can create a temporary folder");
        let target = WalkTarget::Path(folder.path().to_owned());
        remove(&[target], &Folder::new(Some(folder.path().join("trees"))), false)
            .expect_err("the benchmark did not make it");
        assert!(folder.path().exists());
    }
}
