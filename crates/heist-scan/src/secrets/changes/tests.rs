//! Planted mistakes: each reach that is too small is noticed. That the reaches are large enough is
//! a property of the whole detector (`tests/it/detector/changes.rs`).

#[path = "../../../tests/support/deltas.rs"]
mod deltas;

use super::super::prefilter::{Candidates, PrefilterKind};
use super::*;
use crate::detector::{Detector as _, Match};
use crate::rules::RuleSet;
use crate::secrets::DetectorOptions;
use crate::version::Copied;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use heist::rng::XorShift64;

fn detector() -> SecretDetector {
    SecretDetector::new(RuleSet::builtin(), DetectorOptions::default())
}

fn letters(rng: &mut XorShift64, len: usize, of: &[u8]) -> String {
    (0..len).map(|_| char::from(of[rng.below_usize(of.len())])).collect()
}

const RANDOM: &[u8] = b"23456789bcdfghjkmnpqrtvwxzBCDFGHJKLMNPQRSTVWXZ";

/// Text full of what rules look for, in pieces that an edit can cut or join.
fn object(rng: &mut XorShift64, pieces: usize) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..pieces {
        let token = format!("AKIA{}", letters(rng, 16, b"ABCDEFGHJKLMNPQRSTUVWXYZ234567"));
        let secret = letters(rng, 30, RANDOM);
        let words = "a few words of text ".repeat(rng.below_usize(9));
        let assigned = format!("{words}secret_key = \"{secret}\"{words}\n");
        text += &match rng.below_usize(9) {
            0 => format!("{words}\n"),
            1 => assigned,
            2 => format!(" {token} "),
            3 => format!("data: {}\n", BASE64_STANDARD.encode(format!("{words} {token} {words}"))),
            4 => {
                let long = format!("{words}{words} {token} {words}{words}");
                let digits = BASE64_STANDARD.encode(long);
                let lines: Vec<&[u8]> = digits.as_bytes().chunks(76).collect();
                String::from_utf8(lines.join(&b"\n  "[..])).unwrap() + "\n"
            }
            5 => format!("{words}%20{}%26\n", token.replace('K', "%4B")),
            6 => format!("\"{words}\\u0020{}\"\n", token.replace('K', "\\u004b")),
            7 => format!("https://user:{secret}@example.org/{words}"),
            _ => letters(rng, 40, b"ab =:\"'_-+\n\t0"),
        };
    }
    text.into_bytes()
}

fn copied((from, to, len): deltas::CopiedRange) -> Copied {
    Copied { from: from as u64, to: to as u64, len: len as u64 }
}

fn settled(detector: &SecretDetector, matches: &[PathFreeMatch]) -> Vec<Match> {
    let settled = matches.iter().filter_map(|one| detector.settle(one, Path::new("a.py")));
    let mut found: Vec<Match> = settled.collect();
    found.sort_by_key(|one| {
        let rest = (one.rule, one.encoding.as_str(), one.decoded.clone());
        (one.secret.start, one.secret.end, one.whole.start, one.whole.end, rest)
    });
    found.dedup();
    found
}

/// Returns how many of the random versions differ from a scan of the whole, and how many matches
/// those have.
fn count_mistakes(detector: &SecretDetector, versions: u64) -> (usize, usize) {
    let mut scratch = detector.scratch();
    let mut scan = |version: &Version<'_>| {
        let mut matches = Vec::new();
        let memory = detector.scan_changed(version, &mut scratch, &mut matches);
        (settled(detector, &matches), memory)
    };
    let (mut mistakes, mut compared) = (0, 0);
    for seed in 0..versions {
        let mut rng = XorShift64::new(seed + 1);
        let (base, new) = (object(&mut rng, 30), object(&mut rng, 5));
        let (version, copies) = deltas::version(&base, &new, seed);
        let copies: Vec<Copied> = copies.into_iter().map(copied).collect();
        let (_, memory) = scan(&Version::new(&base));
        let (found, _) = scan(&Version::new(&version).based_on(&memory, &copies));
        let (expected, _) = scan(&Version::new(&version));
        mistakes += usize::from(found != expected);
        compared += expected.len();
    }
    (mistakes, compared)
}

