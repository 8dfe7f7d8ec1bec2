//! [`Configuration`]: the contents of a `heist.toml`.
//!
//! The keys are the long options of `heist scan`, including the opposites of flags. `rules` is a
//! path, a list of paths, or a table with `files`, `only` and `except`. Paths are relative to the
//! file. Some options work only on the command line ([`COMMAND_LINE_ONLY`]): those that write files
//! or show secrets, those that choose configurations and policies, and those that concern one run.
//!
//! Trust is in the types: [`Tuning`] has what the file of a scanned tree may set as well, and
//! [`Privileged`] has what only the user's file may set. A tree's file passes on only its `Tuning`.

use super::arguments::{InvalidThreads, ScanFormat, parse_confidence, parse_duration};
use super::configuration_error::{ConfigurationError, KeyProblem};
use crate::color::ColorChoice;
use crate::units::parse_size;
use clap::ValueEnum as _;
use heist_scan::Confidence;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Value;

/// The options that work only on the command line.
const COMMAND_LINE_ONLY: [&str; 21] = [
    "no-work-limit",
    "staged",
    "diff",
    "no-diff",
    "output",
    "explain",
    "trace",
    "show-secrets",
    "config",
    "no-config",
    "no-baseline",
    "policy",
    "quiet",
    "exit-code-incomplete",
    "history",
    "range",
    "branch",
    "commit",
    "since",
    "unreachable",
    "verify-delta",
];

/// The settings in a configuration file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    /// The file.
    pub(crate) path: Arc<Path>,
    pub(crate) tuning: Tuning,
    pub(crate) privileged: Privileged,
}

/// What any configuration file may set: what to look for, and what to leave out. None of it leads
/// the scan out of the tree, and whatever it hides can be counted. Settings that the file does not
/// contain are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tuning {
    /// As the file has it.
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) confidence: Option<Confidence>,
    /// As the file has them.
    pub(crate) rules: Vec<PathBuf>,
    pub(crate) only: Vec<String>,
    pub(crate) except: Vec<String>,
    pub(crate) no_generic: Option<bool>,
    pub(crate) no_noise_filter: Option<bool>,
    pub(crate) no_decode: Option<bool>,
    pub(crate) max_size: Option<u64>,
    pub(crate) exclude: Vec<String>,
    pub(crate) gitignore: Option<bool>,
    pub(crate) no_hidden: Option<bool>,
    pub(crate) binary: Option<bool>,
}

/// What only the user's configuration file may set: where the scan goes, how long it takes, and
/// how it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Privileged {
    pub(crate) format: Option<ScanFormat>,
    pub(crate) sorted: Option<bool>,
    pub(crate) follow: Option<bool>,
    pub(crate) one_file_system: Option<bool>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) color: Option<ColorChoice>,
    pub(crate) no_progress: Option<bool>,
    pub(crate) stats: Option<bool>,
    pub(crate) untrusted: Option<bool>,
    pub(crate) fail_on_hidden: Option<bool>,
    /// The keys of these settings in the file.
    pub(crate) keys: Vec<String>,
}

impl Configuration {
    /// Reads the settings of the file `path` from its table.
    ///
    /// # Errors
    /// A key is unknown, or its value cannot be used.
    pub(super) fn of_table(table: &toml::Table, path: &Path) -> Result<Self, ConfigurationError> {
        let (tuning, privileged) = (Tuning::default(), Privileged::default());
        let mut configuration = Self { path: path.into(), tuning, privileged };
        for (key, value) in table {
            configuration
                .set(key, value)
                .map_err(|problem| ConfigurationError::Key { key: key.clone(), problem })?;
        }
        Ok(configuration)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), KeyProblem> {
        let is_set = match self.flag(key) {
            Some((flag, is_named)) => {
                if flag.is_some() {
                    return Err(KeyProblem::OppositeIsSet);
                }
                *flag = Some(boolean(value)? == is_named);
                true
            }
            None => self.tuning.set(key, value)?,
        };
        if !is_set && !self.privileged.set(key, value)? {
            return Err(match COMMAND_LINE_ONLY.contains(&key) {
                true => KeyProblem::CommandLineOnly,
                false => KeyProblem::UnknownKey,
            });
        }
        if self.privileged.has(key) {
            self.privileged.keys.push(key.to_owned());
        }
        Ok(())
    }

