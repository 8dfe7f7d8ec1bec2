//! [`Configuration`]: the contents of a `heist.toml`.
//!
//! The keys are the long options of `heist scan`, including the opposites of flags. `rules` is a
//! path, a list of paths, or a table with `files`, `only` and `except`. Paths are relative to the
//! file. The options that write files or show secrets (`output`, `trace`, `show-secrets`) work only
//! on the command line: a scanned tree must not decide where its scan writes.

use super::arguments::{
    DurationError, InvalidThreads, ScanFormat, parse_confidence, parse_duration,
};
use crate::color::ColorChoice;
use crate::error::{CliError, one_line};
use crate::escape;
use crate::units::{SizeError, parse_size};
use clap::ValueEnum as _;
use heist_scan::{Confidence, UnknownConfidence, read_small_file};
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Value;

/// The name of a configuration file.
const FILE_NAME: &str = "heist.toml";

/// The largest configuration file that heist reads.
const BYTES_MAX: u64 = 1 << 20;

/// The options that work only on the command line.
const COMMAND_LINE_ONLY: [&str; 7] =
    ["output", "explain", "trace", "show-secrets", "config", "no-config", "quiet"];

/// The settings in a `heist.toml`. Settings that it does not contain are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    /// The file, or `None` if heist found no configuration file.
    pub(crate) path: Option<PathBuf>,
    /// Notes for the user, safe to print.
    pub(crate) notes: Vec<String>,
    pub(crate) format: Option<ScanFormat>,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) confidence: Option<Confidence>,
    pub(crate) sorted: Option<bool>,
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
    pub(crate) follow: Option<bool>,
    pub(crate) one_file_system: Option<bool>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) color: Option<ColorChoice>,
    pub(crate) no_progress: Option<bool>,
    pub(crate) stats: Option<bool>,
}

