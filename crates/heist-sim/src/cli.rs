//! The command line of the simulator.
//!
//! Results go to the standard output, progress and errors to the standard error stream. Exit codes:
//! 0 if no schedule failed, 1 if one did, 2 if the command could not be carried out.

use clap::{Args, Parser, Subcommand};
use heist::__internal::sync::plant::{self, Plant};
use heist_sim::explore::{Campaign, Found, explore};
use heist_sim::machine::Outcome;
use heist_sim::minimise::minimise;
use heist_sim::plan::{DriverKind, Plan};
use heist_sim::plants::{Verdict, verdict};
use heist_sim::play::play;
use heist_sim::report::interleaving;
use heist_sim::scale::Options;
use heist_sim::scenario::{self, Scenario};
use heist_sim::schedule::{Schedule, plant_by_name};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Runs heist's real scheduler on a simulated machine, where every interleaving of threads can be
/// explored and replayed
#[derive(Parser)]
#[command(name = "heist-sim", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play schedules until one fails or the limit is reached. Exits with 1 if one failed
    Run(RunArgs),
    /// Play one schedule again and print every step
    Replay(ReplayArgs),
    /// Simplify a failing schedule: remove every part that the failure does not need
    Minimise(MinimiseArgs),
    /// Measure the same workloads with 2 to 256 workers under each protocol
    Scale {
        /// Directory for `scale.svg`, `scale.json` and the tables of `SCALE.md`
        #[arg(long, default_value = "docs")]
        out: PathBuf,
    },
    /// Find every planted bug again and write its minimised schedule
    Corpus {
        /// Directory for the schedules
        folder: PathBuf,
    },
    /// List the scenarios and the bugs that can be planted
    List,
}

#[derive(Args)]
struct RunArgs {
    /// Stop after this many seconds [default: 60, unless `--schedules` or `--exhaustive` is given]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Stop after this many schedules
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    schedules: Option<u64>,
    /// Seed of the random numbers that choose the schedules
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play only this scenario
    #[arg(long)]
    scenario: Option<String>,
    /// Plant this bug
    #[arg(long, env = "HEIST_SIM_PLANT", value_parser = plant_by_name)]
    plant: Option<Plant>,
    /// Play every schedule with at most this many deviations from the default schedule, instead of
    /// random ones. Needs `--scenario`
    #[arg(long, requires = "scenario", conflicts_with_all = ["jobs", "keep_going"])]
    exhaustive: Option<u32>,
    /// Number of schedules to play in parallel [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// Continue after a failure, and count the failures
    #[arg(long)]
    keep_going: bool,
    /// Directory for the schedules that fail
    #[arg(long, default_value = "failures")]
    out: PathBuf,
}

#[derive(Args)]
struct ReplayArgs {
    /// SCENARIO/DRIVER/SEED, or a file written by `run` or `minimise`
    #[arg(env = "HEIST_SIM_SEED")]
    schedule: String,
    /// Plant this bug. Not needed for a file, which names its bug
    #[arg(long, env = "HEIST_SIM_PLANT", value_parser = plant_by_name)]
    plant: Option<Plant>,
}

#[derive(Args)]
struct MinimiseArgs {
    #[command(flatten)]
    replay: ReplayArgs,
    /// File for the minimised schedule
    #[arg(long, default_value = "minimised.json")]
    out: PathBuf,
}

pub(crate) fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run(&args),
        Command::Replay(args) => replay(&args),
        Command::Minimise(args) => minimise_one(&args),
        Command::Scale { out } => scale(&out),
        Command::Corpus { folder } => write_corpus(&folder),
        Command::List => list(),
    };
    result.unwrap_or_else(|error| {
        eprintln!("heist-sim: {error}");
        ExitCode::from(2)
    })
}

