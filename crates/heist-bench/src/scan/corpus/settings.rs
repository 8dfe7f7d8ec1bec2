//! The kinds of files that items are planted in, and how each writes a name and a value.

use super::alphabet::{base64, draw, pick};
use crate::walk::trees::random::Random;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Setting {
    Environment,
    Yaml,
    Json,
    Terraform,
    Python,
    JavaScript,
    Go,
    Java,
    Shell,
    Dockerfile,
    Ini,
    BuildPipeline,
    Log,
    Notebook,
    Sql,
    Xml,
    /// Values in base64, as `kubectl` prints them.
    Kubernetes,
    /// Text in UTF-16 with a byte-order mark, as Windows exports its registry.
    Registry,
    /// A key and nothing else.
    KeyFile,
}

impl Setting {
    /// Settings for values of one line.
    pub(crate) const OF_VALUES: [Self; 18] = [
        Self::Environment,
        Self::Yaml,
        Self::Json,
        Self::Terraform,
        Self::Python,
        Self::JavaScript,
        Self::Go,
        Self::Java,
        Self::Shell,
        Self::Dockerfile,
        Self::Ini,
        Self::BuildPipeline,
        Self::Log,
        Self::Notebook,
        Self::Sql,
        Self::Xml,
        Self::Kubernetes,
        Self::Registry,
    ];

