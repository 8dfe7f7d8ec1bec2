//! The kinds of secrets that are planted, each with its own generator.
//!
//! The generators follow what vendors publish about their tokens (prefix, length, alphabet,
//! checksum) and do not use any tool's detection rules, heist's included. A kind without a
//! recognizable format is identified by the name beside it, and is always planted with that name.

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
    /// The complete value.
    pub(crate) text: String,
    /// The part of it that must stay secret.
    pub(crate) secret: String,
}

impl Token {
    /// Creates a token whose whole value is secret.
    pub(crate) fn whole(text: String) -> Self {
        Self { secret: text.clone(), text }
    }
}

/// How a secret is written and recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// On one line, in a format that only this vendor uses. It may have any name.
    Typical,
    /// On one line, identified only by its name.
    Named,
    /// On several lines.
    Block,
}

/// How a value is generated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Maker {
    /// A template for [`fill`].
    Template(&'static str),
    Function(fn(&mut Random) -> Token),
}

/// One kind of secret.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecretKind {
    pub(crate) id: &'static str,
    /// The name of variables that hold it, in words.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) maker: Maker,
    /// What stands in the line before it.
    pub(crate) partner: Option<Partner>,
}

/// The other half of a pair: the value that says whose secret it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) form: &'static str,
    /// Whether tools should report it as well. If not, it counts as disputed.
    pub(crate) is_secret: bool,
}

impl SecretKind {
    const fn typical(id: &'static str, name: &'static str, form: &'static str) -> Self {
        Self { id, name, form: Form::Typical, maker: Maker::Template(form), partner: None }
    }

    const fn named(id: &'static str, name: &'static str, form: &'static str) -> Self {
        Self { id, name, form: Form::Named, maker: Maker::Template(form), partner: None }
    }

    const fn made(
        id: &'static str,
        name: &'static str,
        form: Form,
        maker: fn(&mut Random) -> Token,
    ) -> Self {
        Self { id, name, form, maker: Maker::Function(maker), partner: None }
    }

    /// Adds a partner that stands in the line before.
    const fn after(self, partner: Partner) -> Self {
        Self { partner: Some(partner), ..self }
    }

    /// Generates a new secret of this kind.
    pub(crate) fn make(&self, random: &mut Random) -> Token {
        match self.maker {
            Maker::Template(form) => Token::whole(fill(random, form)),
            Maker::Function(maker) => maker(random),
        }
    }
}

/// Returns all kinds, in a fixed order.
pub(crate) fn all() -> impl Iterator<Item = &'static SecretKind> {
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
    fn every_kind_makes_distinct_secrets_that_depend_on_the_seed() {
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