impl Configuration {
    /// Loads the nearest `heist.toml`: in the first of `paths` or above it, else in the current
    /// directory or above it. Returns the default if there is none.
    ///
    /// # Errors
    /// The file cannot be read or is not valid.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self, CliError> {
        let mut notes = Vec::new();
        let first = paths.first().filter(|path| path.as_os_str() != "-");
        let starts = first.into_iter().map(PathBuf::as_path).chain([Path::new(".")]);
        for start in starts {
            // The scan reports a path that does not exist.
            let Ok(start) = std::path::absolute(start) else { continue };
            for directory in start.ancestors() {
                let file = directory.join(FILE_NAME);
                if file.is_file() {
                    return Ok(Self { notes, ..Self::read(&file, false)? });
                }
                // The user may believe that this entry configures heist.
                let is_there = file.symlink_metadata().is_ok();
                let shown = escape::for_terminal(file.as_os_str());
                let note = format!("'{shown}' is not a regular file, so heist does not read it");
                if is_there && !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        Ok(Self { notes, ..Self::default() })
    }

    /// Loads the file that `--config` names.
    ///
    /// # Errors
    /// The file cannot be read or is not valid.
    pub(crate) fn load(path: &Path) -> Result<Self, CliError> {
        Self::read(path, true)
    }

    /// Reads a file. `was_named` says whether `--config` named it.
    fn read(path: &Path, was_named: bool) -> Result<Self, CliError> {
        let unreadable = |source: io::Error| CliError::ReadFile {
            what: "the configuration",
            path: path.to_owned(),
            source,
        };
        let invalid = |source| CliError::Configuration { path: path.to_owned(), source };
        let bytes = read_small_file(path, BYTES_MAX).map_err(unreadable)?;
        let text = String::from_utf8(bytes).map_err(|_| invalid(ConfigurationError::NotUtf8))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let table = parse_toml(&text).map_err(invalid)?;
        if let Some(table) = rule_table(&table) {
            return Err(CliError::RulesAsConfiguration { path: path.to_owned(), table, was_named });
        }
        let mut configuration = Self::of_table(&table, directory).map_err(invalid)?;
        configuration.path = Some(path.to_owned());
        Ok(configuration)
    }

    fn of_table(table: &toml::Table, directory: &Path) -> Result<Self, ConfigurationError> {
        let mut configuration = Self::default();
        for (key, value) in table {
            configuration
                .set(key, value, directory)
                .map_err(|problem| ConfigurationError::Key { key: key.clone(), problem })?;
        }
        Ok(configuration)
    }

    fn set(&mut self, key: &str, value: &Value, directory: &Path) -> Result<(), KeyProblem> {
        if let Some((flag, is_named)) = self.flag(key) {
            if flag.is_some() {
                return Err(KeyProblem::OppositeIsSet);
            }
            *flag = Some(boolean(value)? == is_named);
            return Ok(());
        }
        match key {
            "format" => {
                let format = ScanFormat::from_str(text(value)?, false);
                let expected = "`text`, `json`, `jsonl` or `sarif`";
                self.format = Some(format.map_err(|_| KeyProblem::UnknownValue { expected })?);
            }
            "baseline" => self.baseline = Some(directory.join(text(value)?)),
            "confidence" => {
                let level = parse_confidence(text(value)?);
                self.confidence = Some(level.map_err(KeyProblem::Confidence)?);
            }
            "rules" => self.set_rules(value, directory)?,
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
            other if COMMAND_LINE_ONLY.contains(&other) => {
                return Err(KeyProblem::CommandLineOnly);
            }
            _ => return Err(KeyProblem::UnknownKey),
        }
        Ok(())
    }

    /// Returns the flag that a key sets, and whether the key is its name (or that of its opposite).
    fn flag(&mut self, key: &str) -> Option<(&mut Option<bool>, bool)> {
        let says_no = key.starts_with("no-");
        let (flag, is_no) = match key.strip_prefix("no-").unwrap_or(key) {
            "sorted" => (&mut self.sorted, false),
            "generic" => (&mut self.no_generic, true),
            "noise-filter" => (&mut self.no_noise_filter, true),
            "decode" => (&mut self.no_decode, true),
            "gitignore" => (&mut self.gitignore, false),
            "hidden" => (&mut self.no_hidden, true),
            "binary" => (&mut self.binary, false),
            "follow" => (&mut self.follow, false),
            "one-file-system" => (&mut self.one_file_system, false),
            "progress" => (&mut self.no_progress, true),
            "stats" => (&mut self.stats, false),
            _ => return None,
        };
        Some((flag, says_no == is_no))
    }

    fn set_rules(&mut self, value: &Value, directory: &Path) -> Result<(), KeyProblem> {
        let Value::Table(table) = value else {
            self.rules = texts(value)?.iter().map(|file| directory.join(file)).collect();
            return Ok(());
        };
        for (key, value) in table {
            match key.as_str() {
                "files" => {
                    self.rules = texts(value)?.iter().map(|file| directory.join(file)).collect();
                }
                "only" => self.only = texts(value)?,
                "except" => self.except = texts(value)?,
                other => return Err(KeyProblem::UnknownRulesKey(other.to_owned())),
            }
        }
        Ok(())
    }
}

/// Why a configuration file is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    /// The file is not UTF-8.
    NotUtf8,
    /// The file is not TOML.
    Toml { line: Option<usize>, message: String },
    /// A key is unknown, or its value cannot be used.
    Key { key: String, problem: KeyProblem },
}

impl ConfigurationError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> String {
        let text = match self {
            Self::Key { problem: KeyProblem::UnknownKey, .. } => {
                "the keys are the long options of `heist scan`, without the dashes"
            }
            Self::Key { problem: KeyProblem::UnknownRulesKey(_), .. } => {
                "the keys of `rules` are `files`, `only` and `except`"
            }
            Self::Key { problem: KeyProblem::OppositeIsSet, .. } => "remove one of the two keys",
            Self::Key { key, problem: KeyProblem::CommandLineOnly } => {
                return format!("remove it, and give --{key} on the command line");
            }
            _ => "correct the file, or give --no-config to scan without it",
        };
        text.to_owned()
    }
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("it is not UTF-8"),
            Self::Toml { line: Some(line), message } => {
                write!(f, "line {line}: {}", one_line(message))
            }
            Self::Toml { line: None, message } => f.write_str(&one_line(message)),
            Self::Key { key, problem } => write!(f, "`{}`: {problem}", one_line(key)),
        }
    }
}

