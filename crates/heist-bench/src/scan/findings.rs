//! What scanners report, each in a format of its own, read into one form.
//!
//! Lines that are not understood are left out: some tools mix summaries with findings.

use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::Value;

/// Something that a tool says is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// As the tool names the file.
    pub(crate) path: String,
    /// Counted from 1; `None` if the tool does not say.
    pub(crate) lines: Option<RangeInclusive<u64>>,
    /// The secret, or texts that have it in them; empty if the tool does not show it.
    pub(crate) texts: Vec<String>,
}

impl Finding {
    /// The file's path below the root of the scan, if it is there.
    pub(crate) fn below(&self, root: &Path) -> Option<String> {
        let path = Path::new(&self.path);
        // Some tools name files from the root of the scan on, and not with it.
        let path = path
            .strip_prefix(root)
            .or_else(|no_prefix| if path.is_relative() { Ok(path) } else { Err(no_prefix) });
        Some(path.ok()?.to_str()?.trim_start_matches("./").to_owned())
    }
}

/// How a tool prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Nothing about findings.
    None,
    /// One JSON object a line: `heist scan --format jsonl`.
    Heist,
    Kingfisher,
    TruffleHog,
    /// One JSON document.
    Gitleaks,
    DetectSecrets,
    /// Lines of `path:line:text`.
    Lines,
}

impl Format {
    /// Everything that was reported.
    ///
    /// # Errors
    /// If the output cannot be read, or is not what the tool is known to print.
    pub(crate) fn read(self, output: &mut dyn Read) -> io::Result<Vec<Finding>> {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let objects = || text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(match self {
            Self::None => Vec::new(),
            Self::Heist => objects().filter_map(|object| heist(&object)).collect(),
            Self::Kingfisher => objects().filter_map(|object| kingfisher(&object)).collect(),
            Self::TruffleHog => objects().filter_map(|object| truffle_hog(&object)).collect(),
            Self::Gitleaks => match whole(&text)? {
                Value::Array(all) => all.iter().filter_map(gitleaks).collect(),
                _ => Vec::new(),
            },
            Self::DetectSecrets => detect_secrets(&whole(&text)?),
            Self::Lines => text.lines().filter_map(line).collect(),
        })
    }
}

fn whole(text: &str) -> io::Result<Value> {
    if text.trim().is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(text)?) }
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn one_line(value: &Value) -> Option<RangeInclusive<u64>> {
    value.as_u64().map(|line| line..=line)
}

fn heist(object: &Value) -> Option<Finding> {
    let first = object["line"].as_u64()?;
    let last = object["end_line"].as_u64().unwrap_or(first);
    Some(Finding {
        path: string(&object["path"])?,
        lines: Some(first..=last),
        texts: string(&object["secret"]).into_iter().collect(),
    })
}

fn kingfisher(object: &Value) -> Option<Finding> {
    let finding = object.get("finding")?;
    Some(Finding {
        path: string(&finding["path"])?,
        lines: one_line(&finding["line"]),
        texts: string(&finding["snippet"]).into_iter().collect(),
    })
}

fn truffle_hog(object: &Value) -> Option<Finding> {
    let place = &object["SourceMetadata"]["Data"]["Filesystem"];
    let texts = ["Raw", "RawV2"].iter().filter_map(|field| string(&object[field]));
    Some(Finding {
        path: string(&place["file"])?,
        // Some versions count lines from 0, some from 1, and some leave them out.
        lines: None,
        texts: texts.filter(|text| !text.is_empty()).collect(),
    })
}

fn gitleaks(object: &Value) -> Option<Finding> {
    let first = object["StartLine"].as_u64()?;
    let last = object["EndLine"].as_u64().unwrap_or(first).max(first);
    Some(Finding {
        path: string(&object["File"])?,
        lines: Some(first..=last),
        texts: string(&object["Secret"]).into_iter().collect(),
    })
}

/// It shows a hash of the secret only.
fn detect_secrets(document: &Value) -> Vec<Finding> {
    let files = document["results"].as_object().into_iter().flatten();
    files
        .flat_map(|(path, found)| {
            found.as_array().into_iter().flatten().map(move |one| Finding {
                path: path.clone(),
                lines: one_line(&one["line_number"]),
                texts: Vec::new(),
            })
        })
        .collect()
}

fn line(text: &str) -> Option<Finding> {
    let (path, rest) = text.split_once(':')?;
    let (number, shown) = rest.split_once(':')?;
    let number = number.parse::<u64>().ok()?;
    Some(Finding {
        path: path.to_owned(),
        lines: Some(number..=number),
        texts: vec![shown.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, output: &str, expected: &[(&str, Option<u64>, &[&str])]) {
        let found = format.read(&mut output.as_bytes()).expect("it is what they print");
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                let texts: Vec<&str> = one.texts.iter().map(String::as_str).collect();
                (one.path.as_str(), one.lines.as_ref().map(|lines| *lines.start()), texts)
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, line, texts)| (*path, *line, texts.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_tool_is_understood() {
        check(
            Format::Heist,
            "{\"rule\":\"r\",\"path\":\"a/b\",\"line\":3,\"column\":1,\"secret\":\"s\"}\n",
            &[("a/b", Some(3), &["s"])],
        );
        check(
            Format::Kingfisher,
            "{\"rule\":{},\"finding\":{\"snippet\":\"s\",\"line\":1,\"path\":\"/t/a\"}}\n{\"audit\":{}}\n",
            &[("/t/a", Some(1), &["s"])],
        );
        check(
            Format::TruffleHog,
            "{\"SourceMetadata\":{\"Data\":{\"Filesystem\":{\"file\":\"/t/a\",\"line\":4}}},\
             \"Raw\":\"s\",\"RawV2\":\"\"}\n",
            &[("/t/a", None, &["s"])],
        );
        check(
            Format::Gitleaks,
            "[{\"StartLine\":2,\"EndLine\":4,\"Secret\":\"s\",\"File\":\"a\"}]",
            &[("a", Some(2), &["s"])],
        );
        check(
            Format::DetectSecrets,
            "{\"results\":{\"a\":[{\"line_number\":9,\"hashed_secret\":\"0\"}]}}",
            &[("a", Some(9), &[])],
        );
        check(Format::Lines, "a/b:12:x:y\nnothing\n", &[("a/b", Some(12), &["x:y"])]);
    }

    #[test]
    fn no_output_is_no_findings_and_a_broken_document_an_error() {
        check(Format::Gitleaks, "", &[]);
        check(Format::DetectSecrets, "\n", &[]);
        Format::Gitleaks.read(&mut &b"[{"[..]).expect_err("it is cut");
    }

    #[test]
    fn paths_are_those_below_the_root() {
        let finding =
            |path: &str| Finding { path: path.to_owned(), lines: None, texts: Vec::new() };
        let root = Path::new("/tree");
        assert_eq!(finding("/tree/a/b").below(root).as_deref(), Some("a/b"));
        assert_eq!(finding("./a/b").below(root).as_deref(), Some("a/b"));
        assert_eq!(finding("/elsewhere/a").below(root), None);
    }
}
