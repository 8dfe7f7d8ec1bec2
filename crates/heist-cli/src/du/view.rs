//! [`View`]: which part of a measured tree is shown, and in which unit.
//!
//! A view is built from the options before the walk starts. Options that contradict each other are
//! refused here.

use super::arguments::{DuArguments, DuFormat, Order};
use super::error::DuError;
use super::input;
use crate::units::{Threshold, Unit};
use heist_walk::Symlinks;
use heist_walk::usage::{Detail, Size};

/// The number of levels that `text` shows by default.
const TEXT_DEPTH: usize = 2;

/// The number of entries per directory that `text` shows by default.
const TEXT_TOP: usize = 10;

/// The default unit of GNU du.
const DU_BLOCK_BYTES: u64 = 1024;

/// The default unit of GNU du if `POSIXLY_CORRECT` is set.
const POSIX_BLOCK_BYTES: u64 = 512;

/// The figure that is shown for each entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    /// The space that files take on the disk.
    Allocated,
    /// The lengths of files.
    Apparent,
    /// The number of entries.
    Inodes,
}

/// What `heist du` shows, resolved from its options.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) format: DuFormat,
    pub(crate) measured: Measured,
    pub(crate) unit: Unit,
    /// The deepest level that is shown.
    pub(crate) depth_max: usize,
    pub(crate) detail: Detail,
    pub(crate) threshold: Option<Threshold>,
    /// The maximum number of entries shown per directory.
    pub(crate) top: usize,
    pub(crate) order: Order,
    pub(crate) reverse: bool,
    pub(crate) by_extension: bool,
    pub(crate) grand_total: bool,
    /// Whether the walk follows roots that are symbolic links.
    pub(crate) follows_roots: bool,
    /// The byte at the end of each line.
    pub(crate) terminator: u8,
}

impl View {
    /// Resolves the options.
    ///
    /// # Errors
    /// An option does not work with the chosen format.
    pub(crate) fn new(arguments: &DuArguments) -> Result<Self, DuError> {
        let format = arguments.format;
        check_format(arguments)?;
        let depth_max = match (arguments.summarize, arguments.max_depth, format) {
            (true, ..) => 0,
            (false, Some(depth), _) => depth,
            (false, None, DuFormat::Text) => TEXT_DEPTH,
            (false, None, _) => usize::MAX,
        };
        let only_totals = depth_max == 0 || (arguments.by_extension && format != DuFormat::Json);
        let detail = match format {
            DuFormat::Ncdu => Detail::Files,
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

    /// Returns the figure that is shown for a size.
    pub(crate) const fn amount(&self, size: Size) -> u64 {
        match self.measured {
            Measured::Allocated => size.allocated,
            Measured::Apparent => size.len,
            Measured::Inodes => size.inodes,
        }
    }

    /// Returns `true` if the threshold admits an entry of this size.
    pub(crate) fn admits(&self, size: Size) -> bool {
        self.threshold.is_none_or(|threshold| threshold.admits(self.amount(size)))
    }
}

/// Checks that each given option works with the format.
fn check_format(arguments: &DuArguments) -> Result<(), DuError> {
    let format = arguments.format;
    let is_negative = matches!(arguments.threshold, Some(Threshold::AtMost(_)));
    let lines = [DuFormat::Text, DuFormat::Du];
    let trees = [DuFormat::Text, DuFormat::Du, DuFormat::Json, DuFormat::Csv];
    let rules: [(bool, &'static str, &[DuFormat]); 9] = [
        (arguments.top.is_some(), "--top", &[DuFormat::Text]),
        (arguments.sort.is_some(), "--sort", &[DuFormat::Text]),
        (arguments.reverse, "--reverse", &[DuFormat::Text]),
        (arguments.null, "--null", &lines),
        (arguments.grand_total, "--total", &[DuFormat::Text, DuFormat::Du, DuFormat::Json]),
        (
            arguments.by_extension,
            "--by-extension",
            &[DuFormat::Text, DuFormat::Json, DuFormat::Csv],
        ),
        (
            arguments.summarize || arguments.max_depth.is_some(),
            "--summarize or --max-depth",
            &trees,
        ),
        (arguments.threshold.is_some(), "--threshold", &trees),
        (is_negative, "a negative --threshold", &[DuFormat::Text, DuFormat::Du, DuFormat::Csv]),
    ];
    for (is_given, option, formats) in rules {
        if is_given && !formats.contains(&format) {
            return Err(DuError::OptionAndFormat { option, format, allowed: formats.to_vec() });
        }
    }
    Ok(())
}

/// Returns the unit: from an option, else from the variables of GNU du, else the format's default.
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
    // A block size does not apply to a count of entries.
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
    if arguments.format != DuFormat::Du {
        return Unit::HUMAN;
    }
    let set = ["DU_BLOCK_SIZE", "BLOCK_SIZE", "BLOCKSIZE"].into_iter().find_map(&variable);
    let default = if variable("POSIXLY_CORRECT").is_some() {
        Unit::blocks(POSIX_BLOCK_BYTES)
    } else {
        Unit::blocks(DU_BLOCK_BYTES)
    };
    // Like GNU du, ignore a variable that is not a valid size.
    set.and_then(|value| Unit::parse(&value).ok()).unwrap_or(default)
}
