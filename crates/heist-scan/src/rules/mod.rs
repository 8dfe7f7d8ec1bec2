//! Rules: what secrets look like, as data.
//!
//! Rules are TOML: gitleaks' format (version 8) with a few fields more, so that its users' files load as they are. A
//! file can build upon the built-in rules (`extend.useDefault`) or upon another file (`extend.path`).
//!
//! | file | idea |
//! |---|---|
//! | `model` | what a rule is |
//! | `error` | what is wrong with rules, and where |
//! | `source` | the text of a file, and its lines |
//! | `value` | values of TOML as rules want them |
//! | `file` | what one file says |
//! | `build` | from what is said to a rule |
//! | `assembly` | a file's rules put together with those that it extends |
//! | `load` | reading files and what they extend |
//! | `syntax` | from Go's regular expressions to Rust's |
//! | `names` | choosing rules by name |
//! | `gitleaks_names` | what gitleaks calls otherwise |
//! | `sample` | random secrets that a rule finds |
//! | `check` | whether rules are as they should be |
//! | `data` | the built-in ones |
//!
//! Fields of a rule besides gitleaks' (`id`, `description`, `regex`, `path`, `entropy`, `secretGroup`, `keywords`,
//! `tags`, `allowlists`):
//!
//! | field | meaning |
//! |---|---|
//! | `assignment` | in place of `regex`: what the whole value looks like that is assigned to a name with a keyword |
//! | `detector` | in place of `regex`: a hand-written detector |
//! | `confidence` | `low`, `medium`, `high` or `certain` |
//! | `checksum` | by which a match is certain, or none |
//! | `maxLength` | the longest match in bytes |
//! | `remedy` | what to do about a finding |
//! | `examples`, `counterExamples` | texts in which the rule finds its secret, or nothing |
//! | `generic` | of the noisy kinds |

mod assembly;
mod build;
mod check;
mod data;
mod error;
mod file;
mod gitleaks_names;
mod load;
mod model;
mod names;
mod sample;
mod source;
pub mod syntax;
mod value;

pub use check::{Find, Problem, check_examples, check_rule, check_rules};
pub use error::{RuleError, RuleErrorKind, RuleNote, RulePlace};
pub use gitleaks_names::our_names;
pub use load::Loaded;
pub(crate) use model::KEYWORD_BYTES_MIN;
pub use model::{
    Allowlist, Condition, MAX_LENGTH_DEFAULT, ParserKind, Pattern, REMEDY_DEFAULT, RegexTarget,
    Rule, RuleSet, UnknownParserKind,
};
pub use sample::{Expanded, Sampler, expand_example, sample};
