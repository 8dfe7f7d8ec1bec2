//! Generated secrets are found by their own expression, their checksums hold, and the same seed
//! gives the same secret.

use super::*;
use crate::rules::{Allowlist, RuleSet};

fn rule(pattern: &str) -> Rule {
    let pattern = syntax::translate(pattern).expect("a right expression").into_owned();
    Rule::new("test", Pattern::Regex(pattern))
}

const PATTERNS: [&str; 16] = [
    r"\b((?:AKIA|ASIA)[A-Z2-7]{16})\b",
    r"\bxox[abp]-\d{10,13}-[a-zA-Z0-9-]{24,34}\b",
    r#"(?i)vendor[\w.-]{0,20}[\s'"]{0,3}(?:=|:|=>){1,2}[\s'"`]{0,5}([0-9a-f]{40})(?:['"\s`;]|$)"#,
    r#"(?:^|[^a-z])(k_[\w-.]{30,60})\b"#,
    r#"password\s*=\s*"([^"\n]{8,})""#,
    r"(a|ab)(c|bcd)(d*)",
    r"()()(x+)y",
    r"[ä-ü]{4}",
    r"\p{Greek}{3,9}[é-ü]",
    r"\Q[.]\E.{5,10}?;",
    r"(?s).{30}",
    r"^key$",
    r"\s{3}[\x01-\x05]",
    r"(?:(?:(?:ab?)*c?)+d){2,}",
    r"a{300,}b{0,1000}",
    r"(?i)straße",
];

#[test]
fn a_sample_is_found_by_its_own_expression() {
    for pattern in PATTERNS {
        let rule = rule(pattern);
        let Pattern::Regex(translated) = &rule.pattern else {
            unreachable!("`rule` builds a regex")
        };
        let regex = syntax::compile(&syntax::parse(translated).expect("right")).expect("small");
        let sampler = Sampler::new(&rule).expect("right");
        let mut rng = XorShift64::new(7);
        let mut different = std::collections::HashSet::new();
        for _ in 0..1000 {
            let (text, secret) =
                (0..ATTEMPTS).find_map(|_| sampler.attempt(&mut rng)).expect(pattern);
            let mut captures = regex.create_captures();
            regex.captures(&text, &mut captures);
            let groups = (0..captures.group_len()).filter_map(|group| captures.get_group(group));
            assert!(groups.into_iter().any(|span| span.range() == secret), "{pattern}");
            assert!(!secret.is_empty());
            different.insert(sampler.secret(&mut rng).expect(pattern));
        }
        assert!(
            different.len() > 1 || pattern == "^key$" || pattern.contains("(x+)"),
            "{pattern}: always the same"
        );
    }
}

#[test]
fn the_secret_is_taken_from_the_rules_group() {
    let mut rng = XorShift64::new(1);
    let mut rule = rule("(a+)(?:-)(b+)(c*)");
    assert!(sample(&rule, &mut rng).expect("simple").starts_with('a'));
    rule.secret_group = Some(2);
    assert!(sample(&rule, &mut rng).expect("simple").starts_with('b'));
    let first_not_empty = self::rule("(x{0})(y{3})");
    assert_eq!(sample(&first_not_empty, &mut rng).as_deref(), Some("yyy"));
}

#[test]
fn the_same_seed_gives_the_same_secret() {
    for pattern in PATTERNS {
        let rule = rule(pattern);
        let draw = |seed| sample(&rule, &mut XorShift64::new(seed));
        assert_eq!(draw(3), draw(3), "{pattern}");
    }
}

#[test]
fn classes_are_drawn_from_evenly() {
    let rule = rule("[A-Fx]");
    let sampler = Sampler::new(&rule).expect("right");
    let mut rng = XorShift64::new(5);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..7000 {
        *counts.entry(sampler.secret(&mut rng).expect("simple")).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 7);
    // Seven standard deviations around 1,000.
    assert!(counts.values().all(|count| (800..1200).contains(count)), "{counts:?}");
}

#[test]
fn checksums_are_right_or_wrong_as_asked() {
    let mut rule = rule(r"\bghp_[0-9A-Za-z]{36}\b");
    rule.checksum = Some(Checksum::GithubCrc32);
    let sampler = Sampler::new(&rule).expect("right");
    let mut rng = XorShift64::new(2);
    for _ in 0..1000 {
        let secret = sampler.secret(&mut rng).expect("it has room");
        assert!(Checksum::GithubCrc32.holds(secret.as_bytes()));
        let wrong = sampler.wrong(&mut rng).expect("most are");
        assert!(!Checksum::GithubCrc32.holds(wrong.as_bytes()));
        assert_eq!(wrong.len(), secret.len());
    }
    // The alphabet does not contain the characters of the checksum.
    let mut rule = self::rule("ghp_[a-c]{36}");
    rule.checksum = Some(Checksum::GithubCrc32);
    assert_eq!(sample(&rule, &mut rng), None);
}

