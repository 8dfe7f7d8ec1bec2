//! Errors in rules say what is wrong, where, and what to do; and no input makes the loader panic.

use heist_scan::rules::{RuleError, RuleErrorKind, RuleSet};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

#[track_caller]
fn fail(text: &str) -> RuleError {
    RuleSet::parse(text, "some/rules.toml").expect_err(text)
}

/// Checks the full text of the error.
#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(fail(text).to_string(), expected, "{text}");
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    check(
        "\n[[rules]]\nregex = 'a'",
        "some/rules.toml:2: the rule has no `id`; give it a unique name",
    );
    check(
        "[[rules]]\nid = 'a'\n",
        "some/rules.toml:1: rule \"a\": the rule has no pattern; give it a `regex` or a `path`",
    );
    check(
        "[[rules]]\nid = 'a'\nregex = 'b'\ndetector = 'jwt'",
        "some/rules.toml:1: rule \"a\": the rule sets more than one of `regex`, `assignment` and \
         `detector`; split it up",
    );
    check(
        "[[rules]]\nid = 'a'\n\nregex = 'a(b'",
        "some/rules.toml:4: rule \"a\": `regex` is not a usable regular expression: unclosed group \
         (at byte 1 of the expression)",
    );
    check(
        "[[rules]]\nid = 'a'\nregex = '(a)'\nsecretGroup = 2",
        "some/rules.toml:1: rule \"a\": `secretGroup`: there is no group 2; the regular expression has 1",
    );
    check(
        "[extend]\nurl = 'https://example.com/x.toml'",
        "some/rules.toml:1: `extend.url` (https://example.com/x.toml) is not supported: heist never \
         fetches rules from the network; download the file and set `extend.path` to it",
    );
    check(
        "[[rules]]\nid = 'token'\nregex = 'a'\n[[allowlists]]\ntargetRules = ['tokens']\npaths = ['a']",
        "some/rules.toml:4: no rule is called \"tokens\"; did you mean \"token\"?",
    );
    check(
        "[[rules]]\nid = 'a'\nregex = 'a'\n[[rules.allowlists]]\npaths = ['b',\n'[']",
        "some/rules.toml:6: rule \"a\": `paths` is not a usable regular expression: a character class \
         has no closing `]`",
    );
    check(
        "[[rules]]\nid = 'a'\nregex = 'a'\nconfidence = 'sure'",
        "some/rules.toml:4: rule \"a\": `confidence`: \"sure\" is not a level of confidence; the \
         levels are low, medium, high and certain",
    );
    check("rules = 5", "some/rules.toml:1: `rules`: expected a table, found an integer");
}

#[test]
fn wrong_values_are_errors() {
    for (field, value) in [
        ("regex", "true"),
        ("regex", "['a']"),
        ("entropy", "'much'"),
        ("entropy", "nan"),
        ("entropy", "inf"),
        ("secretGroup", "-1"),
        ("secretGroup", "1.5"),
        ("keywords", "5"),
        ("keywords", "[['a']]"),
        ("tags", "{ a = 1 }"),
        ("checksum", "'md5'"),
        ("detector", "'magic'"),
        ("maxLength", "0"),
        ("maxLength", "65537"),
        ("maxLength", "99999999999999999999999"),
        ("generic", "'perhaps'"),
        ("examples", "false"),
        ("allowlists", "'a'"),
        ("allowlists", "[1]"),
        ("condition", "'xor'"),
        ("regexTarget", "'file'"),
        ("stopwords", "1"),
    ] {
        let text = match field {
            "condition" | "regexTarget" | "stopwords" => {
                format!("[[rules]]\nid = 'r'\n[rules.allowlist]\npaths = ['a']\n{field} = {value}")
            }
            _ => format!("[[rules]]\nid = 'r'\n\n\n{field} = {value}"),
        };
        let error = fail(&text);
        let RuleErrorKind::Value { field: named, .. } = &error.kind else {
            panic!("{text}: {error:?}")
        };
        assert_eq!(*named, field, "{text}");
        assert_eq!(error.place.line, Some(5), "{text}");
        assert_eq!(error.place.rule.as_deref(), Some("r"), "{text}");
    }
}

#[test]
fn invalid_toml_is_an_error_with_its_line() {
    for (text, line) in [("a = \n", 1), ("[[rules]]\nid = 'a'\nid = 'b'", 3), ("\n\n]", 3)] {
        let error = fail(text);
        assert!(matches!(error.kind, RuleErrorKind::Toml(_)), "{error:?}");
        assert_eq!(error.place.line, Some(line), "{error}");
    }
}

