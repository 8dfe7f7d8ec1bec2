//! No output shows a planted secret: random texts, every combination of rules and options, and the
//! formats as they are written.
//!
//! `HEIST_MASK_CASES` sets the number of cases, and `HEIST_MASK_SEED` the first seed. `ci/mask.sh`
//! runs more of them.

use super::advice::Advice;
use super::arguments::ScanFormat;
use super::format::{self, Report, TextStyle};
use super::hidden::Hidden;
use super::reported_finding::ReportedFinding;
use super::summary::{Listed, Skipped, Summary, Unreported};
use crate::color::ColorChoice;
use crate::exit::Exit;
use heist_scan::rules::{Allowlist, Pattern, Rule, RuleSet};
use heist_scan::{Confidence, DetectorOptions, SecretDetector, TreeRules};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

#[path = "../../tests/planted/mod.rs"]
mod planted;

use planted::{CASES_PER_TEXT, NEEDLE, Planted, Planter, Public, leaks};

/// The number of cases of an ordinary test run.
const CASES: usize = if cfg!(debug_assertions) { 1_024 } else { 8_192 };

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns a rule that finds a harmless word, so that there is an excerpt in each case.
fn needle() -> Rule {
    let mut rule = Rule::new("needle", Pattern::Regex(format!(r"\b{NEEDLE}\b")));
    rule.keywords = vec![NEEDLE.to_owned()];
    rule
}

/// Returns a rule that finds pieces of other secrets.
fn piece() -> Rule {
    let mut rule = Rule::new("piece", Pattern::Regex("[A-Za-z0-9]{12}".to_owned()));
    rule.max_length = 12;
    rule
}

fn rules(rules: impl IntoIterator<Item = Rule>) -> RuleSet {
    RuleSet::new(rules.into_iter().chain([needle()]))
}

fn builtin_without(ids: &[&str]) -> RuleSet {
    rules(RuleSet::builtin().rules.into_iter().filter(|rule| !ids.contains(&&*rule.id)))
}

fn builtin_only(ids: &[&str]) -> RuleSet {
    rules(RuleSet::builtin().rules.into_iter().filter(|rule| ids.contains(&&*rule.id)))
}

/// Returns detectors with all kinds of options.
fn detectors() -> Vec<SecretDetector> {
    let all = || builtin_without(&[]);
    let options = DetectorOptions::default;
    let mut off = TreeRules::default();
    off.off.extend(RuleSet::builtin().rules.into_iter().map(|rule| rule.id));
    let mut allowed = TreeRules::default();
    let mut anything = Allowlist::default();
    anything.regexes.push(".".to_owned());
    allowed.allowlists.push(anything.clone());
    allowed.no_decode = true;
    let mut revealing = TreeRules::default();
    let mut reveal = Rule::new("reveal", Pattern::Regex(r"[A-Za-z0-9_=-]{10,100}".to_owned()));
    reveal.identifier = true;
    reveal.max_length = 100;
    revealing.added.push(reveal);
    let mut allows_all = all();
    for rule in allows_all.rules.iter_mut().filter(|rule| rule.id != "needle") {
        rule.allowlists.push(anything.clone());
    }
    let password = ["password", "generic-secret", "url-credentials", "connection-string"];
    vec![
        SecretDetector::new(RuleSet::builtin(), options()),
        SecretDetector::new(all(), options()),
        SecretDetector::new(all(), options().generic(false)),
        SecretDetector::new(all(), options().decode(false)),
        SecretDetector::new(all(), options().noise_filter(false)),
        SecretDetector::new(all(), options().generic(false).decode(false)),
        SecretDetector::new(rules([]), options()),
        SecretDetector::new(rules([piece()]), options().decode(false)),
        SecretDetector::new(builtin_only(&["password"]), options()),
        SecretDetector::new(builtin_only(&["generic-secret", "jwt"]), options()),
        SecretDetector::new(builtin_only(&["private-key", "url-credentials"]), options()),
        SecretDetector::new(builtin_without(&password), options()),
        SecretDetector::new(allows_all, options()),
        SecretDetector::with_tree_rules(all(), off, options()),
        SecretDetector::with_tree_rules(all(), allowed, options()),
        SecretDetector::with_tree_rules(all(), revealing, options()),
    ]
}

