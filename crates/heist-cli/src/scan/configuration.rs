//! [`Configuration`]: what a `heist.toml` says.
//!
//! Its keys are the long options of `heist scan`, also the opposites of flags; `rules` is a path, a list of paths, or a
//! table with `files`, `only` and `except`. Paths are relative to the file. What writes files or shows secrets
//! (`output`, `trace`, `show-secrets`) is for the command line alone: a tree that is scanned must not decide where its
//! scan writes to.

use super::arguments::{Format, parse_confidence, parse_duration};
use crate::color::ColorChoice;
use crate::escape;
use crate::messages::reason;
use crate::shell;
use crate::units::parse_size;
use clap::ValueEnum as _;
use heist_scan::{Confidence, read_regular};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Value;

/// The name that is looked for.
const FILE_NAME: &str = "heist.toml";

/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 20;

/// The options that are for the command line alone.
const COMMAND_LINE_ONLY: [&str; 7] =
    ["output", "explain", "trace", "show-secrets", "config", "no-config", "quiet"];

/// What a `heist.toml` says. What it does not say is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    /// The file; `None` if there is none.
    pub(crate) path: Option<PathBuf>,
    /// What is worth knowing, fit to be shown.
    pub(crate) notes: Vec<String>,
    pub(crate) format: Option<Format>,
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
    /// The nearest file: from the first of `paths` upwards, else from the current directory upwards. There need not be
    /// one.
    ///
    /// # Errors
    /// There is one that cannot be read or is not valid; the text says why.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Self, String> {
        let mut notes = Vec::new();
        let first = paths.first().filter(|path| path.as_os_str() != "-");
        let starts = first.into_iter().map(PathBuf::as_path).chain([Path::new(".")]);
        for start in starts {
            // (A path that is not there is told of by the scan.)
            let Ok(start) = std::path::absolute(start) else { continue };
            for directory in start.ancestors() {
                let file = directory.join(FILE_NAME);
                if file.is_file() {
                    // (Without `--no-config` the same file would be found again.)
                    return Ok(Self { notes, ..Self::read(&file, "--no-config --rules")? });
                }
                // Whoever has put it there takes it for one.
                let is_there = file.symlink_metadata().is_ok();
                let shown = escape::for_terminal(file.as_os_str());
                let note =
                    format!("'{shown}' is no regular file; it is not used as a configuration");
                if is_there && !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        Ok(Self { notes, ..Self::default() })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read or is not valid; the text says why.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        Self::read(path, "--rules")
    }

    /// Reads a file. `options_for_rules`: the options that use it as what it is, if it is a file of rules.
    fn read(path: &Path, options_for_rules: &str) -> Result<Self, String> {
        let shown = escape::for_terminal(path.as_os_str());
        let bytes = read_regular(path, BYTES_MAX).map_err(|error| {
            format!("cannot read the configuration '{shown}': {}", reason(&error))
        })?;
        let text = String::from_utf8(bytes)
            .map_err(|_| format!("the configuration '{shown}' is not UTF-8"))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let is_not_valid = |why: String| format!("the configuration '{shown}' is not valid: {why}");
        let table = parse_toml(&text).map_err(is_not_valid)?;
        if let Some(sign) = sign_of_rules(&table) {
            return Err(format!(
                "'{shown}' is a file of rules, not a configuration: it has `{sign}`\n\
                 \x20 help: to use its rules: heist scan {options_for_rules} {}",
                shell::quoted(path.as_os_str())
            ));
        }
        let mut configuration = Self::of_table(&table, directory).map_err(is_not_valid)?;
        configuration.path = Some(path.to_owned());
        Ok(configuration)
    }

    fn of_table(table: &toml::Table, directory: &Path) -> Result<Self, String> {
        let mut configuration = Self::default();
        for (key, value) in table {
            configuration
                .set(key, value, directory)
                .map_err(|why| format!("`{}`: {why}", visible_line(key)))?;
        }
        Ok(configuration)
    }

    fn set(&mut self, key: &str, value: &Value, directory: &Path) -> Result<(), String> {
        if let Some((flag, is_it)) = self.flag(key) {
            if flag.is_some() {
                return Err("its opposite is there, too; take one of them out".into());
            }
            *flag = Some(boolean(value)? == is_it);
            return Ok(());
        }
        match key {
            "format" => {
                self.format = Some(Format::from_str(text(value)?, false).map_err(|_| {
                    "not a format; there are text, json, jsonl and sarif".to_owned()
                })?);
            }
            "baseline" => self.baseline = Some(directory.join(text(value)?)),
            "confidence" => {
                let level = parse_confidence(text(value)?).map_err(|error| error.to_string())?;
                self.confidence = Some(level);
            }
            "rules" => self.set_rules(value, directory)?,
            "only" => self.only = texts(value)?,
            "except" => self.except = texts(value)?,
            "exclude" => self.exclude = texts(value)?,
            "max-size" => {
                self.max_size = Some(match value {
                    Value::Integer(bytes) => {
                        u64::try_from(*bytes).map_err(|_| "less than 0".to_owned())?
                    }
                    value => parse_size(text(value)?).map_err(|error| error.to_string())?,
                });
            }
            "threads" => {
                let threads = value.as_integer().and_then(|number| usize::try_from(number).ok());
                let threads = threads.and_then(NonZeroUsize::new);
                self.threads = Some(threads.ok_or("give a number; it takes at least 1 thread")?);
            }
            "timeout" => self.timeout = Some(parse_duration(text(value)?)?),
            "color" => {
                self.color = Some(
                    ColorChoice::from_str(text(value)?, false)
                        .map_err(|_| "there are auto, always and never".to_owned())?,
                );
            }
            other if COMMAND_LINE_ONLY.contains(&other) => {
                return Err(format!("for the command line alone: --{other}"));
            }
            _ => return Err("no such key; the keys are the long options of `heist scan`".into()),
        }
        Ok(())
    }

    /// The flag that a key sets, and whether the key is its name or that of its opposite.
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

    fn set_rules(&mut self, value: &Value, directory: &Path) -> Result<(), String> {
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
                other => {
                    let other = visible_line(other);
                    return Err(format!("no such key `{other}`; there are files, only and except"));
                }
            }
        }
        Ok(())
    }
}

