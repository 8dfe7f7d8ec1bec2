//! `--format sarif`: the Static Analysis Results Interchange Format, version 2.1.0.
//!
//! - Each finding is a result. Its `level` is `error` for certain and high confidence, `warning`
//!   for medium, `note` for low.
//! - `partialFingerprints` has `secret/v1`, the fingerprint of the secret, and `occurrence/v1`,
//!   which adds the number of the finding among those of its secret. Neither changes when lines
//!   move.
//! - Paths below the current directory are relative to it; its name is `SRCROOT`.
//! - Columns count UTF-16 code units, as `columnKind` declares. If a line cannot be read again
//!   (stdin, or the file has changed), they count bytes. `byteOffset` and `byteLength` always come
//!   from the scan.
//! - `invocations` says whether everything was scanned, and what was not. What the scanned
//!   tree hides, and what it may not set, is in `toolConfigurationNotifications`.
//! - The `properties` of the run are the [accounting](super::accounting) of the scan.

use super::columns::Columns;
use super::{Report, accounting, uri, write_history};
use crate::escape;
use crate::json::{JsonObject, write_array};
use crate::scan::reported_finding::ReportedFinding;
use crate::scan::summary::Summary;
use heist_scan::Confidence;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The name of the directory that paths are relative to.
const BASE: &str = "SRCROOT";

/// Writes the log.
pub(super) fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let base = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut log = JsonObject::begin(out)?;
    log.text("$schema", SCHEMA)?;
    log.text("version", "2.1.0")?;
    write_array(log.field("runs")?, [()], |out, ()| write_run(report, &base, out))?;
    log.end()?;
    out.write_all(b"\n")
}

fn write_run(report: &Report<'_>, base: &Path, out: &mut impl Write) -> io::Result<()> {
    let mut rules: BTreeMap<&str, &ReportedFinding> = BTreeMap::new();
    for finding in report.findings {
        // The default level of a rule is that of its most certain finding.
        let known = rules.entry(&finding.rule).or_insert(finding);
        if finding.confidence > known.confidence {
            *known = finding;
        }
    }
    let mut run = JsonObject::begin(out)?;
    let mut tool = JsonObject::begin(run.field("tool")?)?;
    let mut driver = JsonObject::begin(tool.field("driver")?)?;
    driver.text("name", "heist")?;
    driver.text("version", env!("CARGO_PKG_VERSION"))?;
    driver.text("semanticVersion", env!("CARGO_PKG_VERSION"))?;
    write_array(driver.field("rules")?, rules.values(), |out, finding| write_rule(finding, out))?;
    driver.end()?;
    tool.end()?;
    write_array(run.field("invocations")?, [()], |out, ()| write_invocation(report, base, out))?;
    let mut bases = JsonObject::begin(run.field("originalUriBaseIds")?)?;
    let mut location = JsonObject::begin(bases.field(BASE)?)?;
    location.text("uri", &uri::of_directory(base))?;
    location.end()?;
    bases.end()?;
    run.text("columnKind", "utf16CodeUnits")?;
    let indexes: HashMap<&str, usize> = rules.keys().copied().zip(0..).collect();
    let mut occurrences = HashMap::new();
    let mut columns = Columns::default();
    let results = results(report.findings, base);
    let mut last: Option<(&Path, Artifact)> = None;
    write_array(run.field("results")?, results, |out, (finding, _)| {
        let occurrence = occurrences.entry(finding.fingerprint).or_insert(0_u64);
        *occurrence += 1;
        let known = last.take().filter(|(path, _)| *path == &*finding.path);
        let (_, artifact) = last
            .insert(known.unwrap_or_else(|| (&finding.path, Artifact::new(&finding.path, base))));
        write_result(finding, indexes[&*finding.rule], *occurrence, artifact, &mut columns, out)
    })?;
    let mut properties = JsonObject::begin(run.field("properties")?)?;
    accounting::write(report.summary, report.exit, &mut properties)?;
    properties.end()?;
    run.end()
}

/// The location of a file, in the terms of SARIF.
struct Artifact {
    uri: String,
    is_relative: bool,
}

impl Artifact {
    fn new(path: &Path, base: &Path) -> Self {
        let (uri, is_relative) = uri::of_path(path, base);
        Self { uri, is_relative }
    }

    fn write<W: Write>(&self, physical: &mut JsonObject<'_, W>) -> io::Result<()> {
        let mut artifact = JsonObject::begin(physical.field("artifactLocation")?)?;
        artifact.text("uri", &self.uri)?;
        if self.is_relative {
            artifact.text("uriBaseId", BASE)?;
        }
        artifact.end()
    }
}