#[test]
fn a_reach_that_is_too_small_is_noticed() {
    let right = detector();
    // More in a long run.
    let versions = std::env::var("HEIST_CASES").ok().and_then(|cases| cases.parse().ok());
    let (mistakes, compared) = count_mistakes(&right, versions.unwrap_or(600));
    println!("{compared} matches");
    assert!(mistakes == 0 && compared > 6_000);
    let plant = |what: &str, plant: &dyn Fn(&mut SecretDetector)| {
        let mut wrong = detector();
        plant(&mut wrong);
        let (mistakes, _) = count_mistakes(&wrong, 600);
        assert!(mistakes > 0, "{what}");
    };
    plant("values, before", &|wrong| wrong.reaches.value.before = 0);
    plant("values, after", &|wrong| wrong.reaches.value.after = 1);
    plant("literals, before", &|wrong| {
        wrong.reaches.literals.iter_mut().for_each(|one| one.reach.before = 0);
    });
    plant("literals, after", &|wrong| {
        wrong.reaches.literals.iter_mut().for_each(|one| one.reach.after = 1);
    });
    plant("encoded text", &|wrong| {
        wrong.reaches.encoded_margin = 0;
        wrong.overlap = Overlap { before: 8, after: 8 };
    });
    plant("sweep, before", &|wrong| wrong.reaches.sweep.before = 0);
    plant("sweep, after", &|wrong| wrong.reaches.sweep.after = 1);
}

/// Returns the candidates of a version, once inherited and once swept.
fn candidates(
    detector: &SecretDetector,
    base: &[u8],
    version: &[u8],
    copies: &[Copied],
) -> [Vec<(usize, remembered::Kind)>; 2] {
    let mut scratch = detector.scratch();
    let swept = |text: &[u8]| {
        let (mut found, mut known) = (Candidates::default(), KnownCandidates::default());
        detector.prefilter.sweep(text, 0..text.len(), &mut found);
        known.add_swept(&found, &mut Vec::new());
        known
    };
    let expected: Vec<_> = swept(version).iter().collect();
    let base = Remembered {
        detector: detector.identity,
        len: base.len(),
        may_have_zeros: true,
        candidates: swept(base),
        matches: Box::default(),
    };
    let delta = Delta::new(copies, base.len, version.len()).expect("a valid delta");
    let chunk = Chunk::whole(version, Path::new(""));
    let scan = ChangeScan { detector, chunk, base: &base, delta };
    [scan.candidates(&mut scratch).iter().collect(), expected]
}

#[test]
fn inherited_candidates_are_those_of_a_sweep() {
    for prefilter in [PrefilterKind::Auto, PrefilterKind::Scalar] {
        let detector = SecretDetector::new(
            RuleSet::builtin(),
            DetectorOptions::default().prefilter(prefilter),
        );
        for seed in 0..2000 {
            let mut rng = XorShift64::new(seed + 1);
            let (base, new) = (object(&mut rng, 20), object(&mut rng, 5));
            let (version, copies) = deltas::version(&base, &new, seed);
            let copies: Vec<Copied> = copies.into_iter().map(copied).collect();
            let [inherited, swept] = candidates(&detector, &base, &version, &copies);
            assert_eq!(inherited, swept, "{prefilter:?}, seed {seed}");
        }
    }
}

/// Whether a run is a candidate can depend on the byte 64 bytes before it, and on its 64th byte.
#[test]
fn a_sweep_that_sees_one_byte_less_is_noticed() {
    let mut detector = detector();
    let Overlap { before, after } = detector.reaches.sweep;
    assert_eq!((before, after), (64, 64));
    let filling = " \n".repeat(200);
    let token = format!("{}{}", "_".repeat(48), "abcdefghijklmn");
    let value = |operator: char| format!("{filling}k{operator}{}{token} {filling}", " ".repeat(15));
    let run = |digit: char| format!("{filling}{}{digit}{filling}", "a".repeat(63));
    // The base differs from the version in one byte.
    let texts = [(value('.'), value('='), "k="), (run('a'), run('1'), "1 ")];
    let mut check = |before: usize, after: usize, expected: [bool; 2]| {
        detector.reaches.sweep = Overlap { before, after };
        for ((base, version, changed), expected) in texts.iter().zip(expected) {
            let at = version.find(changed).unwrap() + changed.len() - 1;
            let at = if *changed == "1 " { at - 1 } else { at };
            let parts = [(0, 0, at), (at + 1, at + 1, version.len() - at - 1)];
            let copies = parts.map(copied);
            let [inherited, swept] =
                candidates(&detector, base.as_bytes(), version.as_bytes(), &copies);
            assert_eq!(inherited == swept, expected, "{changed}");
        }
    };
    check(64, 64, [true, true]);
    check(63, 64, [false, true]);
    check(64, 63, [true, false]);
}

