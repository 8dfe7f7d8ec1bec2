//! The contenders of `scan`: heist's own programs, and the tools that are found on the `PATH`.
//!
//! Each tool gets the flags that make it do the same work as the others: every file below the root,
//! hidden ones included, no archives, no history, and no network access. Tools that can decode text
//! do so.

use std::ffi::OsString;
use std::path::Path;

use super::findings::ReportFormat;
use crate::walk::contender::Program;

/// Placeholder for the path of the tree in a contender's arguments.
const TREE: &str = "{tree}";

/// Placeholder for the path of a file with the literals that heist's rules search for, one per
/// line.
const LITERALS: &str = "{literals}";

/// The name of the yardstick.
pub(crate) const READ_ONLY: &str = "read-only";

/// One way to scan a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanContender {
    /// The name in the table and for `--peer`.
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    pub(crate) arguments: &'static [&'static str],
    /// [`ReportFormat::None`] for a contender that does not report secrets.
    pub(crate) format: ReportFormat,
}

impl ScanContender {
    /// Returns the command that scans the tree.
    pub(crate) fn command(&self, program: &Path, tree: &Path, literals: &Path) -> Vec<OsString> {
        let arguments = self.arguments.iter().map(|argument| match *argument {
            TREE => tree.into(),
            LITERALS => literals.into(),
            argument => argument.into(),
        });
        std::iter::once(program.into()).chain(arguments).collect()
    }
}

/// All contenders, the yardstick first.
pub(crate) const ALL: &[ScanContender] = &[
    ScanContender {
        name: READ_ONLY,
        program: Program::Ourselves,
        arguments: &["scan-library", "--read-only", TREE],
        format: ReportFormat::None,
    },
    ScanContender {
        name: "prefilter",
        program: Program::Ourselves,
        arguments: &["scan-library", "--prefilter", TREE],
        format: ReportFormat::None,
    },
    ScanContender {
        name: "library-no-generic",
        program: Program::Ourselves,
        arguments: &["scan-library", "--no-generic", TREE],
        format: ReportFormat::Heist,
    },
    ScanContender {
        name: "library",
        program: Program::Ourselves,
        arguments: &["scan-library", TREE],
        format: ReportFormat::Heist,
    },
    ScanContender {
        name: "heist-no-generic",
        program: Program::Heist,
        arguments: &["scan", "--no-generic", "--format", "jsonl", "--show-secrets", TREE],
        format: ReportFormat::Heist,
    },
    ScanContender {
        name: "heist",
        program: Program::Heist,
        arguments: &["scan", "--format", "jsonl", "--show-secrets", TREE],
        format: ReportFormat::Heist,
    },
    ScanContender {
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
        format: ReportFormat::Kingfisher,
    },
    ScanContender {
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
        format: ReportFormat::Gitleaks,
    },
    ScanContender {
        name: "trufflehog",
        program: Program::OnPath(&["trufflehog"]),
        arguments: &["filesystem", "--no-verification", "--no-update", "--json", TREE],
        format: ReportFormat::TruffleHog,
    },
    ScanContender {
        name: "ripsecrets",
        program: Program::OnPath(&["ripsecrets"]),
        arguments: &["--only-matching", TREE],
        format: ReportFormat::Lines,
    },
    ScanContender {
        name: "detect-secrets",
        program: Program::OnPath(&["detect-secrets"]),
        arguments: &["-C", TREE, "scan", "--all-files", "--no-verify"],
        format: ReportFormat::DetectSecrets,
    },
    ScanContender {
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
        format: ReportFormat::None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_gets_the_tree_once_and_names_differ() {
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
