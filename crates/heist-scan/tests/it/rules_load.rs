//! Loads rule files as gitleaks' users write them: every field, lenient values, and files that
//! extend others.

use heist_scan::rules::{
    Allowlist, Condition, Loaded, MAX_LENGTH_DEFAULT, ParserKind, Pattern, REMEDY_DEFAULT,
    RegexTarget, Rule, RuleErrorKind, RuleSet,
};
use heist_scan::{Checksum, Confidence};
use std::fs;
use std::path::Path;

#[track_caller]
fn load(text: &str) -> Loaded {
    RuleSet::parse(text, "rules.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Loads a text that must not cause notes.
#[track_caller]
fn load_without_notes(text: &str) -> RuleSet {
    let loaded = load(text);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    loaded.rules
}

#[track_caller]
fn rule<'s>(set: &'s RuleSet, id: &str) -> &'s Rule {
    set.rules.iter().find(|rule| rule.id == id).unwrap_or_else(|| panic!("no rule {id}"))
}

#[track_caller]
fn check_note(loaded: &Loaded, line: usize, part: &str) {
    let found =
        loaded.notes.iter().any(|note| note.place.line == Some(line) && note.text.contains(part));
    assert!(found, "no note {part:?} in line {line}: {:#?}", loaded.notes);
}

const EVERY_FIELD: &str = r#"
title = "the settings of a company"
description = "what it says"
minVersion = "v8.25.0"

[[rules]]
id = "company-token"
description = "Token of the company's own service"
regex = '''(?i)(?:company|corp)[0-9a-z\-_\t .]{0,20}(?:=|\|\|:|=>)(?:'|\"|\x60){0,5}(ct_[a-z0-9]{32})(?:['|\"|\s]|$)'''
path = '''(?i)\.(?:ya?ml|env)$'''
secretGroup = 1
entropy = 3.5
keywords = ["Company", "corp", "COMPANY"]
tags = ["company", "token"]

[[rules.allowlists]]
description = "what is in tests"
condition = "AND"
paths = ['''(^|/)tests?/''']
regexTarget = "match"
regexes = ['''ct_0{32}''', '''EXAMPLE''']
stopwords = ["Example", "dummy"]

[[rules.allowlists]]
regexTarget = "line"
regexes = ['''# not a secret''']

[[rules]]
id = "key-file"
description = "A file that is a key"
path = '''(?:^|/)id_(?:rsa|ed25519)$'''

[[rules]]
id = "old-format"
regex = '''old_[\w-.]{20}'''
[rules.allowlist]
stopwords = ["abc"]

[[allowlists]]
description = "for all"
paths = ['''(?:^|/)vendor/''', '''\.(?:png|jpe?g)$''']

[[allowlists]]
targetRules = ["old-format", "company-token"]
regexes = ['''ffff''']
"#;

#[test]
fn every_gitleaks_field_is_read() {
    let set = load_without_notes(EVERY_FIELD);
    let company = rule(&set, "company-token");
    assert_eq!(company.description, "Token of the company's own service");
    assert_eq!(company.remedy, REMEDY_DEFAULT);
    assert!(
        matches!(&company.pattern, Pattern::Regex(regex) if regex.starts_with("(?i)(?:company|corp)"))
    );
    assert_eq!(company.path.as_deref(), Some(r"(?i)\.(?:ya?ml|env)$"));
    assert_eq!((company.secret_group, company.entropy), (Some(1), Some(3.5)));
    assert_eq!(company.keywords, ["company", "corp"]);
    assert_eq!(company.tags, ["company", "token"]);
    assert_eq!(company.confidence, Confidence::Medium);
    assert!(company.max_length < 100, "{}", company.max_length);
    let [first, second, targeted] = &company.allowlists[..] else {
        panic!("{:?}", company.allowlists)
    };
    let mut expected = Allowlist::default();
    expected.description = "what is in tests".to_owned();
    expected.condition = Condition::All;
    expected.paths = vec!["(^|/)tests?/".to_owned()];
    expected.regexes = vec!["ct_0{32}".to_owned(), "EXAMPLE".to_owned()];
    expected.regex_target = RegexTarget::Match;
    expected.stopwords = vec!["example".to_owned(), "dummy".to_owned()];
    assert_eq!(*first, expected);
    assert_eq!((second.condition, second.regex_target), (Condition::Any, RegexTarget::Line));
    assert_eq!(targeted.regexes, ["ffff"]);
    assert_eq!(targeted.regex_target, RegexTarget::Secret);

    let file = rule(&set, "key-file");
    assert_eq!(file.pattern, Pattern::Path);
    assert_eq!(file.path.as_deref(), Some("(?:^|/)id_(?:rsa|ed25519)$"));

    let old = rule(&set, "old-format");
    assert_eq!(old.pattern, Pattern::Regex(r"old_[\w\-\.]{20}".to_owned()));
    assert_eq!(old.max_length, 24);
    assert_eq!(old.allowlists.len(), 2);

    assert_eq!(set.allowlists.len(), 1);
    assert_eq!(set.allowlists[0].paths.len(), 2);
}