/// Returns the findings with the number of their file. A finding that was scanned under two names
/// of its file becomes one result: giving a PATH twice must not change the occurrence numbers.
///
/// The URIs themselves are not kept: in hostile trees they need more memory than everything else.
fn results<'a>(findings: &'a [ReportedFinding], base: &Path) -> Vec<(&'a ReportedFinding, usize)> {
    // Two hashes with random keys: an attacker cannot make two URIs that agree in both.
    let hashers = (RandomState::new(), RandomState::new());
    let mut numbers: HashMap<(u64, u64), usize> = HashMap::new();
    let mut comes_again = false;
    let mut results: Vec<(&ReportedFinding, usize)> = Vec::with_capacity(findings.len());
    let mut last: Option<(&Path, usize)> = None;
    for finding in findings {
        let number = match last {
            Some((path, number)) if *path == *finding.path => number,
            _ => {
                let (uri, _) = uri::of_path(&finding.path, base);
                let next = numbers.len();
                let key = (hashers.0.hash_one(&uri), hashers.1.hash_one(&uri));
                let number = *numbers.entry(key).or_insert(next);
                comes_again |= number != next;
                number
            }
        };
        last = Some((&finding.path, number));
        results.push((finding, number));
    }
    let of = |&(finding, number): &(&'a ReportedFinding, usize)| {
        let object = finding.history.as_ref().map(|place| &*place.object);
        (number, finding.offset.start, finding.offset.end, &*finding.rule, object)
    };
    // Duplicates under one name are adjacent; only duplicates under several names need the set.
    results.dedup_by(|second, first| of(second) == of(first));
    if comes_again {
        let mut seen = HashSet::new();
        results.retain(|result| seen.insert(of(result)));
    }
    results
}

fn write_rule(finding: &ReportedFinding, out: &mut impl Write) -> io::Result<()> {
    let mut rule = JsonObject::begin(out)?;
    rule.text("id", &finding.rule)?;
    write_message(&mut rule, "shortDescription", &finding.description)?;
    write_message(&mut rule, "fullDescription", &finding.description)?;
    let mut help = JsonObject::begin(rule.field("help")?)?;
    help.text("text", &finding.remedy)?;
    help.text("markdown", &finding.remedy)?;
    help.end()?;
    let mut configuration = JsonObject::begin(rule.field("defaultConfiguration")?)?;
    configuration.text("level", level(finding.confidence))?;
    configuration.end()?;
    let mut properties = JsonObject::begin(rule.field("properties")?)?;
    let of_tree = finding.is_by_tree.then_some("scanned-tree");
    let tags = ["security", "secret"].into_iter().chain(of_tree);
    write_array(properties.field("tags")?, tags, |out, tag| write!(out, "\"{tag}\""))?;
    properties.end()?;
    rule.end()
}

fn write_invocation(report: &Report<'_>, base: &Path, out: &mut impl Write) -> io::Result<()> {
    let summary = report.summary;
    let mut invocation = JsonObject::begin(out)?;
    invocation.plain("executionSuccessful", summary.is_complete())?;
    invocation.plain("exitCode", report.exit.code())?;
    write_array(
        invocation.field("toolExecutionNotifications")?,
        notifications(summary),
        |out, Notification { level, text, path }| {
            let mut notification = JsonObject::begin(out)?;
            notification.text("level", level)?;
            write_message(&mut notification, "message", &text)?;
            if let Some(path) = path {
                write_array(notification.field("locations")?, [path], |out, path| {
                    let mut location = JsonObject::begin(out)?;
                    let mut physical = JsonObject::begin(location.field("physicalLocation")?)?;
                    Artifact::new(path, base).write(&mut physical)?;
                    physical.end()?;
                    location.end()
                })?;
            }
            notification.end()
        },
    )?;
    let hidden = summary.hidden.entries.iter().map(|entry| format!("The tree hides {entry}"));
    let refused = summary.configurations.iter().flat_map(|file| {
        let path = escape::for_terminal(file.path.as_os_str());
        let of_key = move |key: &String| {
            let key = escape::visible(key);
            format!("`{key}` in '{path}' has no effect, because a scanned tree cannot set it so")
        };
        file.refused.iter().map(of_key)
    });
    let overruled = summary.overruled.iter().map(ToString::to_string);
    let notifications: Vec<String> = hidden.chain(refused).chain(overruled).collect();
    if !notifications.is_empty() {
        let field = invocation.field("toolConfigurationNotifications")?;
        write_array(field, notifications, |out, text| {
            let mut notification = JsonObject::begin(out)?;
            notification.text("level", "warning")?;
            write_message(&mut notification, "message", &text)?;
            notification.end()
        })?;
    }
    invocation.end()
}

