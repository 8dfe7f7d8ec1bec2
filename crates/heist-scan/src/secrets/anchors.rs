//! [`anchors_of`]: finds the literals that a regular expression's matches contain, and where in the
//! match they are.
//!
//! The detector tries a rule only where one of its literals occurs. From all sets of literals of
//! which every match contains at least one, it picks the rarest set: it tries `(?:key|token)[
//! =]+xyz_[0-9a-z]{32}` only at `xyz_`.
//!
//! A literal that is always followed by letters and digits can only occur where a run of them
//! begins, which makes it rarer still. The distance to that run is its [gate](Anchor::gate).

use super::literal::{LITERAL_BYTES_MAX, Literal, LiteralByte};
use super::prefilter::RUN_BYTES_MIN;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Spell out at most this many alternatives.
const LITERALS_MAX: usize = 48;

/// Spell out classes of at most this many bytes.
const CLASS_MAX: usize = 6;

/// Shorter literals occur too often to be useful.
pub(crate) const LITERAL_BYTES_MIN: usize = 3;

/// The share of positions at which a run begins.
const GATED: f64 = 0.01;

/// A set of literals. Every match contains at least one of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Anchors {
    /// Each literal, with its least and greatest distance from the start of the match (`None`:
    /// unbounded).
    pub(crate) literals: Vec<Anchor>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Anchor {
    pub(crate) literal: Literal,
    /// The distance from the start of the literal to the run of letters and digits that every match
    /// has there, if any.
    pub(crate) gate: Option<usize>,
    /// `true` if no match has a letter or digit right before the literal.
    pub(crate) begins_word: bool,
    pub(crate) after_min: usize,
    pub(crate) after_max: Option<usize>,
}

impl Anchors {
    /// Returns the cost of searching for these literals: how often they occur, times the
    /// number of positions at which the match could then begin.
    fn cost(&self) -> f64 {
        let cost = |anchor: &Anchor| {
            let starts = anchor.after_max.map_or(64, |max| max - anchor.after_min + 1).min(64);
            let gate = if anchor.gate.is_some() { GATED } else { 1.0 };
            anchor.literal.rarest_window().1 * gate * starts as f64
        };
        self.literals.iter().map(cost).sum()
    }
}

/// Returns the cheapest anchors of a regular expression, or `None` if its matches do not share any
/// literals that are long enough.
pub(crate) fn anchors_of(hir: &Hir) -> Option<Anchors> {
    let mut best = Best(None);
    collect(hir, 0, Some(0), &mut best);
    best.0.map(|(_, anchors)| anchors)
}

/// The cheapest anchors so far, and their cost.
struct Best(Option<(f64, Anchors)>);

impl Best {
    fn offer(&mut self, anchors: Anchors) {
        let long_enough = |anchor: &Anchor| anchor.literal.len() >= LITERAL_BYTES_MIN;
        if anchors.literals.is_empty() || !anchors.literals.iter().all(long_enough) {
            return;
        }
        let cost = anchors.cost();
        if self.0.as_ref().is_none_or(|(least, _)| cost < *least) {
            self.0 = Some((cost, anchors));
        }
    }
}

