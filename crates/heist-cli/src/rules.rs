//! `heist rules`: lists rules, shows one, and tests the rules of a file with their examples.

use crate::error::CliError;
use crate::escape;
use crate::exit::Exit;
use crate::json::{JsonObject, write_array};
use crate::messages::Messages;
use crate::scan::origin::NamedFile;
use crate::scan::rules::{load, load_file};
use crate::stdout::print;
use crate::units::grouped;
use clap::{Subcommand, ValueEnum};
use heist_scan::rules::{Pattern, Rule, RuleLoader, RuleSet, check_examples, check_rules};
use heist_scan::{Chunk, Detector as _, DetectorOptions, Match, SecretDetector};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr as _;

/// The subcommands of `heist rules`.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List all rules
    List {
        /// The output format
        #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
        format: RulesFormat,
        /// Use the rules in FILE instead of the built-in rules; may be given several times
        #[arg(short, long, value_name = "FILE")]
        rules: Vec<PathBuf>,
    },
    /// Show one rule in full
    Show {
        /// The id of the rule; `heist rules list` shows all ids
        id: String,
        /// Use the rules in FILE instead of the built-in rules; may be given several times
        #[arg(short, long, value_name = "FILE")]
        rules: Vec<PathBuf>,
    },
    /// Test the rules of a file with their examples and counter-examples
    ///
    /// Each rule must be valid, find the secret in each of its examples, and find nothing in its
    /// counter-examples. In an example, `{secret}` stands for a generated secret in the format of
    /// the rule; in a counter-example, `{wrong}` stands for one with a wrong checksum. The exit
    /// code is 1 if a rule fails or the file has no rules.
    Test {
        /// The rule file, written for heist or gitleaks
        file: PathBuf,
    },
}

/// The output format of `heist rules list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFormat {
    /// One line per rule
    #[default]
    Text,
    /// One JSON array
    Json,
}

/// Runs `heist rules`.
///
/// # Errors
/// A rule file cannot be used, a rule id is unknown, or stdout cannot be written to.
pub(crate) fn run(command: &RulesCommand, messages: &Messages) -> Result<Exit, CliError> {
    let mut out = Vec::new();
    let exit = match command {
        RulesCommand::List { format, rules } => {
            let rules = load(&named(rules), &RuleLoader::new(), messages, false)?;
            list(&rules, *format, &mut out).map_err(CliError::WriteStdout)?;
            Exit::Success
        }
        RulesCommand::Show { id, rules } => {
            let chosen = load(&named(rules), &RuleLoader::new(), messages, false)?
                .only(std::slice::from_ref(id))?;
            let written = chosen.rules.iter().try_for_each(|rule| show(rule, &mut out));
            written.map_err(CliError::WriteStdout)?;
            Exit::Success
        }
        RulesCommand::Test { file } => test(file, messages, &mut out)?,
    };
    print(&out)?;
    Ok(exit)
}

fn list(rules: &RuleSet, format: RulesFormat, out: &mut Vec<u8>) -> io::Result<()> {
    let mut sorted: Vec<&Rule> = rules.rules.iter().collect();
    sorted.sort_by(|first, second| first.id.cmp(&second.id));
    match format {
        RulesFormat::Text => {
            let width = sorted.iter().map(|rule| rule.id.width()).max().unwrap_or_default();
            for rule in sorted {
                let id = escape::visible(&rule.id);
                let padding = " ".repeat(width.saturating_sub(rule.id.width()));
                let description = escape::visible(&rule.description);
                writeln!(out, "{id}{padding}  {:<7}  {description}", confidence(rule))?;
            }
            Ok(())
        }
        RulesFormat::Json => {
            write_array(out, sorted, |out, rule| write_json(rule, out))?;
            out.write_all(b"\n")
        }
    }
}

/// Returns the highest confidence that a finding of the rule can have.
fn confidence(rule: &Rule) -> &'static str {
    if rule.checksum.is_some() { "certain" } else { rule.confidence.as_str() }
}

fn write_json(rule: &Rule, out: &mut impl Write) -> io::Result<()> {
    let texts = |out: &mut _, texts: &[String]| {
        write_array(out, texts, |out, text| escape::write_json_string(out, text.as_bytes()))
    };
    let mut object = JsonObject::begin(out)?;
    object.text("id", &rule.id)?;
    object.text("description", &rule.description)?;
    object.text("remedy", &rule.remedy)?;
    object.text("confidence", confidence(rule))?;
    object.plain("generic", rule.generic)?;
    let (kind, pattern) = pattern(rule);
    object.text("kind", kind)?;
    if let Some(pattern) = pattern {
        object.text("pattern", pattern)?;
    }
    if let Some(path) = &rule.path {
        object.text("path", path)?;
    }
    if let Some(checksum) = rule.checksum {
        object.text("checksum", checksum.as_str())?;
    }
    object.plain("max_length", rule.max_length)?;
    texts(object.field("keywords")?, &rule.keywords)?;
    texts(object.field("tags")?, &rule.tags)?;
    object.end()
}

