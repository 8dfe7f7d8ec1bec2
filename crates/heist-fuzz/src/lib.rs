//! Fuzz targets of `heist-scan`: the loader of rules, each hand-written detector, the decoders, and the detector as a
//! whole.
//!
//! | file | idea |
//! |---|---|
//! | `input` | from a fuzzer's bytes to a text: a few bytes of choices, then what is looked at |
//! | `rules_loader`, `hand`, `decoders`, `detector` | the targets, each with what must hold |
//! | `cuts` | what a detector finds in an object that is cut |
//! | `corpus` | the seeds, as they are stored |
//! | `seeds` | the program that makes them |
//! | `mutation` | small changes, the same for the same seed |
//!
//! A target takes any bytes and panics when something does not hold that must. The same functions are run in two ways:
//! by `cargo test`, over the stored seeds and for a second over small changes of them; and by libFuzzer, which
//! `ci/fuzz.sh` builds and runs for minutes.
//!
//! Invariant: a target's outcome depends on its bytes alone, with one exception: a rule file may name another one that
//! it extends, and if that exists it is read.
//!
//! Not guaranteed: that what passes is right. Targets know what must never happen, not what should be found.

pub mod corpus;
mod cuts;
pub mod decoders;
pub mod detector;
pub mod hand;
mod input;
pub mod mutation;
pub mod rules_loader;
pub mod seeds;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its folder in the corpus, and of its program.
    pub name: &'static str,
    /// Panics when something does not hold.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 9] = [
    Target { name: "rules_loader", run: rules_loader::target },
    Target { name: "hand_generic_secret", run: hand::generic_secret },
    Target { name: "hand_password", run: hand::password },
    Target { name: "hand_url_credentials", run: hand::url_credentials },
    Target { name: "hand_jwt", run: hand::jwt },
    Target { name: "hand_private_key", run: hand::private_key },
    Target { name: "hand_connection_string", run: hand::connection_string },
    Target { name: "decoders", run: decoders::target },
    Target { name: "detector", run: detector::target },
];

/// Runs the target of this name.
///
/// # Panics
///
/// When something does not hold that must, or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let Some(target) = target else { panic!("{name:?} is no fuzz target") };
    (target.run)(data);
}