fn parse_toml(text: &str) -> Result<toml::Table, String> {
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{place}{}", visible_line(error.message()))
    })
}

/// What shows that a file has rules in it, for heist or gitleaks: a table that no configuration has.
fn sign_of_rules(table: &toml::Table) -> Option<&'static str> {
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

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("a text is wanted, not {}", a_value(value)))
}

fn boolean(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("true or false is wanted, not {}", a_value(value)))
}

/// The type of a value, with its article.
fn a_value(value: &Value) -> String {
    let name = value.type_str();
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// A list of texts; one alone is a list, too.
fn texts(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(values) => values.iter().map(|value| text(value).map(str::to_owned)).collect(),
        value => text(value).map(|text| vec![text.to_owned()]),
    }
}

/// What a file has in it, fit for a message of one line.
fn visible_line(text: &str) -> String {
    escape::visible(&text.replace('\n', " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{COMMAND_LINE_ONLY, Configuration, parse_toml, sign_of_rules};
    use crate::arguments::Arguments;
    use crate::scan::arguments::Format;
    use clap::CommandFactory as _;
    use heist_scan::Confidence;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    fn parse(text: &str) -> Result<Configuration, String> {
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
        assert_eq!(configuration.format, Some(Format::Jsonl));
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
    fn opposites_are_keys_too() {
        let configuration =
            parse("generic = true\nno-binary = true\nhidden = false\nno-sorted = false")
                .expect("valid");
        assert_eq!(configuration.no_generic, Some(false));
        assert_eq!(configuration.binary, Some(false));
        assert_eq!(configuration.no_hidden, Some(true));
        assert_eq!(configuration.sorted, Some(true));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("= 1", "line 1"),
            ("\nbinary = 'yes'", "`binary`: true or false is wanted, not a string"),
            ("confidence = 'sure'", "`confidence`"),
            ("nosuch = 1", "`nosuch`: no such key"),
            ("output = 'x'", "`output`: for the command line alone"),
            ("max-size = -1", "`max-size`: less than 0"),
            ("threads = 0", "`threads`"),
            ("exclude = [1]", "`exclude`: a text is wanted, not an integer"),
            ("binary = []", "`binary`: true or false is wanted, not an array"),
            ("generic = true\nno-generic = true", "its opposite is there, too"),
            ("rules = { file = 'x' }", "no such key `file`"),
            ("\"a\\u001b\" = 1", "`a\\x1b`"),
        ] {
            let error = parse(text).expect_err("not valid");
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn rules_are_told_from_a_configuration() {
        let sign = |text: &str| sign_of_rules(&parse_toml(text).expect("TOML"));
        assert_eq!(sign("title = 'x'\n[[rules]]\nid = 'x'"), Some("[[rules]]"));
        assert_eq!(sign("[extend]\nuseDefault = true"), Some("[extend]"));
        assert_eq!(sign("[allowlist]\npaths = []"), Some("[allowlist]"));
        assert_eq!(sign("[[allowlists]]\npaths = []"), Some("[[allowlists]]"));
        for configuration in ["", "rules = 'x'", "rules = ['x']", "[rules]\nfiles = ['x']"] {
            assert_eq!(sign(configuration), None, "{configuration}");
        }
    }

    #[test]
    fn every_option_is_a_key_or_said_not_to_be_one() {
        let command = Arguments::command();
        let scan = command.find_subcommand("scan").expect("it is there");
        let mut checked = 0;
        for option in scan.get_arguments() {
            let Some(long) = option.get_long().filter(|long| *long != "help") else { continue };
            let says_no = |value: &str| {
                parse(&format!("{long} = {value}")).is_err_and(|why| why.contains("no such key;"))
            };
            assert!(!says_no("true") || COMMAND_LINE_ONLY.contains(&long), "{long}");
            checked += 1;
        }
        assert!(checked > 30);
    }
}