#[test]
fn every_heist_field_is_read() {
    let set = load_without_notes(
        r#"
        [[rules]]
        id = "mine"
        assignment = '''[0-9a-f]{40}'''
        keywords = ["mine"]
        confidence = "High"
        checksum = "github-crc32"
        maxLength = 30
        remedy = "Ask for a new one."
        examples = ["mine = {secret}"]
        counterExamples = ["mine = {wrong}", "mine = yours"]
        generic = true

        [[rules]]
        id = "by-hand"
        detector = "url-credentials"
        "#,
    );
    let mine = rule(&set, "mine");
    assert_eq!(mine.pattern, Pattern::Assignment("[0-9a-f]{40}".to_owned()));
    assert_eq!((mine.confidence, mine.checksum), (Confidence::High, Some(Checksum::GithubCrc32)));
    assert_eq!((mine.max_length, mine.generic), (30, true));
    assert_eq!(mine.remedy, "Ask for a new one.");
    assert_eq!((mine.examples.len(), mine.counter_examples.len()), (1, 2));
    assert_eq!(rule(&set, "by-hand").pattern, Pattern::Parser(ParserKind::UrlCredentials));
}

#[test]
fn field_names_ignore_case_and_values_are_read_leniently() {
    let set = load_without_notes(
        r#"
        [Extend]
        usedefault = "false"
        [[Rules]]
        ID = "a"
        Regex = '''(a)(b)'''
        SECRETGROUP = "2"
        Entropy = "3"
        keywords = "one,two"
        tags = ["x", 7]
        [Rules.AllowList]
        StopWords = "w"
        regextarget = "Line"
        Condition = "||"
        [AllowList]
        Paths = "vendor{1,2}"
        [[rules]]
        id = 5
        regex = "b"
        "#
        .replace("[[rules]]", "[[Rules]]")
        .as_str(),
    );
    let a = rule(&set, "a");
    assert_eq!((a.secret_group, a.entropy), (Some(2), Some(3.0)));
    assert_eq!(a.keywords, ["one", "two"]);
    assert_eq!(a.tags, ["x", "7"]);
    assert_eq!(a.allowlists[0].stopwords, ["w"]);
    assert_eq!(a.allowlists[0].regex_target, RegexTarget::Line);
    assert_eq!(set.allowlists[0].paths, ["vendor{1,2}"]);
    assert_eq!(rule(&set, "5").pattern, Pattern::Regex("b".to_owned()));
}

#[test]
fn empty_values_count_as_unset() {
    let set = load_without_notes(
        "[[rules]]\nid = 'a'\nregex = 'x'\npath = ''\nentropy = 0\nsecretGroup = 0\nkeywords = ['k', '']",
    );
    let a = rule(&set, "a");
    assert_eq!((&a.path, a.entropy, a.secret_group), (&None, None, None));
    // An empty keyword occurs everywhere, so no keyword restricts the rule.
    assert!(a.keywords.is_empty());
}

#[test]
fn ignored_fields_and_rules_are_noted() {
    let loaded = load(
        r#"nonsense = 1
[extend]
other = 2
[[rules]]
id = "a"
regex = '''a.*'''
severity = "high"
[[rules.required]]
id = "b"
withinLines = 5
[[rules.allowlists]]
commits = ["0123456"]
[[rules.allowlists]]
condition = "and"
commits = ["0123456"]
paths = ["a"]
[[rules.allowlists]]
commits = ["0123456"]
paths = ["b", ""]
unknown = true
[[rules.allowlists]]
description = "empty"
[[rules]]
[[rules]]
id = "part"
regex = "p"
skipReport = true
[[rules]]
id = "a"
regex = "again"
"#,
    );
    check_note(&loaded, 1, "`nonsense`");
    check_note(&loaded, 3, "`other`");
    check_note(&loaded, 4, "longer than 4096 bytes");
    check_note(&loaded, 7, "`severity`");
    check_note(&loaded, 8, "`required`");
    check_note(&loaded, 11, "limited to `commits`");
    check_note(&loaded, 13, "limited to `commits`");
    check_note(&loaded, 17, "ignores `commits`");
    check_note(&loaded, 20, "`unknown`");
    check_note(&loaded, 21, "set `paths`, `regexes` or `stopwords`");
    check_note(&loaded, 23, "empty");
    check_note(&loaded, 24, "skipReport");
    check_note(&loaded, 28, "same `id`");
    assert_eq!(loaded.notes.len(), 13, "{:#?}", loaded.notes);
    assert_eq!(loaded.rules.rules.len(), 1);
    assert_eq!(rule(&loaded.rules, "a").pattern, Pattern::Regex("again".to_owned()));
    assert_eq!(loaded.notes[0].to_string().lines().count(), 1);
}

