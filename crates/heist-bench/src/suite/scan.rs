//! The suite `scan`: programs scan whole trees for secrets in turns; speed and accuracy.
//!
//! The first run of every contender warms the caches and is not timed; its findings are counted. In
//! the timed rounds the output goes to `/dev/null`. Progress goes to stderr, and each tree's table
//! goes to stdout as soon as it is complete.

use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, iter};

use clap::{Args, Subcommand, ValueEnum as _};
use serde::Serialize;

use crate::disturbance::Disturbance;
use crate::measure::interleave;
use crate::report::check_writable;
use crate::scan::contender::{ALL, READ_ONLY, ScanContender};
use crate::scan::corpus::SEED;
use crate::scan::findings::{ReportFormat, ReportedSecret};
use crate::scan::library;
use crate::scan::planted::{self, Planted};
use crate::scan::table::{self, Ground, ScanRow};
use crate::scan::trees::{self, ScanTree};
use crate::suite::hostile;
use crate::walk::contender::{Finder, Program};
use crate::walk::floor::{self, Question};
use crate::walk::stopwatch::{self, Lap};
use crate::walk::trees::{Folder, Size};

/// The file with the literals of heist's rules.
const LITERALS: &str = "literals.txt";

/// Runs of each contender on an empty tree.
const START_UPS: usize = 50;

/// A contender whose first run takes longer than this is not run again: it is far behind anyway.
const LONG_LAP_SECONDS: f64 = 60.0;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    other: Option<OtherSuite>,
    /// Trees to scan: planted, start-up, registry, dense, binary, small, scaling, tokens, letter,
    /// large, or the path of a directory [default: all named trees].
    #[arg(value_name = "TREE")]
    trees: Vec<OsString>,
    /// Use trees a tenth of the size (except tokens and letter), skip the large file, run 3 rounds.
    #[arg(long)]
    quick: bool,
    /// Timed runs of every contender on every tree [default: 7, or 3 with --quick].
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroUsize>,
    /// Folder in which trees are made and kept [default: `heist-bench-trees` in the system's
    /// temporary folder].
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Keep the planted corpus in this folder, which must be new or empty.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Seed of the planted corpus.
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
    /// Show how many secrets of every planted kind each tool found.
    #[arg(long)]
    by_kind: bool,
    /// Also write the results to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run only this contender, by its name in the table, and the read-only pass; may be repeated.
    #[arg(long = "peer", value_name = "NAME", value_delimiter = ',')]
    peers: Vec<String>,
    /// Path of the program heist [default: beside this program].
    #[arg(long, value_name = "PATH")]
    heist: Option<PathBuf>,
    /// Do not measure; remove the trees that were made, or only the named ones.
    #[arg(long, conflicts_with_all = ["json", "peers", "heist", "rounds", "corpus"])]
    remove: bool,
}

/// Suites about scans that do not race programs.
#[derive(Subcommand, Debug)]
enum OtherSuite {
    /// Search for texts that cost the most CPU time per byte.
    Hostile(hostile::Options),
}

impl Options {
    fn size(&self) -> Size {
        if self.quick { Size::Quick } else { Size::Full }
    }

    fn rounds(&self) -> usize {
        self.rounds.map_or(if self.quick { 3 } else { 7 }, NonZeroUsize::get)
    }
}

/// What to scan.
#[derive(Clone, Debug)]
enum ScanTarget {
    Tree(ScanTree),
    Path(PathBuf),
}

/// All results of a run.
#[derive(Debug, Default, Serialize)]
struct Results {
    races: Vec<ScanRow>,
    planted: Vec<planted::PlantedRow>,
}

