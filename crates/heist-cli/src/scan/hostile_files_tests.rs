//! The configuration, the policy and the report to import, whatever they contain: a result or an
//! error with a text that is safe to print, and never a panic.

use super::configuration::{Configuration, parse_toml, rule_table};
use super::configuration_error::ConfigurationError;
use super::policy_file::PolicyFile;
use crate::error::CliError;
use crate::escape;
use proptest::prelude::*;
use std::path::Path;

/// Every key of a configuration or a policy, the options of the command line, and other names.
const KEYS: [&str; 48] = [
    "format",
    "baseline",
    "confidence",
    "sorted",
    "no-sorted",
    "generic",
    "no-generic",
    "noise-filter",
    "no-noise-filter",
    "decode",
    "no-decode",
    "max-size",
    "exclude",
    "gitignore",
    "no-gitignore",
    "hidden",
    "no-hidden",
    "binary",
    "no-binary",
    "follow",
    "no-follow",
    "one-file-system",
    "no-one-file-system",
    "threads",
    "timeout",
    "color",
    "progress",
    "no-progress",
    "stats",
    "untrusted",
    "no-untrusted",
    "fail-on-hidden",
    "rules",
    "only",
    "except",
    "output",
    "trace",
    "policy",
    "show-secrets",
    "quiet",
    "forbid",
    "paths",
    "no-",
    "no-no-generic",
    "'\\e[2J'",
    "\"\\u001b[2J\\n\"",
    "\"\u{202e}\"",
    "''",
];

const VALUES: [&str; 34] = [
    "true",
    "false",
    "0",
    "1",
    "-1",
    "3",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "nan",
    "1979-05-27",
    "'high'",
    "'HIGH'",
    "'json'",
    "'10M'",
    "'99999999999999999999T'",
    "'-1'",
    "'90s'",
    "'1e400s'",
    "'18446744073709551616h'",
    "'*.lock'",
    "'['",
    "'../../etc'",
    "'/etc'",
    "['a', 'b']",
    "['no-generic', 'comments', 'rules']",
    "['aws-*', '*']",
    "['']",
    "[1, 'a']",
    "[[]]",
    "{ files = ['a'], only = 'b' }",
    "{ x = 1 }",
    "\"\\u001b]0;x\\u0007\\n\\u202e\"",
    "''",
];

/// Lines of keys and values, now and then with a table, and broken in a place.
fn file() -> impl Strategy<Value = String> {
    let line = (prop::sample::select(&KEYS[..]), prop::sample::select(&VALUES[..]))
        .prop_map(|(key, value)| format!("{key} = {value}\n"));
    let table = prop::sample::select(vec![
        "[rules]\n",
        "[[rules]]\n",
        "[extend]\n",
        "[allowlist]\n",
        "[[allowlists]]\n",
        "[a.b]\n",
        "# comment\n",
        "\u{feff}",
        "\r\n",
        "\0",
        "[",
        "\u{202e}\n",
    ]);
    let part = prop_oneof![8 => line, 1 => table.prop_map(str::to_owned), 1 => ".{0,20}"];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

/// Checks that a text can be printed on a terminal.
fn check_printed(text: &str) {
    assert!(!text.is_empty());
    for line in text.split('\n') {
        assert_eq!(escape::visible(line), line);
    }
}

fn read(text: &str) -> Result<Configuration, ConfigurationError> {
    let table = parse_toml(text)?;
    let _ = rule_table(&table);
    Configuration::of_table(&table, Path::new("heist.toml"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_configuration_is_read_or_refused_with_a_reason(text in file()) {
        match read(&text) {
            Ok(configuration) => {
                // The tree may set the tuning only, so every other key must be listed.
                let privileged = &configuration.privileged;
                for key in &privileged.keys {
                    check_printed(key);
                }
                let only_tuning = privileged.keys.is_empty();
                prop_assert_eq!(*privileged == Default::default(), only_tuning, "{}", text);
                prop_assert_eq!(read(&text), Ok(configuration));
            }
            Err(source) => {
                let error = CliError::Configuration { path: "heist.toml".into(), source };
                check_printed(&error.to_string());
                check_printed(&error.help().expect("a help"));
            }
        }
    }

    #[test]
    fn any_policy_is_read_or_refused_with_a_reason(
        text in file(),
        broken in prop::option::weighted(0.1, any::<u8>()),
    ) {
        let mut bytes = text.into_bytes();
        bytes.extend(broken);
        match PolicyFile::parse(&bytes) {
            Ok(policy) => {
                let text = std::str::from_utf8(&bytes).expect("a policy is UTF-8");
                let table = parse_toml(text).expect("a policy is TOML");
                let known = ["confidence", "rules", "paths", "untrusted", "fail-on-hidden", "forbid"];
                prop_assert!(table.keys().all(|key| known.contains(&key.as_str())), "{}", text);
                prop_assert!(policy.paths.iter().all(|path| path.is_relative()));
                prop_assert_eq!(policy == PolicyFile::default(), demands_nothing(&table));
            }
            Err(error) => {
                check_printed(&error.to_string());
                check_printed(&error.help());
            }
        }
    }
}

fn demands_nothing(table: &toml::Table) -> bool {
    table.values().all(|value| match value {
        toml::Value::Boolean(demanded) => !demanded,
        toml::Value::Array(list) => list.is_empty(),
        _ => false,
    })
}
