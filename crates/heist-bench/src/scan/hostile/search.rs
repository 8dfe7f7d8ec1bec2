//! [`Search`]: seeded hill climbing for the text with the highest cost.
//!
//! There are several islands, each with a few inputs that descend from different beginnings. An
//! island that has not improved for a while begins anew, so that one bad input does not take all
//! the time.

use std::time::{Duration, Instant};

use heist::rng::XorShift64;

use super::cost::{Cost, Meter, TEXT_BYTES};
use super::fragments::FRAGMENTS;
use super::input::{Alphabet, Content, Examples, HostileInput, Piece, TIMES_MAX, Wrapping};

const ISLANDS: usize = 12;

/// How many inputs an island keeps.
const KEPT: usize = 4;

/// An island begins anew after this many attempts without an improvement.
const PATIENCE: u32 = 250;

/// The greatest number of pieces of an input.
const PIECES_MAX: usize = 14;

/// How many measurements confirm a result.
const CONFIRMATIONS: usize = 5;

/// An input and its cost.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) input: HostileInput,
    pub(crate) cost: Cost,
}

/// What a search maximises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Goal {
    /// The cost in a large object, whose work is limited.
    Limited,
    /// The cost in a small object, whose work is free.
    Free,
}

impl Goal {
    /// Returns the cost that counts for this goal.
    pub(crate) fn of(self, cost: &Cost) -> f64 {
        match self {
            Self::Limited => cost.limited,
            Self::Free => cost.ratio,
        }
    }

    /// Sorts by cost, the highest first.
    pub(crate) fn sort(self, found: &mut [Found]) {
        found.sort_by(|a, b| self.of(&b.cost).total_cmp(&self.of(&a.cost)));
    }
}

/// The state of a search.
pub(crate) struct Search<'a> {
    meter: &'a Meter,
    goal: Goal,
    pub(crate) examples: Examples,
    rng: XorShift64,
    literals: Vec<String>,
    islands: Vec<Island>,
    /// The best of the islands that began anew.
    hall: Vec<Found>,
    pub(crate) attempts: u64,
}

#[derive(Default)]
struct Island {
    best: Vec<Found>,
    idle: u32,
}

impl<'a> Search<'a> {
    pub(crate) fn new(meter: &'a Meter, goal: Goal, seed: u64) -> Self {
        let examples = Examples::new();
        let rules = &examples.rules.rules;
        let mut literals: Vec<String> =
            rules.iter().flat_map(|rule| rule.keywords.iter().cloned()).collect();
        literals.sort();
        literals.dedup();
        let islands = (0..ISLANDS).map(|_| Island::default()).collect();
        let rng = XorShift64::new(seed);
        Self { meter, goal, examples, rng, literals, islands, hall: Vec::new(), attempts: 0 }
    }

    /// Measures an input carefully.
    pub(crate) fn confirm(&self, input: &HostileInput) -> Cost {
        self.meter.cost(&input.text(TEXT_BYTES, &self.examples), CONFIRMATIONS)
    }

    /// Gives an island inputs to begin with.
    pub(crate) fn begin_with(&mut self, inputs: &[HostileInput]) {
        for (number, input) in inputs.iter().enumerate() {
            let cost = self.meter.cost(&input.text(TEXT_BYTES, &self.examples), 1);
            let found = Found { input: input.clone(), cost };
            self.islands[number % (ISLANDS / 2)].keep(found, self.goal);
        }
    }

    /// Searches for this long. Returns the best inputs, worst cost first, each measured again.
    pub(crate) fn run(&mut self, time: Duration) -> Vec<Found> {
        let started = Instant::now();
        let mut at = 0;
        while started.elapsed() < time {
            at = (at + 1) % ISLANDS;
            self.attempt(at);
        }
        let islands = self.islands.iter().filter_map(|island| island.best.first());
        let mut all: Vec<Found> = islands.chain(&self.hall).cloned().collect();
        self.goal.sort(&mut all);
        all.dedup_by(|a, b| a.input == b.input);
        all.truncate(2 * ISLANDS);
        for found in &mut all {
            found.cost = self.confirm(&found.input);
        }
        self.goal.sort(&mut all);
        all
    }

    fn attempt(&mut self, at: usize) {
        self.attempts += 1;
        let input = match self.islands[at].best.len() {
            0 => self.random(),
            count if count < KEPT && self.rng.below(2) == 0 => self.random(),
            count => {
                let parent = self.rng.below_usize(count);
                let mut input = self.islands[at].best[parent].input.clone();
                for _ in 0..=self.rng.below(3) {
                    self.mutate(&mut input, at);
                }
                input
            }
        };
        if input.pieces.is_empty() {
            return;
        }
        let text = input.text(TEXT_BYTES / 4, &self.examples);
        let goal = self.goal;
        let least = self.islands[at].best.first().map_or(0.0, |best| goal.of(&best.cost));
        let mut cost = self.meter.cost(&text, 1);
        if goal.of(&cost) > least {
            // Starting a scan counts for more in a short text, and the machine may be disturbed.
            cost = self.meter.cost(&input.text(TEXT_BYTES, &self.examples), 2);
        }
        let island = &mut self.islands[at];
        if island.keep(Found { input, cost }, goal) {
            island.idle = 0;
            return;
        }
        island.idle += 1;
        if island.idle > PATIENCE {
            let old = std::mem::take(island);
            self.hall.extend(old.best.into_iter().next());
            goal.sort(&mut self.hall);
            self.hall.truncate(2 * ISLANDS);
        }
    }

