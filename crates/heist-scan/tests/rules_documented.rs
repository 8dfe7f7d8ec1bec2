//! What `docs/rules.md` says about the format of rules holds: its example can be used, and its fields are understood.

use heist_scan::{Confidence, ParserKind, RuleSet};

const GUIDE: &str = include_str!("../../../docs/rules.md");

/// What stands between a line that begins with `from` and the next that begins with `to`.
fn between(from: &str, to: &str) -> String {
    let lines = GUIDE.lines().skip_while(|line| !line.starts_with(from)).skip(1);
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with(to)).collect();
    assert!(!text.is_empty(), "nothing after {from:?}");
    text.join("\n")
}

/// The names in the first column of the table below a heading.
fn fields(heading: &str) -> Vec<String> {
    let section = between(heading, "## ");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

/// Whether a field is known: it is not told to have no effect. (A value that it cannot have is an error of its own.)
fn is_understood(rule: &str) -> bool {
    match RuleSet::parse(rule, "rules.toml") {
        Ok(loaded) => {
            !loaded.notes.iter().any(|note| note.to_string().contains("is not understood"))
        }
        Err(_) => true,
    }
}

#[test]
fn the_example_can_be_used() {
    let loaded = RuleSet::parse(&between("```toml", "```"), "example.toml").expect("rules");
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    let own = loaded.rules.rules.iter().find(|rule| rule.id == "acme-token").expect("the rule");
    assert_eq!(own.confidence, Confidence::High);
    assert!(loaded.rules.rules.len() > 100, "the built-in rules are there, too");
    assert!(!loaded.rules.rules.iter().any(|rule| rule.id == "generic-secret"), "it is disabled");
}

#[test]
fn every_field_that_is_named_is_understood() {
    assert!(!is_understood("[[rules]]\nid = 'a'\nregex = 'abcd'\nnonsense = 1"));
    let of_rules = fields("## Fields of a rule");
    assert!(of_rules.len() >= 18, "{of_rules:?}");
    for field in of_rules.iter().filter(|field| *field != "id" && *field != "regex") {
        let rule = format!("[[rules]]\nid = 'a'\nregex = 'abcd'\n{field} = 'low'");
        assert!(is_understood(&rule), "`{field}` of a rule");
    }
    let of_allowlists = fields("## Fields of an allowlist");
    assert!(of_allowlists.len() >= 5, "{of_allowlists:?}");
    for field in of_allowlists {
        let rule =
            format!("[[rules]]\nid = 'a'\nregex = 'abcd'\n[[rules.allowlists]]\n{field} = 'line'");
        assert!(is_understood(&rule), "`{field}` of an allowlist");
    }
}

#[test]
fn every_detector_is_named() {
    for kind in ParserKind::ALL {
        assert!(GUIDE.contains(&format!("`{kind}`")), "{kind}");
    }
}

#[test]
fn the_rule_that_is_pointed_to_has_a_checksum() {
    let rules = RuleSet::builtin().rules;
    let shown = rules.iter().find(|rule| GUIDE.contains(&format!("heist rules show {}`", rule.id)));
    assert!(shown.expect("a rule").checksum.is_some());
}