/// Offers every set of literals that each match of `hir` contains. `hir` starts `after_min` to
/// `after_max` bytes after the start of the whole match.
fn collect(hir: &Hir, after_min: usize, after_max: Option<usize>, best: &mut Best) {
    match hir.kind() {
        HirKind::Concat(_) | HirKind::Capture(_) | HirKind::Literal(_) | HirKind::Class(_) => {
            let mut parts = Vec::new();
            flatten(hir, &mut parts);
            collect_in_concatenation(&parts, (after_min, after_max), best);
        }
        HirKind::Alternation(branches) => {
            // Every branch must contribute a literal.
            let mut all = Vec::new();
            for branch in branches {
                let mut of_branch = Best(None);
                collect(branch, after_min, after_max, &mut of_branch);
                match of_branch.0 {
                    Some((_, anchors)) => all.extend(anchors.literals),
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

/// Consecutive parts of a concatenation that are spelled out together.
struct Spelled {
    literals: Vec<Literal>,
    /// The index of the first part.
    from: usize,
    /// The distance of the first part from the start of the match.
    after: (usize, Option<usize>),
}

impl Spelled {
    fn nothing(from: usize, after: (usize, Option<usize>)) -> Self {
        Self { literals: vec![Literal::default()], from, after }
    }

    /// Turns the parts up to `to` (exclusive) into anchors.
    fn anchors(self, parts: &[&Hir], to: usize) -> Anchors {
        let following: usize = alphanumerics_ahead(&parts[to..]).0;
        let takes_no_room = |part: &&Hir| part.properties().maximum_len() == Some(0);
        let begin = (self.from..to).find(|&at| !takes_no_room(&parts[at])).unwrap_or(to);
        let before = begin.checked_sub(1).map(|before| parts[before]);
        let (after_min, after_max) = self.after;
        let anchor = |literal: Literal| {
            let is_word =
                |byte: &LiteralByte| byte.byte.is_ascii_alphanumeric() || byte.byte == b'_';
            let is_word = literal.bytes().first().is_some_and(is_word);
            let begins_word = before.is_some_and(|before| begins_word_after(before, is_word));
            let gate = gate_of(&literal, begins_word, following);
            Anchor { literal: literal.cut(), gate, begins_word, after_min, after_max }
        };
        Anchors { literals: self.literals.into_iter().map(anchor).collect() }
    }
}

fn collect_in_concatenation(parts: &[&Hir], after: (usize, Option<usize>), best: &mut Best) {
    let mut here = after;
    let mut spelled = Spelled::nothing(0, here);
    for (number, part) in parts.iter().enumerate() {
        let next = add(here, part);
        let literals = spell_out(part);
        let longer = literals.as_deref().and_then(|literals| product(&spelled.literals, literals));
        match (longer, literals) {
            (Some(longer), _) => spelled.literals = longer,
            (None, Some(literals)) => {
                let begun = Spelled { literals, from: number, after: here };
                best.offer(std::mem::replace(&mut spelled, begun).anchors(parts, number));
            }
            (None, None) => {
                let begun = Spelled::nothing(number + 1, next);
                best.offer(std::mem::replace(&mut spelled, begun).anchors(parts, number));
                if !matches!(part.kind(), HirKind::Class(_)) {
                    collect(part, here.0, here.1, best);
                }
            }
        }
        here = next;
    }
    best.offer(spelled.anchors(parts, parts.len()));
}

/// Returns the distance from the start of a literal to the run that it leads into. `following` is
/// the number of letters and digits that follow the literal.
fn gate_of(literal: &Literal, begins_run: bool, following: usize) -> Option<usize> {
    let is_in_run = |byte: &&LiteralByte| byte.byte.is_ascii_alphanumeric();
    let in_run = literal.bytes().iter().rev().take_while(is_in_run).count();
    let gate = literal.len() - in_run;
    let is_sure = gate > 0 || begins_run;
    let is_whole = literal.len() <= LITERAL_BYTES_MAX;
    (is_sure && is_whole && in_run + following >= RUN_BYTES_MIN).then_some(gate)
}

/// Returns `true` if every match contains a run of letters and digits that is long enough for the
/// prefilter.
pub(crate) fn always_has_run(hir: &Hir) -> bool {
    if let HirKind::Alternation(branches) = hir.kind() {
        return branches.iter().all(always_has_run);
    }
    let mut parts = Vec::new();
    flatten(hir, &mut parts);
    (0..parts.len()).any(|from| alphanumerics_ahead(&parts[from..]).0 >= RUN_BYTES_MIN)
}

/// Returns how many letters and digits these parts begin with at least, and whether the parts
/// consist of nothing else. More than a run needs are not counted.
fn alphanumerics_ahead(parts: &[&Hir]) -> (usize, bool) {
    let mut count = 0;
    for part in parts {
        let (more, is_all) = alphanumerics_of(part);
        count += more;
        if !is_all || count >= RUN_BYTES_MIN {
            return (count, false);
        }
    }
    (count, true)
}

fn alphanumerics_of(hir: &Hir) -> (usize, bool) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, true),
        HirKind::Literal(literal) => {
            let count = literal.0.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            (count, count == literal.0.len())
        }
        HirKind::Class(class) => {
            let is_all = class_bytes(class)
                .is_some_and(|mut bytes| bytes.all(|byte| byte.is_ascii_alphanumeric()));
            (usize::from(is_all), is_all)
        }
        HirKind::Capture(capture) => alphanumerics_of(&capture.sub),
        HirKind::Concat(parts) => alphanumerics_ahead(&parts.iter().collect::<Vec<_>>()),
        HirKind::Alternation(branches) => {
            let branches = branches.iter().map(alphanumerics_of);
            branches.fold((usize::MAX, true), |all, one| (all.0.min(one.0), all.1 && one.1))
        }
        HirKind::Repetition(repetition) => {
            let (count, is_all) = alphanumerics_of(&repetition.sub);
            let times =
                if is_all { repetition.min as usize } else { 1.min(repetition.min as usize) };
            (count.saturating_mul(times), is_all)
        }
    }
}

/// Returns `true` if a letter or digit cannot come right before the text that follows `hir`.
/// `is_word`: that text begins with a word character.
fn begins_word_after(hir: &Hir, is_word: bool) -> bool {
    match hir.kind() {
        // Before a non-word character, `\b` marks the end of a word.
        HirKind::Look(Look::WordAscii) => is_word,
        HirKind::Look(look) => matches!(
            look,
            Look::Start
                | Look::StartLF
                | Look::StartCRLF
                | Look::WordStartAscii
                | Look::WordStartHalfAscii
        ),
        HirKind::Class(class) => class_bytes(class)
            .is_some_and(|mut bytes| !bytes.any(|byte| byte.is_ascii_alphanumeric())),
        HirKind::Literal(literal) => {
            literal.0.last().is_some_and(|byte| !byte.is_ascii_alphanumeric())
        }
        HirKind::Capture(capture) => begins_word_after(&capture.sub, is_word),
        HirKind::Alternation(branches) => {
            branches.iter().all(|branch| begins_word_after(branch, is_word))
        }
        _ => false,
    }
}

/// Collects the parts of a concatenation, including the parts of nested groups.
fn flatten<'a>(hir: &'a Hir, parts: &mut Vec<&'a Hir>) {
    match hir.kind() {
        HirKind::Concat(children) => children.iter().for_each(|child| flatten(child, parts)),
        HirKind::Capture(capture) => flatten(&capture.sub, parts),
        _ => parts.push(hir),
    }
}

/// Returns the position of the text after `part`.
fn add((min, max): (usize, Option<usize>), part: &Hir) -> (usize, Option<usize>) {
    let properties = part.properties();
    let min = min.saturating_add(properties.minimum_len().unwrap_or(0));
    let max = max.zip(properties.maximum_len()).map(|(max, len)| max.saturating_add(len));
    (min, max)
}

/// Returns every text that `hir` matches, unless there are too many. An assertion such as `\b`
/// counts as empty.
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

/// Returns the bytes of a class, or `None` if it contains multi-byte characters.
fn class_bytes(class: &Class) -> Option<Box<dyn Iterator<Item = u8> + '_>> {
    match class {
        Class::Bytes(class) => {
            Some(Box::new(class.iter().flat_map(|range| range.start()..=range.end())))
        }
        Class::Unicode(class) => {
            let is_ascii = class.iter().last().is_some_and(|range| range.end().is_ascii());
            let ranges = class.iter().map(|range| range.start() as u8..=range.end() as u8);
            is_ascii.then(|| Box::new(ranges.flatten()) as Box<dyn Iterator<Item = u8>>)
        }
    }
}

