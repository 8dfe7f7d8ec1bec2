//! [`Expression`]: facts about a rule's regular expression that the detector needs before it
//! compiles it.
//!
//! Parsing the expressions of all built-in rules would take most of the start-up time. So
//! `prepared.txt` stores the results, one line per expression, starting with a hash of it.
//! Expressions without a line (from a user's rule, or a changed one) are parsed. A test compares
//! every line with the result of parsing, and can rewrite the file.

use super::anchors::{Anchor, Anchors, always_has_run, anchors_of};
use super::literal::{Literal, LiteralByte};
use crate::rules::{Pattern, Rule, syntax};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Facts about a rule's expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(crate) anchors: Option<Anchors>,
    /// The length of the longest possible match, if the expression limits it.
    pub(crate) longest: usize,
    /// `true` if every match contains a run of letters and digits. Computed for assignments only.
    pub(crate) always_has_run: bool,
}

impl Expression {
    const UNKNOWN: Self = Self { anchors: None, longest: usize::MAX, always_has_run: false };

    /// Parses the rule's expression.
    fn parse(rule: &Rule) -> Self {
        match &rule.pattern {
            Pattern::Regex(pattern) => syntax::parse(pattern).map_or(Self::UNKNOWN, |hir| Self {
                anchors: anchors_of(&hir),
                longest: hir.properties().maximum_len().unwrap_or(usize::MAX),
                always_has_run: false,
            }),
            Pattern::Assignment(pattern) => {
                let always_has_run = syntax::parse(pattern).is_ok_and(|hir| always_has_run(&hir));
                Self { always_has_run, ..Self::UNKNOWN }
            }
            Pattern::Parser(_) | Pattern::Path => Self::UNKNOWN,
        }
    }

    /// Looks the expression up in `prepared.txt`.
    fn prepared(rule: &Rule) -> Option<Self> {
        let Some(name) = name_of(rule) else { return Some(Self::UNKNOWN) };
        read(PREPARED.get(&*name)?)
    }
}

/// Fewer expressions are not worth a second thread.
const PARSED_PER_THREAD: usize = 64;

/// Returns the facts about the expressions of all rules.
pub(crate) fn expressions_of(rules: &[Rule]) -> Vec<Expression> {
    let prepared: Vec<_> = rules.iter().map(Expression::prepared).collect();
    let unknown: Vec<&Rule> = rules
        .iter()
        .zip(&prepared)
        .filter(|(_, known)| known.is_none())
        .map(|(rule, _)| rule)
        .collect();
    let mut parsed = parse_all(&unknown).into_iter();
    let or_parsed = |known: Option<Expression>| known.or_else(|| parsed.next());
    prepared.into_iter().filter_map(or_parsed).collect()
}

/// Parses expressions, on two threads if there are many.
fn parse_all(rules: &[&Rule]) -> Vec<Expression> {
    let parse = |rules: &[&Rule]| rules.iter().map(|rule| Expression::parse(rule)).collect();
    if rules.len() < 2 * PARSED_PER_THREAD {
        return parse(rules);
    }
    let (here, there) = rules.split_at(rules.len() / 2);
    std::thread::scope(|scope| {
        // If the system refuses a second thread, this one does all the work.
        let there_too = std::thread::Builder::new().spawn_scoped(scope, || parse(there));
        let mut expressions: Vec<Expression> = parse(here);
        let rest = there_too.ok().and_then(|thread| thread.join().ok());
        expressions.extend(rest.unwrap_or_else(|| parse(there)));
        expressions
    })
}

/// The stored results; see the module documentation.
const TEXT: &str = include_str!("prepared.txt");

/// The stored results, by the expressions' hashes.
static PREPARED: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| TEXT.lines().filter_map(|line| line.split_once(' ')).collect());

/// Returns the hash that identifies an expression in the file.
fn name_of(rule: &Rule) -> Option<String> {
    let (kind, pattern) = match &rule.pattern {
        Pattern::Regex(pattern) => ("regex", pattern),
        Pattern::Assignment(pattern) => ("assignment", pattern),
        Pattern::Parser(_) | Pattern::Path => return None,
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind.as_bytes()).update(b" ").update(pattern.as_bytes());
    Some(hasher.finalize().to_hex()[..32].to_owned())
}

