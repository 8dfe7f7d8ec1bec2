//! Names of rules: which rules a pattern means, and which name comes nearest to one that nobody has.

use super::error::{RuleError, RuleErrorKind};
use super::model::{Rule, RuleSet};

impl RuleSet {
    /// The rules that one of `names` means; `*` in a name stands for any characters.
    ///
    /// # Errors
    ///
    /// A name means no rule.
    pub fn only(mut self, names: &[String]) -> Result<Self, RuleError> {
        self.check_names(names)?;
        self.rules.retain(|rule| names.iter().any(|name| means(name, &rule.id)));
        Ok(self)
    }

    /// The rules that none of `names` means; `*` in a name stands for any characters.
    ///
    /// # Errors
    ///
    /// A name means no rule.
    pub fn except(mut self, names: &[String]) -> Result<Self, RuleError> {
        self.check_names(names)?;
        self.rules.retain(|rule| !names.iter().any(|name| means(name, &rule.id)));
        Ok(self)
    }

    fn check_names(&self, names: &[String]) -> Result<(), RuleError> {
        for name in names {
            if !self.rules.iter().any(|rule| means(name, &rule.id)) {
                return Err(RuleError::new(match family(name, &self.rules) {
                    nearest @ Some(_) => RuleErrorKind::UnknownRule { name: name.clone(), nearest },
                    None => unknown(name, &self.rules),
                }));
            }
        }
        Ok(())
    }
}

/// Whether `pattern` means the rule `id`.
pub(super) fn means(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = id.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        // No `*` at all.
        return rest.is_empty();
    };
    for part in parts {
        // The first place is the best: it leaves the most.
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

/// The pattern for the rules whose names begin with `name`, if there are several. Without it `aws` would be taken for a
/// misspelt `jwt`, which is nearer than each of them.
fn family(name: &str, rules: &[Rule]) -> Option<String> {
    let family = format!("{name}-*");
    let members = rules.iter().filter(|rule| means(&family, &rule.id)).count();
    (!name.is_empty() && members > 1).then_some(family)
}

/// The error for a name that no rule has, with what was perhaps meant.
pub(super) fn unknown(name: &str, rules: &[Rule]) -> RuleErrorKind {
    let nearest = rules.iter().map(|rule| (distance(name, &rule.id), &rule.id)).min();
    // More than a third wrong is another name.
    let near = nearest.filter(|(distance, _)| *distance <= (name.len() / 3).max(2));
    let within =
        || rules.iter().map(|rule| &rule.id).find(|id| name.len() > 2 && id.contains(name));
    let nearest = near.map(|(_, id)| id).or_else(within).cloned();
    RuleErrorKind::UnknownRule { name: name.to_owned(), nearest }
}

/// How many bytes have to be put in, taken out or changed to come from one to the other. Names are short; of a longer
/// one the beginning counts.
fn distance(left: &str, right: &str) -> usize {
    const COUNTED: usize = 64;
    let left = &left.as_bytes()[..left.len().min(COUNTED)];
    let right = &right.as_bytes()[..right.len().min(COUNTED)];
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, &from) in (1..).zip(left) {
        let mut diagonal = row[0];
        row[0] = above;
        for (column, &to) in right.iter().enumerate() {
            let changed = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Pattern;

    fn set(ids: &[&str]) -> RuleSet {
        let rules = ids.iter().map(|&id| Rule::new(id, Pattern::Path)).collect();
        RuleSet { rules, allowlists: Vec::new() }
    }

    fn ids(set: &RuleSet) -> Vec<&str> {
        set.rules.iter().map(|rule| rule.id.as_str()).collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn patterns_mean_rules() {
        for (pattern, id, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*b", "ab", true),
            ("aa*aa", "aaa", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*a*a*", "a", false),
            ("**", "x", true),
            ("*-token", "npm-token", true),
        ] {
            assert_eq!(means(pattern, id), expected, "{pattern} {id}");
        }
    }

    #[test]
    fn rules_are_chosen() {
        let rules = set(&["github-pat", "github-app", "npm-token"]);
        let only = rules.clone().only(&names(&["npm-token", "*-pat"])).expect("they exist");
        assert_eq!(ids(&only), ["github-pat", "npm-token"]);
        let except = rules.except(&names(&["github-*"])).expect("they exist");
        assert_eq!(ids(&except), ["npm-token"]);
    }

    #[test]
    fn a_name_of_no_rule_is_an_error_with_the_nearest() {
        let rules = set(&["github-pat", "github-app", "npm-token"]);
        for (name, nearest) in [
            ("github-pta", Some("github-pat")),
            ("npmtoken", Some("npm-token")),
            ("npm", Some("npm-token")),
            ("github", Some("github-*")),
            ("something-else", None),
            ("gitlab-*", None),
        ] {
            let error = rules.clone().only(&names(&["npm-token", name])).expect_err("no such rule");
            let RuleErrorKind::UnknownRule { name: named, nearest: found } = error.kind else {
                panic!("{error}");
            };
            assert_eq!((named.as_str(), found.as_deref()), (name, nearest));
            assert!(rules.clone().except(&names(&[name])).is_err());
        }
    }

    #[test]
    fn distances() {
        for (left, right, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "abd", 1),
            ("abc", "bc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(left, right), expected);
            assert_eq!(distance(right, left), expected);
        }
    }
}
