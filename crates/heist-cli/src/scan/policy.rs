//! [`Policies`]: an organisation's floor for every scan, which neither the scanned tree, nor the
//! user's configuration, nor the command line can weaken.
//!
//! A weaker option on the command line is an error that names both, because the user would
//! otherwise believe in an option that has no effect. A weaker setting in a file is
//! [overruled](Overruled): it has no effect, and every report names it.
//!
//! Not guaranteed: that a policy applies where neither the command line nor the environment names
//! it, and that the PATHs are those that the organisation has in mind. A policy only limits what a
//! scan leaves out.

use super::policy_file::PolicyFile;
use crate::error::CliError;
use crate::escape;
use heist_scan::{Confidence, RootPlace, read_small_file};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The variable that names a policy, besides `--policy`.
const VARIABLE: &str = "HEIST_POLICY";

/// The largest policy that heist reads.
const BYTES_MAX: u64 = 1 << 20;

/// The policies in effect: that of `--policy` and that of the environment. Both apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policies(Vec<Policy>);

/// A policy and where it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Policy {
    path: Arc<Path>,
    file: PolicyFile,
}

/// A demand of a policy, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) path: Arc<Path>,
    pub(crate) key: &'static str,
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = escape::for_terminal(self.path.as_os_str());
        write!(f, "`{}` in the policy '{path}'", self.key)
    }
}

/// Something in a file that has no effect because of a policy. Its text is safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overruled {
    /// The key of the file, or the name under which a policy forbids the whole file.
    pub(crate) setting: &'static str,
    pub(crate) file: PathBuf,
    /// Whether heist does not use the file at all.
    pub(crate) is_whole_file: bool,
    pub(crate) by: Demand,
}

impl fmt::Display for Overruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, file, is_whole_file, by } = self;
        let file = escape::for_terminal(file.as_os_str());
        match is_whole_file {
            true => write!(f, "'{file}' is not used, because of {by}"),
            false => write!(f, "`{setting}` in '{file}' has no effect, because of {by}"),
        }
    }
}

impl Policies {
    /// Loads the policies that the command line and the environment name.
    ///
    /// # Errors
    /// A file cannot be read or is not valid.
    pub(crate) fn load(given: Option<&Path>) -> Result<Self, CliError> {
        let of_environment = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let paths = given.map(Path::to_owned).into_iter().chain(of_environment.map(PathBuf::from));
        paths.map(|path| Policy::load(&path)).collect::<Result<_, _>>().map(Self)
    }

    fn demand(&self, key: &'static str, demands: impl Fn(&PolicyFile) -> bool) -> Option<Demand> {
        let policy = self.0.iter().find(|policy| demands(&policy.file))?;
        Some(Demand { path: Arc::clone(&policy.path), key })
    }

    /// Returns the policy that says that nothing may be taken from the tree, if one does.
    pub(crate) fn untrusted(&self) -> Option<Demand> {
        self.demand("untrusted", |policy| policy.untrusted)
    }

    /// Returns the policy that says that the exit code is 1 if the tree hides anything.
    pub(crate) fn fail_on_hidden(&self) -> Option<Demand> {
        self.demand("fail-on-hidden", |policy| policy.fail_on_hidden)
    }

    /// Returns the lowest confidence that must be reported, if the given one is above it.
    pub(crate) fn lower_confidence(&self, given: Confidence) -> Option<(Confidence, Demand)> {
        let most = self.0.iter().filter_map(|policy| policy.file.confidence).min()?;
        let demand = self.demand("confidence", |policy| policy.confidence == Some(most))?;
        (given > most).then_some((most, demand))
    }

    /// Returns the policy that forbids something, if one does. The name is one of
    /// [`CAN_FORBID`](super::policy_file::CAN_FORBID).
    pub(crate) fn forbids(&self, name: &str) -> Option<Demand> {
        self.demand("forbid", |policy| policy.forbid.iter().any(|forbidden| forbidden == name))
    }

