//! The suite `git`: programs scan git histories in turns.
//!
//! The first run of every contender warms the caches and is not timed. Progress goes to stderr, and
//! each repository's table goes to stdout as soon as it is complete. The floor indexes and decodes
//! every blob, bases first, and looks at none of them.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use clap::{Args, ValueEnum as _};
use serde::Serialize;

use crate::disturbance::Disturbance;
use crate::git::made::MadeHistory;
use crate::measure::{Series, interleave};
use crate::report::check_writable;
use crate::scan::table::trouble;
use crate::walk::contender::{Finder, Program};
use crate::walk::stopwatch::{self, Lap};
use crate::walk::trees::Folder;

/// Placeholder for the path of the repository in a contender's arguments.
const REPOSITORY: &str = "{repository}";

/// Placeholder for the number of threads.
const THREADS: &str = "{threads}";

/// The name of the yardstick.
const FLOOR: &str = "floor";

/// A contender whose first run takes longer than this is not run again: it is far behind anyway.
const LONG_LAP_SECONDS: f64 = 120.0;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Histories to scan: commits, log, binaries, files, dense, or the path of a repository
    /// [default: all made histories].
    #[arg(value_name = "HISTORY")]
    histories: Vec<OsString>,
    /// Timed runs of every contender [default: 5].
    #[arg(long, value_name = "N", default_value = "5")]
    rounds: NonZeroUsize,
    /// Threads of heist's contenders [default: 1, so that CPU times compare].
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
    /// Folder in which histories are made and kept [default: `heist-bench-trees` in the system's
    /// temporary folder].
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Run only this contender, by its name in the table, and the floor; may be repeated.
    #[arg(long = "peer", value_name = "NAME", value_delimiter = ',')]
    peers: Vec<String>,
    /// Path of the program heist [default: beside this program].
    #[arg(long, value_name = "PATH")]
    heist: Option<PathBuf>,
    /// Also write the results to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// One way to scan a history.
struct GitContender {
    name: &'static str,
    program: Program,
    arguments: &'static [&'static str],
}

const ALL: &[GitContender] = &[
    GitContender {
        name: FLOOR,
        program: Program::Ourselves,
        arguments: &["git-library", "floor", REPOSITORY, "--threads", THREADS],
    },
    GitContender {
        name: "whole",
        program: Program::Ourselves,
        arguments: &["git-library", "whole", REPOSITORY, "--threads", THREADS],
    },
    GitContender {
        name: "changes",
        program: Program::Ourselves,
        arguments: &["git-library", "changes", REPOSITORY, "--threads", THREADS],
    },
    GitContender {
        name: "attribution",
        program: Program::Ourselves,
        arguments: &["git-library", "attribution", REPOSITORY, "--threads", THREADS],
    },
    GitContender {
        name: "heist",
        program: Program::Heist,
        arguments: &[
            "scan",
            "--history",
            "--no-config",
            "--format",
            "jsonl",
            "-q",
            "-j",
            THREADS,
            REPOSITORY,
        ],
    },
    GitContender {
        name: "kingfisher",
        program: Program::OnPath(&["kingfisher"]),
        arguments: &[
            "scan",
            "--no-validate",
            "--git-history",
            "full",
            "--format",
            "jsonl",
            REPOSITORY,
        ],
    },
    GitContender {
        name: "gitleaks",
        program: Program::OnPath(&["gitleaks"]),
        arguments: &["git", "--no-banner", "--log-opts=--all", REPOSITORY],
    },
    GitContender {
        name: "trufflehog",
        program: Program::OnPath(&["trufflehog"]),
        arguments: &["git", "--no-verification", "--no-update", "--json", REPOSITORY],
    },
];

impl GitContender {
    fn command(&self, program: &Path, repository: &Path, threads: NonZeroUsize) -> Vec<OsString> {
        let url = format!("file://{}", repository.display());
        let arguments = self.arguments.iter().map(|argument| match *argument {
            REPOSITORY if self.name == "trufflehog" => url.clone().into(),
            REPOSITORY => repository.into(),
            THREADS => threads.to_string().into(),
            argument => argument.into(),
        });
        iter::once(program.into()).chain(arguments).collect()
    }
}

/// The result of one contender on one history.
#[derive(Clone, Debug, Serialize)]
struct GitRow {
    history: String,
    contender: String,
    /// Median over the rounds.
    cpu_seconds: f64,
    wall_seconds: f64,
    peak_bytes: f64,
    /// The median over the rounds of the ratio of CPU time to that of the floor.
    cpu_ratio: Option<f64>,
    spread_percent: Option<f64>,
    trouble: Option<String>,
    rounds: Vec<Lap>,
}

