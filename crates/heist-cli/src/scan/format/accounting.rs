//! The accounting of a scan: whether it is complete, what was scanned, and what the report leaves
//! out. It is the same in `json`, in the last line of `jsonl`, and in the properties of a run in
//! `sarif`.
//!
//! ```json
//! {"tool_version": "0.1.0", "complete": false, "ended": "timeout", "exit_code": 1,
//!  "configuration": "heist.toml",
//!  "configurations": [{"path": "heist.toml", "from": "tree", "refused": []}],
//!  "policies": [{"path": "policy.toml"}],
//!  "overruled": [{"setting": "exclude", "file": "heist.toml", "policy": "policy.toml",
//!                 "demand": "forbid"}],
//!  "files": 17, "bytes": 40961,
//!  "findings": {"certain": 1, "high": 0, "medium": 2, "low": 0},
//!  "not_reported": {"below_confidence": 4, "allowed": 0, "in_baseline": 1, "ignored": 0, "own": 0,
//!                   "not_new": 0, "too_many": 0},
//!  "skipped": {"binary": 2, "too_large": 0, "special": 0, "symlinks": 0, "pseudo": 0,
//!              "submodules": 0, "excluded": 1},
//!  "hidden": [{"by": "comment", "kind": "py", "what": "findings", "count": 3}],
//!  "failed_rules": ["my-rule"],
//!  "incomplete": [{"path": "closed", "reason": "Permission denied"}], "incomplete_more": 0}
//! ```
//!
//! - `complete` is false if `too_many` is not 0, if `failed_rules` or `incomplete` lists anything,
//!   or if the scan ended early; then `ended` is `interrupted` or `timeout`.
//! - `findings` counts the findings in the report, `not_reported` the others. `own` counts findings
//!   in the output, trace or baseline of this run, `not_new` those that a diff or `--staged` does
//!   not add, and `too_many` those that did not fit into memory.
//! - `hidden` lists what the scanned tree itself keeps out of the report. `by` is `configuration`
//!   (then `setting` is its key), `baseline` (the one that heist found by itself), `gitleaksignore`
//!   or `comment` (then `kind` is the extension of the files); `what` is `findings`, `paths` or
//!   `files`.
//! - `histories`, if present, has the counts of each git history that was scanned instead of files:
//!   `commits` and those of them that were `scanned`, `refs`, `blobs` by how their scans ended,
//!   `messages`, `unreadable` objects, objects with candidates that are `unreachable` from any ref,
//!   and whether the clone is `shallow` or `partial`.
//! - `histories_not_scanned`, if present, are the PATHs with a git history that was not scanned.
//! - `failed_rules`, if present, are rules that are too large to be used.
//! - `configurations`, if present, are the configuration files in use: the `user`'s, then that of
//!   the scanned `tree`, with the keys that have no effect because a tree may not set them.
//!   `configuration` is the path of the last one.
//! - `policies` and `overruled`, if present, are the policies in effect, and what in files has no
//!   effect because of which of their keys.
//! - `incomplete_more` counts incomplete paths that are not in the list.

use super::{history, path_bytes};
use crate::escape::write_json_string;
use crate::exit::Exit;
use crate::json::{JsonObject, write_array};
use crate::scan::hidden::HiddenEntry;
use crate::scan::policy::Overruled;
use crate::scan::settings::ConfigurationInUse;
use crate::scan::summary::{EndedEarly, Summary};
use std::io::{self, Write};

