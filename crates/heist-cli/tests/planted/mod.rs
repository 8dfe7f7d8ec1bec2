//! Texts with planted secrets, and the check that an output shows nothing of them.
//!
//! A text counts as a planted secret if the built-in rules find it on its own, or if it stands
//! beside a name that tells of a secret. The texts mix them side by side, nested, adjacent,
//! repeated, encoded, over several lines, and at distances at which excerpts cut them.

mod notation;

use heist::rng::XorShift64;
use heist_scan::rules::{Pattern, RuleSet, Sampler};
use heist_scan::{Confidence, DetectorOptions, SecretDetector};
use notation::{in_a_url, in_notation, value};
use std::collections::HashSet;

/// The number of bytes in a row that no output may contain.
pub(crate) const GRAM: usize = 8;

/// The cases of one text, and the examples that are drawn together.
pub(crate) const CASES_PER_TEXT: usize = 64;
const EXAMPLES: usize = 2_000;

/// How far a secret stands alone from the beginning of its text, so that both are near a finding.
const REPEATED_WITHIN: usize = 420;

/// A word that a rule of the tests finds, so that each case has an excerpt.
pub(crate) const NEEDLE: &str = "needle";

/// Ordinary words.
const WORDS: [&str; 16] = [
    "server",
    "database",
    "connect",
    "example",
    "function",
    "returns",
    "number",
    "while",
    "import",
    "request",
    "handler",
    "default",
    "production",
    "timeout",
    "retry",
    "message",
];

/// A text with the secrets in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planted {
    pub(crate) text: Vec<u8>,
    /// Each secret, and each encoded form of one in the text.
    pub(crate) secrets: Vec<String>,
    /// The identifiers, which are shown.
    pub(crate) identifiers: Vec<String>,
}

/// Plants secrets.
pub(crate) struct Planter {
    rng: XorShift64,
    makers: Vec<(Sampler, Vec<String>)>,
    finder: SecretDetector,
    examples: Vec<(String, Vec<String>)>,
    identifiers: Vec<Sampler>,
    drawn: usize,
}

