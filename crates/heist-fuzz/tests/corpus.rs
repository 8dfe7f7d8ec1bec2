//! Runs every target over its stored seeds, and for a second over small changes of them. Also
//! checks the seeds themselves.
//!
//! Set `HEIST_FUZZ_SECONDS` to try changes for a different time.

use heist::rng::XorShift64;
use heist_fuzz::corpus::{self, Seed};
use heist_fuzz::mutation::mutate;
use heist_fuzz::{TARGETS, Target, run, seeds};
use heist_scan::decode::utf16_guess;
use heist_scan::rules::RuleSet;
use heist_scan::{Chunk, Detector, DetectorOptions, SecretDetector};
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, Instant};

fn stored(target: &str) -> Vec<Seed> {
    let seeds = corpus::read(target).expect("a folder of stored seeds");
    assert!(seeds.len() >= 12, "{target}: {} seeds", seeds.len());
    seeds
}

/// Runs a target on an input, and prints the input if it fails.
fn check(target: &Target, data: &[u8], which: &str) {
    let passed = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(data)));
    assert!(passed.is_ok(), "{}, {which}; the input:\n{}", target.name, corpus::pack(data));
}

/// Runs a target on its seeds, then on changes of them until the time is up. The changes are always
/// the same, in the same order.
fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let seeds = stored(name);
    for seed in &seeds {
        check(target, &seed.bytes, &seed.path.display().to_string());
    }
    let seconds = std::env::var("HEIST_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    let mut rng = XorShift64::new(1);
    let mut rounds = 0;
    while Instant::now() < end {
        let mut data = seeds[rng.below_usize(seeds.len())].bytes.clone();
        let other = &seeds[rng.below_usize(seeds.len())].bytes;
        mutate(&mut data, other, &mut rng);
        check(target, &data, &format!("change {rounds}"));
        rounds += 1;
    }
    println!("{name}: {} seeds, {rounds} changes", seeds.len());
    assert!(rounds > 0);
}

#[test]
fn rules_loader() {
    replay("rules_loader");
}

#[test]
fn parser_generic_secret() {
    replay("parser_generic_secret");
}

#[test]
fn parser_password() {
    replay("parser_password");
}

#[test]
fn parser_url_credentials() {
    replay("parser_url_credentials");
}

#[test]
fn parser_jwt() {
    replay("parser_jwt");
}

#[test]
fn parser_private_key() {
    replay("parser_private_key");
}

#[test]
fn parser_connection_string() {
    replay("parser_connection_string");
}

#[test]
fn decoders() {
    replay("decoders");
}

#[test]
fn detector() {
    replay("detector");
}

#[test]
fn baseline() {
    replay("baseline");
}

#[test]
fn gitleaksignore() {
    replay("gitleaksignore");
}

#[test]
fn ignore_file() {
    replay("ignore_file");
}

#[test]
fn git_pack() {
    replay("git_pack");
}

#[test]
fn git_index() {
    replay("git_index");
}

#[test]
fn git_midx() {
    replay("git_midx");
}

#[test]
fn git_commit_graph() {
    replay("git_commit_graph");
}

#[test]
fn git_inflate() {
    replay("git_inflate");
}

#[test]
fn every_target_has_a_test_a_program_and_seeds() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = include_str!("corpus.rs");
    for Target { name, .. } in TARGETS {
        assert!(tests.contains(&format!("replay(\"{name}\")")), "{name} has no test");
        let program = std::fs::read_to_string(here.join(format!("src/bin/{name}.rs")));
        assert!(program.expect(name).contains(&format!("\"{name}\"")), "{name}");
        assert!(!seeds::make(name).is_empty(), "{name}: no seeds are generated");
    }
    let folders = std::fs::read_dir(here.join("corpus")).expect("the corpus");
    let folders: BTreeSet<_> = folders.map(|entry| entry.expect("one").file_name()).collect();
    assert_eq!(folders, TARGETS.iter().map(|target| target.name.into()).collect());
}

#[test]
#[should_panic(expected = "not a fuzz target")]
fn running_an_unknown_target_panics() {
    run("nothing", b"");
}

fn count_found(detector: &SecretDetector, text: &[u8]) -> usize {
    let path = Path::new("a.txt");
    let chunk = Chunk::whole(text, path).with_encoding(utf16_guess(text).unwrap_or_default());
    let mut matches = Vec::new();
    detector.scan(&chunk, &mut detector.scratch(), &mut matches);
    matches.len()
}

/// Seeds are full of secrets, but a scan of the repository must not report them.
#[test]
fn stored_seeds_contain_no_findings() {
    let options = DetectorOptions::default().noise_filter(false);
    let detector = SecretDetector::new(RuleSet::builtin(), options);
    let mut in_seeds = 0;
    for target in TARGETS {
        for seed in stored(target.name) {
            let text = std::fs::read(&seed.path).expect("a seed");
            assert_eq!(count_found(&detector, &text), 0, "{}", seed.path.display());
            in_seeds += count_found(&detector, &seed.bytes);
        }
    }
    assert!(in_seeds >= 60, "{in_seeds} secrets in all seeds: too few to test with");
}