#[test]
fn a_field_that_is_set_twice_is_noted() {
    let loaded = load(
        "[[rules]]\nid = 'a'\nregex = 'x'\nRegex = 'y'\ntags = ['t']\n[[rules.allowlists]]\npaths = ['p']\n\
         PATHS = ['q']",
    );
    check_note(&loaded, 3, "`regex` is set twice");
    check_note(&loaded, 7, "`paths` is set twice");
    assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
}

#[test]
fn max_length_is_capped_by_the_longest_possible_match() {
    for (fields, expected, noted) in [
        ("regex = 'a{20}'", 20, false),
        ("regex = 'a{20}'\nmaxLength = 10", 10, false),
        ("regex = 'a{20}'\nmaxLength = 100", 20, false),
        ("regex = 'a+'", MAX_LENGTH_DEFAULT, true),
        ("regex = 'a+'\nmaxLength = 65536", 65536, false),
        ("regex = 'a{5000}'", MAX_LENGTH_DEFAULT, true),
        ("regex = '(?:é|x){2}'", 4, false),
        ("regex = '[^a]{3}'", 3, false),
        ("regex = '$'", 1, false),
        ("assignment = '[a-f]{9}'\nkeywords = ['acme']", 9, false),
        ("detector = 'jwt'", MAX_LENGTH_DEFAULT, false),
        ("path = 'a+'", MAX_LENGTH_DEFAULT, false),
    ] {
        let loaded = load(&format!("[[rules]]\nid = 'a'\n{fields}"));
        assert_eq!(loaded.rules.rules[0].max_length, expected, "{fields}");
        assert_eq!(!loaded.notes.is_empty(), noted, "{fields}: {:?}", loaded.notes);
    }
}

#[test]
fn a_file_can_change_built_in_rules() {
    let built_in = RuleSet::builtin();
    let base =
        built_in.rules.iter().find(|rule| rule.checksum.is_some()).expect("one with a checksum");
    let text = format!(
        r#"
        [extend]
        useDefault = true
        [[rules]]
        id = "{id}"
        description = "changed"
        keywords = ["more"]
        tags = ["added"]
        [[rules.allowlists]]
        stopwords = ["no"]
        [[rules]]
        id = "new"
        regex = "new"
        "#,
        id = base.id,
    );
    let set = load_without_notes(&text);
    assert_eq!(set.rules.len(), built_in.rules.len() + 1);
    assert_eq!(set.rules.last().expect("the new one").id, "new");
    let changed = rule(&set, &base.id);
    assert_eq!(changed.description, "changed");
    assert_eq!((&changed.pattern, changed.checksum), (&base.pattern, base.checksum));
    assert_eq!(changed.keywords.len(), base.keywords.len() + 1);
    assert!(changed.tags.contains(&"added".to_owned()));
    assert_eq!(changed.allowlists.len(), base.allowlists.len() + 1);
    assert_eq!(changed.examples, base.examples);

    // A new pattern discards the checksum and the examples of the old one.
    let set = load_without_notes(&format!(
        "[extend]\nuseDefault = true\n[[rules]]\nid = '{}'\nregex = 'x{{7}}'",
        base.id
    ));
    let changed = rule(&set, &base.id);
    assert_eq!(changed.pattern, Pattern::Regex("x{7}".to_owned()));
    assert_eq!((changed.checksum, changed.max_length), (None, 7));
    assert!(changed.examples.is_empty());
    assert_eq!(changed.description, base.description);
}

#[test]
fn a_file_can_disable_built_in_rules() {
    let built_in = RuleSet::builtin();
    let id = &built_in.rules[0].id;
    let text = format!("[extend]\nuseDefault = true\ndisabledRules = ['{id}', 'nothing']");
    let loaded = load(&text);
    assert_eq!(loaded.rules.rules.len(), built_in.rules.len() - 1);
    assert!(loaded.rules.rules.iter().all(|rule| rule.id != *id));
    check_note(&loaded, 1, "\"nothing\"");
    // A rule in the file itself with the same name is not disabled.
    let set = load_without_notes(&format!(
        "[extend]\nuseDefault = true\ndisabledRules = ['{id}']\n[[rules]]\nid = '{id}'\nregex = 'mine'"
    ));
    assert_eq!(rule(&set, id).pattern, Pattern::Regex("mine".to_owned()));
    assert!(rule(&set, id).keywords.is_empty());
}

