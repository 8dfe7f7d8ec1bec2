//! The options of `heist du`, and what its help says about them.
//!
//! Those that GNU du has mean what they mean there. `-h` is one of them, so help is `--help` alone.

use crate::color::ColorChoice;
use crate::units::{Threshold, Unit};
use clap::{ArgAction, Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What the help ends with.
const AFTER_HELP: &str = "\
Sizes:
  SIZE is a number, a unit, or both: 512, 10K, 1M, 2GiB are powers of 1024;
  10KB, 1MB of 1000. What is shown is rounded up. Without --apparent-size,
  sizes are what files take on the disk.

Formats:
  text  a tree with bars and percent: two levels deep, of each directory the
        ten largest entries (see -d and --top)
  du    the lines of GNU du: size, tab, path; children before their parents
  json  one object with the whole tree
  ncdu  what `ncdu -f FILE` reads
  csv   a header, and a line for each directory; with -a for each file, too

Exit codes:
  0    everything was read
  1    something could not be read, or the output not be written; stderr says what
  2    wrong usage
  130  ended by Ctrl-C; what was known by then was printed

Examples:
  heist du                           what takes the room here
  heist du -d 1 /var                 only one level down
  heist du -a --top 5 ~              the five largest of each directory, files included
  heist du -sh --format du /home/*   as `du -sh /home/*`, on all cores
  heist du --by-extension            which kinds of files take the room
  heist du --gitignore               without what git ignores
  heist du --format ncdu / > all.json && ncdu -f all.json
                                     look around in it";

/// Show how much room files and directories take
///
/// Walks directory trees on all cores and adds up what is in them. By default it shows a tree of the largest
/// directories; with `--format du` it prints what GNU du prints. A file with several names (hard links) is counted
/// once, for the first of its names.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct DuArguments {
    /// What to measure: directories or files
    #[arg(value_name = "PATH", default_value = ".", conflicts_with = "files0_from")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show only a total for each PATH
    #[arg(short, long, conflicts_with_all = ["all", "max_depth"])]
    pub(crate) summarize: bool,

    /// Show files, too, not only directories
    #[arg(short, long)]
    pub(crate) all: bool,

    /// Show what is at most N levels below each PATH. Everything below is counted all the same
    ///
    /// Without this option, `text` shows 2 levels and the other formats all of them.
    #[arg(short = 'd', long, value_name = "N")]
    pub(crate) max_depth: Option<usize>,

    /// Show the N largest entries of each directory, and how many more there are; 0 shows all [default: 10]
    ///
    /// Only in `text`, and for `--by-extension`.
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// The order of what is in a directory: the largest first, that with the most entries first, or by name. Only in
    /// `text`
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) sort: Option<Order>,

    /// Turn the order around
    #[arg(short, long)]
    pub(crate) reverse: bool,

    /// Show a grand total, too
    #[arg(short = 'c', long = "total")]
    pub(crate) grand_total: bool,

    /// Show only entries of at least SIZE; with a minus before it, of at most SIZE
    ///
    /// With `--inodes`, SIZE is a number of entries.
    #[arg(short, long, value_name = "SIZE", value_parser = Threshold::parse, allow_hyphen_values = true)]
    pub(crate) threshold: Option<Threshold>,

    /// Add up by extension instead of by directory
    #[arg(long)]
    pub(crate) by_extension: bool,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: Format,

    /// End each line with a NUL byte instead of a newline. For `du`, whose names may contain newlines
    #[arg(short = '0', long)]
    pub(crate) null: bool,

    #[command(flatten)]
    pub(crate) sizes: SizeArguments,

    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// What is measured, and in which unit.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sizes")]
pub(crate) struct SizeArguments {
    /// Measure the lengths of files, not what they take on the disk
    #[arg(short = 'A', long)]
    pub(crate) apparent_size: bool,

    /// The same as `--apparent-size --block-size=1`
    #[arg(short, long)]
    pub(crate) bytes: bool,

    /// Count entries (inodes) instead of sizes
    #[arg(long)]
    pub(crate) inodes: bool,

    /// Count a file with several names each time
    #[arg(short = 'l', long)]
    pub(crate) count_links: bool,

    /// Sizes in powers of 1024, with a letter: 1.5K, 23M. The default of `text`
    #[arg(short = 'h', long, overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) human_readable: bool,

    /// Sizes in powers of 1000
    #[arg(long, overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) si: bool,

    /// Sizes in KiB, the default of `du`
    #[arg(short = 'k', overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) kibibytes: bool,

    /// Sizes in MiB
    #[arg(short = 'm', overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) mebibytes: bool,

    /// Sizes in multiples of SIZE; a unit alone (`-B M`) is shown with each number
    #[arg(short = 'B', long, value_name = "SIZE", value_parser = Unit::parse,
          overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) block_size: Option<Unit>,
}

/// What is walked, and what is left out.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is walked")]
pub(crate) struct SelectionArguments {
    /// Stay on the file system of each PATH
    #[arg(short = 'x', long)]
    pub(crate) one_file_system: bool,

    /// Leave out what matches GLOB, with everything in it. May be given several times
    ///
    /// GLOB is written as in a `.gitignore`: `*.o` matches names at any depth, `/build` only at the top, `tmp/` only
    /// directories.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Leave out what matches a line of FILE, written as for `--exclude`. `-` is stdin
    #[arg(short = 'X', long, value_name = "FILE")]
    pub(crate) exclude_from: Vec<PathBuf>,

    /// Leave out what git ignores (`.gitignore`, `.git/info/exclude`, core.excludesFile), and what `.ignore` files name
    #[arg(long)]
    pub(crate) gitignore: bool,

    /// Leave out entries whose names begin with a dot
    #[arg(long, overrides_with_all = ["hidden", "no_hidden"])]
    pub(crate) no_hidden: bool,

    /// Count entries whose names begin with a dot. The default; turns around an earlier `--no-hidden`
    #[arg(long, overrides_with_all = ["hidden", "no_hidden"])]
    hidden: bool,

    /// Follow all symbolic links
    #[arg(short = 'L', long, overrides_with_all = ["dereference", "dereference_args", "no_dereference"])]
    pub(crate) dereference: bool,

    /// Follow symbolic links that are PATHs
    #[arg(short = 'D', short_alias = 'H', long,
          overrides_with_all = ["dereference", "dereference_args", "no_dereference"])]
    pub(crate) dereference_args: bool,

    /// Follow no symbolic links. The default
    #[arg(short = 'P', long, overrides_with_all = ["dereference", "dereference_args", "no_dereference"])]
    no_dereference: bool,

    /// Measure the paths in FILE, each ended by a NUL byte. `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) files0_from: Option<PathBuf>,
}

/// How it is done, and what is told about it.
#[derive(Debug, Args)]
#[command(next_help_heading = "How it runs")]
pub(crate) struct RunArguments {
    /// Walk with N threads [default: as many as the disks are good for]
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Use colours. NO_COLOR and CLICOLOR_FORCE are heeded, too
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorChoice,

    /// Show no progress line. (There is none unless stderr is a terminal.)
    #[arg(long)]
    pub(crate) no_progress: bool,

    /// Show no progress line, and do not name what could not be read. The exit code is the same
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// When done, say on stderr how long it took and what the threads did
    #[arg(long)]
    pub(crate) stats: bool,

    /// Write what each thread did and when to FILE, for a viewer such as Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A tree for people
    #[default]
    Text,
    /// The lines of GNU du
    Du,
    /// One JSON object
    Json,
    /// The export format of ncdu
    Ncdu,
    /// Comma-separated values
    Csv,
}

/// The order of what is in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// The largest first
    #[default]
    Size,
    /// That with the most entries first
    Count,
    /// By the bytes of the names
    Name,
}

fn parse_threads(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "give a number; it takes at least 1 thread")
}
