//! Who takes part: our own programs, and those of others that are found on the `PATH`.
//!
//! Every program gets the flags with which it does the same work as the rest: everything below the root, hidden or
//! ignored, to one total, without colours and progress. Each keeps its own number of threads, for that is part of what
//! its author chose.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{env, fmt};

use super::answer::Format;
use super::heist_walk;

/// Stands for the path of the tree among a contender's arguments.
pub(super) const TREE: &str = "{tree}";

/// The name of the yardstick.
pub(crate) const FLOOR: &str = "floor";

/// What contenders are asked for.
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

/// Where a contender's program is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// This one.
    Ourselves,
    /// The tool of this workspace, built into the same folder as we are.
    Heist,
    /// The first of these names that is found.
    OnPath(&'static [&'static str]),
}

/// One way to walk a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// As in the table and for `--peer`.
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    pub(crate) program: Program,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) format: Format,
}

impl Contender {
    /// The command that walks the tree.
    pub(crate) fn command(&self, program: &Path, tree: &Path) -> Vec<OsString> {
        let arguments = self.arguments.iter().map(|argument| match *argument {
            TREE => tree.into(),
            argument => argument.into(),
        });
        std::iter::once(program.into()).chain(arguments).collect()
    }
}

/// All that are known, the floor first in each section.
pub(crate) fn all() -> impl Iterator<Item = &'static Contender> {
    OURS.iter().chain(heist_walk::CONTENDERS).chain(OTHERS)
}

const OURS: &[Contender] = &[
    Contender {
        name: FLOOR,
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["floor", TREE],
        format: Format::TotalsWithSizes,
    },
    Contender {
        name: FLOOR,
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["floor", "--names", TREE],
        format: Format::TotalsOfNames,
    },
    Contender {
        name: "heist",
        section: Section::Sizes,
        program: Program::Heist,
        arguments: &["du", "-s", "--format", "du", TREE],
        format: Format::Du,
    },
];

const OTHERS: &[Contender] = &[
    Contender {
        name: "du",
        section: Section::Sizes,
        program: Program::OnPath(&["du"]),
        arguments: &["-s", TREE],
        format: Format::Du,
    },
    Contender {
        name: "diskus",
        section: Section::Sizes,
        program: Program::OnPath(&["diskus"]),
        arguments: &[TREE],
        format: Format::Bytes,
    },
    Contender {
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
        format: Format::Pdu,
    },
    Contender {
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
        format: Format::Bytes,
    },
    Contender {
        name: "dua",
        section: Section::Sizes,
        program: Program::OnPath(&["dua"]),
        arguments: &["--format=bytes", "aggregate", TREE],
        format: Format::LastBytesBelowRoot,
    },
    Contender {
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
        format: Format::Bytes,
    },
    Contender {
        name: "ncdu",
        section: Section::Sizes,
        program: Program::OnPath(&["ncdu"]),
        // It has no summary; the export is all that it does without a terminal.
        arguments: &["-0", "-o-", TREE],
        format: Format::Ncdu,
    },
    Contender {
        name: "bfs",
        section: Section::Sizes,
        program: Program::OnPath(&["bfs"]),
        arguments: &[TREE, "-printf", "%D %i %n %b\\n"],
        format: Format::Blocks,
    },
    Contender {
        name: "ignore",
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["library", "ignore", TREE],
        format: Format::TotalsWithSizes,
    },
    Contender {
        name: "walkdir",
        section: Section::Sizes,
        program: Program::Ourselves,
        arguments: &["library", "walkdir", TREE],
        format: Format::TotalsWithSizes,
    },
    Contender {
        name: "fd",
        section: Section::Names,
        // Debian calls it the other way.
        program: Program::OnPath(&["fd", "fdfind"]),
        arguments: &["--unrestricted", "--print0", "--color=never", ".", TREE],
        format: Format::Names,
    },
    Contender {
        name: "rg",
        section: Section::Names,
        program: Program::OnPath(&["rg"]),
        arguments: &["--no-config", "--files", "-uu", "--null", "--color=never", TREE],
        format: Format::Files,
    },
    Contender {
        name: "bfs",
        section: Section::Names,
        program: Program::OnPath(&["bfs"]),
        arguments: &[TREE, "-mindepth", "1", "-print0"],
        format: Format::Names,
    },
    Contender {
        name: "ignore",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["library", "ignore", "--names", TREE],
        format: Format::TotalsOfNames,
    },
    Contender {
        name: "walkdir",
        section: Section::Names,
        program: Program::Ourselves,
        arguments: &["library", "walkdir", "--names", TREE],
        format: Format::TotalsOfNames,
    },
];

/// Finds programs.
#[derive(Debug)]
pub(crate) struct Finder {
    ourselves: PathBuf,
    heist: PathBuf,
    folders: Vec<PathBuf>,
}

impl Finder {
    /// `heist`: where it is, if not beside us.
    ///
    /// # Errors
    /// A message if the system does not tell where we are.
    pub(crate) fn new(heist: Option<PathBuf>) -> Result<Self, String> {
        let ourselves = env::current_exe()
            .map_err(|error| format!("cannot find out where this program is: {error}"))?;
        let heist = heist.unwrap_or_else(|| ourselves.with_file_name("heist"));
        let folders = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        Ok(Self { ourselves, heist, folders })
    }

    /// Where the program is.
    ///
    /// # Errors
    /// Why it does not take part.
    pub(crate) fn find(&self, program: Program) -> Result<PathBuf, String> {
        match program {
            Program::Ourselves => Ok(self.ourselves.clone()),
            Program::Heist if is_executable(&self.heist) => Ok(self.heist.clone()),
            Program::Heist => Err(format!(
                "there is no program {}; build it, or say with --heist where it is",
                self.heist.display()
            )),
            Program::OnPath(names) => names
                .iter()
                .flat_map(|name| self.folders.iter().map(move |folder| folder.join(name)))
                .find(|path| is_executable(path))
                .ok_or_else(|| format!("no {} on the PATH", names.join(" or "))),
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
    fn every_contender_is_given_the_tree_once() {
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
        let folder = tempfile::tempdir().expect("a place for a test");
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
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is ours");
        }
        assert_eq!(finder.find(wanted), Ok(folder.path().join("new-name")));
    }
}
