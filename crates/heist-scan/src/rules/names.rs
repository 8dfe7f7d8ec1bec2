//! Selects rules by name or pattern, and suggests the most similar name if no rule matches.

use super::error::{RuleError, RuleErrorKind};
use super::model::{Rule, RuleSet};

impl RuleSet {
    /// Keeps only the rules that one of `names` matches. `*` in a name stands for any characters.
    ///
    /// # Errors
    ///
    /// Returns [`RuleErrorKind::UnknownRule`] if a name matches no rule.
    pub fn only(mut self, names: &[String]) -> Result<Self, RuleError> {
        self.check_names(names)?;
        self.rules.retain(|rule| names.iter().any(|name| matches_name(name, &rule.id)));
        Ok(self)
    }

    /// Removes the rules that one of `names` matches. `*` in a name stands for any characters.
    ///
    /// # Errors
    ///
    /// Returns [`RuleErrorKind::UnknownRule`] if a name matches no rule.
    pub fn except(mut self, names: &[String]) -> Result<Self, RuleError> {
        self.check_names(names)?;
        self.rules.retain(|rule| !names.iter().any(|name| matches_name(name, &rule.id)));
        Ok(self)
    }

    fn check_names(&self, names: &[String]) -> Result<(), RuleError> {
        for name in names {
            if !self.rules.iter().any(|rule| matches_name(name, &rule.id)) {
                return Err(RuleError::new(match family(name, &self.rules) {
                    nearest @ Some(_) => RuleErrorKind::UnknownRule { name: name.clone(), nearest },
                    None => unknown(name, &self.rules),
                }));
            }
        }
        Ok(())
    }
}

/// Returns `true` if `pattern` matches the rule name `id`.
pub(super) fn matches_name(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = id.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        // There is no `*` in the pattern.
        return rest.is_empty();
    };
    for part in parts {
        // The first occurrence is the best one: it leaves the most text for the parts that follow.
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

/// Returns the pattern `name-*` if several rules have that prefix. Without this suggestion `aws`
/// would be corrected to `jwt`, which is closer to it than any rule named `aws-...`.
fn family(name: &str, rules: &[Rule]) -> Option<String> {
    let family = format!("{name}-*");
    let members = rules.iter().filter(|rule| matches_name(&family, &rule.id)).count();
    (!name.is_empty() && members > 1).then_some(family)
}

/// Returns the error for a name that no rule has, with the most similar name as a suggestion.
pub(super) fn unknown(name: &str, rules: &[Rule]) -> RuleErrorKind {
    let nearest = rules.iter().map(|rule| (distance(name, &rule.id), &rule.id)).min();
    // If more than a third of the name differs, the user probably meant something else.
    let near = nearest.filter(|(distance, _)| *distance <= (name.len() / 3).max(2));
    let within =
        || rules.iter().map(|rule| &rule.id).find(|id| name.len() > 2 && id.contains(name));
    let nearest = near.map(|(_, id)| id).or_else(within).cloned();
    RuleErrorKind::UnknownRule { name: name.to_owned(), nearest }
}

/// Returns the edit distance (Levenshtein, in bytes) of two names. Only the first 64 bytes count:
/// names are short, and the limit bounds the time for long input.
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
    fn names_match_exactly_or_by_star() {
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
            assert_eq!(matches_name(pattern, id), expected, "{pattern} {id}");
        }
    }

    #[test]
    fn only_and_except_select_rules_by_name() {
        let rules = set(&["github-pat", "github-app", "npm-token"]);
        let only = rules.clone().only(&names(&["npm-token", "*-pat"])).expect("they exist");
        assert_eq!(ids(&only), ["github-pat", "npm-token"]);
        let except = rules.except(&names(&["github-*"])).expect("they exist");
        assert_eq!(ids(&except), ["npm-token"]);
    }

    #[test]
    fn an_unknown_name_is_an_error_that_suggests_the_nearest_name() {
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
    fn distance_counts_single_byte_edits() {
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
