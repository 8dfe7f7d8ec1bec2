//! Text without secrets has no findings: random bytes, and English.

use super::all_matches;
use heist::rng::XorShift64;
use heist_scan::rules::RuleSet;
use heist_scan::{Confidence, DetectorOptions, Match, SecretDetector};

/// In a debug build a hundredth of it, to be quick.
const MEGABYTES: usize = if cfg!(debug_assertions) { 1 } else { 100 };

fn check(name: &str, mut fill: impl FnMut(&mut XorShift64, &mut Vec<u8>)) {
    let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    let mut rng = XorShift64::new(42);
    for part in 0..MEGABYTES {
        let mut text = Vec::with_capacity(1 << 20);
        while text.len() < 1_000_000 {
            fill(&mut rng, &mut text);
        }
        let above_low: Vec<Match> = all_matches(&detector, &text)
            .into_iter()
            .filter(|found| found.confidence > Confidence::Low)
            .collect();
        let shown: Vec<_> = above_low
            .iter()
            .map(|found| {
                let whole = &text[found.whole.start as usize..found.whole.end as usize];
                let rule = detector.rules().nth(found.rule.0 as usize).map(|rule| rule.id.clone());
                (rule, String::from_utf8_lossy(whole))
            })
            .collect();
        assert!(shown.is_empty(), "{name}, megabyte {part}: {shown:?}");
    }
}

#[test]
fn random_bytes_have_no_secrets() {
    check("bytes", |rng, text| text.extend_from_slice(&rng.next_u64().to_le_bytes()));
}

#[test]
fn random_letters_and_digits_have_no_secrets() {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    check("letters", |rng, text| {
        let line = 20 + rng.next_u64() as usize % 100;
        text.extend((0..line).map(|_| DIGITS[rng.next_u64() as usize % DIGITS.len()]));
        text.push(b'\n');
    });
}

#[test]
fn english_has_no_secrets() {
    // Words of every kind, among them those that secrets are named by.
    let words: Vec<&str> = "the \
        of and a to in is was he for it with as his on be at by had not are but from or have an \
        they which one you were her all she there would their we him been has when who will more no \
        if out so said what up its about into than them can only other new some could time these two \
        may then do first any my now such like our over man me even most made after also did many \
        before must through back years where much your way well down should because each just those \
        people how too little state good very make world still own see men work long get here \
        between both life being under never day same another know while last might us great old year \
        off come since against go came right used take three password passwords secret secrets token \
        tokens key keys credential access authorization bearer private public certificate account \
        login user username database connection string server port host service cloud storage bucket \
        github gitlab slack stripe amazon google azure twilio sendgrid datadog implementation \
        documentation configuration authentication environment variable"
        .split_whitespace()
        .collect();
    check("English", |rng, text| {
        let length = 4 + rng.next_u64() as usize % 20;
        for number in 0..length {
            let word = words[rng.next_u64() as usize % words.len()];
            let mut letters = word.as_bytes().to_vec();
            if number == 0 || rng.next_u64().is_multiple_of(20) {
                letters[0] = letters[0].to_ascii_uppercase();
            }
            text.extend_from_slice(&letters);
            let mark: &[u8] = match rng.next_u64() % 40 {
                0 => b", ",
                1 => b": ",
                2 => b" (",
                3 => b") ",
                4 => b" \"",
                5 => b"\" ",
                6 => b"'s ",
                7 => b" = ",
                8 => b"-",
                9 => b"\n",
                _ => b" ",
            };
            text.extend_from_slice(mark);
        }
        text.extend_from_slice(b".\n");
    });
}