fn spell_out_class(class: &Class) -> Option<Vec<Literal>> {
    let bytes: Vec<u8> = class_bytes(class)?.collect();
    let is_pair = bytes.len() == 2 && bytes[0].is_ascii_uppercase() && bytes[1] == bytes[0] | 0x20;
    if is_pair {
        return Some(vec![Literal::of(LiteralByte::either_case(bytes[0]))]);
    }
    (bytes.len() <= CLASS_MAX)
        .then(|| bytes.into_iter().map(|byte| Literal::of(LiteralByte::exactly(byte))).collect())
}

/// Returns each of `left` followed by each of `right`, unless there are too many.
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

    /// Compares the anchors of a pattern with `expected`: text with case-insensitive letters in
    /// brackets, and distances.
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
            let gate = anchor.gate.map_or(String::new(), |gate| format!(" run at {gate}"));
            format!("{text} {}..{max}{gate}", anchor.after_min)
        };
        assert_eq!(found.iter().map(show).collect::<Vec<_>>(), expected, "{pattern}");
    }

    #[test]
    fn the_rarest_literals_are_found() {
        check(r"\bghp_[0-9A-Za-z]{36}\b", &["ghp_ 0..0 run at 4"]);
        check(r"(?:^|[^0-9a-z])(AKIA[0-9A-Z]{16})", &["AKIA 0..1"]);
        check(r"(?:^|[^0-9A-Za-z])(AKIA[0-9A-Z]{16})", &["AKIA 0..1 run at 0"]);
        check(r"\b(AKIA[0-9A-Z]{7})", &["AKIA 0..0"]);
        check(r"\bsk_live_51(?:[0-9A-Z]{6}){2,3}x", &["sk_live_51 0..0 run at 8"]);
        check(r"\bsk_live_[0-9A-Z-]{40}x", &["sk_live_ 0..0"]);
        check(r"(?:key|token)[ =]+xyz_[0-9a-z]{32}", &["xyz_ 4..* run at 4"]);
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
    fn runs_are_seen_in_expressions() {
        let uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
        for pattern in [uuid, r"[0-9a-f]{32}|[A-Z]{12}", r"(?:x:)?[a-z]{30}", r"v2\.[0-9a-z]{20}"] {
            assert!(always_has_run(&parse(pattern)), "{pattern}");
        }
        for pattern in
            [r"[0-9a-z-]{40}", r"[0-9a-f]{32}|[A-Z]{11}", r"[a-z]{6}-[a-z]{6}", r"[a-z]*"]
        {
            assert!(!always_has_run(&parse(pattern)), "{pattern}");
        }
    }

    #[test]
    fn an_expression_without_literals_has_no_anchors() {
        check(r"[0-9a-f]{32}", &[]);
        check(r"(?:foox)?[0-9]+", &[]);
        check(r"foox|[0-9]+", &[]);
        check(r"ab[0-9]+", &[]);
    }
}