#[test]
fn secrets_that_the_rule_rejects_are_not_generated() {
    let mut rule = rule("[a-d]{4}");
    rule.entropy = Some(1.9);
    let allowlist = |regexes: &[&str], regex_target, stopwords: &[&str]| Allowlist {
        regexes: regexes.iter().map(|&regex| regex.to_owned()).collect(),
        stopwords: stopwords.iter().map(|&word| word.to_owned()).collect(),
        regex_target,
        ..Allowlist::default()
    };
    rule.allowlists = vec![
        allowlist(&["^a"], RegexTarget::Secret, &["bc"]),
        allowlist(&["d$"], RegexTarget::Match, &[]),
    ];
    let sampler = Sampler::new(&rule).expect("right");
    let mut rng = XorShift64::new(9);
    for _ in 0..1000 {
        let secret = sampler.secret(&mut rng).expect("there are some");
        let mut letters: Vec<_> = secret.chars().collect();
        letters.sort_unstable();
        assert_eq!(letters, ['a', 'b', 'c', 'd'], "its entropy is 2");
        assert!(
            !secret.starts_with('a') && !secret.ends_with('d') && !secret.contains("bc"),
            "{secret}"
        );
    }
    rule.entropy = Some(3.0);
    assert_eq!(sample(&rule, &mut rng), None);
}

#[test]
fn impossible_secrets_are_none() {
    let mut rng = XorShift64::new(1);
    assert_eq!(sample(&Rule::new("path", Pattern::Path), &mut rng), None);
    assert_eq!(sample(&rule("[^\\x00-\\x{10FFFF}]"), &mut rng), None);
    assert_eq!(sample(&rule("(?:){100000000}"), &mut rng), None);
    assert_eq!(sample(&rule("(?:(?:a{1000}){1000}){1000}"), &mut rng), None);
    assert_eq!(sample(&Rule::new("wrong", Pattern::Regex("(".to_owned())), &mut rng), None);
    assert_eq!(expand_example("{wrong}", &rule("a"), &mut rng), None);
}

#[test]
fn examples_are_filled_in() {
    let mut rng = XorShift64::new(4);
    let rule = rule("k[0-9]{5}");
    let expanded = Sampler::new(&rule)
        .and_then(|sampler| sampler.expand("a {secret} {b} ${{secret}} {", &mut rng))
        .expect("the rule has samples");
    let [first, second] = &expanded.secrets[..] else { panic!("{expanded:?}") };
    let (first, second) = (&expanded.text[first.clone()], &expanded.text[second.clone()]);
    assert_eq!(expanded.text, format!("a {first} {{b}} ${{{second}}} {{"));
    assert!(first.len() == 6 && first.starts_with('k') && first != second);
    let path = Rule::new("path", Pattern::Path);
    assert_eq!(expand_example("no {secrets}", &path, &mut rng).as_deref(), Some("no {secrets}"));
}

#[test]
fn an_assigned_value_matches_as_a_whole() {
    let rule = Rule::new("value", Pattern::Assignment("a|ab|[0-9a-f]{32}".to_owned()));
    let sampler = Sampler::new(&rule).expect("right");
    let mut rng = XorShift64::new(6);
    let drawn: std::collections::HashSet<_> =
        (0..100).filter_map(|_| sampler.secret(&mut rng)).collect();
    assert!(drawn.contains("a") && drawn.contains("ab") && drawn.len() > 10);
}

#[test]
fn every_parser_has_samples() {
    for kind in ParserKind::ALL {
        let rule = Rule::new("parsed", Pattern::Parser(kind));
        let sampler = Sampler::new(&rule).expect("any kind");
        let mut rng = XorShift64::new(8);
        let drawn: std::collections::HashSet<_> =
            (0..1000).map(|_| sampler.secret(&mut rng).expect("any kind")).collect();
        assert_eq!(drawn.len(), 1000, "{kind}");
        for secret in &drawn {
            let right = match kind {
                ParserKind::GenericSecret => secret.len() == 32,
                ParserKind::Jwt => secret.split('.').count() == 3 && secret.starts_with("eyJ"),
                ParserKind::PrivateKey => {
                    secret.starts_with("-----BEGIN ") && secret.ends_with(" KEY-----")
                }
                ParserKind::Password
                | ParserKind::UrlCredentials
                | ParserKind::ConnectionString => (12..=16).contains(&secret.len()),
            };
            assert!(right, "{kind}");
        }
    }
}

#[test]
fn every_built_in_rule_can_be_sampled() {
    for rule in RuleSet::builtin().rules.iter().filter(|rule| rule.pattern != Pattern::Path) {
        let sampler = Sampler::new(rule).unwrap_or_else(|| panic!("{}", rule.id));
        let mut rng = XorShift64::new(1);
        for _ in 0..100 {
            let secret = sampler.secret(&mut rng).unwrap_or_else(|| panic!("{}", rule.id));
            assert!(
                rule.checksum.is_none_or(|checksum| checksum.holds(secret.as_bytes())),
                "{}",
                rule.id
            );
        }
    }
}
