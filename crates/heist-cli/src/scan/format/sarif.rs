//! `--format sarif`: the Static Analysis Results Interchange Format, version 2.1.0.
//!
//! - A result for each place. `level` is `error` for certain and high confidence, `warning` for medium, `note` for low.
//! - `partialFingerprints` has `secret/v1`, the secret's fingerprint, and `occurrence/v1`, the same with the number of
//!   the place among those of its secret: both stay when lines move.
//! - Paths are relative to `SRCROOT`, the current directory, if they are below it.
//! - Columns count UTF-16 code units, as the format wants them. Where the text of a line cannot be read again (stdin,
//!   or the file has changed) they count bytes; `byteOffset` and `byteLength` are always those of the scan.
//! - `invocations` tells whether everything was scanned, and what was not.

use super::columns::Columns;
use super::{Report, uri};
use crate::escape;
use crate::json::{Object, array};
use crate::scan::place::Place;
use crate::scan::summary::Gap;
use heist_scan::Confidence;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The name of what paths are relative to.
const BASE: &str = "SRCROOT";

/// Writes the log.
pub(super) fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let base = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mut log = Object::begin(out)?;
    log.text("$schema", SCHEMA)?;
    log.text("version", "2.1.0")?;
    array(log.field("runs")?, [()], |out, ()| write_run(report, &base, out))?;
    log.end()?;
    out.write_all(b"\n")
}

fn write_run(report: &Report<'_>, base: &Path, out: &mut impl Write) -> io::Result<()> {
    let mut rules: BTreeMap<&str, &Place> = BTreeMap::new();
    for place in report.places {
        // The level that a rule has by default is that of its surest finding.
        let known = rules.entry(&place.rule).or_insert(place);
        if place.confidence > known.confidence {
            *known = place;
        }
    }
    let mut run = Object::begin(out)?;
    let mut tool = Object::begin(run.field("tool")?)?;
    let mut driver = Object::begin(tool.field("driver")?)?;
    driver.text("name", "heist")?;
    driver.text("version", env!("CARGO_PKG_VERSION"))?;
    driver.text("semanticVersion", env!("CARGO_PKG_VERSION"))?;
    array(driver.field("rules")?, rules.values(), |out, place| write_rule(place, out))?;
    driver.end()?;
    tool.end()?;
    array(run.field("invocations")?, [()], |out, ()| write_invocation(report, base, out))?;
    let mut bases = Object::begin(run.field("originalUriBaseIds")?)?;
    let mut location = Object::begin(bases.field(BASE)?)?;
    location.text("uri", &uri::of_directory(base))?;
    location.end()?;
    bases.end()?;
    run.text("columnKind", "utf16CodeUnits")?;
    let indexes: HashMap<&str, usize> = rules.keys().copied().zip(0..).collect();
    let mut occurrences = HashMap::new();
    let mut columns = Columns::default();
    let (artifacts, results) = results(report.places, base);
    array(run.field("results")?, results, |out, (place, artifact)| {
        let occurrence = occurrences.entry(place.fingerprint).or_insert(0_u64);
        *occurrence += 1;
        let artifact = &artifacts[artifact];
        write_result(place, indexes[&*place.rule], *occurrence, artifact, &mut columns, out)
    })?;
    run.end()
}

/// A file, as it is called here.
struct Artifact {
    uri: String,
    is_relative: bool,
}

impl Artifact {
    fn new(path: &Path, base: &Path) -> Self {
        let (uri, is_relative) = uri::of_path(path, base);
        Self { uri, is_relative }
    }

    fn write<W: Write>(&self, physical: &mut Object<'_, W>) -> io::Result<()> {
        let mut artifact = Object::begin(physical.field("artifactLocation")?)?;
        artifact.text("uri", &self.uri)?;
        if self.is_relative {
            artifact.text("uriBaseId", BASE)?;
        }
        artifact.end()
    }
}

