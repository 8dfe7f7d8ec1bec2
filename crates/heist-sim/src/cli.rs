//! What the simulator can be asked to do.

use clap::{Args, Parser, Subcommand};
use heist::sync::plant::Plant;
use heist_sim::explore::{Campaign, Found, explore};
use heist_sim::minimise::minimise;
use heist_sim::plan::Plan;
use heist_sim::plants::{Verdict, verdict};
use heist_sim::report::interleaving;
use heist_sim::scale::Options;
use heist_sim::scenario;
use heist_sim::schedule::{Schedule, plant_by_name};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

/// Plays the heist scheduler, as it ships, on a simulated machine: every interleaving can be had, and had again.
#[derive(Parser)]
#[command(name = "heist-sim", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play schedules until the time is over or something is wrong. Exits with 1 if something is.
    Run(RunArgs),
    /// Play one schedule again, and tell it step by step.
    Replay(ReplayArgs),
    /// Take away from a failing schedule whatever does not matter.
    Minimise(MinimiseArgs),
    /// Play the same workloads with 2 to 256 workers, and say what they cost under each protocol.
    Scale {
        /// Where to write `scale.svg`, `scale.json`, and the table of `SCALE.md`.
        #[arg(long, default_value = "docs")]
        out: PathBuf,
    },
    /// Write the simplest failing schedule of every planted bug.
    Corpus {
        /// Where to.
        folder: PathBuf,
    },
    /// Name the scenarios and the bugs that can be planted.
    List,
}

#[derive(Args)]
struct RunArgs {
    /// Stop after this many seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Stop after this many schedules; the time then does not matter.
    #[arg(long)]
    schedules: Option<u64>,
    /// Where the dice start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Play this scenario only.
    #[arg(long)]
    scenario: Option<String>,
    /// Plant this bug.
    #[arg(long, value_parser = plant_by_name)]
    plant: Option<Plant>,
    /// Play every schedule with at most this many deviations from the default, instead of rolling dice. Needs
    /// `--scenario`.
    #[arg(long, requires = "scenario")]
    exhaustive: Option<u32>,
    /// How many schedules to play at a time [default: one for each core].
    #[arg(long)]
    jobs: Option<usize>,
    /// Go on after a failure, and count.
    #[arg(long)]
    keep_going: bool,
    /// Where to write the schedules that fail.
    #[arg(long, default_value = "failures")]
    out: PathBuf,
}

#[derive(Args)]
struct ReplayArgs {
    /// A schedule: SCENARIO/DRIVER/SEED, or a file that `run` or `minimise` wrote.
    #[arg(env = "HEIST_SIM_SEED")]
    schedule: String,
    /// Plant this bug. (A file says for itself.)
    #[arg(long, env = "HEIST_SIM_PLANT", value_parser = plant_by_name)]
    plant: Option<Plant>,
}