/// Returns the kind of the rule's pattern, and the pattern.
fn pattern(rule: &Rule) -> (&'static str, Option<&str>) {
    match &rule.pattern {
        Pattern::Regex(regex) => ("regex", Some(regex)),
        Pattern::Assignment(regex) => ("assignment", Some(regex)),
        Pattern::Parser(kind) => ("detector", Some(kind.as_str())),
        Pattern::Path => ("path", None),
    }
}

fn named(files: &[PathBuf]) -> Vec<NamedFile> {
    files.iter().cloned().map(NamedFile::trusted).collect()
}

fn show(rule: &Rule, out: &mut Vec<u8>) -> io::Result<()> {
    let mut line = |name: &str, value: &str| {
        if value.is_empty() {
            return Ok(());
        }
        writeln!(out, "{name:<14}{}", escape::visible(value))
    };
    line("rule", &rule.id)?;
    line("finds", &rule.description)?;
    line("confidence", confidence(rule))?;
    line("remedy", &rule.remedy)?;
    let (kind, pattern) = pattern(rule);
    line(kind, pattern.unwrap_or_default())?;
    if let Some(path) = &rule.path {
        line("path", path)?;
    }
    line("keywords", &rule.keywords.join(", "))?;
    if let Some(group) = rule.secret_group {
        line("secret group", &group.to_string())?;
    }
    if let Some(entropy) = rule.entropy {
        line("entropy", &entropy.to_string())?;
    }
    if let Some(checksum) = rule.checksum {
        line("checksum", checksum.as_str())?;
    }
    line("max length", &format!("{} bytes", rule.max_length))?;
    line("generic", if rule.generic { "yes (disabled by --no-generic)" } else { "" })?;
    line("tags", &rule.tags.join(", "))?;
    for allowlist in &rule.allowlists {
        let parts: Vec<&str> = [&allowlist.paths, &allowlist.regexes, &allowlist.stopwords]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        line("allowlist", &parts.join(" | "))?;
    }
    rule.examples.iter().try_for_each(|example| line("example", example))?;
    rule.counter_examples.iter().try_for_each(|example| line("no finding in", example))
}

/// Tests the rules of a file and writes each problem.
fn test(file: &Path, messages: &Messages, out: &mut Vec<u8>) -> Result<Exit, CliError> {
    let rules =
        load_file(&NamedFile::trusted(file.to_owned()), &RuleLoader::new(), messages, false)?.rules;
    let mut problems = check_rules(&rules);
    let examples = rules
        .rules
        .iter()
        .map(|rule| rule.examples.len() + rule.counter_examples.len())
        .sum::<usize>();
    let count = rules.rules.len();
    let detector = SecretDetector::new(rules.clone(), DetectorOptions::default());
    let scratch = RefCell::new(detector.scratch());
    let find = |text: &[u8]| {
        let mut matches = Vec::new();
        // A path without a special meaning to the detector, unlike that of a test.
        let chunk = Chunk::whole(text, Path::new("src/settings"));
        detector.scan(&chunk, &mut scratch.borrow_mut(), &mut matches);
        // Ignore the confidence: a random secret may contain a word, which lowers it.
        let finding = |found: Match| {
            let id = detector.rule(found.rule).id.to_owned();
            // Offsets in a text in memory fit into usize.
            (id, found.secret.start as usize..found.secret.end as usize)
        };
        matches.into_iter().map(finding).collect()
    };
    problems.extend(check_examples(&rules, &find));
    let mut report = || -> io::Result<()> {
        for problem in &problems {
            writeln!(out, "{}", escape::visible(&problem.to_string()))?;
        }
        let verdict = match problems.len() {
            _ if count == 0 => "the file has no rules".to_owned(),
            0 => "all passed".to_owned(),
            1 => "1 problem".to_owned(),
            count => format!("{} problems", grouped(count as u64)),
        };
        let rules = if count == 1 {
            "1 rule".to_owned()
        } else {
            format!("{} rules", grouped(count as u64))
        };
        let examples = grouped(examples as u64);
        writeln!(out, "{rules}, {examples} examples and counter-examples: {verdict}")
    };
    report().map_err(CliError::WriteStdout)?;
    Ok(if problems.is_empty() && count > 0 { Exit::Success } else { Exit::Incomplete })
}