    /// Returns the built-in rules that must run, each list with its policy.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&[String], Demand)> {
        let demanding = self.0.iter().filter(|policy| !policy.file.rules.is_empty());
        demanding.map(|policy| {
            (&*policy.file.rules, Demand { path: Arc::clone(&policy.path), key: "rules" })
        })
    }

    /// Returns the paths that no filter may leave out, relative to each of these roots, with their
    /// policies. An empty path stands for all of a root.
    pub(crate) fn paths_below(&self, roots: &[PathBuf]) -> Vec<(PathBuf, Demand)> {
        let demanding: Vec<&Policy> =
            self.0.iter().filter(|policy| !policy.file.paths.is_empty()).collect();
        let mut below: Vec<(PathBuf, Demand)> = Vec::new();
        if demanding.is_empty() {
            return below;
        }
        for root in roots {
            let place = RootPlace::of(root);
            // Stdin, or a path that does not exist.
            if place.real().is_none() {
                continue;
            }
            let prefix = place.path_in_project("");
            for policy in &demanding {
                for path in &policy.file.paths {
                    let relative = match path.strip_prefix(&prefix) {
                        Ok(relative) => relative.to_owned(),
                        // The root is in the path that must be scanned.
                        Err(_) if prefix.starts_with(path) => PathBuf::new(),
                        Err(_) => continue,
                    };
                    if !below.iter().any(|(known, _)| *known == relative) {
                        let demand = Demand { path: Arc::clone(&policy.path), key: "paths" };
                        below.push((relative, demand));
                    }
                }
            }
        }
        below
    }

    /// Returns the paths of the policies.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.0.iter().map(|policy| &policy.path)
    }
}

impl Policy {
    fn load(path: &Path) -> Result<Self, CliError> {
        let bytes = read_small_file(path, BYTES_MAX).map_err(|source| CliError::ReadFile {
            what: "the policy",
            path: path.to_owned(),
            source,
        })?;
        let file = PolicyFile::parse(&bytes)
            .map_err(|source| CliError::Policy { path: path.to_owned(), source })?;
        Ok(Self { path: path.into(), file })
    }
}

#[cfg(test)]
mod tests {
    use super::{Policies, Policy, PolicyFile};
    use heist_scan::Confidence;
    use std::path::{Path, PathBuf};

    fn policies(texts: &[&str]) -> Policies {
        let policy = |text: &&str| Policy {
            path: Path::new("policy.toml").into(),
            file: PolicyFile::parse(text.as_bytes()).expect("valid"),
        };
        Policies(texts.iter().map(policy).collect())
    }

    #[test]
    fn several_policies_all_apply() {
        let both = policies(&[
            "confidence = 'high'\nforbid = ['only']",
            "confidence = 'medium'\nuntrusted = true",
        ]);
        let (most, _) = both.lower_confidence(Confidence::High).expect("too high");
        assert_eq!(most, Confidence::Medium);
        assert!(both.lower_confidence(Confidence::Medium).is_none());
        assert!(both.untrusted().is_some() && both.forbids("only").is_some());
        assert!(both.forbids("except").is_none() && both.fail_on_hidden().is_none());
    }

    #[test]
    fn paths_are_those_of_the_project() {
        let temp = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(temp.path().join(".git")).expect("a directory");
        std::fs::create_dir_all(temp.path().join("a/b/c")).expect("a directory");
        let policies = policies(&["paths = ['a/b', 'other']"]);
        let below = |roots: &[&str]| -> Vec<PathBuf> {
            let roots: Vec<PathBuf> = roots.iter().map(|root| temp.path().join(root)).collect();
            policies.paths_below(&roots).into_iter().map(|(path, _)| path).collect()
        };
        assert_eq!(below(&[""]), [Path::new("a/b"), Path::new("other")]);
        assert_eq!(below(&["a"]), [Path::new("b")]);
        assert_eq!(below(&["a/b"]), [Path::new("")]);
        assert_eq!(below(&["a/b/c", "a/b"]), [Path::new("")]);
        assert!(below(&[]).is_empty());
    }
}