fn run(args: &RunArgs) -> Result<ExitCode, String> {
    if let Some(name) = &args.scenario {
        scenario_by_name(name)?;
    }
    // Fail before the first schedule rather than when there is a failure to save.
    std::fs::create_dir_all(&args.out)
        .map_err(|error| format!("cannot create the directory {}: {error}", args.out.display()))?;
    if let Some(bound) = args.exhaustive {
        return run_exhaustive(args, bound);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign {
        seed: args.seed,
        scenario: args.scenario.clone(),
        plant: args.plant,
        schedules_max: args.schedules.unwrap_or(u64::MAX),
        time_max: args.time_max(Duration::from_secs(60)),
        jobs: args.jobs.map_or(cores, |jobs| jobs as usize),
        stop_at_failure: !args.keep_going,
    };
    let progress = Progress::new();
    let tally = campaign.run(&|schedules, failures| progress.show(schedules, failures));
    progress.finish();
    let printed = tally.found.len().min(if args.keep_going { PRINTED_MAX } else { 1 });
    for found in &tally.found[..printed] {
        explain(found, args)?;
    }
    if printed as u64 != tally.failures {
        say(format_args!("printed {printed} of {} failures", tally.failures));
    }
    say(format_args!(
        "{} steps, {} per schedule",
        tally.steps,
        tally.steps / tally.schedules.max(1)
    ));
    say(format_args!("schedules: {}, failures: {}", tally.schedules, tally.failures));
    Ok(if tally.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The number of failures that `run --keep-going` prints in full. Further ones are only counted.
const PRINTED_MAX: usize = 5;

impl RunArgs {
    /// Returns the time limit: `otherwise` if the user gave no limit at all.
    fn time_max(&self, otherwise: Duration) -> Duration {
        let unlimited = if self.schedules.is_some() { Duration::MAX } else { otherwise };
        self.seconds.map_or(unlimited, Duration::from_secs)
    }
}

/// Returns the library scenario or generated scenario with this name.
fn scenario_by_name(name: &str) -> Result<Rc<Scenario>, String> {
    let plan = Plan { scenario: name.to_owned(), driver: DriverKind::Random, seed: 0 };
    plan.scenario()
}

fn run_exhaustive(args: &RunArgs, bound: u32) -> Result<ExitCode, String> {
    let name = args.scenario.as_deref().unwrap_or("standard");
    let scenario = scenario_by_name(name)?;
    plant::set(args.plant);
    let progress = Progress::new();
    let limits = (args.schedules.unwrap_or(u64::MAX), args.time_max(Duration::MAX));
    let explored = explore(&scenario, bound, limits, None, |schedules| progress.show(schedules, 0));
    progress.finish();
    let failures = u64::from(explored.found.is_some());
    if let Some((failure, decisions)) = explored.found {
        let plant = args.plant.map(|plant| format!("{plant:?}"));
        let origin = format!("{name}, every schedule with at most {bound} deviations");
        let scenario = (*scenario).clone();
        let schedule = Schedule { origin, plant, failure, scenario, decisions };
        let path = args.out.join(format!("{name}-exhaustive.json"));
        print_schedule(&schedule, &path)?;
    } else if explored.complete {
        say(format_args!("played every schedule of {name} with at most {bound} deviations"));
    } else {
        say(format_args!(
            "stopped at the limit, before playing every schedule with at most {bound} deviations"
        ));
    }
    say(format_args!("schedules: {}, failures: {failures}", explored.schedules));
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Saves a failing schedule, prints the command that replays it, then minimises and prints it.
fn explain(found: &Found, args: &RunArgs) -> Result<(), String> {
    let Some(schedule) = Schedule::of_plan(&found.plan, args.plant)? else {
        return Err(format!(
            "{} failed once but not again, so the simulation is not deterministic",
            found.plan
        ));
    };
    let name = found.plan.to_string().replace('/', "-");
    let path = args.out.join(format!("{name}.json"));
    schedule.write(&path)?;
    say(format_args!("failure after {} schedules: {}", found.after, found.failure));
    let plant = args.plant.map(|plant| format!(" HEIST_SIM_PLANT={plant:?}")).unwrap_or_default();
    say(format_args!("HEIST_SIM_SEED={}{plant} target-sim/release/heist-sim replay", found.plan));
    say(format_args!("written to {}", path.display()));
    let minimised = minimise(&schedule, &mut |text| eprintln!("minimising: {text}"))?;
    print_schedule(&minimised, &args.out.join(format!("{name}-minimised.json")))
}

/// Writes a schedule to a file, then replays it and prints every step.
fn print_schedule(schedule: &Schedule, path: &Path) -> Result<(), String> {
    schedule.write(path)?;
    let outcome = schedule.replay(true)?;
    let scenario = serde_json::to_string(&schedule.scenario).unwrap_or_default();
    say(format_args!("scenario: {scenario}"));
    say(format_args!("{}", interleaving(&outcome)));
    say(format_args!("{}", verdict_of(&outcome)));
    say(format_args!("written to {}", path.display()));
    Ok(())
}

fn verdict_of(outcome: &Outcome) -> String {
    outcome.failure.as_ref().map_or("no failure".to_owned(), ToString::to_string)
}

/// Prints a line to the standard output. A closed pipe is not an error: the exit code still tells
/// the result.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// The schedule that the user named.
enum AskedFor {
    Plan(Plan),
    File(Box<Schedule>),
}

fn asked_for(args: &ReplayArgs) -> Result<AskedFor, String> {
    let not_a_plan = match args.schedule.parse() {
        Ok(plan) => return Ok(AskedFor::Plan(plan)),
        Err(not_a_plan) => not_a_plan,
    };
    let path = Path::new(&args.schedule);
    if !path.exists() && path.extension().is_none_or(|extension| extension != "json") {
        return Err(format!("{not_a_plan}; there is no file of that name either"));
    }
    let schedule = Schedule::read(path)?;
    let planted = args.plant.map(|plant| format!("{plant:?}"));
    if planted.is_some() && planted != schedule.plant {
        let says = schedule.plant.as_deref().unwrap_or("no bug");
        return Err(format!(
            "{} was recorded with {says}; run the command again without --plant",
            path.display()
        ));
    }
    Ok(AskedFor::File(Box::new(schedule)))
}

fn replay(args: &ReplayArgs) -> Result<ExitCode, String> {
    let (outcome, expected) = match asked_for(args)? {
        AskedFor::File(schedule) => (schedule.replay(true)?, Some(schedule.kind())),
        AskedFor::Plan(plan) => {
            plant::set(args.plant);
            (play(&plan.scenario()?, plan.driver(), true), None)
        }
    };
    say(format_args!("{}", interleaving(&outcome)));
    say(format_args!("{} steps, hash {:016x}", outcome.steps, outcome.hash));
    say(format_args!("{}", verdict_of(&outcome)));
    let kind = outcome.failure.map(|failure| failure.kind);
    if let Some(expected) = expected.filter(|expected| Some(*expected) != kind) {
        say(format_args!(
            "the file expects `{expected}`: the bug is fixed, or other changes led the schedule elsewhere"
        ));
    }
    Ok(if kind.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn minimise_one(args: &MinimiseArgs) -> Result<ExitCode, String> {
    let schedule = match asked_for(&args.replay)? {
        AskedFor::File(schedule) => Some(*schedule),
        AskedFor::Plan(plan) => Schedule::of_plan(&plan, args.replay.plant)?,
    };
    let Some(schedule) = schedule else {
        return Err(format!(
            "{} does not fail, so there is nothing to minimise",
            args.replay.schedule
        ));
    };
    if !schedule.still_fails()? {
        let kind = schedule.kind();
        return Err(format!("{} no longer fails as `{kind}`", args.replay.schedule));
    }
    // Fail now, rather than after minutes of work, if the file cannot be written.
    schedule.write(&args.out)?;
    let minimised = minimise(&schedule, &mut |text| eprintln!("minimising: {text}"))?;
    print_schedule(&minimised, &args.out)?;
    Ok(ExitCode::SUCCESS)
}

fn scale(out: &Path) -> Result<ExitCode, String> {
    let report = heist_sim::scale::run(&Options::default(), &mut |text| eprintln!("{text}"));
    report.write_to(out).map_err(|error| format!("cannot write to {}: {error}", out.display()))?;
    say(format_args!("written to {}", out.display()));
    Ok(ExitCode::SUCCESS)
}

fn write_corpus(folder: &Path) -> Result<ExitCode, String> {
    for plant in Plant::ALL {
        let Verdict::Found { scenario, within, .. } = verdict(*plant) else { continue };
        let campaign = Campaign {
            plant: Some(*plant),
            scenario: Some(scenario.to_owned()),
            schedules_max: within,
            ..Campaign::default()
        };
        let found = campaign.run(&|_, _| ()).found.into_iter().next();
        let found = found.ok_or_else(|| {
            format!("{plant:?} was not found within {within} schedules of {scenario}")
        })?;
        let simplest = || {
            let schedule = Schedule::of_plan(&found.plan, Some(*plant))?;
            let schedule = schedule.ok_or_else(|| format!("{} does not fail again", found.plan))?;
            minimise(&schedule, &mut |_| ())
        };
        // Use a separate thread: a schedule that fails in the middle of a panic leaves its thread
        // panicking.
        let minimised = std::thread::scope(|scope| scope.spawn(simplest).join());
        let minimised = minimised.unwrap_or_else(|payload| std::panic::resume_unwind(payload))?;
        let path = folder.join(format!("{plant:?}.json"));
        minimised.write(&path)?;
        let deviations = minimised.decisions.len();
        say(format_args!("{}: {}, {deviations} deviations", path.display(), minimised.failure));
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<ExitCode, String> {
    say(format_args!("scenarios:"));
    for name in scenario::names() {
        say(format_args!("  {name}"));
    }
    say(format_args!("  generated-SEED\n\nbugs that can be planted:"));
    for plant in Plant::ALL {
        let found = match verdict(*plant) {
            Verdict::Found { scenario, within, .. } => {
                format!("found in {scenario} within {within} schedules")
            }
            Verdict::LeftToLoom { test } => {
                format!("does not show on the simulated machine; {test} finds it")
            }
            Verdict::Sound => "not a bug; kept for comparison".to_owned(),
        };
        say(format_args!("  {:<22} {found}", format!("{plant:?}")));
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows progress: one changing line on a terminal, otherwise a new line every ten seconds.
struct Progress {
    bar: ProgressBar,
    started: Instant,
    /// The number of the interval in which progress was shown last.
    shown: AtomicU64,
}

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is right");
        bar.set_style(style);
        Self { bar, started: Instant::now(), shown: 0.into() }
    }

    fn show(&self, schedules: u64, failures: u64) {
        let seconds = self.started.elapsed().as_secs_f64();
        let text = || {
            let rate = schedules as f64 / seconds.max(0.001);
            format!("{seconds:.0} s: {schedules} schedules ({rate:.0}/s), {failures} failures")
        };
        // Drawing takes longer than a schedule, and a log needs far fewer updates than a terminal.
        let interval = if self.bar.is_hidden() { 10.0 } else { 0.1 };
        let due = (seconds / interval) as u64;
        if self.shown.fetch_max(due, Ordering::Relaxed) >= due {
            return;
        }
        if self.bar.is_hidden() {
            eprintln!("{}", text());
        } else {
            self.bar.set_message(text());
            self.bar.tick();
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
