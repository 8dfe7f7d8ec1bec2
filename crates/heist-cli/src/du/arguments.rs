//! The options of `heist du` and their help texts.
//!
//! Options that GNU du has mean the same here. `-h` is one of them, so help is only `--help`.

use crate::color::ColorChoice;
use crate::scan::arguments::parse_threads;
use crate::units::{Threshold, Unit};
use clap::{ArgAction, Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The text at the end of the help.
const AFTER_HELP: &str = "\
About SIZE:
  SIZE is a number, a unit, or both: 512, 10K, 1M and 2GiB use powers of 1024;
  10KB and 1MB use powers of 1000. Sizes are rounded up. They show the space that
  files take on the disk; --apparent-size shows the lengths of files instead.

Formats:
  text  a tree with percentages and bars: two levels, and the ten largest entries
        of each directory (see -d and --top)
  du    the lines of GNU du: size, tab, path; children before their parents
  json  one object with the whole tree
  ncdu  an export for `ncdu -f FILE`
  csv   a header, then one line per directory; with -a also one line per file

Exit codes:
  0    everything was read
  1    something could not be read or written; stderr names it
  2    the options cannot be used
  130  Ctrl-C ended the walk; the results so far were printed
       (after SIGTERM 143, after SIGHUP 129)

Examples:
  heist du                           show what uses the disk here
  heist du -d 1 /var                 show one level
  heist du -a --top 5 ~              show the five largest entries of each directory
  heist du -sh --format du /home/*   like `du -sh /home/*`, but on all cores
  heist du --by-extension            show which kinds of files use the disk
  heist du --gitignore               skip files that git ignores
  heist du --format ncdu / > all.json && ncdu -f all.json
                                     browse the result in ncdu";

/// Show how much disk space files and directories use
///
/// heist walks directory trees on all cores and adds up the sizes. By default it shows a tree of
/// the largest directories; with `--format du` it prints what GNU du prints. A file with several
/// names (hard links) is counted once, for the first of its names.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_long_help = AFTER_HELP, after_help = AFTER_HELP)]
pub(crate) struct DuArguments {
    /// The directories or files to measure
    #[arg(value_name = "PATH", default_value = ".", conflicts_with = "files0_from")]
    pub(crate) paths: Vec<PathBuf>,

    /// Show only a total for each PATH
    #[arg(short, long, conflicts_with_all = ["all", "max_depth"])]
    pub(crate) summarize: bool,

    /// Show files as well as directories
    #[arg(short, long)]
    pub(crate) all: bool,

    /// Show at most N levels below each PATH; deeper entries are still counted
    ///
    /// By default, `text` shows 2 levels and the other formats show all.
    #[arg(short = 'd', long, value_name = "N")]
    pub(crate) max_depth: Option<usize>,

    /// Show the N largest entries of each directory, or all with 0 [default: 10]
    ///
    /// Only for `text`, also with `--by-extension`.
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// Sort the entries of each directory by size, by number of entries, or by name
    ///
    /// Only for `text`. The largest come first.
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) sort: Option<Order>,

    /// Reverse the sort order
    #[arg(short, long)]
    pub(crate) reverse: bool,

    /// Also show a grand total
    #[arg(short = 'c', long = "total")]
    pub(crate) grand_total: bool,

    /// Show only entries of at least SIZE, or of at most SIZE if it is negative
    ///
    /// With `--inodes`, SIZE is a number of entries.
    #[arg(short, long, value_name = "SIZE", value_parser = Threshold::parse,
          allow_hyphen_values = true)]
    pub(crate) threshold: Option<Threshold>,

    /// Show a total for each file extension instead of each directory
    #[arg(long)]
    pub(crate) by_extension: bool,

    /// The output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: DuFormat,

    /// End each line with a NUL byte, because file names may contain newlines
    ///
    /// Only for `text` and `du`.
    #[arg(short = '0', long)]
    pub(crate) null: bool,

    #[command(flatten)]
    pub(crate) sizes: SizeArguments,

    #[command(flatten)]
    pub(crate) selection: DuSelectionArguments,

    #[command(flatten)]
    pub(crate) run: DuRunArguments,

    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

/// The options about sizes and units.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sizes")]
pub(crate) struct SizeArguments {
    /// Measure the lengths of files, not the space they take on the disk
    #[arg(short = 'A', long)]
    pub(crate) apparent_size: bool,

    /// Same as `--apparent-size --block-size=1`
    #[arg(short, long)]
    pub(crate) bytes: bool,

    /// Count entries (inodes) instead of adding up sizes
    #[arg(long)]
    pub(crate) inodes: bool,

    /// Count a file with several names (hard links) once per name
    #[arg(short = 'l', long)]
    pub(crate) count_links: bool,

    /// Show sizes like 1.5K and 23M, in powers of 1024; the default for `text`
    #[arg(short = 'h', long,
          overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) human_readable: bool,

    /// Like `-h`, but in powers of 1000
    #[arg(long,
          overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) si: bool,

    /// Show sizes in KiB; the default for `du`
    #[arg(short = 'k',
          overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) kibibytes: bool,

    /// Show sizes in MiB
    #[arg(short = 'm',
          overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) mebibytes: bool,

    /// Show sizes in multiples of SIZE; with a unit alone (`-B M`), print it after each number
    #[arg(short = 'B', long, value_name = "SIZE", value_parser = Unit::parse,
          overrides_with_all = ["human_readable", "si", "kibibytes", "mebibytes", "block_size"])]
    pub(crate) block_size: Option<Unit>,
}

/// The options about what the walk visits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct DuSelectionArguments {
    /// Do not cross file system boundaries
    #[arg(short = 'x', long)]
    pub(crate) one_file_system: bool,

    /// Skip files and directories that match GLOB; may be given several times
    ///
    /// GLOB is a line of a `.gitignore`: `*.o` matches at any depth, `/build` only at the top,
    /// `tmp/` only directories.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Skip what matches a line of FILE, each a GLOB as for `--exclude`; `-` is stdin
    #[arg(short = 'X', long, value_name = "FILE")]
    pub(crate) exclude_from: Vec<PathBuf>,

    /// Skip files that git ignores, and files that match an `.ignore` file
    ///
    /// This reads `.gitignore`, `.git/info/exclude` and the file of `core.excludesFile`.
    #[arg(long)]
    pub(crate) gitignore: bool,

    /// Skip hidden entries, whose names begin with a dot
    #[arg(long, overrides_with_all = ["hidden", "no_hidden"])]
    pub(crate) no_hidden: bool,

    /// Count hidden entries (the default); overrides an earlier `--no-hidden`
    #[arg(long, overrides_with_all = ["hidden", "no_hidden"])]
    hidden: bool,

    /// Follow all symbolic links
    #[arg(short = 'L', long,
          overrides_with_all = ["dereference", "dereference_args", "no_dereference"])]
    pub(crate) dereference: bool,

    /// Follow symbolic links that are given as PATH
    #[arg(short = 'D', short_alias = 'H', long,
          overrides_with_all = ["dereference", "dereference_args", "no_dereference"])]
    pub(crate) dereference_args: bool,

    /// Do not follow symbolic links (the default)
    #[arg(short = 'P', long,
          overrides_with_all = ["dereference", "dereference_args", "no_dereference"])]
    no_dereference: bool,

    /// Measure the paths listed in FILE, each ended by a NUL byte; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) files0_from: Option<PathBuf>,
}

/// The options about threads and messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct DuRunArguments {
    /// Use N threads [default: chosen by the kind of disk]
    #[arg(short = 'j', long, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// When to use colours; NO_COLOR and CLICOLOR_FORCE also apply
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorChoice,

    /// Do not show a progress line on the terminal
    #[arg(long)]
    pub(crate) no_progress: bool,

    /// Do not show progress or the entries that could not be read; the exit code is unchanged
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// At the end, print timings and counters of the threads to stderr
    #[arg(long)]
    pub(crate) stats: bool,

    /// Write a trace of all threads to FILE, for a viewer such as ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuFormat {
    /// A tree with percentages and bars
    #[default]
    Text,
    /// The lines of GNU du
    Du,
    /// One JSON object
    Json,
    /// An export for ncdu
    Ncdu,
    /// Comma-separated values
    Csv,
}

/// The order of the entries of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Largest first
    #[default]
    Size,
    /// Most entries first
    Count,
    /// By name, byte by byte
    Name,
}

impl DuFormat {
    /// Returns the name of the format, as the user types it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Du => "du",
            Self::Json => "json",
            Self::Ncdu => "ncdu",
            Self::Csv => "csv",
        }
    }
}