    fn random(&mut self) -> HostileInput {
        let count = 1 + self.rng.below_usize(6);
        let wrapping = self.random_wrapping();
        HostileInput { wrapping, pieces: (0..count).map(|_| self.piece()).collect() }
    }

    fn random_wrapping(&mut self) -> Option<Wrapping> {
        let choice = self.rng.below_usize(16);
        Wrapping::ALL.get(choice).copied()
    }

    fn piece(&mut self) -> Piece {
        let times = match self.rng.below(6) {
            0 => 1 + self.rng.below(20),
            1 => 1 + self.rng.below(TIMES_MAX) / (1 + self.rng.below(50)),
            _ => 1,
        };
        Piece { content: self.content(), times }
    }

    fn content(&mut self) -> Content {
        match self.rng.below(12) {
            0 => {
                let alphabet = Alphabet::ALL[self.rng.below_usize(Alphabet::ALL.len())];
                Content::Random(alphabet, 1 + self.rng.below_usize(70))
            }
            1 => Content::Example(self.rng.below_usize(self.examples.rules.rules.len())),
            2 | 3 => {
                let at = self.rng.below_usize(self.literals.len());
                Content::Text(self.literals[at].clone().into_bytes())
            }
            _ => {
                let at = self.rng.below_usize(FRAGMENTS.len());
                Content::Text(FRAGMENTS[at].as_bytes().to_vec())
            }
        }
    }

    fn mutate(&mut self, input: &mut HostileInput, island: usize) {
        let count = input.pieces.len();
        let at = self.rng.below_usize(count.max(1));
        match self.rng.below(12) {
            0..=2 if count < PIECES_MAX => {
                let piece = self.piece();
                input.pieces.insert(at.min(count), piece);
            }
            3 if count > 1 => drop(input.pieces.remove(at)),
            4 | 5 if count > 0 => input.pieces[at] = self.piece(),
            6 if count > 0 => {
                let times = input.pieces[at].times;
                input.pieces[at].times = match self.rng.below(4) {
                    0 => 1,
                    1 => times + 1,
                    2 => (times * 2).min(TIMES_MAX),
                    _ => (times / 2).max(1),
                };
            }
            7 if count > 1 => {
                let other = self.rng.below_usize(count);
                input.pieces.swap(at, other);
            }
            8 if count > 0 => self.mutate_content(&mut input.pieces[at].content),
            9 => input.wrapping = self.random_wrapping(),
            10 => {
                // The first half of this one, and the second of another.
                let best = &self.islands[island].best;
                if let Some(other) = best.get(self.rng.below_usize(best.len().max(1))) {
                    let from = self.rng.below_usize(other.input.pieces.len().max(1));
                    let tail = other.input.pieces[from..].to_vec();
                    input.pieces.truncate(at);
                    input.pieces.extend(tail);
                    input.pieces.truncate(PIECES_MAX);
                }
            }
            _ if count > 0 && count < PIECES_MAX => {
                let copy = input.pieces[at].clone();
                let to = self.rng.below_usize(count);
                input.pieces.insert(to, copy);
            }
            _ => {}
        }
    }

    fn mutate_content(&mut self, content: &mut Content) {
        match content {
            Content::Text(text) => {
                let at = self.rng.below_usize(text.len().max(1));
                match self.rng.below(3) {
                    0 if text.len() > 1 => drop(text.remove(at)),
                    1 if text.len() < 200 => {
                        let byte = b"=:\"' \n%\\./-_@a1Az9+<>(,;&{"[self.rng.below_usize(25)];
                        text.insert(at, byte);
                    }
                    _ if !text.is_empty() => text[at] ^= 1 << self.rng.below(7),
                    _ => {}
                }
            }
            Content::Random(_, count) => {
                *count = (*count / 2 + self.rng.below_usize(*count + 2)).max(1);
            }
            Content::Example(rule) => {
                *rule = self.rng.below_usize(self.examples.rules.rules.len());
            }
        }
    }
}

impl Island {
    /// Keeps a result if it is among the best. Returns `true` if it is the best.
    fn keep(&mut self, found: Found, goal: Goal) -> bool {
        if self.best.iter().any(|kept| kept.input == found.input) {
            return false;
        }
        let is_best =
            self.best.first().is_none_or(|best| goal.of(&found.cost) > goal.of(&best.cost));
        self.best.push(found);
        goal.sort(&mut self.best);
        self.best.truncate(KEPT);
        is_best
    }
}
