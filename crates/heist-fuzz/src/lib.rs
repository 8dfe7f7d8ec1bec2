//! Fuzz targets for what heist reads: the rule loader, each detector written in Rust, the decoders,
//! the secret detector as a whole, the files that hide findings or paths, and the readers of
//! `heist-git`.
//!
//! | module | purpose |
//! |---|---|
//! | `input` | turns a fuzzer's bytes into a text: the first bytes are choices, the rest is the text |
//! | `rules_loader`, `parsers`, `decoders`, `detector` | the targets, each with the properties it checks |
//! | `suppressions`, `ignore_file` | the targets for baselines, `.gitleaksignore` and ignore files |
//! | `git` | the targets for files of repositories |
//! | `cuts` | scans an object that is cut into chunks |
//! | `corpus` | reads and stores the seeds, the inputs that fuzzing starts from |
//! | `seeds` | generates most of the seeds |
//! | `mutation` | makes small, reproducible changes to an input |
//!
//! A target accepts any bytes and panics if a property is violated. The same functions run in two
//! ways: `cargo test` runs them over the stored seeds, and for a second over small changes of the
//! seeds; `ci/fuzz.sh` builds them with libFuzzer and runs them for minutes.
//!
//! Invariant: the result of a target depends only on its input, with one exception: if a rule file
//! extends another file and that file exists, the loader reads it.
//!
//! Not guaranteed: that code which passes is correct. Targets know what must never happen, not
//! which secrets should be found.

pub mod corpus;
mod cuts;
pub mod decoders;
pub mod detector;
pub mod git;
pub mod ignore_file;
mod input;
pub mod mutation;
pub mod parsers;
pub mod rules_loader;
pub mod seeds;
pub mod suppressions;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its folder in the corpus and of its program.
    pub name: &'static str,
    /// Runs the target. Panics if a property is violated.
    pub run: fn(&[u8]),
}

/// All fuzz targets.
pub const TARGETS: [Target; 17] = [
    Target { name: "rules_loader", run: rules_loader::target },
    Target { name: "parser_generic_secret", run: parsers::generic_secret },
    Target { name: "parser_password", run: parsers::password },
    Target { name: "parser_url_credentials", run: parsers::url_credentials },
    Target { name: "parser_jwt", run: parsers::jwt },
    Target { name: "parser_private_key", run: parsers::private_key },
    Target { name: "parser_connection_string", run: parsers::connection_string },
    Target { name: "decoders", run: decoders::target },
    Target { name: "detector", run: detector::target },
    Target { name: "baseline", run: suppressions::baseline },
    Target { name: "gitleaksignore", run: suppressions::gitleaksignore },
    Target { name: "ignore_file", run: ignore_file::target },
    Target { name: "git_pack", run: git::pack },
    Target { name: "git_index", run: git::index },
    Target { name: "git_midx", run: git::midx },
    Target { name: "git_commit_graph", run: git::commit_graph },
    Target { name: "git_inflate", run: git::inflate },
];

/// Runs the target with the given name.
///
/// # Panics
///
/// Panics if a property is violated or there is no such target.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let Some(target) = target else { panic!("{name:?} is not a fuzz target") };
    (target.run)(data);
}