#[test]
fn gitleaks_names_refer_to_heists_rules() {
    let built_in = RuleSet::builtin();
    let set =
        load_without_notes("[extend]\nuseDefault = true\ndisabledRules = ['generic-api-key']");
    assert_eq!(set.rules.len(), built_in.rules.len() - 2);

    let loaded = load(
        "[extend]\nuseDefault = true\n[[rules]]\nid = 'generic-api-key'\n[rules.allowlist]\nstopwords = ['w']\n\
         [[allowlists]]\ntargetRules = ['generic-api-key', 'not-one-of-ours']\nstopwords = ['v']",
    );
    check_note(&loaded, 3, "\"generic-secret\"");
    check_note(&loaded, 7, "not-one-of-ours");
    assert_eq!(loaded.rules.rules.len(), built_in.rules.len());
    for id in ["generic-secret", "password"] {
        let words: Vec<_> = rule(&loaded.rules, id)
            .allowlists
            .iter()
            .flat_map(|list| list.stopwords.clone())
            .collect();
        assert!(words.ends_with(&["w".to_owned(), "v".to_owned()]), "{id}: {words:?}");
    }

    // A change to a rule that heist does not have is not an error.
    let loaded =
        load("[extend]\nuseDefault = true\n[[rules]]\nid = 'not-one-of-ours'\nentropy = 4");
    check_note(&loaded, 3, "no built-in rule has this `id`");
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a temporary file");
}

#[test]
fn files_extend_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("base")).expect("a temporary folder");
    write(
        folder.path(),
        "top.toml",
        "[extend]\npath = 'base/middle.toml'\n[[rules]]\nid = 'm'\nentropy = 2\n[[rules]]\nid = 't'\nregex = 't'\n\
         [[allowlists]]\npaths = ['top']",
    );
    write(
        folder.path(),
        "base/middle.toml",
        "[extend]\npath = 'bottom.toml'\ndisabledRules = ['c']\n[[rules]]\nid = 'm'\nregex = 'm'\n[[rules]]\nid = 'b'\n\
         path = 'p'\n[[allowlists]]\npaths = ['middle']",
    );
    write(
        folder.path(),
        "base/bottom.toml",
        "[extend]\nuseDefault = true\n[[rules]]\nid = 'b'\nregex = 'b'\n[[rules]]\nid = 'c'\nregex = 'c'",
    );
    let loaded = RuleSet::load(&folder.path().join("top.toml")).expect("all there");
    let ids: Vec<_> = loaded.rules.rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["b", "m", "t"]);
    assert_eq!(rule(&loaded.rules, "m").entropy, Some(2.0));
    assert_eq!(rule(&loaded.rules, "b").path.as_deref(), Some("p"));
    let paths: Vec<_> =
        loaded.rules.allowlists.iter().flat_map(|list| list.paths.clone()).collect();
    assert_eq!(paths, ["top", "middle"]);
    // Only two levels are followed, and a note says so.
    assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
    check_note(&loaded, 1, "ignores `extend`");
    let origin = loaded.notes[0].place.origin.as_ref().expect("in a file");
    assert!(origin.ends_with("bottom.toml"), "{origin:?}");
}

#[test]
fn a_file_that_extends_itself_is_read_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(
        folder.path(),
        "a.toml",
        "[extend]\npath = 'a.toml'\n[[rules]]\nid = 'a'\nregex = 'a'\ntags = ['t']",
    );
    let loaded = RuleSet::load(&folder.path().join("a.toml")).expect("it ends");
    assert_eq!(loaded.rules.rules.len(), 1);
    assert_eq!(loaded.notes.len(), 1);
}

#[test]
fn extending_an_unreadable_file_is_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), "missing.toml", "\n[extend]\npath = 'not-here.toml'");
    write(folder.path(), "folder.toml", "[extend]\npath = '.'");
    for (name, line, part) in
        [("missing.toml", 2, "not-here.toml"), ("folder.toml", 1, "not a regular file")]
    {
        let error = RuleSet::load(&folder.path().join(name)).expect_err("it cannot be extended");
        assert!(matches!(error.kind, RuleErrorKind::Value { field: "extend.path", .. }), "{error}");
        assert_eq!(error.place.line, Some(line));
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let set = load_without_notes("\u{FEFF}[[rules]]\r\nid = 'a'\r\nregex = 'a'\r\n");
    assert_eq!(set.rules.len(), 1);
}