/// Something that a reader of the results must know.
struct Notification<'a> {
    level: &'static str,
    text: String,
    path: Option<&'a Path>,
}

fn notifications(summary: &Summary) -> Vec<Notification<'_>> {
    let error = |text: String| Notification { level: "error", text, path: None };
    let mut notifications: Vec<Notification<'_>> = summary
        .gaps
        .iter()
        .map(|gap| {
            let what =
                if gap.is_cut { "not all findings are listed" } else { "not scanned completely" };
            let text = format!("{what}: {}", gap.reason);
            Notification { path: Some(&gap.path), ..error(text) }
        })
        .collect();
    if summary.gaps_more > 0 {
        let text = format!("{} more paths could not be scanned", summary.gaps_more);
        notifications.push(error(text));
    }
    if summary.unreported.over_limit > 0 {
        let text = format!("{} more findings are not listed", summary.unreported.over_limit);
        notifications.push(error(text));
    }
    notifications.extend(summary.ended.map(|ended| error(ended.text().to_owned())));
    let failed = summary.failed_rules.iter();
    notifications.extend(failed.map(|rule| error(format!("the rule {rule} could not be used"))));
    notifications
}

fn write_result(
    finding: &ReportedFinding,
    rule: usize,
    occurrence: u64,
    artifact: &Artifact,
    columns: &mut Columns,
    out: &mut impl Write,
) -> io::Result<()> {
    let secret = String::from_utf8_lossy(&finding.secret);
    let mut result = JsonObject::begin(out)?;
    result.text("ruleId", &finding.rule)?;
    result.plain("ruleIndex", rule)?;
    result.text("level", level(finding.confidence))?;
    let text = format!(
        "{}: {} ({} confidence: {}). {}",
        finding.title(),
        secret,
        finding.confidence,
        finding.reason,
        finding.remedy
    );
    write_message(&mut result, "message", &escape::visible(&text))?;
    write_array(result.field("locations")?, [finding], |out, finding| {
        let mut location = JsonObject::begin(out)?;
        let mut physical = JsonObject::begin(location.field("physicalLocation")?)?;
        artifact.write(&mut physical)?;
        // A file that is a secret by its name has no region.
        if !finding.offset.is_empty() {
            write_region(finding, columns, physical.field("region")?)?;
        }
        physical.end()?;
        location.end()
    })?;
    let mut fingerprints = JsonObject::begin(result.field("partialFingerprints")?)?;
    fingerprints.plain("secret/v1", format_args!("\"{}\"", finding.fingerprint))?;
    let occurrence = format_args!("\"{}:{occurrence}\"", finding.fingerprint);
    fingerprints.plain("occurrence/v1", occurrence)?;
    fingerprints.end()?;
    let mut properties = JsonObject::begin(result.field("properties")?)?;
    properties.text("confidence", finding.confidence.as_str())?;
    properties.text("reason", &finding.reason)?;
    properties.text("encoding", finding.encoding.as_str())?;
    write_history(finding, &mut properties)?;
    properties.end()?;
    result.end()
}

fn write_region(
    finding: &ReportedFinding,
    columns: &mut Columns,
    out: &mut impl Write,
) -> io::Result<()> {
    let (start, end) = columns.of(finding);
    let mut region = JsonObject::begin(out)?;
    region.number("startLine", finding.line)?;
    region.number("startColumn", start)?;
    region.number("endLine", finding.end_line)?;
    region.number("endColumn", end)?;
    region.number("byteOffset", finding.offset.start)?;
    region.number("byteLength", finding.offset.end - finding.offset.start)?;
    if !finding.excerpt.is_empty() {
        write_message(&mut region, "snippet", &String::from_utf8_lossy(&finding.excerpt))?;
    }
    region.end()
}

fn write_message<W: Write>(
    object: &mut JsonObject<'_, W>,
    name: &str,
    text: &str,
) -> io::Result<()> {
    let mut message = JsonObject::begin(object.field(name)?)?;
    message.text("text", text)?;
    message.end()
}

fn level(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain | Confidence::High => "error",
        Confidence::Medium => "warning",
        Confidence::Low => "note",
    }
}
