//! Who scans: our own programs, and those of others that are found on the `PATH`.
//!
//! Each tool gets the flags with which it does the same work as the rest: every file below the root, hidden ones too,
//! no archives, no history, and nothing from the network. Tools that can decode text do.

use std::ffi::OsString;
use std::path::Path;

use super::findings::Format;
use crate::walk::contender::Program;

/// Stands for the path of the tree among a contender's arguments.
const TREE: &str = "{tree}";

/// Stands for the path of a file with the literals that our rules begin with, one a line.
const LITERALS: &str = "{literals}";

/// The name of the yardstick.
pub(crate) const READ_ONLY: &str = "read-only";

/// One way to scan a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// As in the table and for `--peer`.
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    pub(crate) arguments: &'static [&'static str],
    /// [`Format::None`]: it finds no secrets, and takes no part where those count.
    pub(crate) format: Format,
}

impl Contender {
    /// The command that scans the tree.
    pub(crate) fn command(&self, program: &Path, tree: &Path, literals: &Path) -> Vec<OsString> {
        let arguments = self.arguments.iter().map(|argument| match *argument {
            TREE => tree.into(),
            LITERALS => literals.into(),
            argument => argument.into(),
        });
        std::iter::once(program.into()).chain(arguments).collect()
    }
}

/// All that are known, the yardstick first.
pub(crate) const ALL: &[Contender] = &[
    Contender {
        name: READ_ONLY,
        program: Program::Ourselves,
        arguments: &["scan-library", "--read-only", TREE],
        format: Format::None,
    },
    Contender {
        name: "prefilter",
        program: Program::Ourselves,
        arguments: &["scan-library", "--prefilter", TREE],
        format: Format::None,
    },
    Contender {
        name: "library-no-generic",
        program: Program::Ourselves,
        arguments: &["scan-library", "--no-generic", TREE],
        format: Format::Heist,
    },
    Contender {
        name: "library",
        program: Program::Ourselves,
        arguments: &["scan-library", TREE],
        format: Format::Heist,
    },
    Contender {
        name: "heist-no-generic",
        program: Program::Heist,
        arguments: &["scan", "--no-generic", "--format", "jsonl", "--show-secrets", TREE],
        format: Format::Heist,
    },
    Contender {
        name: "heist",
        program: Program::Heist,
        arguments: &["scan", "--format", "jsonl", "--show-secrets", TREE],
        format: Format::Heist,
    },
    Contender {
        name: "kingfisher",
        program: Program::OnPath(&["kingfisher"]),
        arguments: &[
            "scan",
            "--no-validate",
            "--no-update-check",
            "--git-history=none",
            "--no-extract-archives",
            "--no-binary",
            "--no-dedup",
            "--quiet",
            "--format=jsonl",
            TREE,
        ],
        format: Format::Kingfisher,
    },
    Contender {
        name: "gitleaks",
        program: Program::OnPath(&["gitleaks"]),
        arguments: &[
            "dir",
            "--no-banner",
            "--log-level=error",
            "--max-decode-depth=1",
            "--exit-code=0",
            "--report-format=json",
            "--report-path=-",
            TREE,
        ],
        format: Format::Gitleaks,
    },
    Contender {
        name: "trufflehog",
        program: Program::OnPath(&["trufflehog"]),
        arguments: &["filesystem", "--no-verification", "--no-update", "--json", TREE],
        format: Format::TruffleHog,
    },
    Contender {
        name: "ripsecrets",
        program: Program::OnPath(&["ripsecrets"]),
        arguments: &["--only-matching", TREE],
        format: Format::Lines,
    },
    Contender {
        name: "detect-secrets",
        program: Program::OnPath(&["detect-secrets"]),
        arguments: &["-C", TREE, "scan", "--all-files", "--no-verify"],
        format: Format::DetectSecrets,
    },
    Contender {
        name: "rg-literals",
        program: Program::OnPath(&["rg"]),
        arguments: &[
            "--no-config",
            "-uu",
            "--ignore-case",
            "--fixed-strings",
            "--count-matches",
            "--color=never",
            "--file",
            LITERALS,
            TREE,
        ],
        format: Format::None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_is_given_the_tree_once_and_names_differ() {
        for (index, contender) in ALL.iter().enumerate() {
            let command =
                contender.command(Path::new("program"), Path::new("a tree"), Path::new("literals"));
            assert_eq!(command[0], "program");
            let trees = command.iter().filter(|argument| *argument == "a tree").count();
            assert_eq!(trees, 1, "{}", contender.name);
            assert!(ALL[..index].iter().all(|other| other.name != contender.name));
        }
        assert_eq!(ALL[0].name, READ_ONLY);
    }
}