/// In text that repeats itself, where a search without a literal begins depends on the offset in
/// the object. So what it finds is not inherited.
#[test]
fn searches_in_text_that_repeats_itself_are_not_inherited() {
    let rules = RuleSet::parse(
        "[[rules]]\nid = \"tiles\"\nregex = '[uv]{300}'\n[[rules]]\nid = \"near\"\n\
         regex = '[uv]{200}'\nkeywords = [\"quux\"]",
        "users.toml",
    );
    let detector = SecretDetector::new(rules.unwrap().rules, DetectorOptions::default());
    let text = format!("{}quux{}", "uv".repeat(20_000), "uv".repeat(3_000)).into_bytes();
    let mut scratch = detector.scratch();
    let mut scan = |version: &Version<'_>| {
        let mut matches = Vec::new();
        let memory = detector.scan_changed(version, &mut scratch, &mut matches);
        (settled(&detector, &matches), memory)
    };
    let (in_base, memory) = scan(&Version::new(&text));
    assert!(in_base.len() > 100);
    let moved = [b"vvv", &*text].concat();
    let copies = [copied((0, 3, text.len()))];
    let (found, _) = scan(&Version::new(&moved).based_on(&memory, &copies));
    let (expected, _) = scan(&Version::new(&moved));
    assert_eq!(found, expected);
    let starts = |matches: &[Match], by: u64| -> Vec<u64> {
        let starts = matches.iter().map(|one| one.secret.start);
        starts.filter(|&start| start > 20_000).map(|start| start + by).collect()
    };
    assert_ne!(starts(&in_base, 3), starts(&expected, 0), "the offset matters");
}

#[test]
fn memories_are_bounded() {
    let detector = detector();
    let mut scratch = detector.scratch();
    for piece in ["://", "eyJ", "abcdefghijk1 ", "k=abcdefghijkl ", "AKIAABCDEFGHIJKL2345 ", "% "] {
        for times in [1, 100, 9_000, 100_000] {
            let text = piece.repeat(times);
            let version = Version::new(text.as_bytes());
            let memory = detector.scan_changed(&version, &mut scratch, &mut Vec::new());
            let size = memory.size();
            assert!(size <= text.len() / 2 + (5 << 10), "{piece:?} {times} times: {size}");
        }
        scratch = detector.scratch();
    }
}

#[test]
fn copies_that_a_caller_must_not_pass_are_refused() {
    let delta = |copies: &[deltas::CopiedRange]| {
        let copies: Vec<Copied> = copies.iter().copied().map(copied).collect();
        Delta::new(&copies, 1000, 2000)
    };
    assert!(delta(&[(0, 0, 1000), (0, 1000, 1000)]).is_some());
    assert!(delta(&[(0, 0, 1001)]).is_none(), "more than the base has");
    assert!(delta(&[(0, 1001, 1000)]).is_none(), "more than the version has");
    assert!(delta(&[(0, 0, 200), (0, 199, 200)]).is_none(), "they overlap");
    assert!(delta(&[(0, 500, 200), (0, 0, 200)]).is_none(), "in the wrong order");
    assert!(delta(&[(usize::MAX, 0, 200)]).is_none());
    let joined = delta(&[(0, 0, 200), (200, 200, 300), (900, 700, 100), (900, 800, 128)]);
    assert!(joined.is_none(), "beyond the end");
    let joined = delta(&[(0, 0, 200), (200, 200, 300), (900, 700, 100)]).unwrap();
    assert_eq!(joined.copies.len(), 1, "{joined:?}");
    assert_eq!(joined.gaps.as_slice(), std::slice::from_ref(&(500..2000)));
    let all = delta(&[(0, 0, 500), (0, 1000, 1000)]).unwrap();
    // Nothing changed at the beginning and the end.
    assert_eq!(all.gaps.as_slice(), std::slice::from_ref(&(500..1000)));
}