/// Parses a line as [`write`] formats it: `longest run anchor ...`, with `-` for missing values.
fn read(line: &str) -> Option<Expression> {
    let mut words = line.split(' ');
    let longest = optional(words.next()?)?.unwrap_or(usize::MAX);
    let always_has_run = words.next()? == "run";
    let literals: Vec<Anchor> = words.map(read_anchor).collect::<Option<_>>()?;
    let anchors = (!literals.is_empty()).then_some(Anchors { literals });
    Some(Expression { anchors, longest, always_has_run })
}

/// Parses `gate:word:min:max:literal`. The literal is in hexadecimal digits, with a `~` before
/// letters of either case.
fn read_anchor(word: &str) -> Option<Anchor> {
    let mut parts = word.split(':');
    let gate = optional(parts.next()?)?;
    let begins_word = parts.next()? == "word";
    let (after_min, after_max) = (parts.next()?.parse().ok()?, optional(parts.next()?)?);
    let mut literal = Literal::default();
    let mut rest = parts.next()?.as_bytes();
    while !rest.is_empty() {
        let either_case = rest[0] == b'~';
        rest = &rest[usize::from(either_case)..];
        let (digits, after) = rest.split_first_chunk::<2>()?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        let byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
        literal.push_all(&Literal::of(LiteralByte { byte, either_case }));
        rest = after;
    }
    Some(Anchor { literal, gate, begins_word, after_min, after_max })
}

/// Parses a number, or `-` for none.
fn optional(word: &str) -> Option<Option<usize>> {
    if word == "-" { Some(None) } else { word.parse().ok().map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;
    use std::fmt::Write as _;

    fn or_none(number: Option<usize>) -> String {
        number.map_or_else(|| "-".to_owned(), |number| number.to_string())
    }

    fn write(expression: &Expression) -> String {
        let longest = (expression.longest < usize::MAX).then_some(expression.longest);
        let run = if expression.always_has_run { "run" } else { "-" };
        let mut line = format!("{} {run}", or_none(longest));
        for anchor in expression.anchors.iter().flat_map(|anchors| &anchors.literals) {
            let word = if anchor.begins_word { "word" } else { "-" };
            let (gate, max) = (or_none(anchor.gate), or_none(anchor.after_max));
            let _ = write!(line, " {gate}:{word}:{}:{max}:", anchor.after_min);
            for byte in anchor.literal.bytes() {
                let case = if byte.either_case { "~" } else { "" };
                let _ = write!(line, "{case}{:02x}", byte.byte);
            }
        }
        line
    }

    /// `HEIST_PREPARE=1 cargo test -p heist-scan --lib prepared` rewrites the file.
    #[test]
    fn prepared_expressions_equal_parsed_ones() {
        let mut lines: Vec<String> = RuleSet::builtin()
            .rules
            .iter()
            .filter_map(|rule| Some((name_of(rule)?, Expression::parse(rule))))
            .map(|(name, expression)| format!("{name} {}\n", write(&expression)))
            .collect();
        lines.sort();
        lines.dedup();
        let expected = lines.concat();
        if std::env::var_os("HEIST_PREPARE").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/secrets/prepared.txt");
            std::fs::write(path, &expected).expect("the sources can be written to");
        }
        assert!(TEXT == expected, "the rules have changed: HEIST_PREPARE=1 writes the file anew");
        for rule in &RuleSet::builtin().rules {
            assert_eq!(Expression::prepared(rule), Some(Expression::parse(rule)), "{}", rule.id);
        }
    }

    #[test]
    fn expressions_that_are_not_prepared_are_parsed() {
        let rule = |pattern: &str| Rule::new("rule", Pattern::Regex(pattern.to_owned()));
        let mut rules: Vec<Rule> =
            (0..300).map(|number| rule(&format!("word{number}_[0-9]{{20}}"))).collect();
        let built_in = RuleSet::builtin().rules;
        rules.insert(150, built_in[0].clone());
        assert_eq!(Expression::prepared(&rules[0]), None);
        let expected: Vec<Expression> = rules.iter().map(Expression::parse).collect();
        assert_eq!(expressions_of(&rules), expected);
    }
}
