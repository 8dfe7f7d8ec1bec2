//! [`Plan`]: for each literal, which rules the detector tries at it.

use super::anchors::{Anchor, LITERAL_BYTES_MIN};
use super::expression::{Expression, expressions_of};
use super::literal::Literal;
use super::prefilter::Sought;
use crate::decode::EscapeKind;
use crate::parsers::Trigger;
use crate::rules::{KEYWORD_BYTES_MIN, ParserKind, Pattern, Rule};
use std::collections::HashMap;

/// What the detector does at a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiteralUse {
    /// Tries the rule's expression. The literal begins this far after the start of the match.
    Regex {
        rule: u32,
        after_min: usize,
        after_max: Option<usize>,
    },
    /// Searches for the rule's expression around the literal, a keyword that need not be part of
    /// the match.
    Near {
        rule: u32,
    },
    /// Compares the assignment whose key contains the literal with a rule.
    Assignment {
        rule: u32,
    },
    /// Runs the rule's parser.
    Parser {
        rule: u32,
        kind: ParserKind,
    },
    /// Decodes escaped text.
    UrlEscape,
    JsonEscape,
}

/// For each literal, which rules the detector tries at it.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) sought: Vec<Sought>,
    /// The uses of each literal, in the same order.
    uses: Vec<Vec<LiteralUse>>,
    /// Each rule's longest match: the rule's own limit, or the limit of its expression if that is
    /// lower.
    pub(crate) longest: Vec<usize>,
    /// Keywords of assignments whose values contain runs, with their rules. The detector searches
    /// for them in the keys of such values.
    pub(crate) keywords: Vec<(Literal, Vec<u32>)>,
    /// Rules of [`ParserKind::GenericSecret`], which runs at each run of letters and digits.
    pub(crate) at_runs: Vec<u32>,
    /// Rules without any literal: the detector tries their expressions everywhere.
    pub(crate) everywhere: Vec<u32>,
    /// Rules whose only literals are keywords: see [`LiteralUse::Near`].
    pub(crate) near: Vec<u32>,
}

/// The numbers of the literals that a plan has so far.
#[derive(Debug, Default)]
struct KnownLiterals {
    sought: HashMap<Sought, usize>,
    keywords: HashMap<Literal, usize>,
}

impl Plan {
    pub(crate) fn new(rules: &[Rule], decode: bool) -> Self {
        let mut plan = Self::default();
        let mut known = KnownLiterals::default();
        for (index, (rule, expression)) in rules.iter().zip(expressions_of(rules)).enumerate() {
            plan.longest.push(rule.max_length);
            plan.add_rule(index as u32, rule, expression, &mut known);
        }
        if decode {
            for (kind, place) in [
                (EscapeKind::Url, LiteralUse::UrlEscape),
                (EscapeKind::Json, LiteralUse::JsonEscape),
            ] {
                for escape in kind.triggers() {
                    plan.add(Literal::either_case(escape.as_bytes()), place, &mut known);
                }
            }
        }
        plan
    }

    pub(crate) fn uses(&self, literal: u32) -> &[LiteralUse] {
        &self.uses[literal as usize]
    }

    fn add_rule(
        &mut self,
        number: u32,
        rule: &Rule,
        expression: Expression,
        known: &mut KnownLiterals,
    ) {
        match &rule.pattern {
            Pattern::Path => {}
            Pattern::Parser(kind) => {
                for trigger in kind.triggers() {
                    let literal = match trigger {
                        Trigger::Literal(text) => Literal::exactly(text.as_bytes()),
                        Trigger::LiteralNoCase(text) => Literal::either_case(text.as_bytes()),
                        Trigger::Run => {
                            self.at_runs.push(number);
                            continue;
                        }
                    };
                    self.add(literal, LiteralUse::Parser { rule: number, kind: *kind }, known);
                }
            }
            Pattern::Assignment(_) => {
                for keyword in keywords(rule) {
                    if expression.always_has_run {
                        self.add_keyword(keyword, number, &mut known.keywords);
                    } else {
                        self.add(keyword, LiteralUse::Assignment { rule: number }, known);
                    }
                }
            }
            Pattern::Regex(_) => {
                let longest = rule.max_length.min(expression.longest).max(1);
                self.longest[number as usize] = longest;
                let keywords = keywords(rule);
                if let Some(anchors) = expression.anchors {
                    for anchor in anchors.literals {
                        // The literal cannot be further away than the longest match.
                        let after_max = anchor.after_max.filter(|max| *max < longest);
                        let place = LiteralUse::Regex {
                            rule: number,
                            after_min: anchor.after_min,
                            after_max,
                        };
                        let Anchor { literal, gate, begins_word, .. } = anchor;
                        let sought = Sought { literal, gate, begins_word };
                        self.add_gated(sought, place, known);
                    }
                } else if keywords.is_empty() {
                    self.everywhere.push(number);
                } else {
                    self.near.push(number);
                    for keyword in keywords {
                        self.add(keyword, LiteralUse::Near { rule: number }, known);
                    }
                }
            }
        }
    }

    fn add_keyword(&mut self, keyword: Literal, rule: u32, known: &mut HashMap<Literal, usize>) {
        let number = *known.entry(keyword).or_insert_with_key(|keyword| {
            self.keywords.push((keyword.clone(), Vec::new()));
            self.keywords.len() - 1
        });
        self.keywords[number].1.push(rule);
    }

    fn add(&mut self, literal: Literal, place: LiteralUse, known: &mut KnownLiterals) {
        self.add_gated(Sought { literal, gate: None, begins_word: false }, place, known);
    }

    fn add_gated(&mut self, sought: Sought, place: LiteralUse, known: &mut KnownLiterals) {
        let number = *known.sought.entry(sought).or_insert_with_key(|sought| {
            self.sought.push(sought.clone());
            self.uses.push(Vec::new());
            self.sought.len() - 1
        });
        if !self.uses[number].contains(&place) {
            self.uses[number].push(place);
        }
    }
}

/// Returns a rule's keywords, or none if one of them is too short to search for: it would occur
/// nearly everywhere, so the others would not help.
fn keywords(rule: &Rule) -> Vec<Literal> {
    const { assert!(KEYWORD_BYTES_MIN >= LITERAL_BYTES_MIN) };
    let long_enough = |word: &String| word.len() >= KEYWORD_BYTES_MIN;
    if !rule.keywords.iter().all(long_enough) {
        return Vec::new();
    }
    rule.keywords.iter().map(|word| Literal::either_case(word.as_bytes()).cut()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleSet;

    #[test]
    fn every_built_in_rule_has_a_literal_or_a_run() {
        let rules = RuleSet::builtin().rules;
        let plan = Plan::new(&rules, true);
        let everywhere: Vec<&str> =
            plan.everywhere.iter().map(|&rule| rules[rule as usize].id.as_str()).collect();
        assert!(everywhere.is_empty(), "tried on every byte: {everywhere:?}");
    }
}
