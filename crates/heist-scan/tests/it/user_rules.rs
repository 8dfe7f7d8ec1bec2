//! Rules as users write them: the detector finds what they describe.

use heist_scan::rules::{Pattern, Rule, RuleSet};
use heist_scan::{Chunk, Confidence, Detector, DetectorOptions, Match, SecretDetector};
use std::path::Path;
use std::time::{Duration, Instant};

fn detector(rules: &str) -> SecretDetector {
    let loaded = RuleSet::parse(rules, "rules.toml").unwrap_or_else(|error| panic!("{error}"));
    SecretDetector::new(loaded.rules, DetectorOptions::default())
}

fn matches(detector: &SecretDetector, text: &str) -> Vec<Match> {
    let mut found = Vec::new();
    let chunk = Chunk::whole(text.as_bytes(), Path::new("file"));
    detector.scan(&chunk, &mut detector.scratch(), &mut found);
    found
}

fn secrets(detector: &SecretDetector, text: &str) -> Vec<String> {
    let at =
        |range: std::ops::Range<u64>| text[range.start as usize..range.end as usize].to_owned();
    matches(detector, text).into_iter().map(|found| at(found.secret)).collect()
}

fn paths(detector: &SecretDetector, path: &str) -> usize {
    let mut found = Vec::new();
    detector.scan_path(Path::new(path), &mut found);
    found.len()
}

const VALUE: &str = "k3Qz9fVq3rT8xLm2Zp6K";

#[test]
fn a_boundary_before_a_sign_is_the_end_of_a_word() {
    for (regex, text) in [
        (r"[a-z]+\b://([a-zA-Z0-9]{20})", "abc://"),
        (r"\b--acme-([a-zA-Z0-9]{20})", "foo--acme-"),
        (r"(?:\b|x)--acme-([a-zA-Z0-9]{20})", "foo--acme-"),
        (r"\bacme-([a-zA-Z0-9]{20})", "foo--acme-"),
    ] {
        let detector = detector(&format!("[[rules]]\nid = 'r'\nregex = '''{regex}'''\n"));
        assert_eq!(secrets(&detector, &format!("{text}{VALUE} ")), [VALUE], "{regex}");
    }
}

#[test]
fn keywords_of_assignments_are_compared_in_full() {
    let rules = |keyword: &str| {
        format!(
            "[[rules]]\nid = 'r'\nassignment = '''[a-zA-Z0-9]{{20}}'''\nkeywords = ['{keyword}']\n"
        )
    };
    let long = detector(&rules("extraordinarily-long-vendor-name"));
    let set = |key: &str| secrets(&long, &format!("{key} = \"{VALUE}\"\n"));
    assert_eq!(set("extraordinarily-long-vendor-name-key"), [VALUE]);
    assert!(set("extraordinarily-long-vendor_other").is_empty());
    let error = RuleSet::parse(&rules("s3"), "rules.toml").expect_err("too short to be looked for");
    assert!(error.to_string().contains("at least 3 characters"), "{error}");
}

#[test]
fn an_allowlist_on_lines_does_not_see_the_line_after_a_secret_that_ends_with_a_newline() {
    let rules = |allowed: &str| {
        format!(
            "[[rules]]\nid = 'r'\nregex = '''acme-[a-zA-Z0-9]{{20}}\\n'''\n[[rules.allowlists]]\n\
             regexTarget = 'line'\nregexes = ['{allowed}']\n"
        )
    };
    let text = format!("first\nid acme-{VALUE}\nlast\n");
    for (allowed, expected) in [("first", 1), ("id", 0), ("last", 1)] {
        assert_eq!(matches(&detector(&rules(allowed)), &text).len(), expected, "{allowed}");
    }
}

#[test]
fn path_rules_stand_for_themselves_and_heed_allowlists() {
    let rules = r"
        [[rules]]
        id = 'pem'
        path = '''\.(?P<ext>pem)$'''
        [[rules.allowlists]]
        paths = ['good/']
        [[rules]]
        id = 'key'
        path = '''\.(?P<ext>key)$'''
        [[allowlists]]
        paths = ['vendor/']
    ";
    // Together the two expressions are none: a group may have its name once.
    let detector = detector(rules);
    for (path, expected) in
        [("a.pem", 1), ("a.key", 1), ("good/a.pem", 0), ("good/a.key", 1), ("vendor/a.pem", 0)]
    {
        assert_eq!(paths(&detector, path), expected, "{path}");
    }
}

#[test]
fn an_expression_without_literals_is_tried_once_near_many_keywords() {
    let detector = detector("[[rules]]\nid = 'r'\nregex = '''[0-9a-f]{8}'''\nkeywords = ['key']\n");
    let lines = 20_000;
    let text = "key 0123abcd\n".repeat(lines);
    let started = Instant::now();
    let found = matches(&detector, &text);
    assert_eq!(found.len(), lines, "each once");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn more_literals_than_16_bits_can_number() {
    // More than rule files may contain, so a program makes the rules.
    let rules = (0..35).map(|rule| {
        let words: Vec<String> =
            (0..2_000).map(|word| format!("w{:06x}q", (rule * 2_000 + word) * 97)).collect();
        let pattern = format!("(?:{})_([0-9]{{6}})", words.join("|"));
        Rule::new(format!("r{rule}"), Pattern::Regex(pattern))
    });
    let detector = SecretDetector::new(RuleSet::new(rules), DetectorOptions::default());
    let text = format!("w{:06x}q_123456 ", 69_999 * 97);
    assert_eq!(secrets(&detector, &text), ["123456"]);
}

#[test]
fn a_longest_match_that_is_too_short_is_never_found() {
    let rules = "[[rules]]\nid = 'r'\nregex = '''[a-z0-9]{20}xyz_[0-9]{3}'''\nmaxLength = 10\n";
    assert!(secrets(&detector(rules), "aaaaaaaaaaaaaaaaaaaaxyz_123 ").is_empty());
}

#[test]
fn passwords_are_judged_as_such_by_every_name_of_theirs() {
    let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    for key in ["DB_PASSWORD", "DB_PASS", "MAIL_PASS", "SMTP_PWD"] {
        for value in ["Winter2024!", "Monkey#1987"] {
            let found = matches(&detector, &format!("{key} = \"{value}\"\n"));
            let confidences: Vec<Confidence> = found.iter().map(|found| found.confidence).collect();
            assert_eq!(confidences, [Confidence::Medium], "{key} = {value}");
        }
    }
}