/// Measures the selected histories, or all made ones.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(path) = &options.json {
        check_writable(path)?;
    }
    let finder = Finder::new(options.heist.clone())?;
    let is_known = |name: &String| ALL.iter().any(|one| one.name == name);
    if let Some(unknown) = options.peers.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no contender `{unknown}`"));
    }
    let mut entrants = Vec::new();
    for one in ALL {
        let is_named = options.peers.iter().any(|name| name == one.name);
        if one.name != FLOOR && !options.peers.is_empty() && !is_named {
            continue;
        }
        match finder.find(one.program) {
            Ok(program) => entrants.push((one, program)),
            Err(reason) => println!("{} is missing: {reason}\n", one.name),
        }
    }
    let folder = Folder::new(options.keep.clone());
    let disturbance = Disturbance::watch();
    let mut rows = Vec::new();
    for (name, path) in histories(options, &folder)? {
        let measured = measure(&name, &path, &entrants, options)?;
        println!("## {name}\n\n{}", markdown(&measured));
        rows.extend(measured);
        if let Some(path) = &options.json {
            let text = serde_json::to_string_pretty(&rows).expect("plain numbers and strings");
            fs::write(path, text + "\n")
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    if let Some(warning) = disturbance.warning() {
        println!("{warning}");
    }
    Ok(())
}

fn histories(options: &Options, folder: &Folder) -> Result<Vec<(String, PathBuf)>, String> {
    let made = |history: MadeHistory| {
        let name = format!("git-{}", history.name());
        let make = |path: &Path| -> io::Result<()> { history.make(path) };
        Ok((history.name().to_owned(), folder.ensure_made(&name, history.name(), make)?))
    };
    if options.histories.is_empty() {
        return MadeHistory::value_variants().iter().map(|history| made(*history)).collect();
    }
    let history = |name: &OsString| {
        let known = name.to_str().and_then(|name| MadeHistory::from_str(name, false).ok());
        let path = Path::new(name);
        match known {
            Some(history) => made(history),
            None if path.is_dir() => Ok((path.display().to_string(), path.to_owned())),
            None => Err(format!("{} is neither a repository nor a made history", path.display())),
        }
    };
    options.histories.iter().map(history).collect()
}

fn measure(
    name: &str,
    path: &Path,
    entrants: &[(&GitContender, PathBuf)],
    options: &Options,
) -> Result<Vec<GitRow>, String> {
    struct Racer {
        command: Vec<OsString>,
        given_up: Option<Lap>,
    }
    let racer = |(one, program): &(&GitContender, PathBuf)| Racer {
        command: one.command(program, path, options.threads),
        given_up: None,
    };
    let mut racers: Vec<Racer> = entrants.iter().map(racer).collect();
    let laps = interleave(options.rounds.get(), &mut racers, |racer| {
        if let Some(lap) = racer.given_up {
            return Ok(lap);
        }
        let unread = None::<fn(&mut dyn io::Read) -> io::Result<()>>;
        let (lap, _) = stopwatch::measure(&racer.command, unread)?;
        racer.given_up = (lap.wall_seconds > LONG_LAP_SECONDS).then_some(lap);
        Ok::<Lap, String>(lap)
    });
    let laps: Vec<Vec<Lap>> =
        laps.into_iter().map(|laps| laps.into_iter().collect()).collect::<Result<_, _>>()?;
    let floor = entrants.iter().position(|(one, _)| one.name == FLOOR);
    let floor: Option<Vec<Lap>> = floor.map(|at| laps[at].clone());
    let rows = iter::zip(entrants, laps).map(|((one, _), rounds)| {
        let series = |value: fn(&Lap) -> f64| Series::new(rounds.iter().map(value));
        let ratio = |(lap, floor): (&Lap, &Lap)| lap.cpu_seconds / floor.cpu_seconds;
        let cpu = series(|lap| lap.cpu_seconds);
        GitRow {
            history: name.to_owned(),
            contender: one.name.to_owned(),
            cpu_seconds: cpu.median(),
            wall_seconds: series(|lap| lap.wall_seconds).median(),
            peak_bytes: series(|lap| lap.peak_bytes as f64).median(),
            cpu_ratio: floor
                .as_ref()
                .map(|floor| Series::new(iter::zip(&rounds, floor).map(ratio)).median()),
            spread_percent: cpu.spread_percent(),
            trouble: rounds.iter().find_map(|lap| trouble(lap.end)),
            rounds,
        }
    });
    Ok(rows.collect())
}

fn markdown(rows: &[GitRow]) -> String {
    let mut table = String::from(
        "| contender | CPU | spread | to the floor | time | peak memory |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for row in rows {
        let name = match &row.trouble {
            Some(trouble) => format!("{} ({trouble})", row.contender),
            None => row.contender.clone(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {name} | {:.2} s | {} | {} | {:.2} s | {:.0} MB |",
            row.cpu_seconds,
            row.spread_percent.map_or("-".to_owned(), |spread| format!("{spread:.0} %")),
            row.cpu_ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            row.wall_seconds,
            row.peak_bytes / 1e6,
        );
    }
    table
}