    /// Settings for values of several lines.
    pub(crate) const OF_BLOCKS: [Self; 9] = [
        Self::KeyFile,
        Self::Yaml,
        Self::Json,
        Self::Environment,
        Self::Python,
        Self::Terraform,
        Self::Kubernetes,
        Self::Shell,
        Self::JavaScript,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Yaml => "yaml",
            Self::Json => "json",
            Self::Terraform => "terraform",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Go => "go",
            Self::Java => "java",
            Self::Shell => "shell",
            Self::Dockerfile => "dockerfile",
            Self::Ini => "ini",
            Self::BuildPipeline => "pipeline",
            Self::Log => "log",
            Self::Notebook => "notebook",
            Self::Sql => "sql",
            Self::Xml => "xml",
            Self::Kubernetes => "kubernetes (base64)",
            Self::Registry => "registry (UTF-16)",
            Self::KeyFile => "key file",
        }
    }

    /// Returns a path that is unique to the number.
    pub(crate) fn path(self, number: usize, random: &mut Random) -> String {
        let team = pick(random, &["billing", "orders", "search", "identity", "shipping", "media"]);
        match self {
            Self::Environment => format!("services/{team}-{number}/.env.production"),
            Self::Yaml => format!("config/{team}-{number}/application.yaml"),
            Self::Json => format!("config/{team}-{number}.json"),
            Self::Terraform => format!("infrastructure/{team}/main-{number}.tf"),
            Self::Python => format!("src/{team}/settings_{number}.py"),
            Self::JavaScript => format!("web/{team}/config-{number}.js"),
            Self::Go => format!("cmd/{team}/config_{number}.go"),
            Self::Java => format!("backend/src/main/java/corp/{team}/Config{number}.java"),
            Self::Shell => format!("scripts/deploy-{team}-{number}.sh"),
            Self::Dockerfile => format!("images/{team}-{number}/Dockerfile"),
            Self::Ini => format!("etc/{team}-{number}.ini"),
            Self::BuildPipeline => format!("ci/workflows/{team}-{number}.yml"),
            Self::Log => format!("var/log/{team}-{number}.log"),
            Self::Notebook => format!("notebooks/{team}-{number}.ipynb"),
            Self::Sql => format!("dumps/{team}-{number}.sql"),
            Self::Xml => format!("legacy/{team}-{number}/Web.config"),
            Self::Kubernetes => format!("manifests/{team}-{number}.yaml"),
            Self::Registry => format!("windows/{team}-{number}.reg"),
            Self::KeyFile => format!("ops/{team}-{number}.pem"),
        }
    }

    /// Returns the lines before and after the items.
    pub(crate) fn frame(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Json => (&["{", "  \"version\": 3,"], &["  \"enabled\": true", "}"]),
            Self::Yaml => (&["---", "application:"], &[]),
            Self::Terraform => (&["resource \"corp_service\" \"main\" {"], &["}"]),
            Self::Python => (&["import os", "", "from corp import Client", ""], &[]),
            Self::JavaScript => (&["'use strict';", ""], &["", "module.exports = { start };"]),
            Self::Go => (&["package config", "", "const ("], &[")"]),
            Self::Java => (&["package corp;", "", "public final class Config {"], &["}"]),
            Self::Shell => (&["#!/bin/bash", "set -euo pipefail"], &["./deploy --wait"]),
            Self::Dockerfile => {
                (&["FROM debian:bookworm-slim", "WORKDIR /srv"], &["CMD [\"/srv/run\"]"])
            }
            Self::Ini => (&["[service]"], &[]),
            Self::BuildPipeline => (
                &[
                    "name: deploy",
                    "on: [push]",
                    "jobs:",
                    "  deploy:",
                    "    runs-on: linux",
                    "    env:",
                ],
                &["    steps:", "      - run: make deploy"],
            ),
            Self::Notebook => (
                &["{", " \"cells\": [", "  {", "   \"cell_type\": \"code\",", "   \"source\": ["],
                &["    \"run()\"", "   ]", "  }", " ],", " \"nbformat\": 4", "}"],
            ),
            Self::Sql => (
                &["CREATE TABLE settings (id integer, name text, value text, changed timestamp);"],
                &["COMMIT;"],
            ),
            Self::Xml => {
                (&["<configuration>", "  <appSettings>"], &["  </appSettings>", "</configuration>"])
            }
            Self::Kubernetes => {
                (&["apiVersion: v1", "kind: Secret", "metadata:", "  name: app", "data:"], &[])
            }
            Self::Registry => (
                &[
                    "Windows Registry Editor Version 5.00",
                    "",
                    "[HKEY_LOCAL_MACHINE\\SOFTWARE\\Corp]",
                ],
                &[],
            ),
            Self::Environment | Self::Log | Self::KeyFile => (&[], &[]),
        }
    }

    /// Returns the value as it stands in the file.
    pub(crate) fn shown(self, value: &str) -> String {
        match self {
            Self::Kubernetes => base64(value.as_bytes()),
            _ => value.to_owned(),
        }
    }

    /// Returns a line that assigns the value to the name.
    pub(crate) fn line(self, words: &str, value: &str, random: &mut Random) -> String {
        let value = self.shown(value);
        let even = random.below(2) == 0;
        match self {
            Self::Environment if even => format!("{}={value}", upper(words)),
            Self::Environment => format!("{}=\"{value}\"", upper(words)),
            Self::Yaml if even => format!("  {}: \"{value}\"", snake(words)),
            Self::Yaml => format!("  {}: '{value}'", camel(words)),
            Self::Json => {
                format!("  \"{}\": \"{value}\",", if even { camel(words) } else { snake(words) })
            }
            Self::Terraform => format!("  {} = \"{value}\"", snake(words)),
            Self::Python if even => format!("{} = \"{value}\"", upper(words)),
            Self::Python => format!("client = Client({}='{value}')", snake(words)),
            Self::JavaScript if even => format!("const {} = '{value}';", camel(words)),
            Self::JavaScript => format!("start({{ {}: \"{value}\" }});", camel(words)),
            Self::Go => format!("\t{} = \"{value}\"", camel(words)),
            Self::Java => {
                format!("    private static final String {} = \"{value}\";", upper(words))
            }
            Self::Shell if even => format!("export {}='{value}'", upper(words)),
            Self::Shell => {
                format!("curl -fsS -H \"X-{}: {value}\" https://api.corp.internal/v1", kebab(words))
            }
            Self::Dockerfile => format!("ENV {}=\"{value}\"", upper(words)),
            Self::Ini => format!("{} = {value}", snake(words)),
            Self::BuildPipeline => format!("      {}: \"{value}\"", upper(words)),
            Self::Log => {
                let time = draw(random, 'd', 3);
                format!(
                    "2026-03-01T12:07:41.{time}Z DEBUG client: sent {}={value} in 12 ms",
                    snake(words)
                )
            }
            Self::Notebook => format!("    \"{} = \\\"{value}\\\"\\n\",", snake(words)),
            Self::Sql => {
                let number = random.below(90_000);
                format!(
                    "INSERT INTO settings VALUES ({number}, '{}', '{value}', '2026-03-01 12:07:41');",
                    snake(words)
                )
            }
            Self::Xml => format!("    <add key=\"{}\" value=\"{value}\" />", pascal(words)),
            Self::Kubernetes => format!("  {}: {value}", kebab(words)),
            Self::Registry => format!("\"{}\"=\"{value}\"", pascal(words)),
            Self::KeyFile => value,
        }
    }

    /// Returns the lines that assign a multi-line value to the name, and which of them hold the
    /// value.
    pub(crate) fn block(self, words: &str, value: &str) -> (Vec<String>, std::ops::Range<usize>) {
        let inner = value.lines().map(str::to_owned);
        let framed = |first: Vec<String>, inner: Vec<String>, last: Vec<String>| {
            let range = first.len()..first.len() + inner.len();
            ([first, inner, last].concat(), range)
        };
        let escaped = value.replace('\n', "\\n");
        let one = |line: String| (vec![line], 0..1);
        match self {
            Self::Yaml => {
                let inner = inner.map(|line| format!("    {line}")).collect();
                framed(vec![format!("  {}: |", snake(words))], inner, Vec::new())
            }
            Self::Python => {
                let mut lines: Vec<String> = inner.collect();
                lines[0] = format!("{} = \"\"\"{}", upper(words), lines[0]);
                framed(Vec::new(), lines, vec!["\"\"\"".to_owned()])
            }
            Self::Terraform => framed(
                vec![format!("  {} = <<EOT", snake(words))],
                inner.collect(),
                vec!["EOT".to_owned()],
            ),
            Self::Shell => framed(
                vec![format!("cat > {}.pem <<'EOF'", kebab(words))],
                inner.collect(),
                vec!["EOF".to_owned()],
            ),
            Self::Json => one(format!("  \"{}\": \"{escaped}\\n\",", snake(words))),
            Self::Environment => one(format!("{}=\"{escaped}\\n\"", upper(words))),
            Self::JavaScript => one(format!("const {} = '{escaped}\\n';", camel(words))),
            Self::Kubernetes => one(format!("  {}: {}", kebab(words), base64(value.as_bytes()))),
            _ => framed(Vec::new(), inner.collect(), Vec::new()),
        }
    }

    /// Encodes the lines as the content of a file.
    pub(crate) fn encode(self, lines: &[String]) -> Vec<u8> {
        match self {
            Self::Registry => {
                let text = format!("\u{feff}{}\r\n", lines.join("\r\n"));
                text.encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
            _ => (lines.join("\n") + "\n").into_bytes(),
        }
    }
}

