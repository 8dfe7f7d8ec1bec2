//! [`anchors_of`]: which literals must be there for a regular expression to match, and where in the match.
//!
//! A rule is looked for only where one of its literals stands. Of all sets of literals that every match must contain one
//! of, the rarest is taken: `(?:key|token)[ =]+xyz_[0-9a-z]{32}` is looked for at `xyz_`.

use super::literal::{LITERAL_BYTES_MAX, Literal, LiteralByte};
use regex_syntax::hir::{Class, Hir, HirKind};

/// More alternatives than that are not spelled out.
const LITERALS_MAX: usize = 48;

/// A literal of fewer bytes is everywhere.
pub(crate) const LITERAL_BYTES_MIN: usize = 3;

/// A set of literals, one of which is in every match.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Anchors {
    /// Each with how far after the match's beginning it begins: at least, and at most (`None`: any distance).
    pub(crate) literals: Vec<Anchor>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Anchor {
    pub(crate) literal: Literal,
    pub(crate) after_min: usize,
    pub(crate) after_max: Option<usize>,
}

impl Anchors {
    /// What looking for them costs: how often they come, a literal that fixes where the match begins being cheaper.
    fn cost(&self) -> f64 {
        let cost = |anchor: &Anchor| {
            let starts = anchor.after_max.map_or(64, |max| max - anchor.after_min + 1).min(64);
            anchor.literal.frequency() * starts as f64
        };
        self.literals.iter().map(cost).sum()
    }
}

/// The cheapest anchors of a regular expression; `None` if there are no literals that every match contains.
pub(crate) fn anchors_of(hir: &Hir) -> Option<Anchors> {
    let mut best = Best(None);
    collect(hir, 0, Some(0), &mut best);
    best.0
}

struct Best(Option<Anchors>);

impl Best {
    fn offer(&mut self, anchors: Anchors) {
        let long_enough = |anchor: &Anchor| anchor.literal.len() >= LITERAL_BYTES_MIN;
        if anchors.literals.is_empty() || !anchors.literals.iter().all(long_enough) {
            return;
        }
        if self.0.as_ref().is_none_or(|best| anchors.cost() < best.cost()) {
            self.0 = Some(anchors);
        }
    }
}

/// Offers every set of literals that must be in a match of `hir`, which begins `after` the whole match's beginning.
fn collect(hir: &Hir, after_min: usize, after_max: Option<usize>, best: &mut Best) {
    let place = |literals: Vec<Literal>, (after_min, after_max): (usize, Option<usize>)| Anchors {
        literals: literals
            .into_iter()
            .map(|literal| Anchor { literal: literal.cut(), after_min, after_max })
            .collect(),
    };
    match hir.kind() {
        HirKind::Concat(_) | HirKind::Capture(_) | HirKind::Literal(_) | HirKind::Class(_) => {
            let mut parts = Vec::new();
            flatten(hir, &mut parts);
            let mut here = (after_min, after_max);
            let mut run: Vec<Literal> = vec![Literal::default()];
            let mut run_began = here;
            for part in parts {
                let spelled_out = spell_out(part);
                let longer = spelled_out.as_deref().and_then(|literals| product(&run, literals));
                match (longer, spelled_out) {
                    (Some(longer), _) => run = longer,
                    (None, spelled_out) => {
                        best.offer(place(std::mem::take(&mut run), run_began));
                        run_began = here;
                        run = match spelled_out {
                            Some(literals) => literals,
                            None => {
                                if !matches!(part.kind(), HirKind::Class(_)) {
                                    collect(part, here.0, here.1, best);
                                }
                                vec![Literal::default()]
                            }
                        };
                        if run.iter().all(|literal| literal.len() == 0) {
                            run_began = add(here, part);
                        }
                    }
                }
                here = add(here, part);
            }
            best.offer(place(run, run_began));
        }
        HirKind::Alternation(branches) => {
            // Every branch must have its own.
            let mut all = Vec::new();
            for branch in branches {
                let mut of_branch = Best(None);
                collect(branch, after_min, after_max, &mut of_branch);
                match of_branch.0 {
                    Some(anchors) => all.extend(anchors.literals),
                    None => return,
                }
            }
            all.dedup();
            best.offer(Anchors { literals: all });
        }
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            collect(&repetition.sub, after_min, after_max, best);
        }
        HirKind::Repetition(_) | HirKind::Look(_) | HirKind::Empty => {}
    }
}

/// The parts of a concatenation, those of groups in it included.
fn flatten<'a>(hir: &'a Hir, parts: &mut Vec<&'a Hir>) {
    match hir.kind() {
        HirKind::Concat(children) => children.iter().for_each(|child| flatten(child, parts)),
        HirKind::Capture(capture) => flatten(&capture.sub, parts),
        _ => parts.push(hir),
    }
}

/// Where something after `part` begins.
fn add((min, max): (usize, Option<usize>), part: &Hir) -> (usize, Option<usize>) {
    let properties = part.properties();
    let min = min.saturating_add(properties.minimum_len().unwrap_or(0));
    let max = max.zip(properties.maximum_len()).map(|(max, len)| max.saturating_add(len));
    (min, max)
}

