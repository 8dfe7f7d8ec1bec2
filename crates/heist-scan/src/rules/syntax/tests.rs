//! Checks translations one by one: their text, and what they match.

use super::*;
use proptest::prelude::*;

fn regex(pattern: &str) -> Regex {
    let translated = translate(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let hir =
        parse(&translated).unwrap_or_else(|error| panic!("{pattern} -> {translated}: {error}"));
    compile(&hir).expect("small enough")
}

/// Returns `true` if the pattern matches the whole text.
fn is_match(pattern: &str, text: impl AsRef<[u8]>) -> bool {
    regex(&format!(r"\A(?:{pattern})\z")).is_match(text.as_ref())
}

#[track_caller]
fn check(pattern: &str, matching: &[&str], others: &[&str]) {
    for text in matching {
        assert!(is_match(pattern, text), "{pattern} must match {text:?}");
    }
    for text in others {
        assert!(!is_match(pattern, text), "{pattern} must not match {text:?}");
    }
}

#[test]
fn common_syntax_is_not_changed() {
    for pattern in [
        r"(?i)\b(AKIA|ASIA)[0-9A-Z]{16}\b",
        r"(?:^|\s)x{2,}y{3,5}?z{4}\z",
        r#"['"\s=]{0,5}([a-z0-9_\-]{32,64})(?:['"\n\r]|$)"#,
        r"[]a][^]b][a-]\.\+\{\}\[",
        r"(?m:^a$)(?s).(?-i)b|",
    ] {
        assert!(matches!(translate(pattern), Ok(Cow::Borrowed(_))), "{pattern}");
        assert!(parse(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn quoted_text_is_literal() {
    check(r"\Qa.b*\E", &["a.b*"], &["axb", "aab"]);
    check(r"\Q(x)\E+", &["(x)", "(x))"], &["(x)(x)", "x"]);
    // Without `\E` the quoted text extends to the end.
    assert_eq!(translate(r"\Q.[").expect("fine"), r"\.\[");
}

#[test]
fn backslash_c_matches_any_byte() {
    assert!(is_match(r"a\Cb", b"a\xFFb"));
    assert!(is_match(r"a\Cb", b"a\nb"));
    assert!(!is_match(r"a\Cb", "aéb"));
}

#[test]
fn escaped_punctuation_is_literal() {
    for mark in (0..128u8).map(char::from).filter(|mark| !mark.is_ascii_alphanumeric()) {
        check(&format!("\\{mark}"), &[&mark.to_string()], &["", "a"]);
        check(&format!("[\\{mark}]"), &[&mark.to_string()], &["", "a"]);
        check(&format!("[\\{mark}x]"), &[&mark.to_string(), "x"], &["", "a"]);
    }
    check(r"\<a\>", &["<a>"], &["a"]);
    check(r"https:\/\/", &["https://"], &[]);
}

#[test]
fn octal_and_hexadecimal_escapes() {
    check(r"\101\0\x42\x{43}[\103-\x45]", &["A\0BCD", "A\0BCC"], &["A\0BCF"]);
    // A character code means a character, not a byte.
    check(r"\xE9", &["é"], &[]);
    assert!(!is_match(r"\xE9", b"\xE9"));
    check(r"[\xE9]", &["é"], &[]);
    check(r"\x{1F600}", &["😀"], &[]);
    check(r"\.\x2e\056", &["..."], &["abc"]);
}

#[test]
fn unicode_properties() {
    check(r"\pN\p{Lu}\PN", &["1Ax", "٣Éx"], &["xAx", "1A1"]);
    check(r"\p{^Greek}\P{^Greek}", &["aα"], &["αα"]);
    check(r"[\p{Greek}\d]", &["α", "5"], &["a", "٣"]);
    check(r"[^\p{Greek}\w]", &["-", "é"], &["α", "a"]);
    check(r"(?i)é[ä-ö]", &["Éö", "éÄ"], &["eo"]);
    check(r"é+", &["éé"], &["e"]);
}

#[test]
fn perl_classes_are_ascii_only() {
    check(r"\d\w", &["5a"], &["٣a", "5é"]);
}

#[test]
fn perl_classes_stay_ascii_only_beside_unicode_characters() {
    for (letter, part) in [('d', "0-9"), ('s', r"\t\n\x0B\f\r\x20"), ('w', "0-9A-Za-z_")] {
        let inside = format!(r"[\{letter}é]");
        assert_eq!(
            parse(&translate(&inside).expect("fine")),
            parse(&format!("(?u:[{part}é])")),
            "{letter}"
        );
        let others = format!(r"[^é\{}]", letter.to_ascii_uppercase());
        let others = translate(&others).expect("fine");
        assert_eq!(parse(&others), parse(&format!("(?u:[^é[^{part}]])")), "{letter}");
        let again = translate(&others).expect("fine");
        assert_eq!(parse(&again), parse(&others), "{letter}, once more");
    }
}

#[test]
fn a_brace_that_is_not_a_repetition_is_literal() {
    check(r"a{", &["a{"], &["a"]);
    check(r"\$\{\{ x }}", &["${{ x }}"], &[]);
    check(r"{{x}}", &["{{x}}"], &["x"]);
    check(r"a{,3}", &["a{,3}"], &["aaa", ""]);
    check(r"a{01}", &["a{01}"], &["a"]);
    check(r"a{1,02}", &["a{1,02}"], &["a"]);
    check(r"a{2}b{1,}c{0,2}", &["aabbcc", "aab"], &["ab"]);
    check(r"a{1", &["a{1"], &["a"]);
    check(r"a{ 1}", &["a{ 1}"], &["a"]);
}

#[test]
fn groups_keep_their_numbers_and_may_have_any_name() {
    check(r"(?P<name>a)(?<other>b)(?P<1st>c)", &["abc"], &[]);
    let hir = parse(&translate(r"(?P<a>x)((?:y)z)").expect("fine")).expect("fine");
    assert_eq!(hir.properties().explicit_captures_len(), 2);
}

#[test]
fn hyphens_and_brackets_in_classes() {
    check(r"[\w-.]", &["a", "-", "."], &["/"]);
    check(r"[\w.-]", &["a", "-", "."], &["/"]);
    check(r"[[:alpha:]-9]", &["a", "-", "9"], &["5"]);
    check(r"[a-c-e]", &["a", "b", "-", "e"], &["d"]);
    check(r"[+--]", &["+", ",", "-"], &["."]);
    check(r"[--/]", &["-", ".", "/"], &[","]);
    check(r"[a[b]", &["a", "[", "b"], &["]"]);
    check(r"[a&&b]", &["a", "&", "b"], &[]);
    check(r"[a~~b]", &["a", "~", "b"], &[]);
    check(r"[[:^digit:]x]", &["a", "x"], &["5"]);
    check(r"[]-a]", &["]", "^", "a"], &["b"]);
    check(r"[^]]", &["a"], &["]"]);
    check(r"[[]", &["["], &["]"]);
    check(r"[^\S]", &[" "], &["a"]);
    check(r"[\n\t\a\f\v\r]", &["\n", "\t", "\x07", "\x0C", "\x0B", "\r"], &["n"]);
}

#[test]
fn errors_name_the_problem() {
    for (pattern, part) in [
        (r"[a", "no closing `]`"),
        (r"[]", "no closing `]`"),
        (r"[a-", "no closing `]`"),
        (r"[\d-\", "backslash"),
        (r"[z-a]", "range"),
        (r"[z-a\y]", "is empty"),
        (r"[[:foo:]]", "[:foo:]"),
        (r"[\y]", r"\y"),
        (r"[a-\d]", "range"),
        (r"a(?=b)", "look-around"),
        (r"(a", "unclosed group"),
        (r"a\", "incomplete"),
        (r"\1", "backreference"),
        (r"*a", "repetition"),
        (r"\p{Nonsense}", "property"),
        (r"(?P<a>x)(?P<a>y)", "duplicate"),
    ] {
        let error = match translate(pattern) {
            Ok(translated) => parse(&translated).expect_err(pattern),
            Err(error) => error,
        };
        assert!(error.0.contains(part), "{pattern}: {error}");
        assert!(!error.0.contains('\n'), "{pattern}: {error}");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = format!("{}{}", "(".repeat(5000), ")".repeat(5000));
    assert!(parse(&translate(&deep).expect("nothing to translate")).is_err());
}

/// Building blocks for random expressions that cover all of the syntax.
const PIECES: [&str; 44] = [
    "a", "b", "é", "😀", "[", "]", "[^", "-", "\\", "{", "}", "{2}", "{,", ",", "1", "0", "(", ")",
    "(?P<", "(?", ">", "?", "*", "+", "|", "^", "$", ".", "\\Q", "\\E", "\\C", "\\p", "\\x",
    "\\x{", "[:", ":]", "alpha", "\\d", "\\W", "&&", "~~", "--", "\\012", "\n",
];

proptest! {
    #[test]
    fn translating_twice_changes_nothing(picks in prop::collection::vec(0..PIECES.len(), 0..24)) {
        let pattern: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
        if let Ok(translated) = translate(&pattern)
            && let Ok(hir) = parse(&translated)
        {
            let again = translate(&translated).expect("it was accepted once");
            let reparsed = parse(&again).expect("and parsed");
            prop_assert_eq!(reparsed, hir, "{} -> {} -> {}", pattern, translated, again);
        }
    }

    #[test]
    fn skipping_the_translation_changes_nothing(
        picks in prop::collection::vec(0..PIECES.len(), 0..12),
    ) {
        let pattern: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
        if !needs_translation(&pattern) {
            // A named group forces the translation and changes nothing else.
            let forced = format!("{pattern}(?P<x>)");
            if let (Ok(plain), Ok(forced)) = (parse(&forced), translate(&forced)) {
                prop_assert_eq!(parse(&forced).expect("as the plain one"), plain, "{}", pattern);
            }
        }
    }

    #[test]
    fn translation_never_panics(pattern in "\\PC{0,40}") {
        let _ = translate(&pattern).map(|translated| parse(&translated).is_ok());
    }
}