impl Results {
    /// Writes the results. Called after each tree, so that an interrupted run keeps what it has.
    fn write(&self, path: Option<&Path>) -> Result<(), String> {
        let Some(path) = path else { return Ok(()) };
        let text = serde_json::to_string_pretty(self).expect("plain numbers and strings");
        fs::write(path, text + "\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// Measures the selected trees, or all of them, or removes them.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(OtherSuite::Hostile(options)) = &options.other {
        return hostile::run(options);
    }
    let targets = targets(options)?;
    let folder = Folder::new(options.keep.clone());
    if options.remove {
        return remove(&targets, &folder);
    }
    if let Some(path) = &options.json {
        check_writable(path)?;
    }
    let (entrants, missing) = entrants(&options.peers, options.heist.clone())?;
    let disturbance = Disturbance::watch();
    print(&format!(
        "scan, {} trees, {} rounds, warm caches\n\n{missing}\n",
        if options.quick { "quick" } else { "full" },
        options.rounds()
    ))?;
    let mut bench = Bench { options, folder, entrants, results: Results::default() };
    for target in targets {
        bench.measure(&target)?;
        bench.results.write(options.json.as_deref())?;
    }
    disturbance.warning().map_or(Ok(()), |warning| print(&format!("{warning}\n")))
}

fn targets(options: &Options) -> Result<Vec<ScanTarget>, String> {
    if options.trees.is_empty() {
        // A large file takes time and space, so `--quick` leaves it out.
        let wanted =
            |tree: &ScanTree| !(options.quick && !options.remove && *tree == ScanTree::Large);
        let trees = ScanTree::value_variants().iter().copied().filter(wanted);
        return Ok(trees.map(ScanTarget::Tree).collect());
    }
    let target = |name: &OsString| {
        let tree = name.to_str().and_then(|name| ScanTree::from_str(name, false).ok());
        let path = Path::new(name);
        match tree {
            Some(tree) => Ok(ScanTarget::Tree(tree)),
            None if path.is_dir() => Ok(ScanTarget::Path(path.to_owned())),
            None => {
                let names: Vec<_> =
                    ScanTree::value_variants().iter().map(|tree| tree.name()).collect();
                Err(format!(
                    "{} is neither a directory nor one of the trees: {}",
                    path.display(),
                    names.join(", ")
                ))
            }
        }
    };
    options.trees.iter().map(target).collect()
}

fn remove(targets: &[ScanTarget], folder: &Folder) -> Result<(), String> {
    for name in ["scan-empty", "scan-literals"] {
        folder.remove_made(name)?;
    }
    for target in targets {
        match target {
            ScanTarget::Tree(tree) => {
                for size in [Size::Full, Size::Quick] {
                    for made in tree.made(size) {
                        if folder.remove_made(&made.name)? {
                            eprintln!("removed {}", made.name);
                        }
                    }
                }
            }
            ScanTarget::Path(path) => {
                return Err(format!(
                    "{} was not made by heist-bench and is not removed; name a tree instead",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

/// The contenders that take part, with their programs.
type Entrants = Vec<(&'static ScanContender, PathBuf)>;

fn entrants(wanted: &[String], heist: Option<PathBuf>) -> Result<(Entrants, String), String> {
    let is_known = |name: &String| ALL.iter().any(|one| one.name == name);
    if let Some(unknown) = wanted.iter().find(|name| !is_known(name)) {
        let known: Vec<_> = ALL.iter().map(|one| one.name).collect();
        return Err(format!("there is no contender `{unknown}`; choose from {}", known.join(", ")));
    }
    let finder = Finder::new(heist)?;
    let (mut entrants, mut missing) = (Vec::new(), String::new());
    for one in ALL {
        if one.name != READ_ONLY
            && !wanted.is_empty()
            && !wanted.iter().any(|name| name == one.name)
        {
            continue;
        }
        match finder.find(one.program) {
            Ok(program) => entrants.push((one, program)),
            Err(reason) => missing += &format!("{} is missing: {reason}\n", one.name),
        }
    }
    Ok((entrants, missing))
}

/// The state of a run of the suite.
struct Bench<'a> {
    options: &'a Options,
    folder: Folder,
    entrants: Entrants,
    results: Results,
}

impl Bench<'_> {
    fn measure(&mut self, target: &ScanTarget) -> Result<(), String> {
        match target {
            ScanTarget::Tree(ScanTree::Planted) => self.plant(),
            ScanTarget::Tree(ScanTree::StartUp) => self.start_up(),
            ScanTarget::Path(path) => self.race(&path.display().to_string(), path, false).map(drop),
            ScanTarget::Tree(tree) => match trees::ensure(*tree, self.options.size(), &self.folder)
            {
                Err(reason) => print(&format!("## {}\n\nSkipped: {reason}\n\n", tree.name())),
                Ok(paths) => self.race_all(*tree, &paths),
            },
        }
    }

    /// Measures the trees that belong together, and compares them if there are two.
    fn race_all(&mut self, tree: ScanTree, paths: &[(String, PathBuf)]) -> Result<(), String> {
        let mut rows = Vec::new();
        for (name, path) in paths {
            rows.push(self.race(name, path, tree.is_about_us())?);
        }
        match &rows[..] {
            [first, second] => print(&format!("{}\n", table::comparison(first, second))),
            _ => Ok(()),
        }
    }

    fn plant(&mut self) -> Result<(), String> {
        let planted = Planted::new(self.options.seed, self.options.corpus.as_deref())?;
        let rows = planted.scan(&self.entrants)?;
        print(&format!("## planted\n\n{}\n\n{}\n", planted.summary(), planted::markdown(&rows)))?;
        if self.options.by_kind {
            print(&format!("{}\n", planted.by_kind(&rows)))?;
        }
        self.results.planted = rows;
        Ok(())
    }

    /// Returns the path of a file with the literals of heist's rules.
    fn literals(&self) -> Result<PathBuf, String> {
        let text = library::literals();
        let summary = format!("{} literals, {} bytes", text.lines().count(), text.len());
        let make = |path: &Path| fs::write(path.join(LITERALS), &text);
        Ok(self.folder.ensure_made("scan-literals", &summary, make)?.join(LITERALS))
    }

    fn start_up(&mut self) -> Result<(), String> {
        let path = self.folder.ensure_made("scan-empty", "nothing", |_path| Ok(()))?;
        let ground = Ground { name: "start-up".to_owned(), files: 0, bytes: 0 };
        let rounds = if self.options.quick { START_UPS / 5 } else { START_UPS };
        self.time(&ground, &path, false, rounds).map(drop)
    }

    fn race(&mut self, name: &str, path: &Path, is_about_us: bool) -> Result<Vec<ScanRow>, String> {
        let totals = floor::walk(path, Question::Sizes, NonZeroUsize::MIN);
        let ground = Ground {
            name: name.to_owned(),
            files: totals.files,
            bytes: totals.apparent_bytes - totals.directory_bytes,
        };
        self.time(&ground, path, is_about_us, self.options.rounds())
    }

    fn time(
        &mut self,
        ground: &Ground,
        path: &Path,
        is_about_us: bool,
        rounds: usize,
    ) -> Result<Vec<ScanRow>, String> {
        let literals = self.literals()?;
        let mut racers: Vec<ScanRacer> = self
            .entrants
            .iter()
            // A contender that was named with `--peer` takes part in every tree.
            .filter(|(one, _)| {
                let is_peer = matches!(one.program, Program::OnPath(_));
                !(is_about_us && is_peer && self.options.peers.is_empty())
            })
            .map(|(one, program)| ScanRacer::new(one, one.command(program, path, &literals)))
            .collect();
        let started = Instant::now();
        let laps = interleave(rounds, &mut racers, ScanRacer::run);
        let laps: Vec<Vec<Lap>> =
            laps.into_iter().map(|laps| laps.into_iter().collect()).collect::<Result<_, _>>()?;
        eprintln!("{}: {:.1} s", ground.name, started.elapsed().as_secs_f64());
        let floor = racers.iter().position(|racer| racer.contender.name == READ_ONLY);
        let floor = floor.map(|position| laps[position].clone());
        let rows: Vec<ScanRow> = iter::zip(&racers, laps)
            .map(|(racer, laps)| {
                ScanRow::new(ground, racer.contender.name, racer.findings, laps, floor.as_deref())
            })
            .collect();
        print(&format!(
            "## {}\n\n{} files, {} bytes.\n\n{}\n",
            ground.name,
            ground.files,
            ground.bytes,
            table::markdown(&rows)
        ))?;
        self.results.races.extend(rows.iter().cloned());
        Ok(rows)
    }
}

/// A contender on a tree.
struct ScanRacer {
    contender: &'static ScanContender,
    command: Vec<OsString>,
    /// Findings of the first run.
    findings: Option<usize>,
    has_run: bool,
    /// The lap of a first run that took so long that it is not repeated.
    given_up: Option<Lap>,
}

impl ScanRacer {
    fn new(contender: &'static ScanContender, command: Vec<OsString>) -> Self {
        Self { contender, command, findings: None, has_run: false, given_up: None }
    }

    fn run(&mut self) -> Result<Lap, String> {
        if let Some(lap) = self.given_up {
            return Ok(lap);
        }
        let format = self.contender.format;
        let wanted = !self.has_run && format != ReportFormat::None;
        let read =
            |output: &mut dyn Read| -> io::Result<Vec<ReportedSecret>> { format.read(output) };
        let (lap, findings) = stopwatch::measure(&self.command, wanted.then_some(read))?;
        if let Some(findings) = findings {
            self.findings = Some(findings.len());
        }
        self.has_run = true;
        if lap.wall_seconds > LONG_LAP_SECONDS {
            self.given_up = Some(lap);
        }
        Ok(lap)
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| format!("cannot print the results: {error}"))
}