/// Everything that `hir` matches, if that is not too much; what matches nothing but a place counts as empty.
fn spell_out(hir: &Hir) -> Option<Vec<Literal>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![Literal::default()]),
        HirKind::Literal(literal) => Some(vec![Literal::exactly(&literal.0)]),
        HirKind::Class(class) => spell_out_class(class),
        HirKind::Capture(capture) => spell_out(&capture.sub),
        HirKind::Concat(children) => {
            children.iter().try_fold(vec![Literal::default()], |so_far, child| {
                product(&so_far, &spell_out(child)?)
            })
        }
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(spell_out(branch)?);
                if all.len() > LITERALS_MAX {
                    return None;
                }
            }
            Some(all)
        }
        HirKind::Repetition(repetition) => {
            if Some(repetition.min) != repetition.max || repetition.min > 8 {
                return None;
            }
            let once = spell_out(&repetition.sub)?;
            (0..repetition.min)
                .try_fold(vec![Literal::default()], |so_far, _| product(&so_far, &once))
        }
    }
}

fn spell_out_class(class: &Class) -> Option<Vec<Literal>> {
    let bytes: Vec<u8> = match class {
        Class::Bytes(class) => class.iter().flat_map(|range| range.start()..=range.end()).collect(),
        Class::Unicode(class) => {
            let last = class.iter().last()?.end();
            if !last.is_ascii() {
                return None;
            }
            let ranges = class.iter().map(|range| range.start() as u8..=range.end() as u8);
            ranges.flatten().collect()
        }
    };
    let is_pair = bytes.len() == 2 && bytes[0].is_ascii_uppercase() && bytes[1] == bytes[0] | 0x20;
    if is_pair {
        return Some(vec![Literal::of(LiteralByte::either_case(bytes[0]))]);
    }
    (bytes.len() <= 4)
        .then(|| bytes.into_iter().map(|byte| Literal::of(LiteralByte::exactly(byte))).collect())
}

/// Each of `left` followed by each of `right`, if that is not too much.
fn product(left: &[Literal], right: &[Literal]) -> Option<Vec<Literal>> {
    let too_long = |literal: &Literal| literal.len() > LITERAL_BYTES_MAX;
    if left.len() * right.len() > LITERALS_MAX || left.iter().any(too_long) {
        return None;
    }
    let mut all = Vec::with_capacity(left.len() * right.len());
    for left in left {
        for right in right {
            let mut both = left.clone();
            both.push_all(right);
            all.push(both);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pattern: &str) -> Hir {
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).unicode(false).build();
        parser.parse(pattern).unwrap()
    }

    /// Each anchor as text, letters in either case in brackets, with its distances.
    fn check(pattern: &str, expected: &[&str]) {
        let found = anchors_of(&parse(pattern)).map_or(vec![], |anchors| anchors.literals);
        let show = |anchor: &Anchor| {
            let text: String = anchor
                .literal
                .bytes()
                .iter()
                .map(|byte| {
                    let shown = char::from(byte.byte).to_string();
                    if byte.either_case { format!("[{shown}]") } else { shown }
                })
                .collect();
            let max = anchor.after_max.map_or("*".to_owned(), |max| max.to_string());
            format!("{text} {}..{max}", anchor.after_min)
        };
        assert_eq!(found.iter().map(show).collect::<Vec<_>>(), expected, "{pattern}");
    }

    #[test]
    fn the_rarest_literals_are_found() {
        check(r"\bghp_[0-9A-Za-z]{36}\b", &["ghp_ 0..0"]);
        check(r"(?:^|[^0-9a-z])(AKIA[0-9A-Z]{16})", &["AKIA 0..1"]);
        check(r"(?:key|token)[ =]+xyz_[0-9a-z]{32}", &["xyz_ 4..*"]);
        check(
            r"(?i)[\w.-]{0,50}?(?:adafruit)(?:[ \t]{0,20})=([a-z0-9_-]{32})",
            &["[a][d][a][f][r][u][i][t] 0..50"],
        );
        check(r"gh[ps]_[a-z]{3}", &["ghp_ 0..0", "ghs_ 0..0"]);
        check(r"(?:foox|barx)[0-9]+", &["foox 0..0", "barx 0..0"]);
        check(r"foo1[0-9]+|x?barx[0-9]+", &["foo1 0..0", "barx 0..1"]);
        check(r"[0-9]{4}-?(?:quux){2}", &["quuxquux 4..5"]);
        check(r"[a-z]{16}T3BlbkFJ[a-z]{16}", &["T3BlbkFJ 16..16"]);
    }

    #[test]
    fn what_has_no_literal_has_no_anchor() {
        check(r"[0-9a-f]{32}", &[]);
        check(r"(?:foox)?[0-9]+", &[]);
        check(r"foox|[0-9]+", &[]);
        check(r"ab[0-9]+", &[]);
    }
}