/// The files, and the places with the number of theirs. A place that was scanned under two names of its file is one
/// result: the number of an occurrence must not depend on how often a PATH was given.
fn results<'a>(places: &'a [Place], base: &Path) -> (Vec<Artifact>, Vec<(&'a Place, usize)>) {
    let mut artifacts: Vec<Artifact> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut comes_again = false;
    let mut results: Vec<(&Place, usize)> = Vec::with_capacity(places.len());
    let mut last: Option<(&Path, usize)> = None;
    for place in places {
        let number = match last {
            Some((path, number)) if *path == *place.path => number,
            _ => {
                let artifact = Artifact::new(&place.path, base);
                let next = artifacts.len();
                let number = *numbers.entry(artifact.uri.clone()).or_insert(next);
                if number == next {
                    artifacts.push(artifact);
                } else {
                    comes_again = true;
                }
                number
            }
        };
        last = Some((&place.path, number));
        results.push((place, number));
    }
    let of = |&(place, number): &(&'a Place, usize)| {
        (number, place.offset.start, place.offset.end, &*place.rule)
    };
    // Under one name they are beside each other; it is rare that more has to be remembered.
    results.dedup_by(|second, first| of(second) == of(first));
    if comes_again {
        let mut seen = HashSet::new();
        results.retain(|result| seen.insert(of(result)));
    }
    (artifacts, results)
}

fn write_rule(place: &Place, out: &mut impl Write) -> io::Result<()> {
    let mut rule = Object::begin(out)?;
    rule.text("id", &place.rule)?;
    write_message(&mut rule, "shortDescription", &place.description)?;
    write_message(&mut rule, "fullDescription", &place.description)?;
    let mut help = Object::begin(rule.field("help")?)?;
    help.text("text", &place.remedy)?;
    help.text("markdown", &place.remedy)?;
    help.end()?;
    let mut configuration = Object::begin(rule.field("defaultConfiguration")?)?;
    configuration.text("level", level(place.confidence))?;
    configuration.end()?;
    let mut properties = Object::begin(rule.field("properties")?)?;
    array(properties.field("tags")?, ["security", "secret"], |out, tag| write!(out, "\"{tag}\""))?;
    properties.end()?;
    rule.end()
}

fn write_invocation(report: &Report<'_>, base: &Path, out: &mut impl Write) -> io::Result<()> {
    let summary = report.summary;
    let mut invocation = Object::begin(out)?;
    invocation.plain("executionSuccessful", summary.is_complete())?;
    invocation.plain("exitCode", report.exit.code())?;
    let more = (summary.gaps_more > 0)
        .then(|| format!("{} more paths could not be scanned", summary.gaps_more));
    let too_many = (summary.unreported.too_many > 0)
        .then(|| format!("{} more places are not listed", summary.unreported.too_many));
    let ended = summary.ended.map(|ended| ended.text().to_owned());
    let failed =
        summary.failed_rules.iter().map(|rule| format!("the rule {rule} could not be used"));
    let notifications: Vec<(Option<&Gap>, String)> = summary
        .gaps
        .iter()
        .map(|gap| {
            let what =
                if gap.is_cut { "not all findings are listed" } else { "not scanned completely" };
            (Some(gap), format!("{what}: {}", gap.reason))
        })
        .chain(more.into_iter().chain(too_many).chain(ended).chain(failed).map(|text| (None, text)))
        .collect();
    array(invocation.field("toolExecutionNotifications")?, notifications, |out, (gap, text)| {
        let mut notification = Object::begin(out)?;
        notification.text("level", "error")?;
        write_message(&mut notification, "message", &text)?;
        if let Some(gap) = gap {
            array(notification.field("locations")?, [gap], |out, gap| {
                let mut location = Object::begin(out)?;
                let mut physical = Object::begin(location.field("physicalLocation")?)?;
                Artifact::new(&gap.path, base).write(&mut physical)?;
                physical.end()?;
                location.end()
            })?;
        }
        notification.end()
    })?;
    invocation.end()
}

fn write_result(
    place: &Place,
    rule: usize,
    occurrence: u64,
    artifact: &Artifact,
    columns: &mut Columns,
    out: &mut impl Write,
) -> io::Result<()> {
    let secret = String::from_utf8_lossy(&place.secret);
    let mut result = Object::begin(out)?;
    result.text("ruleId", &place.rule)?;
    result.plain("ruleIndex", rule)?;
    result.text("level", level(place.confidence))?;
    let text = format!(
        "{}: {} ({} confidence: {}). {}",
        place.title(),
        secret,
        place.confidence,
        place.reason,
        place.remedy
    );
    write_message(&mut result, "message", &escape::visible(&text))?;
    array(result.field("locations")?, [place], |out, place| {
        let mut location = Object::begin(out)?;
        let mut physical = Object::begin(location.field("physicalLocation")?)?;
        artifact.write(&mut physical)?;
        // A file that is a secret by its name has no region.
        if !place.offset.is_empty() {
            write_region(place, columns, physical.field("region")?)?;
        }
        physical.end()?;
        location.end()
    })?;
    let mut fingerprints = Object::begin(result.field("partialFingerprints")?)?;
    fingerprints.plain("secret/v1", format_args!("\"{}\"", place.fingerprint))?;
    let occurrence = format_args!("\"{}:{occurrence}\"", place.fingerprint);
    fingerprints.plain("occurrence/v1", occurrence)?;
    fingerprints.end()?;
    let mut properties = Object::begin(result.field("properties")?)?;
    properties.text("confidence", place.confidence.as_str())?;
    properties.text("reason", &place.reason)?;
    properties.text("encoding", place.encoding.as_str())?;
    properties.end()?;
    result.end()
}

fn write_region(place: &Place, columns: &mut Columns, out: &mut impl Write) -> io::Result<()> {
    let (start, end) = columns.of(place);
    let mut region = Object::begin(out)?;
    region.number("startLine", place.line)?;
    region.number("startColumn", start)?;
    region.number("endLine", place.end_line)?;
    region.number("endColumn", end)?;
    region.number("byteOffset", place.offset.start)?;
    region.number("byteLength", place.offset.end - place.offset.start)?;
    if !place.excerpt.is_empty() {
        write_message(&mut region, "snippet", &String::from_utf8_lossy(&place.excerpt))?;
    }
    region.end()
}

fn write_message<W: Write>(object: &mut Object<'_, W>, name: &str, text: &str) -> io::Result<()> {
    let mut message = Object::begin(object.field(name)?)?;
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