/// Returns everything that is reported about a text, in every format, and the fingerprints in it.
fn outputs(
    detector: &SecretDetector,
    planted: &Planted,
    shows_secrets: bool,
) -> (Vec<u8>, HashSet<String>) {
    let path: Arc<Path> = Arc::from(Path::new("src/config"));
    let mut fingerprints = HashSet::new();
    let mut findings: Vec<ReportedFinding> = Vec::new();
    let mut output = Vec::new();
    for finding in detector.find(&planted.text) {
        fingerprints.insert(finding.fingerprint.to_string());
        output.extend_from_slice(format!("{} {:?}\n", finding.secret, finding.secret).as_bytes());
        findings.push(ReportedFinding::new(finding, Arc::clone(&path), shows_secrets));
    }
    findings.sort();
    let (baseline, scan) = (String::new(), String::new());
    let advice =
        Advice { baseline, scan, read_stdin: false, is_staged: false, is_of_history: false };
    let report = Report {
        findings: &findings,
        summary: &summary(),
        exit: Exit::SecretsFound,
        advice: &advice,
    };
    let look = TextStyle { colors: ColorChoice::Never.colors(), columns: None };
    for format in [ScanFormat::Text, ScanFormat::Json, ScanFormat::Jsonl, ScanFormat::Sarif] {
        format::write(format, &report, look, &mut output).expect("memory");
    }
    // UTF-16 and control characters must not hide a secret from this test.
    let output = String::from_utf8_lossy(&output).replace('\u{fffd}', "");
    (output.into_bytes(), fingerprints)
}

fn summary() -> Summary {
    Summary {
        files: 1,
        bytes: 1,
        confidence: Confidence::Low,
        listed: Listed::default(),
        unreported: Unreported::default(),
        hidden: Hidden::default(),
        skipped: Skipped::default(),
        gaps: Vec::new(),
        gaps_more: 0,
        pseudo_paths: Vec::new(),
        pseudo_roots: Vec::new(),
        no_path_is_left: false,
        gaps_are_named: true,
        ended: None,
        failed_rules: Vec::new(),
        configurations: Vec::new(),
        policies: Vec::new(),
        overruled: Vec::new(),
        histories: Vec::new(),
        unscanned_histories: Vec::new(),
    }
}

#[test]
fn no_format_shows_a_planted_secret() {
    let cases = number("HEIST_MASK_CASES", CASES);
    let seed = number("HEIST_MASK_SEED", 1) as u64;
    let show_all = std::env::var_os("HEIST_MASK_ALL").is_some();
    let (detectors, public) = (detectors(), Public::new());
    let mut planter = Planter::new(seed);
    let (mut done, mut count) = (0, 0);
    while done < cases {
        let planted = planter.text();
        let detector = &detectors[done / CASES_PER_TEXT % detectors.len()];
        let (output, fingerprints) = outputs(detector, &planted, false);
        for leak in leaks(&planted, &public, &fingerprints, &output) {
            count += 1;
            let which = done / CASES_PER_TEXT % detectors.len();
            let text = format!("seed {seed}, case {done}, detector {which}: {leak}");
            assert!(show_all && count < 40, "{text}");
            println!("{text}\n");
        }
        done += CASES_PER_TEXT;
    }
    println!("{done} cases from seed {seed}, {count} leaks");
    assert_eq!(count, 0);
}

#[test]
fn the_check_notices_shown_secrets() {
    let (detectors, public) = (detectors(), Public::new());
    let mut planter = Planter::new(7);
    for detector in &detectors[..4] {
        let planted = planter.text();
        let (output, fingerprints) = outputs(detector, &planted, true);
        assert!(!leaks(&planted, &public, &fingerprints, &output).is_empty());
    }
}
