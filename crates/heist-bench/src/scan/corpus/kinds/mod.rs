//! The kinds of secrets that are planted, each with a generator of its own.
//!
//! They are written from what vendors publish about their tokens (prefix, length, alphabet, checksum), and know nothing
//! of anybody's rules: not of ours either. A kind that has no form of its own is known by the name beside it, and is
//! never planted without.

mod artificial;
pub(crate) mod cloud;
mod code;
mod context;
pub(crate) mod keys;
mod services;

use super::alphabet::fill;
use crate::walk::trees::random::Random;

/// A secret as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// All of the value.
    pub(crate) text: String,
    /// The part of it that nobody may know.
    pub(crate) secret: String,
}

impl Token {
    /// A value that is secret as a whole.
    pub(crate) fn whole(text: String) -> Self {
        Self { secret: text.clone(), text }
    }
}

/// How a secret is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// On one line, and nothing but this vendor's looks like it: it may go by any name.
    Typical,
    /// On one line, and only its name says what it is.
    Named,
    /// On several lines.
    Block,
}

/// How a value is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Maker {
    /// A form for [`fill`].
    Form(&'static str),
    Function(fn(&mut Random) -> Token),
}

/// One kind of secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) id: &'static str,
    /// What variables with it are called, in words.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) maker: Maker,
    /// What stands in the line before it.
    pub(crate) partner: Option<Partner>,
}

/// The half of a pair that says whose the secret is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) form: &'static str,
    /// Whether it should be reported too; if not, opinions differ.
    pub(crate) is_secret: bool,
}

impl Kind {
    const fn typical(id: &'static str, name: &'static str, form: &'static str) -> Self {
        Self { id, name, form: Form::Typical, maker: Maker::Form(form), partner: None }
    }

    const fn named(id: &'static str, name: &'static str, form: &'static str) -> Self {
        Self { id, name, form: Form::Named, maker: Maker::Form(form), partner: None }
    }

    const fn made(
        id: &'static str,
        name: &'static str,
        form: Form,
        maker: fn(&mut Random) -> Token,
    ) -> Self {
        Self { id, name, form, maker: Maker::Function(maker), partner: None }
    }

    /// The same kind after a line with its other half.
    const fn after(self, partner: Partner) -> Self {
        Self { partner: Some(partner), ..self }
    }

    /// A new secret of this kind.
    pub(crate) fn make(&self, random: &mut Random) -> Token {
        match self.maker {
            Maker::Form(form) => Token::whole(fill(random, form)),
            Maker::Function(maker) => maker(random),
        }
    }
}

/// All kinds, in a fixed order.
pub(crate) fn all() -> impl Iterator<Item = &'static Kind> {
    [code::KINDS, cloud::KINDS, services::KINDS, artificial::KINDS, context::KINDS, keys::KINDS]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_enough_and_their_names_differ() {
        let partners = all().filter_map(|kind| kind.partner).map(|partner| partner.id);
        let names: Vec<_> = all().map(|kind| kind.id).chain(partners).collect();
        let ids: HashSet<_> = names.iter().collect();
        assert_eq!(ids.len(), names.len());
        assert!(ids.len() >= 60, "{}", ids.len());
    }

    #[test]
    fn every_kind_makes_new_secrets_that_its_seed_decides() {
        for kind in all() {
            let mut random = Random::new(11);
            let (first, second) = (kind.make(&mut random), kind.make(&mut random));
            assert_ne!(first, second, "{}", kind.id);
            assert_eq!(first, kind.make(&mut Random::new(11)), "{}", kind.id);
            assert!(first.text.contains(&first.secret), "{}", kind.id);
            assert_eq!(first.text.contains('\n'), kind.form == Form::Block, "{}", kind.id);
        }
    }
}
