//! `heist rules`: which rules there are, what one says, and whether those of a file find what they should.

use crate::escape;
use crate::exit::Exit;
use crate::installed::output_failed;
use crate::json::{Object, array};
use crate::messages::Messages;
use crate::scan::rules::{load, load_file, shown};
use crate::units::grouped;
use clap::{Subcommand, ValueEnum};
use heist_scan::rules::{Pattern, Rule, RuleSet, check_examples, check_rules};
use heist_scan::{Chunk, Detector as _, DetectorOptions, Encoding, Match, SecretDetector};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr as _;

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules
    List {
        /// What to print
        #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
        format: RulesFormat,
        /// The rules in FILE instead of the built-in ones. May be given several times
        #[arg(short, long, value_name = "FILE")]
        rules: Vec<PathBuf>,
    },
    /// Show all that a rule says
    Show {
        /// Its name; `heist rules list` has them
        id: String,
        /// The rules in FILE instead of the built-in ones. May be given several times
        #[arg(short, long, value_name = "FILE")]
        rules: Vec<PathBuf>,
    },
    /// Check the rules of a file: that they can be used, find their examples, and find nothing in their
    /// counter-examples
    ///
    /// In an example, `{secret}` stands for a generated secret of the rule's form; in a counter-example also
    /// `{wrong}`, for one of the right form whose checksum is wrong. Ends with 1 if a rule fails, or there is none.
    Test {
        /// A file of rules, written for heist or gitleaks
        file: PathBuf,
    },
}

/// How rules are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFormat {
    /// A line for each
    #[default]
    Text,
    /// One array
    Json,
}

/// Runs `heist rules`.
pub(crate) fn run(command: &RulesCommand, messages: &Messages) -> Exit {
    let mut out = Vec::new();
    let done = match command {
        RulesCommand::List { format, rules } => load(rules, messages, false)
            .map(|rules| (list(&rules, *format, &mut out), Exit::Success)),
        RulesCommand::Show { id, rules } => load(rules, messages, false).and_then(|rules| {
            let only = rules.only(std::slice::from_ref(id)).map_err(|error| shown(&error))?;
            Ok((only.rules.iter().try_for_each(|rule| show(rule, &mut out)), Exit::Success))
        }),
        RulesCommand::Test { file } => test(file, messages, &mut out),
    };
    let (written, exit) = match done {
        Ok(done) => done,
        Err(text) => {
            messages.say(&text);
            return Exit::Usage;
        }
    };
    let mut stdout = io::stdout().lock();
    match written.and_then(|()| stdout.write_all(&out)).and_then(|()| stdout.flush()) {
        Ok(()) => exit,
        Err(error) => output_failed(&error, messages),
    }
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
                writeln!(out, "{id}{padding}  {:<7}  {description}", sureness(rule))?;
            }
            Ok(())
        }
        RulesFormat::Json => {
            array(out, sorted, |out, rule| write_json(rule, out))?;
            out.write_all(b"\n")
        }
    }
}

/// How sure a finding of a rule can be.
fn sureness(rule: &Rule) -> &'static str {
    if rule.checksum.is_some() { "certain" } else { rule.confidence.as_str() }
}

fn write_json(rule: &Rule, out: &mut impl Write) -> io::Result<()> {
    let texts = |out: &mut _, texts: &[String]| {
        array(out, texts, |out, text| escape::write_json_string(out, text.as_bytes()))
    };
    let mut object = Object::begin(out)?;
    object.text("id", &rule.id)?;
    object.text("description", &rule.description)?;
    object.text("remedy", &rule.remedy)?;
    object.text("confidence", sureness(rule))?;
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

/// What kind of pattern it is, and what it is.
fn pattern(rule: &Rule) -> (&'static str, Option<&str>) {
    match &rule.pattern {
        Pattern::Regex(regex) => ("regex", Some(regex)),
        Pattern::Assignment(regex) => ("assignment", Some(regex)),
        Pattern::Parser(kind) => ("detector", Some(kind.as_str())),
        Pattern::Path => ("path", None),
    }
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
    line("confidence", sureness(rule))?;
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
    line("generic", if rule.generic { "yes: left out by --no-generic" } else { "" })?;
    line("tags", &rule.tags.join(", "))?;
    for allowlist in &rule.allowlists {
        let parts: Vec<&str> = [&allowlist.paths, &allowlist.regexes, &allowlist.stopwords]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        line("not if", &parts.join(" | "))?;
    }
    rule.examples.iter().try_for_each(|example| line("example", example))?;
    rule.counter_examples.iter().try_for_each(|example| line("no example", example))
}

/// Checks the rules of a file, and says what is wrong with each.
fn test(
    file: &Path,
    messages: &Messages,
    out: &mut Vec<u8>,
) -> Result<(io::Result<()>, Exit), String> {
    let rules = load_file(file, messages, false)?.rules;
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
        let chunk = Chunk {
            bytes: text,
            owned: 0..text.len(),
            offset: 0,
            is_end: true,
            encoding: Encoding::Plain,
            // Of no kind that is looked at otherwise, as tests are.
            path: Path::new("src/settings"),
        };
        detector.scan(&chunk, &mut scratch.borrow_mut(), &mut matches);
        // Whatever its confidence: a random secret may have a word in it.
        let place = |found: Match| {
            let id = detector.rule(found.rule).id.to_owned();
            // (A text in memory has no more bytes than memory.)
            (id, found.secret.start as usize..found.secret.end as usize)
        };
        matches.into_iter().map(place).collect()
    };
    problems.extend(check_examples(&rules, &find));
    let mut report = || -> io::Result<()> {
        for problem in &problems {
            writeln!(out, "{}", escape::visible(&problem.to_string()))?;
        }
        let verdict = match problems.len() {
            _ if count == 0 => "there is nothing to look for anything with".to_owned(),
            0 => "all as they should be".to_owned(),
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
    let written = report();
    let exit = if problems.is_empty() && count > 0 { Exit::Success } else { Exit::Incomplete };
    Ok((written, exit))
}
