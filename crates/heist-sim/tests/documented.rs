//! Compares `docs/VERIFICATION.md` with the code: its table of planted bugs and its counts.
//!
//! With `HEIST_UPDATE_DOCS=1` the test writes the table into the document.
#![cfg(heist_sim)]

use heist::__internal::sync::plant::Plant;
use heist_sim::explore::{SMALL, SMALL_WITH_FUTURES};
use heist_sim::failure::Kind;
use heist_sim::plants::{SOUND_SCHEDULES, Verdict, verdict};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const BEGINS: &str = "<!-- the planted bugs begin -->\n";
const ENDS: &str = "<!-- the planted bugs end -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document_path() -> PathBuf {
    root().join("docs/VERIFICATION.md")
}

fn document() -> String {
    std::fs::read_to_string(document_path()).unwrap()
}

/// Formats `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

/// Returns the part of the document about planted bugs.
fn planted_bugs() -> String {
    let mut found = String::new();
    let mut left_to_loom = String::new();
    let mut sound = Vec::new();
    let (mut found_count, mut loom_count) = (0, 0);
    for plant in Plant::ALL {
        match verdict(*plant) {
            Verdict::Found { scenario, kinds, within } => {
                let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
                let (kinds, within) = (kinds.join(", "), grouped(within));
                writeln!(found, "| `{plant:?}` | `{scenario}` | {kinds} | {within} |").unwrap();
                found_count += 1;
            }
            Verdict::LeftToLoom { test } => {
                writeln!(left_to_loom, "| `{plant:?}` | `{test}` |").unwrap();
                loom_count += 1;
            }
            Verdict::Sound => sound.push(format!("`{plant:?}`")),
        }
    }
    format!(
        "The simulator finds {found_count} planted bugs. For each of them the test plays schedules of \
         one scenario\nuntil one fails, which must be in one of the ways named here and before the \
         limit is reached.\n\n\
         | planted bug | scenario | shows as | limit |\n|---|---|---|--:|\n{found}\n\
         Another {loom_count} cannot show on the simulated machine, because its read-modify-writes \
         are full fences\nand its stores arrive in order, as on x86. Loom finds them:\n\n\
         | planted bug | found by |\n|---|---|\n{left_to_loom}\n\
         The remaining {} switches are not bugs but other algorithms with the same result, kept for\n\
         comparison. The simulator finds nothing in {} schedules of each:\n{}.\n",
        sound.len(),
        grouped(SOUND_SCHEDULES),
        sound.join(", ")
    )
}

#[test]
fn the_list_of_planted_bugs_matches_the_code() {
    let document = document();
    let (before, rest) = document.split_once(BEGINS).expect("the list has a beginning");
    let (written, after) = rest.split_once(ENDS).expect("the list has an end");
    let expected = format!("\n{}\n", planted_bugs());
    if std::env::var_os("HEIST_UPDATE_DOCS").is_some() {
        let updated = format!("{before}{BEGINS}{expected}{ENDS}{after}");
        std::fs::write(document_path(), updated).unwrap();
        return;
    }
    assert!(
        written == expected,
        "docs/VERIFICATION.md does not match the code. Update it with:\n\
         HEIST_UPDATE_DOCS=1 bash ci/sim-tests.sh --test documented\n\n{expected}"
    );
}

#[test]
fn counts_match_the_code() {
    let document = document();
    let corpus = std::fs::read_dir(root().join("crates/heist-sim/corpus")).unwrap().count();
    let small = SMALL.len() + SMALL_WITH_FUTURES.len();
    for expected in [
        format!("| the corpus | {corpus} schedules "),
        format!("| every schedule of small scenarios | {small} scenarios, "),
    ] {
        assert!(document.contains(&expected), "docs/VERIFICATION.md does not contain `{expected}`");
    }
}

#[test]
fn every_oracle_watches_a_promise() {
    let document = document();
    let (_, promises) = document.split_once("## The promises").expect("they have a section");
    let (promises, _) = promises.split_once("\n## ").expect("and others come after it");
    for kind in Kind::ALL {
        assert!(
            promises.contains(&format!("`{kind}`")),
            "docs/VERIFICATION.md does not list `{kind}` beside a promise"
        );
    }
}

/// The loom test named for a planted bug must plant that bug.
#[test]
fn loom_tests_named_for_planted_bugs_exist() {
    for plant in Plant::ALL {
        let Verdict::LeftToLoom { test } = verdict(*plant) else { continue };
        let (file, name) = test.rsplit_once("::").expect("a module and a name");
        let path = root().join(format!("crates/heist/tests/{}.rs", file.replace("::", "/")));
        let source =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{test}: {error}"));
        let (_, body) = source
            .split_once(&format!("fn {name}() {{"))
            .unwrap_or_else(|| panic!("there is no {test}"));
        let (body, _) = body.split_once("\n}").expect("a function has an end");
        assert!(body.contains(&format!("Plant::{plant:?}")), "{test} does not plant {plant:?}");
    }
}
