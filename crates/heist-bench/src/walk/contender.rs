//! The contenders of `walk`: heist's own programs, and the tools that are found on the `PATH`.
//!
//! Every program gets the flags that make it do the same work as the others: everything below the
//! root, hidden and ignored files included, summed to one total, without colours and progress. Each
//! keeps its default number of threads, because that is part of its design.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use super::answer::AnswerFormat;
use super::heist_walk;

/// Placeholder for the path of the tree in a contender's arguments.
pub(super) const TREE: &str = "{tree}";

/// The name of the yardstick.
pub(crate) const FLOOR: &str = "floor";

/// The question that contenders answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Section {
    Sizes,
    Names,
}

impl Section {
    pub(crate) const ALL: [Self; 2] = [Self::Sizes, Self::Names];
}

impl fmt::Display for Section {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sizes => "sizes",
            Self::Names => "names only",
        })
    }
}

/// Where a contender's program comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// This program.
    Ourselves,
    /// The program heist, built into the same folder as this one.
    Heist,
    /// The first of these names that is found on the `PATH`.
    OnPath(&'static [&'static str]),
}

/// One way to walk a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkContender {
    /// The name in the table and for `--peer`.
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    pub(crate) program: Program,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) format: AnswerFormat,
}

impl WalkContender {
    /// Returns the command that walks the tree.
    pub(crate) fn command(&self, program: &Path, tree: &Path) -> Vec<OsString> {
        let arguments = self.arguments.iter().map(|argument| match *argument {
            TREE => tree.into(),
            argument => argument.into(),
        });
        std::iter::once(program.into()).chain(arguments).collect()
    }
}

/// Returns all contenders, the floor first in each section.
pub(crate) fn all() -> impl Iterator<Item = &'static WalkContender> {
    OURS.iter().chain(heist_walk::CONTENDERS).chain(OTHERS)
}

const OURS: &[WalkContender] = &[
    WalkContender {
        name: FLOOR,
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["floor", TREE],
        format: AnswerFormat::TotalsWithSizes,
    },
    WalkContender {
        name: FLOOR,
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["floor", "--names", TREE],
        format: AnswerFormat::TotalsOfNames,
    },
    WalkContender {
        name: "heist",
        section: Section::Sizes,
        program: Program::Heist,
        arguments: &["du", "-s", "--format", "du", TREE],
        format: AnswerFormat::Du,
    },
];

const OTHERS: &[WalkContender] = &[
    WalkContender {
        name: "du",
        section: Section::Sizes,
        program: Program::OnPath(&["du"]),
        arguments: &["-s", TREE],
        format: AnswerFormat::Du,
    },
    WalkContender {
        name: "diskus",
        section: Section::Sizes,
        program: Program::OnPath(&["diskus"]),
        arguments: &[TREE],
        format: AnswerFormat::Bytes,
    },
    WalkContender {
        name: "pdu",
        section: Section::Sizes,
        program: Program::OnPath(&["pdu"]),
        arguments: &[
            "--json-output",
            "--deduplicate-hardlinks",
            "--omit-json-shared-details",
            "--omit-json-shared-summary",
            "--max-depth=1",
            "--silent-errors",
            TREE,
        ],
        format: AnswerFormat::Pdu,
    },
    WalkContender {
        name: "dust",
        section: Section::Sizes,
        program: Program::OnPath(&["dust"]),
        arguments: &[
            "--depth=0",
            "--no-colors",
            "--no-percent-bars",
            "--no-progress",
            "--output-format=b",
            "--terminal-width=80",
            TREE,
        ],
        format: AnswerFormat::Bytes,
    },
    WalkContender {
        name: "dua",
        section: Section::Sizes,
        program: Program::OnPath(&["dua"]),
        arguments: &["--format=bytes", "aggregate", TREE],
        format: AnswerFormat::LastBytesBelowRoot,
    },
    WalkContender {
        name: "gdu",
        section: Section::Sizes,
        program: Program::OnPath(&["gdu"]),
        arguments: &[
            "--non-interactive",
            "--summarize",
            "--no-progress",
            "--no-color",
            "--no-prefix",
            TREE,
        ],
        format: AnswerFormat::Bytes,
    },
    WalkContender {
        name: "ncdu",
        section: Section::Sizes,
        program: Program::OnPath(&["ncdu"]),
        // ncdu cannot print a summary; exporting is the only thing it does without a terminal.
        arguments: &["-0", "-o-", TREE],
        format: AnswerFormat::Ncdu,
    },
    WalkContender {
        name: "bfs",
        section: Section::Sizes,
        program: Program::OnPath(&["bfs"]),
        arguments: &[TREE, "-printf", "%D %i %n %b\\n"],
        format: AnswerFormat::Blocks,
    },
    WalkContender {
        name: "ignore",
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["library", "ignore", TREE],
        format: AnswerFormat::TotalsWithSizes,
    },
    WalkContender {
        name: "walkdir",
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["library", "walkdir", TREE],
        format: AnswerFormat::TotalsWithSizes,
    },
    WalkContender {
        name: "fd",
        section: Section::Names,
        // Debian's name for fd is `fdfind`.
        program: Program::OnPath(&["fd", "fdfind"]),
        arguments: &["--unrestricted", "--print0", "--color=never", ".", TREE],
        format: AnswerFormat::Names,
    },
    WalkContender {
        name: "rg",
        section: Section::Names,
        program: Program::OnPath(&["rg"]),
        arguments: &["--no-config", "--files", "-uu", "--null", "--color=never", TREE],
        format: AnswerFormat::Files,
    },
    WalkContender {
        name: "bfs",
        section: Section::Names,
        program: Program::OnPath(&["bfs"]),
        arguments: &[TREE, "-mindepth", "1", "-print0"],
        format: AnswerFormat::Names,
    },
    WalkContender {
        name: "ignore",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["library", "ignore", "--names", TREE],
        format: AnswerFormat::TotalsOfNames,
    },
    WalkContender {
        name: "walkdir",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["library", "walkdir", "--names", TREE],
        format: AnswerFormat::TotalsOfNames,
    },
];

