//! Checks `docs/rules.md` against the loader: its example loads, and heist knows every field it
//! describes.

use heist_scan::Confidence;
use heist_scan::rules::{ParserKind, RuleSet};

const GUIDE: &str = include_str!("../../../../docs/rules.md");

/// Returns the lines between the first that begins with `from` and the next that begins with `to`.
fn between(from: &str, to: &str) -> String {
    let lines = GUIDE.lines().skip_while(|line| !line.starts_with(from)).skip(1);
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with(to)).collect();
    assert!(!text.is_empty(), "nothing after {from:?}");
    text.join("\n")
}

/// Returns the names in the first column of the table below a heading.
fn fields(heading: &str) -> Vec<String> {
    let section = between(heading, "## ");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

/// Returns `true` if the loader knows all fields of the rule. (Whether it accepts their values does
/// not matter here.)
fn knows_all_fields(rule: &str) -> bool {
    match RuleSet::parse(rule, "rules.toml") {
        Ok(loaded) => !loaded.notes.iter().any(|note| note.to_string().contains("unknown field")),
        Err(_) => true,
    }
}

#[test]
fn the_example_loads() {
    let loaded = RuleSet::parse(&between("```toml", "```"), "example.toml").expect("rules");
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    let own = loaded.rules.rules.iter().find(|rule| rule.id == "acme-token").expect("the rule");
    assert_eq!(own.confidence, Confidence::High);
    assert!(loaded.rules.rules.len() > 100, "it extends the built-in rules");
    assert!(!loaded.rules.rules.iter().any(|rule| rule.id == "generic-secret"), "it is disabled");
}

#[test]
fn every_documented_field_is_known() {
    assert!(!knows_all_fields("[[rules]]\nid = 'a'\nregex = 'abcd'\nnonsense = 1"));
    let of_rules = fields("## Fields of a rule");
    assert!(of_rules.len() >= 18, "{of_rules:?}");
    for field in of_rules.iter().filter(|field| *field != "id" && *field != "regex") {
        let rule = format!("[[rules]]\nid = 'a'\nregex = 'abcd'\n{field} = 'low'");
        assert!(knows_all_fields(&rule), "`{field}` of a rule");
    }
    let of_allowlists = fields("## Fields of an allowlist");
    assert!(of_allowlists.len() >= 5, "{of_allowlists:?}");
    for field in of_allowlists {
        let rule =
            format!("[[rules]]\nid = 'a'\nregex = 'abcd'\n[[rules.allowlists]]\n{field} = 'line'");
        assert!(knows_all_fields(&rule), "`{field}` of an allowlist");
    }
}

#[test]
fn every_detector_is_documented() {
    for kind in ParserKind::ALL {
        assert!(GUIDE.contains(&format!("`{kind}`")), "{kind}");
    }
}

#[test]
fn the_rule_shown_for_its_checksum_has_one() {
    let rules = RuleSet::builtin().rules;
    let shown = rules.iter().find(|rule| GUIDE.contains(&format!("heist rules show {}`", rule.id)));
    assert!(shown.expect("a rule").checksum.is_some());
}