    /// Returns the flag that a key sets, and whether the key is its name (or that of its opposite).
    fn flag(&mut self, key: &str) -> Option<(&mut Option<bool>, bool)> {
        let Self { tuning, privileged, .. } = self;
        let says_no = key.starts_with("no-");
        let (flag, is_no) = match key.strip_prefix("no-").unwrap_or(key) {
            "generic" => (&mut tuning.no_generic, true),
            "noise-filter" => (&mut tuning.no_noise_filter, true),
            "decode" => (&mut tuning.no_decode, true),
            "gitignore" => (&mut tuning.gitignore, false),
            "hidden" => (&mut tuning.no_hidden, true),
            "binary" => (&mut tuning.binary, false),
            "sorted" => (&mut privileged.sorted, false),
            "follow" => (&mut privileged.follow, false),
            "one-file-system" => (&mut privileged.one_file_system, false),
            "progress" => (&mut privileged.no_progress, true),
            "stats" => (&mut privileged.stats, false),
            "untrusted" => (&mut privileged.untrusted, false),
            "fail-on-hidden" => (&mut privileged.fail_on_hidden, false),
            _ => return None,
        };
        Some((flag, says_no == is_no))
    }
}

impl Tuning {
    /// Sets a key that is not a flag. Returns `false` if the key is not one of these.
    fn set(&mut self, key: &str, value: &Value) -> Result<bool, KeyProblem> {
        match key {
            "baseline" => self.baseline = Some(text(value)?.into()),
            "confidence" => {
                let level = parse_confidence(text(value)?);
                self.confidence = Some(level.map_err(KeyProblem::Confidence)?);
            }
            "rules" => self.set_rules(value)?,
            "only" => self.only = texts(value)?,
            "except" => self.except = texts(value)?,
            "exclude" => self.exclude = texts(value)?,
            "max-size" => {
                self.max_size = Some(match value {
                    Value::Integer(bytes) => {
                        u64::try_from(*bytes).map_err(|_| KeyProblem::Negative)?
                    }
                    value => parse_size(text(value)?).map_err(KeyProblem::Size)?,
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_rules(&mut self, value: &Value) -> Result<(), KeyProblem> {
        let paths = |value| Ok(texts(value)?.into_iter().map(PathBuf::from).collect());
        let Value::Table(table) = value else {
            self.rules = paths(value)?;
            return Ok(());
        };
        for (key, value) in table {
            match key.as_str() {
                "files" => self.rules = paths(value)?,
                "only" => self.only = texts(value)?,
                "except" => self.except = texts(value)?,
                other => return Err(KeyProblem::UnknownRulesKey(other.to_owned())),
            }
        }
        Ok(())
    }
}

impl Privileged {
    /// Sets a key that is not a flag. Returns `false` if the key is not one of these.
    fn set(&mut self, key: &str, value: &Value) -> Result<bool, KeyProblem> {
        match key {
            "format" => {
                let format = ScanFormat::from_str(text(value)?, false);
                let expected = "`text`, `json`, `jsonl` or `sarif`";
                self.format = Some(format.map_err(|_| KeyProblem::UnknownValue { expected })?);
            }
            "threads" => {
                let threads = value.as_integer().and_then(|number| usize::try_from(number).ok());
                let threads = threads.and_then(NonZeroUsize::new);
                self.threads = Some(threads.ok_or(KeyProblem::Threads(InvalidThreads))?);
            }
            "timeout" => {
                let timeout = parse_duration(text(value)?);
                self.timeout = Some(timeout.map_err(KeyProblem::Duration)?);
            }
            "color" => {
                let color = ColorChoice::from_str(text(value)?, false);
                let expected = "`auto`, `always` or `never`";
                self.color = Some(color.map_err(|_| KeyProblem::UnknownValue { expected })?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns `true` if a key sets one of these.
    fn has(&self, key: &str) -> bool {
        let name = key.strip_prefix("no-").unwrap_or(key);
        matches!(
            name,
            "sorted"
                | "follow"
                | "one-file-system"
                | "progress"
                | "stats"
                | "untrusted"
                | "fail-on-hidden"
        ) || matches!(key, "format" | "threads" | "timeout" | "color")
    }
}

/// Parses the text of a file.
///
/// # Errors
/// It is not TOML.
pub(super) fn parse_toml(text: &str) -> Result<toml::Table, ConfigurationError> {
    text.parse().map_err(|error: toml::de::Error| ConfigurationError::Toml {
        line: error.span().map(|span| 1 + text[..span.start].matches('\n').count()),
        message: error.message().to_owned(),
    })
}

/// Returns the table that shows that a file contains rules, for heist or gitleaks: a configuration
/// never has it.
pub(super) fn rule_table(table: &toml::Table) -> Option<&'static str> {
    let is_table = |key: &str| table.get(key).is_some_and(Value::is_table);
    let has_tables = |key: &str| {
        let values = table.get(key).and_then(Value::as_array);
        values.and_then(|values| values.first()).is_some_and(Value::is_table)
    };
    if has_tables("rules") {
        Some("[[rules]]")
    } else if is_table("extend") {
        Some("[extend]")
    } else if is_table("allowlist") {
        Some("[allowlist]")
    } else if has_tables("allowlists") {
        Some("[[allowlists]]")
    } else {
        None
    }
}

fn text(value: &Value) -> Result<&str, KeyProblem> {
    let wrong = KeyProblem::WrongType { expected: "a string", found: value.type_str() };
    value.as_str().ok_or(wrong)
}

fn boolean(value: &Value) -> Result<bool, KeyProblem> {
    let wrong = KeyProblem::WrongType { expected: "true or false", found: value.type_str() };
    value.as_bool().ok_or(wrong)
}

/// Returns a list of strings. A single string counts as a list.
fn texts(value: &Value) -> Result<Vec<String>, KeyProblem> {
    match value {
        Value::Array(values) => values.iter().map(|value| text(value).map(str::to_owned)).collect(),
        value => text(value).map(|text| vec![text.to_owned()]),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        COMMAND_LINE_ONLY, Configuration, ConfigurationError, KeyProblem, parse_toml, rule_table,
    };
    use crate::arguments::Arguments;
    use crate::scan::arguments::ScanFormat;
    use clap::CommandFactory as _;
    use heist_scan::Confidence;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    fn parse(text: &str) -> Result<Configuration, ConfigurationError> {
        Configuration::of_table(&parse_toml(text)?, Path::new("heist.toml"))
    }

    #[test]
    fn every_key_is_read() {
        let configuration = parse(
            "format = 'jsonl'\nbaseline = 'known.toml'\nconfidence = 'high'\nsorted = true\n\
             no-generic = true\nno-noise-filter = false\nno-decode = true\nmax-size = '10M'\n\
             exclude = ['*.lock', 'vendor/']\ngitignore = true\nno-hidden = true\nbinary = true\nfollow = true\n\
             one-file-system = true\nthreads = 3\ntimeout = '90s'\ncolor = 'never'\nno-progress = true\nstats = true\n\
             [rules]\nfiles = 'more.toml'\nonly = ['aws-*']\nexcept = ['jwt']",
        )
        .expect("valid");
        let Configuration { tuning, privileged, .. } = configuration;
        assert_eq!(privileged.format, Some(ScanFormat::Jsonl));
        assert_eq!(tuning.baseline, Some(PathBuf::from("known.toml")));
        assert_eq!(tuning.confidence, Some(Confidence::High));
        assert_eq!(tuning.rules, [PathBuf::from("more.toml")]);
        assert_eq!((&tuning.only[0][..], &tuning.except[0][..]), ("aws-*", "jwt"));
        assert_eq!(tuning.max_size, Some(10 << 20));
        assert_eq!(tuning.exclude, ["*.lock", "vendor/"]);
        assert_eq!(privileged.timeout, Some(Duration::from_secs(90)));
        assert_eq!(tuning.no_noise_filter, Some(false));
        assert_eq!(privileged.threads.map(usize::from), Some(3));
        let rules = parse("rules = ['a', '/b']").expect("valid").tuning.rules;
        assert_eq!(rules, [Path::new("a"), Path::new("/b")]);
        // What the file of a scanned tree may not set is listed.
        let mut keys = privileged.keys;
        keys.sort();
        let refused =
            "color follow format no-progress one-file-system sorted stats threads timeout";
        assert_eq!(keys.join(" "), refused);
    }

    #[test]
    fn opposites_of_flags_are_keys() {
        let configuration =
            parse("generic = true\nno-binary = true\nhidden = false\nno-sorted = false")
                .expect("valid");
        assert_eq!(configuration.tuning.no_generic, Some(false));
        assert_eq!(configuration.tuning.binary, Some(false));
        assert_eq!(configuration.tuning.no_hidden, Some(true));
        assert_eq!(configuration.privileged.sorted, Some(true));
        assert_eq!(configuration.privileged.keys, ["no-sorted"]);
    }

    #[test]
    fn errors_name_the_key_and_the_problem() {
        for (text, expected) in [
            ("= 1", "line 1"),
            ("\nbinary = 'yes'", "`binary`: expected true or false, found a string"),
            ("confidence = 'sure'", "`confidence`"),
            ("nosuch = 1", "`nosuch`: unknown key"),
            ("output = 'x'", "`output`: this option works only on the command line"),
            ("max-size = -1", "`max-size`: the size must not be negative"),
            ("threads = 0", "`threads`"),
            ("exclude = [1]", "`exclude`: expected a string, found an integer"),
            ("binary = []", "`binary`: expected true or false, found an array"),
            ("generic = true\nno-generic = true", "also contains the opposite key"),
            ("rules = { file = 'x' }", "unknown key `file`"),
            ("\"a\\u001b\" = 1", "`a\\x1b`"),
        ] {
            let error = parse(text).expect_err("not valid").to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_rule_file_is_recognised() {
        let sign = |text: &str| rule_table(&parse_toml(text).expect("TOML"));
        assert_eq!(sign("title = 'x'\n[[rules]]\nid = 'x'"), Some("[[rules]]"));
        assert_eq!(sign("[extend]\nuseDefault = true"), Some("[extend]"));
        assert_eq!(sign("[allowlist]\npaths = []"), Some("[allowlist]"));
        assert_eq!(sign("[[allowlists]]\npaths = []"), Some("[[allowlists]]"));
        for configuration in ["", "rules = 'x'", "rules = ['x']", "[rules]\nfiles = ['x']"] {
            assert_eq!(sign(configuration), None, "{configuration}");
        }
    }

    #[test]
    fn every_option_is_a_key_or_works_only_on_the_command_line() {
        let command = Arguments::command();
        let scan = command.find_subcommand("scan").expect("it is there");
        let mut checked = 0;
        for option in scan.get_arguments() {
            let Some(long) = option.get_long().filter(|long| *long != "help") else { continue };
            let parsed = parse(&format!("{long} = true"));
            let unknown =
                ConfigurationError::Key { key: long.to_owned(), problem: KeyProblem::UnknownKey };
            assert!(parsed != Err(unknown) || COMMAND_LINE_ONLY.contains(&long), "{long}");
            checked += 1;
        }
        assert!(checked > 30);
    }

    #[test]
    fn the_guide_lists_the_options_that_work_only_on_the_command_line() {
        let guide = include_str!("../../../../docs/scan.md");
        let list = guide.split("These options work only on the command line:").nth(1);
        let list = list.and_then(|text| text.split('.').next()).expect("the sentence is there");
        let mut listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        let mut expected = COMMAND_LINE_ONLY;
        listed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }
}