fn snake(words: &str) -> String {
    words.replace(' ', "_")
}

fn upper(words: &str) -> String {
    snake(words).to_uppercase()
}

fn kebab(words: &str) -> String {
    words.replace(' ', "-")
}

fn pascal(words: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.split(' ').map(capital).collect()
}

fn camel(words: &str) -> String {
    let pascal = pascal(words);
    pascal[..1].to_lowercase() + &pascal[1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_each_language_does() {
        let words = "db password";
        assert_eq!(
            [snake(words), upper(words), kebab(words), pascal(words), camel(words)],
            ["db_password", "DB_PASSWORD", "db-password", "DbPassword", "dbPassword"]
        );
    }

    #[test]
    fn lines_and_blocks_hold_their_value() {
        let mut random = Random::new(3);
        for setting in Setting::OF_VALUES {
            let line = setting.line("db password", "value", &mut random);
            assert!(line.contains(&setting.shown("value")) && !line.contains('\n'), "{line}");
        }
        for setting in Setting::OF_BLOCKS {
            let (lines, range) = setting.block("signing key", "first\nsecond");
            assert!(lines.iter().all(|line| !line.contains('\n')));
            if range.len() == 2 {
                assert!(lines[range.start].ends_with("first"), "{lines:?}");
                assert!(lines[range.end - 1].ends_with("second"), "{lines:?}");
            } else {
                assert_eq!(range, 0..1, "{lines:?}");
            }
        }
    }

    #[test]
    fn the_registry_is_in_utf_16() {
        let bytes = Setting::Registry.encode(&["ab".to_owned()]);
        assert_eq!(bytes, [0xff, 0xfe, b'a', 0, b'b', 0, b'\r', 0, b'\n', 0]);
    }
}