#[derive(Args)]
struct MinimiseArgs {
    #[command(flatten)]
    replay: ReplayArgs,
    /// Where to write the result.
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
    if let Some(name) = &args.scenario
        && scenario::by_name(name).is_none()
    {
        return Err(format!("there is no scenario `{name}`; `heist-sim list` names them"));
    }
    if let Some(bound) = args.exhaustive {
        return run_exhaustive(args, bound);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign {
        seed: args.seed,
        scenario: args.scenario.clone(),
        plant: args.plant,
        schedules_max: args.schedules.unwrap_or(u64::MAX),
        time_max: args.schedules.map_or(Duration::from_secs(args.seconds), |_| Duration::MAX),
        jobs: args.jobs.unwrap_or(cores).max(1),
        stop_at_failure: !args.keep_going,
    };
    let progress = Progress::new();
    let tally = campaign.run(&|schedules, failures| progress.show(schedules, failures));
    progress.finish();
    for found in tally.found.iter().take(if args.keep_going { 5 } else { 1 }) {
        explain(found, args)?;
    }
    println!("{} steps, {} a schedule", tally.steps, tally.steps / tally.schedules.max(1));
    println!("schedules: {}, failures: {}", tally.schedules, tally.failures);
    Ok(if tally.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run_exhaustive(args: &RunArgs, bound: u32) -> Result<ExitCode, String> {
    let name = args.scenario.as_deref().unwrap_or("standard");
    let scenario = scenario::by_name(name).ok_or("there is no such scenario")?;
    heist::sync::plant::set(args.plant);
    let progress = Progress::new();
    let schedules_max = args.schedules.unwrap_or(u64::MAX);
    let explored = explore(&Rc::new(scenario.clone()), bound, schedules_max, None, |schedules| {
        progress.show(schedules, 0);
    });
    progress.finish();
    let failures = u64::from(explored.found.is_some());
    if let Some((failure, decisions)) = explored.found {
        let plant = args.plant.map(|plant| format!("{plant:?}"));
        let origin = format!("{name}, every schedule with at most {bound} deviations");
        let schedule = Schedule { origin, plant, failure, scenario, decisions };
        let path = args.out.join(format!("{name}-exhaustive.json"));
        tell(&schedule, &path)?;
    } else if explored.complete {
        println!("every schedule of {name} with at most {bound} deviations");
    }
    println!("schedules: {}, failures: {failures}", explored.schedules);
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says how to have a failure again, makes it simple, writes it down and tells it.
fn explain(found: &Found, args: &RunArgs) -> Result<(), String> {
    println!("after {} schedules: {}", found.after, found.failure);
    let plant = args.plant.map(|plant| format!(" HEIST_SIM_PLANT={plant:?}")).unwrap_or_default();
    println!("HEIST_SIM_SEED={}{plant}", found.plan);
    let Some(schedule) = Schedule::of_plan(&found.plan, args.plant)? else {
        return Err(format!(
            "{} failed, and does not fail again: it is not deterministic",
            found.plan
        ));
    };
    let name = found.plan.to_string().replace('/', "-");
    let path = args.out.join(format!("{name}.json"));
    schedule.write(&path)?;
    println!("written to {}", path.display());
    let minimised = minimise(&schedule, &mut |text| eprintln!("minimising: {text}"))?;
    tell(&minimised, &args.out.join(format!("{name}-minimised.json")))
}

fn tell(schedule: &Schedule, path: &Path) -> Result<(), String> {
    schedule.write(path)?;
    let outcome = schedule.replay(true)?;
    println!("the scenario: {}", serde_json::to_string(&schedule.scenario).unwrap_or_default());
    println!("{}", interleaving(&outcome));
    match outcome.failure {
        Some(failure) => println!("{failure}"),
        None => println!("nothing is wrong"),
    }
    println!("written to {}", path.display());
    Ok(())
}

/// The schedule that is asked for, if it fails. A plan that does not fail is told, and nothing more.
fn asked_for(args: &ReplayArgs) -> Result<Option<Schedule>, String> {
    let path = Path::new(&args.schedule);
    if path.exists() || path.extension().is_some_and(|extension| extension == "json") {
        let mut schedule = Schedule::read(path)?;
        if let Some(plant) = args.plant {
            schedule.plant = Some(format!("{plant:?}"));
        }
        return Ok(Some(schedule));
    }
    Schedule::of_plan(&args.schedule.parse()?, args.plant)
}

fn replay(args: &ReplayArgs) -> Result<ExitCode, String> {
    let outcome = match asked_for(args)? {
        Some(schedule) => schedule.replay(true)?,
        None => {
            let plan: Plan = args.schedule.parse()?;
            heist_sim::play::play(&plan.scenario()?, plan.driver(), true)
        }
    };
    println!("{}", interleaving(&outcome));
    println!("{} steps, hash {:016x}", outcome.steps, outcome.hash);
    match outcome.failure {
        Some(failure) => {
            println!("{failure}");
            Ok(ExitCode::FAILURE)
        }
        None => {
            println!("nothing is wrong");
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn minimise_one(args: &MinimiseArgs) -> Result<ExitCode, String> {
    let Some(schedule) = asked_for(&args.replay)? else {
        return Err(format!(
            "{} does not fail, so there is nothing to minimise",
            args.replay.schedule
        ));
    };
    if !schedule.still_fails()? {
        let kind = schedule.kind();
        return Err(format!("{} does not fail as `{kind}` any more", args.replay.schedule));
    }
    let minimised = minimise(&schedule, &mut |text| eprintln!("minimising: {text}"))?;
    tell(&minimised, &args.out)?;
    Ok(ExitCode::SUCCESS)
}

fn scale(out: &Path) -> Result<ExitCode, String> {
    let report = heist_sim::scale::run(&Options::default(), &mut |text| eprintln!("{text}"));
    report.write_to(out).map_err(|error| format!("cannot write to {}: {error}", out.display()))?;
    println!("written to {}", out.display());
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
        let found =
            found.ok_or_else(|| format!("{plant:?} was not found within {within} schedules"))?;
        let schedule = Schedule::of_plan(&found.plan, Some(*plant))?;
        let schedule = schedule.ok_or_else(|| format!("{} does not fail again", found.plan))?;
        let minimised = minimise(&schedule, &mut |_| ())?;
        let path = folder.join(format!("{plant:?}.json"));
        minimised.write(&path)?;
        let deviations = minimised.decisions.len();
        println!("{}: {}, {deviations} deviations", path.display(), minimised.failure);
    }
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<ExitCode, String> {
    println!("scenarios:");
    for name in scenario::names() {
        println!("  {name}");
    }
    println!("  generated-SEED\n\nbugs that can be planted:");
    for plant in Plant::ALL {
        let found = match verdict(*plant) {
            Verdict::Found { scenario, within, .. } => {
                format!("found in {scenario}, within {within}")
            }
            Verdict::LeftToLoom => "invisible on this machine; loom finds it".to_owned(),
            Verdict::Sound => "no bug, for comparison".to_owned(),
        };
        println!("  {:<22} {found}", format!("{plant:?}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// How far it got: a line that moves on a terminal, a new one every ten seconds elsewhere.
struct Progress {
    bar: ProgressBar,
    started: std::time::Instant,
    lines: std::sync::atomic::AtomicU64,
}

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is right");
        bar.set_style(style);
        Self { bar, started: std::time::Instant::now(), lines: 0.into() }
    }

    fn show(&self, schedules: u64, failures: u64) {
        let seconds = self.started.elapsed().as_secs_f64();
        let text = || {
            let rate = schedules as f64 / seconds.max(0.001);
            format!("{seconds:.0} s: {schedules} schedules ({rate:.0}/s), {failures} failures")
        };
        if !self.bar.is_hidden() {
            // Drawing costs more than a schedule does.
            if schedules.is_multiple_of(64) || failures > 0 {
                self.bar.set_message(text());
                self.bar.tick();
            }
            return;
        }
        let due = (seconds / 10.0) as u64;
        if self.lines.fetch_max(due, std::sync::atomic::Ordering::Relaxed) < due {
            eprintln!("{}", text());
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
