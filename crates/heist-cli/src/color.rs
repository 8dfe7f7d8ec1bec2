//! [`Colors`]: whether output is coloured, and in which colours.
//!
//! `--color` decides first, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether stdout is a terminal that knows
//! colours.

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal as _;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// If stdout is a terminal and the environment does not say otherwise
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What the choice depends on.
#[derive(Clone, Copy, Debug, Default)]
struct Surroundings<'a> {
    no_color: Option<&'a OsStr>,
    force: Option<&'a OsStr>,
    term: Option<&'a OsStr>,
    is_terminal: bool,
}

impl ColorChoice {
    /// No colours, unless they are asked for in so many words: what goes to a file.
    pub(crate) fn colors_of_file(self) -> Colors {
        Colors { enabled: self == Self::Always }
    }

    /// The colours of stdout.
    pub(crate) fn colors(self) -> Colors {
        let variable = |name| std::env::var_os(name);
        let (no_color, force) = (variable("NO_COLOR"), variable("CLICOLOR_FORCE"));
        let term = variable("TERM");
        self.colors_in(Surroundings {
            no_color: no_color.as_deref(),
            force: force.as_deref(),
            term: term.as_deref(),
            is_terminal: std::io::stdout().is_terminal(),
        })
    }

    fn colors_in(self, surroundings: Surroundings<'_>) -> Colors {
        // An empty NO_COLOR asks for nothing; nor does a CLICOLOR_FORCE of 0.
        let no_color = surroundings.no_color.is_some_and(|value| !value.is_empty());
        let force = surroundings.force.is_some_and(|value| !value.is_empty() && value != "0");
        let capable =
            surroundings.is_terminal && surroundings.term.is_none_or(|term| term != "dumb");
        Colors {
            enabled: match self {
                Self::Always => true,
                Self::Never => false,
                Self::Auto => !no_color && (force || capable),
            },
        }
    }
}

/// What is coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// A size.
    Size,
    /// The name of a file: the terminal's own colour.
    File,
    /// The name of a directory.
    Directory,
    /// A bar's filled part.
    Bar,
    /// What matters less: a tree's lines, a bar's empty part.
    Faint,
    /// What has to be dealt with now.
    Alarm,
    /// What has to be looked at.
    Warning,
    /// What is well.
    Good,
    /// What stands at the head of other lines.
    Heading,
}

/// Puts text into colours, or leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colors {
    enabled: bool,
}

impl Colors {
    /// `text` in the colour of its role.
    pub(crate) fn paint<T: fmt::Display>(self, role: Role, text: T) -> Painted<T> {
        let code = match role {
            Role::File => None,
            Role::Size => Some("32"),
            Role::Directory => Some("1;34"),
            Role::Bar => Some("36"),
            Role::Faint => Some("2"),
            Role::Alarm => Some("1;31"),
            Role::Warning => Some("33"),
            Role::Good => Some("32"),
            Role::Heading => Some("1"),
        };
        Painted { code: code.filter(|_| self.enabled), text }
    }
}

/// Text with its colour.
#[derive(Debug)]
pub(crate) struct Painted<T> {
    code: Option<&'static str>,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "\x1b[{code}m{}\x1b[0m", self.text),
            None => self.text.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColorChoice, Role, Surroundings};
    use std::ffi::OsStr;

    fn value(text: &str) -> Option<&OsStr> {
        Some(OsStr::new(text))
    }

    #[track_caller]
    fn check(choice: ColorChoice, surroundings: Surroundings<'_>, expected: bool) {
        assert_eq!(choice.colors_in(surroundings).enabled, expected, "{choice:?} {surroundings:?}");
    }

    #[test]
    fn the_environment_is_asked_in_its_order() {
        let plain = Surroundings::default();
        let terminal = Surroundings { is_terminal: true, ..plain };
        check(ColorChoice::Auto, plain, false);
        check(ColorChoice::Auto, terminal, true);
        check(ColorChoice::Auto, Surroundings { term: value("dumb"), ..terminal }, false);
        check(ColorChoice::Auto, Surroundings { no_color: value("1"), ..terminal }, false);
        check(ColorChoice::Auto, Surroundings { no_color: value(""), ..terminal }, true);
        let forced = Surroundings { force: value("1"), ..plain };
        check(ColorChoice::Auto, forced, true);
        check(ColorChoice::Auto, Surroundings { force: value("0"), ..plain }, false);
        check(ColorChoice::Auto, Surroundings { no_color: value("1"), ..forced }, false);
        check(ColorChoice::Always, Surroundings { no_color: value("1"), ..plain }, true);
        check(ColorChoice::Never, Surroundings { is_terminal: true, ..forced }, false);
    }

    #[test]
    fn without_colours_text_is_as_it_was() {
        let none = ColorChoice::Never.colors_in(Surroundings::default());
        assert_eq!(none.paint(Role::Size, "1K").to_string(), "1K");
        let all = ColorChoice::Always.colors_in(Surroundings::default());
        assert_eq!(all.paint(Role::Size, "1K").to_string(), "\x1b[32m1K\x1b[0m");
    }
}