/// Finds the programs of contenders.
#[derive(Debug)]
pub(crate) struct Finder {
    ourselves: PathBuf,
    heist: PathBuf,
    folders: Vec<PathBuf>,
}

impl Finder {
    /// Creates a finder. `heist` is the path of the program heist, if it is not beside this one.
    ///
    /// # Errors
    /// Returns a message if the system does not report the path of this program.
    pub(crate) fn new(heist: Option<PathBuf>) -> Result<Self, String> {
        let ourselves = env::current_exe()
            .map_err(|error| format!("cannot determine the path of this program: {error}"))?;
        let heist = heist.unwrap_or_else(|| ourselves.with_file_name("heist"));
        let folders = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        Ok(Self { ourselves, heist, folders })
    }

    /// Returns the path of the program.
    ///
    /// # Errors
    /// Returns the reason why the contender cannot take part.
    pub(crate) fn find(&self, program: Program) -> Result<PathBuf, String> {
        match program {
            Program::Ourselves => Ok(self.ourselves.clone()),
            Program::Heist if is_executable(&self.heist) => Ok(self.heist.clone()),
            Program::Heist => Err(format!(
                "{} does not exist; build it with `cargo build --release -p heist-cli`, or give its path with --heist",
                self.heist.display()
            )),
            Program::OnPath(names) => names
                .iter()
                .flat_map(|name| self.folders.iter().map(move |folder| folder.join(name)))
                .find(|path| is_executable(path))
                .ok_or_else(|| format!("{} not found on the PATH", names.join(" or "))),
        }
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_contender_gets_the_tree_once() {
        for contender in all() {
            let command = contender.command(Path::new("program"), Path::new("a tree"));
            assert_eq!(command[0], "program");
            let trees = command.iter().filter(|argument| *argument == "a tree").count();
            assert_eq!(trees, 1, "{}", contender.name);
        }
    }

    #[test]
    fn the_floor_is_first_and_names_differ_within_a_section() {
        for section in Section::ALL {
            let names: Vec<_> =
                all().filter(|one| one.section == section).map(|one| one.name).collect();
            assert_eq!(names[0], FLOOR);
            for (index, name) in names.iter().enumerate() {
                assert!(!names[..index].contains(name), "{name}");
            }
        }
    }

    #[test]
    fn programs_are_found_in_the_order_of_their_names_and_only_if_they_can_run() {
        let folder = tempfile::tempdir().expect("can create a temporary folder");
        let finder = Finder {
            ourselves: folder.path().join("bench"),
            heist: folder.path().join("heist"),
            folders: vec![folder.path().join("missing"), folder.path().to_owned()],
        };
        let wanted = Program::OnPath(&["new-name", "old-name"]);
        finder.find(wanted).expect_err("is not there");
        for name in ["old-name", "new-name", "heist"] {
            fs::write(folder.path().join(name), b"").expect("is new");
        }
        finder.find(wanted).expect_err("cannot run");
        finder.find(Program::Heist).expect_err("cannot run");
        for name in ["old-name", "new-name"] {
            let path = folder.path().join(name);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .expect("the test made it");
        }
        assert_eq!(finder.find(wanted), Ok(folder.path().join("new-name")));
    }
}