impl std::error::Error for ConfigurationError {}

/// What is wrong with a key or its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyProblem {
    /// `heist.toml` does not have this key.
    UnknownKey,
    /// The table `rules` does not have this key.
    UnknownRulesKey(String),
    /// The option works only on the command line.
    CommandLineOnly,
    /// The file also sets the opposite of this flag.
    OppositeIsSet,
    /// The value has another type than `expected`.
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    /// The value is not one of the `expected` ones.
    UnknownValue {
        expected: &'static str,
    },
    Confidence(UnknownConfidence),
    Size(SizeError),
    /// The size is negative.
    Negative,
    Duration(DurationError),
    Threads(InvalidThreads),
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey => f.write_str("unknown key"),
            Self::UnknownRulesKey(key) => write!(f, "unknown key `{}`", one_line(key)),
            Self::CommandLineOnly => f.write_str("this option works only on the command line"),
            Self::OppositeIsSet => f.write_str("the file also contains the opposite key"),
            Self::WrongType { expected, found } => {
                let is_vowel = found.starts_with(['a', 'e', 'i', 'o', 'u']);
                write!(
                    f,
                    "expected {expected}, found {} {found}",
                    if is_vowel { "an" } else { "a" }
                )
            }
            Self::UnknownValue { expected } => write!(f, "expected {expected}"),
            Self::Confidence(error) => write!(f, "{}", escape::visible(&error.to_string())),
            Self::Size(error) => error.fmt(f),
            Self::Negative => f.write_str("the size must not be negative"),
            Self::Duration(error) => error.fmt(f),
            Self::Threads(error) => error.fmt(f),
        }
    }
}

fn parse_toml(text: &str) -> Result<toml::Table, ConfigurationError> {
    text.parse().map_err(|error: toml::de::Error| ConfigurationError::Toml {
        line: error.span().map(|span| 1 + text[..span.start].matches('\n').count()),
        message: error.message().to_owned(),
    })
}

/// Returns the table that shows that a file contains rules, for heist or gitleaks: a configuration
/// never has it.
fn rule_table(table: &toml::Table) -> Option<&'static str> {
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
        Configuration::of_table(&parse_toml(text)?, Path::new("/conf"))
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
        assert_eq!(configuration.format, Some(ScanFormat::Jsonl));
        assert_eq!(configuration.baseline, Some(PathBuf::from("/conf/known.toml")));
        assert_eq!(configuration.confidence, Some(Confidence::High));
        assert_eq!(configuration.rules, [PathBuf::from("/conf/more.toml")]);
        assert_eq!((&configuration.only[0][..], &configuration.except[0][..]), ("aws-*", "jwt"));
        assert_eq!(configuration.max_size, Some(10 << 20));
        assert_eq!(configuration.exclude, ["*.lock", "vendor/"]);
        assert_eq!(configuration.timeout, Some(Duration::from_secs(90)));
        assert_eq!(configuration.no_noise_filter, Some(false));
        assert_eq!(configuration.threads.map(usize::from), Some(3));
        assert_eq!(
            parse("rules = ['a', '/b']").expect("valid").rules,
            [Path::new("/conf/a"), Path::new("/b")]
        );
    }

    #[test]
    fn opposites_of_flags_are_keys() {
        let configuration =
            parse("generic = true\nno-binary = true\nhidden = false\nno-sorted = false")
                .expect("valid");
        assert_eq!(configuration.no_generic, Some(false));
        assert_eq!(configuration.binary, Some(false));
        assert_eq!(configuration.no_hidden, Some(true));
        assert_eq!(configuration.sorted, Some(true));
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
}