#[test]
fn oversized_input_is_an_error() {
    let error = fail(&format!("[[rules]]\nid = 'a'\nregex = '{}'", "a".repeat(17 << 10)));
    assert!(
        error
            .to_string()
            .contains("a regular expression of 17408 bytes is too large: the limit is 16384")
    );

    let error = fail(&"#".repeat((1 << 20) + 1));
    assert!(error.to_string().contains("a file of 1048577 bytes"), "{error}");

    let many: String =
        (0..4_001).map(|n| format!("[[rules]]\nid = 'r{n}'\nregex = 'a'\n")).collect();
    assert!(fail(&many).to_string().contains("a set of 4001 "));
    let enough = many.rsplit_once("[[rules]]").expect("many").0;
    assert_eq!(RuleSet::parse(enough, "x").expect("not too many").rules.rules.len(), 4_000);
}

#[test]
fn unreadable_files_are_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = folder.path().join("missing.toml");
    let error = RuleSet::load(&missing).expect_err("it is not there");
    assert!(matches!(error.kind, RuleErrorKind::Read(_)));
    assert_eq!(error.place.origin.as_deref(), Some(missing.as_path()));
    assert!(RuleSet::load(folder.path()).is_err());

    let binary = folder.path().join("binary.toml");
    fs::write(&binary, b"title = '\xFF'").expect("a temporary file");
    assert!(matches!(RuleSet::load(&binary).expect_err("no text").kind, RuleErrorKind::NotText));

    let large = folder.path().join("large.toml");
    fs::File::create(&large).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    assert!(matches!(
        RuleSet::load(&large).expect_err("a terabyte").kind,
        RuleErrorKind::TooLarge { .. }
    ));
}

#[test]
fn many_notes_take_linear_time() {
    let text: String = (0..80_000).map(|n| format!("k{n} = 1\n")).collect();
    let loaded = RuleSet::parse(&text, "x").expect("notes only");
    assert_eq!(loaded.notes.len(), 201);
    assert!(loaded.notes[200].text.contains("79800 more notes"), "{}", loaded.notes[200]);
}

#[test]
fn excessive_nesting_is_an_error() {
    for text in [
        "[".repeat(100_000),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
    ] {
        fail(&text);
    }
    let nested = format!("{}{}", "(".repeat(10_000), ")".repeat(10_000));
    fail(&format!("[[rules]]\nid = 'a'\nregex = '{nested}'"));
}

/// A rule file with every field, which the tests below damage.
const WHOLE: &str = r#"title = "t"
[extend]
useDefault = true
disabledRules = ["generic-api-key"]
[[rules]]
id = "a"
description = "d"
regex = '''(?i)[\w-.]{1,20}\Q.\E(x|y{2,3})\pL'''
path = '''\.env$'''
secretGroup = 1
entropy = 3.5
keywords = ["k"]
tags = ["t"]
confidence = "high"
checksum = "npm-crc32"
maxLength = 100
generic = false
examples = ["{secret}"]
counterExamples = ["{wrong}"]
[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
paths = ['''a''']
regexes = ['''b''']
stopwords = ["c"]
commits = ["d"]
[[rules.required]]
id = "b"
[[allowlists]]
targetRules = ["a"]
stopwords = ["e"]
"#;

#[test]
fn the_undamaged_file_loads() {
    assert!(RuleSet::parse(WHOLE, "x").is_ok());
}

/// Loads any text and checks that all errors and notes have a place.
fn check_any(text: &str) {
    match RuleSet::parse(text, "x.toml") {
        Ok(loaded) => {
            for rule in &loaded.rules.rules {
                assert!(!rule.id.is_empty());
                assert!(rule.max_length > 0);
            }
            assert!(loaded.notes.iter().all(|note| note.place.line.is_some()));
        }
        Err(error) => assert_eq!(error.place.origin.as_deref(), Some(Path::new("x.toml"))),
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_loader_panic(text in any::<String>()) {
        check_any(&text);
    }

    #[test]
    fn no_damage_makes_the_loader_panic(
        damages in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..3usize, "[\\[\\]\\{\\}=\"'\\\\#.,0-9a-z\n(]{0,3}"),
            1..6,
        ),
    ) {
        let mut characters: Vec<char> = WHOLE.chars().collect();
        for (at, removed, inserted) in damages {
            let at = at.index(characters.len());
            let end = (at + removed).min(characters.len());
            characters.splice(at..end, inserted.chars());
        }
        let text: String = characters.into_iter().collect();
        check_any(&text);
    }

    #[test]
    fn no_order_of_lines_makes_the_loader_panic(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let lines: Vec<&str> = WHOLE.lines().collect();
        let text: String = picks.iter().map(|pick| format!("{}\n", pick.get(&lines))).collect();
        check_any(&text);
    }
}