impl Planter {
    pub(crate) fn new(seed: u64) -> Self {
        let rules = RuleSet::builtin();
        let is_secret =
            |rule: &&heist_scan::rules::Rule| rule.pattern != Pattern::Path && !rule.identifier;
        let makers = rules.rules.iter().filter(is_secret).filter_map(|rule| {
            let mut examples = rule.examples.clone();
            examples.push("{secret}".to_owned());
            Some((Sampler::new(rule)?, examples))
        });
        let identifiers = rules.rules.iter().filter(|rule| rule.identifier);
        let identifiers: Vec<Sampler> = identifiers.filter_map(Sampler::new).collect();
        assert!(!identifiers.is_empty());
        Self {
            rng: XorShift64::new(seed),
            makers: makers.collect(),
            identifiers,
            finder: SecretDetector::new(rules, DetectorOptions::default()),
            examples: Vec::new(),
            drawn: 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.below_usize(n)
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// Draws new examples of the built-in rules, and keeps those whose secrets the rules find on
    /// their own.
    fn draw_examples(&mut self) {
        let far =
            "\nordinary words of a text that separates the examples from each other\n".repeat(60);
        let (mut text, mut drawn) = (String::new(), Vec::new());
        while drawn.len() < EXAMPLES {
            let at = self.rng.below_usize(self.makers.len());
            let (sampler, examples) = &self.makers[at];
            let example = &examples[self.rng.below_usize(examples.len())];
            let Some(expanded) = sampler.expand(example, &mut self.rng) else { continue };
            let begin = text.len();
            text.push_str(&expanded.text);
            text.push_str(&far);
            drawn.push((begin, expanded));
        }
        let found = self.finder.find(text.as_bytes());
        let mut found = found.iter().map(|finding| finding.offset.clone()).peekable();
        self.examples.clear();
        for (begin, expanded) in drawn {
            let end = (begin + expanded.text.len()) as u64;
            let mut places = Vec::new();
            while let Some(place) = found.next_if(|place| place.start < end) {
                places.push(place);
            }
            let is_found = |secret: &&std::ops::Range<usize>| {
                let (from, to) = ((begin + secret.start) as u64, (begin + secret.end) as u64);
                places.iter().any(|place| place.start <= from && to <= place.end)
            };
            let secrets = expanded.secrets.iter().filter(is_found);
            let secrets: Vec<String> =
                secrets.map(|secret| expanded.text[secret.clone()].to_owned()).collect();
            if !secrets.is_empty() {
                self.examples.push((expanded.text, secrets));
            }
        }
        assert!(self.examples.len() > EXAMPLES / 2, "the rules find their examples");
    }

    /// Returns a text with many cases, too far apart to affect each other.
    pub(crate) fn text(&mut self) -> Planted {
        if self.drawn.is_multiple_of(100) {
            self.draw_examples();
        }
        self.drawn += 1;
        let mut planted = Planted::default();
        let wide = self.below(6);
        let reach = if wide < 2 { REPEATED_WITHIN / 2 - 80 } else { REPEATED_WITHIN };
        for _ in 0..CASES_PER_TEXT {
            self.add_case(&mut planted, reach);
            planted.text.push(b'\n');
            for _ in 0..24 {
                let words = [0; 12].map(|_| self.one_of(&WORDS)).join(" ");
                planted.text.extend_from_slice(words.as_bytes());
                planted.text.push(b'\n');
            }
        }
        match wide {
            0 => planted.text = utf16(&planted.text, u16::to_le_bytes),
            1 => planted.text = utf16(&planted.text, u16::to_be_bytes),
            _ => {}
        }
        planted
    }

    fn add_case(&mut self, planted: &mut Planted, reach: usize) {
        let mut line = String::new();
        let mut secrets: Vec<String> = Vec::new();
        if self.below(5) == 0 {
            let at = self.below(self.identifiers.len());
            let identifier = self.identifiers[at].secret(&mut self.rng).unwrap_or_default();
            line.push_str(&format!("access_id = {identifier} "));
            planted.identifiers.push(identifier);
        }
        for _ in 0..1 + self.below(4) {
            self.add_gap(&mut line);
            let begin = line.len();
            let (text, new) = self.item();
            let is_bare = new.first().is_some_and(|secret| text.starts_with(secret));
            if !is_bare && line.ends_with(char::is_alphanumeric) {
                line.push(' ');
            }
            line.push_str(&text);
            if let Some(secret) = new.first().filter(|_| self.rng.below(3) == 0) {
                // Once more, on its own.
                self.add_gap(&mut line);
                if line.len() + secret.len() - begin < reach {
                    line.push_str(secret);
                }
            }
            secrets.extend(new);
        }
        self.add_gap(&mut line);
        planted.text.extend_from_slice(line.as_bytes());
        planted.secrets.append(&mut secrets);
    }

    /// Adds what stands between two items.
    fn add_gap(&mut self, line: &mut String) {
        match self.below(8) {
            0 => {}
            1..=4 => {
                line.push_str(
                    self.one_of(&[" ", " ", ", ", "; ", "\t", " && ", " | ", "\n", "\r\n"]),
                );
            }
            5 => {
                for _ in 0..self.below(12) {
                    line.push(' ');
                    line.push_str(self.one_of(&WORDS));
                }
                line.push(' ');
            }
            _ => line.push_str(&format!(" {NEEDLE} ")),
        }
    }

    /// Returns a text, and the secrets in it.
    fn item(&mut self) -> (String, Vec<String>) {
        match self.below(9) {
            0..=3 => self.example(),
            4 | 5 => {
                let secret = value(&mut self.rng);
                (in_notation(&secret, &mut self.rng), vec![secret.text])
            }
            6 => {
                let secret = value(&mut self.rng);
                let (url, secret) = in_a_url(&secret.text, &mut self.rng);
                (url, vec![secret])
            }
            7 => {
                // Nested: a secret of a rule as the value of a telling name.
                let (_, mut secrets) = self.example();
                let text = secrets.pop().unwrap_or_default();
                let one_line = !text.contains(|c: char| c.is_whitespace() || "&;,?|".contains(c));
                // Otherwise the notation would end inside the value.
                if text.contains(['"', '\'', '`', '<', '>', '\\']) {
                    return self.example();
                }
                let secret = notation::Value { is_plain: one_line, text };
                (in_notation(&secret, &mut self.rng), vec![secret.text])
            }
            _ => {
                let (text, mut secrets) = self.example();
                let encoded = match self.below(3) {
                    0 => base64(text.as_bytes()),
                    1 => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
                    _ => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
                };
                // What is only known encoded cannot be hidden in clear.
                secrets.insert(0, encoded.clone());
                (encoded, secrets)
            }
        }
    }

    fn example(&mut self) -> (String, Vec<String>) {
        let at = self.below(self.examples.len());
        self.examples[at].clone()
    }
}

fn utf16<const LENGTH: usize>(text: &[u8], unit: fn(u16) -> [u8; LENGTH]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut bits = 0;
        (0..3).for_each(|at| bits = bits << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// What outputs may contain although it is a part of a secret: the texts of rules and of the tests.
pub(crate) struct Public {
    grams: HashSet<[u8; GRAM]>,
    /// Four bytes that all secrets of a rule have in common.
    common: HashSet<[u8; 4]>,
}

impl Public {
    pub(crate) fn new() -> Self {
        let (mut grams, mut common) = (HashSet::new(), HashSet::new());
        let mut add = |text: &str| grams.extend(grams_of(text.as_bytes()));
        let mut rng = XorShift64::new(1);
        for rule in RuleSet::builtin().rules {
            // What all secrets of a rule have in common, such as the host of a URL.
            if let Some(sampler) = Sampler::new(&rule) {
                let [one, other] = [(); 2].map(|()| sampler.secret(&mut rng).unwrap_or_default());
                let grams: HashSet<[u8; 4]> = grams_of(one.as_bytes()).collect();
                common.extend(grams_of(other.as_bytes()).filter(|gram| grams.contains(gram)));
            }
            [&rule.id, &rule.description, &rule.remedy].into_iter().for_each(|text| add(text));
        }
        WORDS.iter().chain(&notation::KEYS).for_each(|word| add(word));
        Confidence::ALL.iter().for_each(|confidence| add(confidence.as_str()));
        // The beginnings of URLs and the headings of keys are no secrets.
        add("https://");
        for label in ["", "EC ", "RSA ", "OPENSSH ", "ENCRYPTED "] {
            add(&format!("-----BEGIN {label}PRIVATE KEY-----\n"));
            add(&format!("-----END {label}PRIVATE KEY-----"));
        }
        Self { grams, common }
    }
}

impl Public {
    /// Returns the parts of a secret that must not be shown: those of which more is private than a
    /// mask shows.
    fn private_grams(&self, secret: &[u8]) -> Vec<[u8; GRAM]> {
        let mut is_common = vec![false; secret.len()];
        for (at, four) in grams_of::<4>(secret).enumerate() {
            if self.common.contains(&four) {
                is_common[at..at + 4].fill(true);
            }
        }
        let is_private = |(at, gram): &(usize, [u8; GRAM])| {
            let private = is_common[*at..at + GRAM].iter().filter(|is_common| !**is_common).count();
            private > 4 && !self.grams.contains(gram)
        };
        grams_of(secret).enumerate().filter(is_private).map(|(_, gram)| gram).collect()
    }
}

fn grams_of<const LENGTH: usize>(text: &[u8]) -> impl Iterator<Item = [u8; LENGTH]> {
    text.windows(LENGTH).filter_map(|gram| gram.try_into().ok())
}

/// Returns a part of each planted secret that the output shows, with what is around it.
pub(crate) fn leaks(
    planted: &Planted,
    public: &Public,
    fingerprints: &HashSet<String>,
    output: &[u8],
) -> Vec<String> {
    let mut filter = vec![0_u64; 1 << 12];
    let bit = |gram: &[u8; GRAM]| {
        let hash = u64::from_le_bytes(*gram).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 46;
        ((hash >> 6) as usize, 1_u64 << (hash & 63))
    };
    let mut grams: HashSet<[u8; GRAM]> = HashSet::new();
    for secret in &planted.secrets {
        for gram in public.private_grams(secret.as_bytes()) {
            let (word, bit) = bit(&gram);
            filter[word] |= bit;
            grams.insert(gram);
        }
    }
    for identifier in &planted.identifiers {
        for gram in grams_of::<GRAM>(identifier.as_bytes()) {
            grams.remove(&gram);
        }
    }
    // A fingerprint may contain the digits of a secret by chance.
    let without = without_fingerprints(output, fingerprints);
    let mut leaks = Vec::new();
    let mut known = HashSet::new();
    for (at, window) in without.windows(GRAM).enumerate() {
        let Ok(gram) = window.try_into() else { continue };
        let (word, bit) = bit(gram);
        if filter[word] & bit == 0 || !grams.contains(gram) {
            continue;
        }
        let shows = |secret: &&String| grams_of(secret.as_bytes()).any(|other| other == *gram);
        let secret = planted.secrets.iter().find(shows);
        if known.insert(secret) {
            let around = at.saturating_sub(150)..(at + 150).min(without.len());
            let text: Vec<u8> = planted.text.iter().copied().filter(|&byte| byte != 0).collect();
            let text = String::from_utf8_lossy(&text);
            let source = secret.and_then(|secret| text.find(secret.as_str())).unwrap_or(0);
            let source: String = text[..source + 60].chars().rev().take(180).collect();
            leaks.push(format!(
                "{:?} of {secret:?} in: {:?}\n    planted in: {:?}",
                String::from_utf8_lossy(gram),
                String::from_utf8_lossy(&without[around]),
                source.chars().rev().collect::<String>(),
            ));
        }
    }
    leaks
}

/// Returns the output with each fingerprint blanked.
fn without_fingerprints(output: &[u8], fingerprints: &HashSet<String>) -> Vec<u8> {
    let mut text = output.to_vec();
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let is_one = length == 32
            && std::str::from_utf8(&text[at..at + 32]).is_ok_and(|run| fingerprints.contains(run));
        if is_one {
            text[at..at + 32].fill(b' ');
        }
        at += length.max(1);
    }
    text
}
