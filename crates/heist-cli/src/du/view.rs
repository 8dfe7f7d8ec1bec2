//! [`View`]: what of a measured tree is shown, and in which unit. Made from the options once, and checked: options that
//! make no sense together are refused here, before anything is walked.

use super::arguments::{DuArguments, Format, Order};
use super::input;
use crate::units::{Threshold, Unit};
use heist_walk::Symlinks;
use heist_walk::usage::{Detail, Size};

/// Levels that `text` shows if it is not told.
const TEXT_DEPTH: usize = 2;

/// Entries per directory that `text` shows if it is not told.
const TEXT_TOP: usize = 10;

/// GNU du's unit, if neither an option nor the environment says otherwise.
const DU_BLOCK_BYTES: u64 = 1024;

/// ... and in an environment that wants POSIX to the letter.
const POSIX_BLOCK_BYTES: u64 = 512;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    /// What files take on the disk.
    Allocated,
    /// Their lengths.
    Apparent,
    /// How many there are.
    Inodes,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) format: Format,
    pub(crate) measured: Measured,
    pub(crate) unit: Unit,
    /// How far down entries are shown.
    pub(crate) depth_max: usize,
    pub(crate) detail: Detail,
    pub(crate) threshold: Option<Threshold>,
    /// How many entries of a directory are shown.
    pub(crate) top: usize,
    pub(crate) order: Order,
    pub(crate) reverse: bool,
    pub(crate) by_extension: bool,
    pub(crate) grand_total: bool,
    /// Whether roots that are symbolic links are followed.
    pub(crate) follows_roots: bool,
    /// What ends a line.
    pub(crate) terminator: u8,
}

impl View {
    /// The view that the options ask for.
    ///
    /// # Errors
    /// They make no sense together; the text says why.
    pub(crate) fn new(arguments: &DuArguments) -> Result<Self, String> {
        let format = arguments.format;
        check_format(arguments)?;
        let depth_max = match (arguments.summarize, arguments.max_depth, format) {
            (true, ..) => 0,
            (false, Some(depth), _) => depth,
            (false, None, Format::Text) => TEXT_DEPTH,
            (false, None, _) => usize::MAX,
        };
        let only_totals = depth_max == 0 || (arguments.by_extension && format != Format::Json);
        let detail = match format {
            Format::Ncdu => Detail::Files,
            _ if only_totals => Detail::Total,
            _ if arguments.all => Detail::Files,
            _ => Detail::Directories,
        };
        let measured = if arguments.sizes.inodes {
            Measured::Inodes
        } else if arguments.sizes.apparent_size || arguments.sizes.bytes {
            Measured::Apparent
        } else {
            Measured::Allocated
        };
        Ok(Self {
            format,
            measured,
            unit: unit(arguments, measured, |name| std::env::var(name).ok()),
            depth_max,
            detail,
            threshold: arguments.threshold,
            top: match arguments.top {
                Some(0) => usize::MAX,
                Some(top) => top,
                None => TEXT_TOP,
            },
            order: arguments.sort.unwrap_or_default(),
            reverse: arguments.reverse,
            by_extension: arguments.by_extension,
            grand_total: arguments.grand_total,
            follows_roots: input::symlinks(&arguments.selection) != Symlinks::Never,
            terminator: if arguments.null { b'\0' } else { b'\n' },
        })
    }

    /// The figure that is shown of a size.
    pub(crate) const fn amount(&self, size: Size) -> u64 {
        match self.measured {
            Measured::Allocated => size.allocated,
            Measured::Apparent => size.len,
            Measured::Inodes => size.inodes,
        }
    }

    /// Whether the threshold lets an entry of this size be shown.
    pub(crate) fn admits(&self, size: Size) -> bool {
        self.threshold.is_none_or(|threshold| threshold.admits(self.amount(size)))
    }
}

/// Whether each option that was given has a meaning in the format.
fn check_format(arguments: &DuArguments) -> Result<(), String> {
    let format = arguments.format;
    let is_negative = matches!(arguments.threshold, Some(Threshold::AtMost(_)));
    let lines = [Format::Text, Format::Du];
    let trees = [Format::Text, Format::Du, Format::Json, Format::Csv];
    let rules: [(bool, &str, &[Format]); 9] = [
        (arguments.top.is_some(), "--top", &[Format::Text]),
        (arguments.sort.is_some(), "--sort", &[Format::Text]),
        (arguments.reverse, "--reverse", &[Format::Text]),
        (arguments.null, "--null", &lines),
        (arguments.grand_total, "--total", &[Format::Text, Format::Du, Format::Json]),
        (arguments.by_extension, "--by-extension", &[Format::Text, Format::Json, Format::Csv]),
        (
            arguments.summarize || arguments.max_depth.is_some(),
            "--summarize or --max-depth",
            &trees,
        ),
        (arguments.threshold.is_some(), "--threshold", &trees),
        (is_negative, "--threshold with a minus", &[Format::Text, Format::Du, Format::Csv]),
    ];
    for (is_given, option, formats) in rules {
        if is_given && !formats.contains(&format) {
            let known: Vec<&str> = formats.iter().map(|format| name_of(*format)).collect();
            return Err(format!(
                "{option} has no meaning with --format {}; leave one of them out, or use --format {}",
                name_of(format),
                known.join(" or ")
            ));
        }
    }
    Ok(())
}

fn name_of(format: Format) -> &'static str {
    match format {
        Format::Text => "text",
        Format::Du => "du",
        Format::Json => "json",
        Format::Ncdu => "ncdu",
        Format::Csv => "csv",
    }
}

/// The unit: what an option says, else what GNU du takes from the environment, else the format's own.
fn unit(
    arguments: &DuArguments,
    measured: Measured,
    variable: impl Fn(&str) -> Option<String>,
) -> Unit {
    let sizes = &arguments.sizes;
    if sizes.human_readable {
        return Unit::HUMAN;
    }
    if sizes.si {
        return Unit::HUMAN_SI;
    }
    // Entries are counted one by one, whatever a block is.
    if measured == Measured::Inodes {
        return Unit::blocks(1);
    }
    if let Some(unit) = &sizes.block_size {
        return unit.clone();
    }
    if sizes.kibibytes {
        return Unit::blocks(1 << 10);
    }
    if sizes.mebibytes {
        return Unit::blocks(1 << 20);
    }
    if sizes.bytes {
        return Unit::blocks(1);
    }
    if arguments.format != Format::Du {
        return Unit::HUMAN;
    }
    let set = ["DU_BLOCK_SIZE", "BLOCK_SIZE", "BLOCKSIZE"].into_iter().find_map(&variable);
    let default = if variable("POSIXLY_CORRECT").is_some() {
        Unit::blocks(POSIX_BLOCK_BYTES)
    } else {
        Unit::blocks(DU_BLOCK_BYTES)
    };
    // GNU du ignores a variable that it cannot read.
    set.and_then(|value| Unit::parse(&value).ok()).unwrap_or(default)
}
