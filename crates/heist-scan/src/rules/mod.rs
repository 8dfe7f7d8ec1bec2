//! Rules: what each kind of secret looks like, as data.
//!
//! Rules are TOML files in gitleaks' format (version 8) plus a few fields of heist's own, so
//! gitleaks' users can load their files unchanged. A file can extend the built-in rules
//! (`extend.useDefault`) or another file (`extend.path`).
//!
//! | module | purpose |
//! |---|---|
//! | `model` | the types: a rule, an allowlist, a set of rules |
//! | `error` | errors and notes about rules, with file and line |
//! | `budget` | what the rules of files may cost |
//! | `rule_text` | the text of a rule file, and line numbers in it |
//! | `value` | reads TOML values as leniently as gitleaks does |
//! | `file` | reads one file, field by field |
//! | `build` | turns the fields of a file's rule into a [`Rule`] |
//! | `assembly` | merges a file's rules with the rules it extends |
//! | `load` | reads a file and the files it extends |
//! | `syntax` | translates Go's regular expressions to Rust's |
//! | `names` | selects rules by name |
//! | `gitleaks_names` | maps gitleaks' rule names to heist's |
//! | `sample` | generates random secrets that a rule finds |
//! | `check` | checks that a rule is complete and finds its examples |
//! | `data` | the built-in rules |
//!
//! heist adds these fields to gitleaks' own (`id`, `description`, `regex`, `path`, `entropy`,
//! `secretGroup`, `keywords`, `tags`, `allowlists`):
//!
//! | field | meaning |
//! |---|---|
//! | `assignment` | instead of `regex`: matches the whole value assigned to a name that contains a keyword |
//! | `detector` | instead of `regex`: a detector written in Rust |
//! | `confidence` | `low`, `medium`, `high` or `certain` |
//! | `checksum` | a right checksum makes a match certain, a wrong one rules it out |
//! | `maxLength` | the longest match in bytes |
//! | `remedy` | what to do about a finding |
//! | `examples`, `counterExamples` | texts in which the rule finds its secret, or finds nothing |
//! | `generic` | `true` for noisy rules, which `--no-generic` turns off |
//! | `identifier` | `true` if reports show what the rule finds in full, because it only identifies a secret |

mod assembly;
mod budget;
mod build;
mod check;
mod data;
mod error;
mod file;
mod gitleaks_names;
mod load;
mod model;
mod names;
mod rule_text;
mod sample;
pub mod syntax;
mod value;

pub use check::{Find, Problem, check_examples, check_rule, check_rules};
pub use error::{RuleError, RuleErrorKind, RuleNote, RulePlace};
pub use gitleaks_names::our_names;
pub use load::{Loaded, RuleLoader};
pub(crate) use model::KEYWORD_BYTES_MIN;
pub use model::{
    Allowlist, Condition, MAX_LENGTH_DEFAULT, ParserKind, Pattern, REMEDY_DEFAULT, RegexTarget,
    Rule, RuleSet, UnknownParserKind,
};
pub use sample::{Expanded, Sampler, expand_example, sample};