/// Writes all fields except those of [`write_gaps`].
pub(super) fn write<W: Write>(
    summary: &Summary,
    exit: Exit,
    object: &mut JsonObject<'_, W>,
) -> io::Result<()> {
    object.text("tool_version", env!("CARGO_PKG_VERSION"))?;
    object.plain("complete", summary.is_complete())?;
    if let Some(ended) = summary.ended {
        object.text(
            "ended",
            match ended {
                EndedEarly::Interrupted => "interrupted",
                EndedEarly::TimedOut => "timeout",
            },
        )?;
    }
    object.plain("exit_code", exit.code())?;
    if let Some(nearest) = summary.configurations.last() {
        object.bytes("configuration", path_bytes(&nearest.path))?;
        write_array(object.field("configurations")?, &summary.configurations, |out, file| {
            write_configuration(file, out)
        })?;
    }
    if !summary.policies.is_empty() {
        write_array(object.field("policies")?, &summary.policies, |out, path| {
            let mut object = JsonObject::begin(out)?;
            object.bytes("path", path_bytes(path))?;
            object.end()
        })?;
        write_array(object.field("overruled")?, &summary.overruled, |out, overruled| {
            write_overruled(overruled, out)
        })?;
    }
    object.number("files", summary.files)?;
    object.number("bytes", summary.bytes)?;
    write_counts(summary, object)?;
    write_array(object.field("hidden")?, &summary.hidden.entries, |out, hidden| {
        write_hidden(hidden, out)
    })?;
    if !summary.histories.is_empty() {
        write_array(object.field("histories")?, &summary.histories, |out, scanned| {
            history::write_scanned(scanned, out)
        })?;
    }
    if !summary.unscanned_histories.is_empty() {
        write_array(
            object.field("histories_not_scanned")?,
            &summary.unscanned_histories,
            |out, path| write_json_string(out, path_bytes(path)),
        )?;
    }
    if !summary.failed_rules.is_empty() {
        write_array(object.field("failed_rules")?, &summary.failed_rules, |out, rule| {
            write_json_string(out, rule.as_bytes())
        })?;
    }
    Ok(())
}

fn write_counts<W: Write>(summary: &Summary, object: &mut JsonObject<'_, W>) -> io::Result<()> {
    let listed = summary.listed;
    let mut counts = JsonObject::begin(object.field("findings")?)?;
    counts.number("certain", listed.certain)?;
    counts.number("high", listed.high)?;
    counts.number("medium", listed.medium)?;
    counts.number("low", listed.low)?;
    counts.end()?;
    let unreported = summary.unreported;
    let mut counts = JsonObject::begin(object.field("not_reported")?)?;
    counts.number("below_confidence", unreported.below_confidence)?;
    counts.number("allowed", unreported.allowed)?;
    counts.number("in_baseline", unreported.in_baseline)?;
    counts.number("ignored", unreported.in_gitleaksignore)?;
    counts.number("own", unreported.in_own_files)?;
    counts.number("not_new", unreported.not_new)?;
    counts.number("too_many", unreported.over_limit)?;
    counts.end()?;
    let skipped = summary.skipped;
    let mut counts = JsonObject::begin(object.field("skipped")?)?;
    counts.number("binary", skipped.binary)?;
    counts.number("too_large", skipped.too_large)?;
    counts.number("special", skipped.special)?;
    counts.number("symlinks", skipped.symlinks)?;
    counts.number("pseudo", skipped.pseudo)?;
    counts.number("submodules", skipped.submodules)?;
    counts.number("excluded", skipped.excluded)?;
    counts.end()
}

fn write_configuration(file: &ConfigurationInUse, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.bytes("path", path_bytes(&file.path))?;
    object.text("from", if file.is_of_tree { "tree" } else { "user" })?;
    write_array(object.field("refused")?, &file.refused, |out, key| {
        write_json_string(out, key.as_bytes())
    })?;
    object.end()
}

fn write_overruled(overruled: &Overruled, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("setting", overruled.setting)?;
    object.bytes("file", path_bytes(&overruled.file))?;
    object.bytes("policy", path_bytes(&overruled.by.path))?;
    object.text("demand", overruled.by.key)?;
    object.end()
}

fn write_hidden(hidden: &HiddenEntry, out: &mut impl Write) -> io::Result<()> {
    let mut object = JsonObject::begin(out)?;
    object.text("by", hidden.setting.place())?;
    if hidden.setting.place() == "configuration" {
        object.text("setting", hidden.setting.as_str())?;
    }
    if let Some(file) = &hidden.file {
        object.bytes("file", path_bytes(file))?;
    }
    if let Some(kind) = &hidden.kind {
        object.bytes("kind", kind.as_encoded_bytes())?;
    }
    object.text("what", hidden.setting.unit())?;
    object.number("count", hidden.count)?;
    object.end()
}

/// Writes the paths that were not scanned completely. (`sarif` has notifications for them.)
pub(super) fn write_gaps<W: Write>(
    summary: &Summary,
    object: &mut JsonObject<'_, W>,
) -> io::Result<()> {
    write_array(object.field("incomplete")?, &summary.gaps, |out, gap| {
        let mut object = JsonObject::begin(out)?;
        object.bytes("path", path_bytes(&gap.path))?;
        object.text("reason", &gap.reason)?;
        object.end()
    })?;
    object.number("incomplete_more", summary.gaps_more)
}
