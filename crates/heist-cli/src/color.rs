//! [`Colors`]: whether output is coloured, and how.
//!
//! `--color` decides first, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether stdout is a
//! terminal that supports colours.

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal as _;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// Use colours if stdout is a terminal, unless the environment says otherwise
    #[default]
    Auto,
    /// Always use colours
    Always,
    /// Never use colours
    Never,
}

/// The parts of the environment that the automatic choice depends on.
#[derive(Clone, Copy, Debug, Default)]
struct ColorEnvironment<'a> {
    no_color: Option<&'a OsStr>,
    force: Option<&'a OsStr>,
    term: Option<&'a OsStr>,
    is_terminal: bool,
}

impl ColorChoice {
    /// Returns the colours of a file: none unless the user asked for them with `--color always`.
    pub(crate) fn colors_of_file(self) -> Colors {
        Colors { enabled: self == Self::Always }
    }

    /// Returns the colours of stdout.
    pub(crate) fn colors(self) -> Colors {
        let variable = |name| std::env::var_os(name);
        let (no_color, force) = (variable("NO_COLOR"), variable("CLICOLOR_FORCE"));
        let term = variable("TERM");
        self.colors_in(ColorEnvironment {
            no_color: no_color.as_deref(),
            force: force.as_deref(),
            term: term.as_deref(),
            is_terminal: std::io::stdout().is_terminal(),
        })
    }

    fn colors_in(self, environment: ColorEnvironment<'_>) -> Colors {
        // By convention, an empty NO_COLOR and a CLICOLOR_FORCE of 0 count as not set.
        let no_color = environment.no_color.is_some_and(|value| !value.is_empty());
        let force = environment.force.is_some_and(|value| !value.is_empty() && value != "0");
        let capable = environment.is_terminal && environment.term.is_none_or(|term| term != "dumb");
        Colors {
            enabled: match self {
                Self::Always => true,
                Self::Never => false,
                Self::Auto => !no_color && (force || capable),
            },
        }
    }
}

/// The part that a piece of text plays in the output; it decides the colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// A size.
    Size,
    /// The name of a file, in the terminal's default colour.
    File,
    /// The name of a directory.
    Directory,
    /// The filled part of a bar.
    Bar,
    /// Less important text: the branches of a tree, the empty part of a bar.
    Faint,
    /// Something to act on now.
    Alarm,
    /// Something to look at.
    Warning,
    /// Good news.
    Good,
    /// A heading above other lines.
    Heading,
}

/// Colours text, or leaves it unchanged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colors {
    enabled: bool,
}

impl Colors {
    /// Returns `text` in the colour of its role.
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

/// Text together with its colour code.
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
    use super::{ColorChoice, ColorEnvironment, Role};
    use std::ffi::OsStr;

    fn value(text: &str) -> Option<&OsStr> {
        Some(OsStr::new(text))
    }

    #[track_caller]
    fn check(choice: ColorChoice, environment: ColorEnvironment<'_>, expected: bool) {
        assert_eq!(choice.colors_in(environment).enabled, expected, "{choice:?} {environment:?}");
    }

    #[test]
    fn the_option_wins_over_no_color_and_no_color_over_force() {
        let plain = ColorEnvironment::default();
        let terminal = ColorEnvironment { is_terminal: true, ..plain };
        check(ColorChoice::Auto, plain, false);
        check(ColorChoice::Auto, terminal, true);
        check(ColorChoice::Auto, ColorEnvironment { term: value("dumb"), ..terminal }, false);
        check(ColorChoice::Auto, ColorEnvironment { no_color: value("1"), ..terminal }, false);
        check(ColorChoice::Auto, ColorEnvironment { no_color: value(""), ..terminal }, true);
        let forced = ColorEnvironment { force: value("1"), ..plain };
        check(ColorChoice::Auto, forced, true);
        check(ColorChoice::Auto, ColorEnvironment { force: value("0"), ..plain }, false);
        check(ColorChoice::Auto, ColorEnvironment { no_color: value("1"), ..forced }, false);
        check(ColorChoice::Always, ColorEnvironment { no_color: value("1"), ..plain }, true);
        check(ColorChoice::Never, ColorEnvironment { is_terminal: true, ..forced }, false);
    }

    #[test]
    fn text_is_unchanged_without_colours() {
        let none = ColorChoice::Never.colors_in(ColorEnvironment::default());
        assert_eq!(none.paint(Role::Size, "1K").to_string(), "1K");
        let all = ColorChoice::Always.colors_in(ColorEnvironment::default());
        assert_eq!(all.paint(Role::Size, "1K").to_string(), "\x1b[32m1K\x1b[0m");
    }
}
