//! Reads what scanners report, each in its own format, into [`ReportedSecret`]s.
//!
//! Lines that cannot be parsed are ignored, because some tools mix summaries with findings.

use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::Value;

/// Something that a tool reports as a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedSecret {
    /// The path as the tool prints it.
    pub(crate) path: String,
    /// Counted from 1; `None` if the tool does not report lines.
    pub(crate) lines: Option<RangeInclusive<u64>>,
    /// The secret, or texts that contain it. Empty if the tool does not show it.
    pub(crate) texts: Vec<String>,
}

impl ReportedSecret {
    /// Returns the path relative to the root of the scan, or `None` if it is not below that root.
    pub(crate) fn below(&self, root: &Path) -> Option<String> {
        let path = Path::new(&self.path);
        // Some tools print paths relative to the root of the scan.
        let path = path
            .strip_prefix(root)
            .or_else(|no_prefix| if path.is_relative() { Ok(path) } else { Err(no_prefix) });
        Some(path.ok()?.to_str()?.trim_start_matches("./").to_owned())
    }
}

/// The output format of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// The tool does not report findings.
    None,
    /// One JSON object per line: `heist scan --format jsonl`.
    Heist,
    Kingfisher,
    TruffleHog,
    /// One JSON document.
    Gitleaks,
    DetectSecrets,
    /// Lines of `path:line:text`.
    Lines,
}

impl ReportFormat {
    /// Returns everything that was reported.
    ///
    /// # Errors
    /// Fails if the output cannot be read or does not have the expected format.
    pub(crate) fn read(self, output: &mut dyn Read) -> io::Result<Vec<ReportedSecret>> {
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

fn heist(object: &Value) -> Option<ReportedSecret> {
    let first = object["line"].as_u64()?;
    let last = object["end_line"].as_u64().unwrap_or(first);
    Some(ReportedSecret {
        path: string(&object["path"])?,
        lines: Some(first..=last),
        texts: string(&object["secret"]).into_iter().collect(),
    })
}

fn kingfisher(object: &Value) -> Option<ReportedSecret> {
    let finding = object.get("finding")?;
    Some(ReportedSecret {
        path: string(&finding["path"])?,
        lines: one_line(&finding["line"]),
        texts: string(&finding["snippet"]).into_iter().collect(),
    })
}

fn truffle_hog(object: &Value) -> Option<ReportedSecret> {
    let place = &object["SourceMetadata"]["Data"]["Filesystem"];
    let texts = ["Raw", "RawV2"].iter().filter_map(|field| string(&object[field]));
    Some(ReportedSecret {
        path: string(&place["file"])?,
        // Depending on the version, lines are counted from 0, from 1, or missing.
        lines: None,
        texts: texts.filter(|text| !text.is_empty()).collect(),
    })
}

fn gitleaks(object: &Value) -> Option<ReportedSecret> {
    let first = object["StartLine"].as_u64()?;
    let last = object["EndLine"].as_u64().unwrap_or(first).max(first);
    Some(ReportedSecret {
        path: string(&object["File"])?,
        lines: Some(first..=last),
        texts: string(&object["Secret"]).into_iter().collect(),
    })
}

/// Reads a report that shows only a hash of each secret.
fn detect_secrets(document: &Value) -> Vec<ReportedSecret> {
    let files = document["results"].as_object().into_iter().flatten();
    files
        .flat_map(|(path, found)| {
            found.as_array().into_iter().flatten().map(move |one| ReportedSecret {
                path: path.clone(),
                lines: one_line(&one["line_number"]),
                texts: Vec::new(),
            })
        })
        .collect()
}

fn line(text: &str) -> Option<ReportedSecret> {
    let (path, rest) = text.split_once(':')?;
    let (number, shown) = rest.split_once(':')?;
    let number = number.parse::<u64>().ok()?;
    Some(ReportedSecret {
        path: path.to_owned(),
        lines: Some(number..=number),
        texts: vec![shown.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: ReportFormat, output: &str, expected: &[(&str, Option<u64>, &[&str])]) {
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
    fn every_report_format_is_parsed() {
        check(
            ReportFormat::Heist,
            "{\"rule\":\"r\",\"path\":\"a/b\",\"line\":3,\"column\":1,\"secret\":\"s\"}\n",
            &[("a/b", Some(3), &["s"])],
        );
        check(
            ReportFormat::Kingfisher,
            "{\"rule\":{},\"finding\":{\"snippet\":\"s\",\"line\":1,\"path\":\"/t/a\"}}\n{\"audit\":{}}\n",
            &[("/t/a", Some(1), &["s"])],
        );
        check(
            ReportFormat::TruffleHog,
            "{\"SourceMetadata\":{\"Data\":{\"Filesystem\":{\"file\":\"/t/a\",\"line\":4}}},\
             \"Raw\":\"s\",\"RawV2\":\"\"}\n",
            &[("/t/a", None, &["s"])],
        );
        check(
            ReportFormat::Gitleaks,
            "[{\"StartLine\":2,\"EndLine\":4,\"Secret\":\"s\",\"File\":\"a\"}]",
            &[("a", Some(2), &["s"])],
        );
        check(
            ReportFormat::DetectSecrets,
            "{\"results\":{\"a\":[{\"line_number\":9,\"hashed_secret\":\"0\"}]}}",
            &[("a", Some(9), &[])],
        );
        check(ReportFormat::Lines, "a/b:12:x:y\nnothing\n", &[("a/b", Some(12), &["x:y"])]);
    }

    #[test]
    fn empty_output_has_no_findings_and_a_broken_document_is_an_error() {
        check(ReportFormat::Gitleaks, "", &[]);
        check(ReportFormat::DetectSecrets, "\n", &[]);
        ReportFormat::Gitleaks.read(&mut &b"[{"[..]).expect_err("it is cut");
    }

    #[test]
    fn paths_are_relative_to_the_root() {
        let finding =
            |path: &str| ReportedSecret { path: path.to_owned(), lines: None, texts: Vec::new() };
        let root = Path::new("/tree");
        assert_eq!(finding("/tree/a/b").below(root).as_deref(), Some("a/b"));
        assert_eq!(finding("./a/b").below(root).as_deref(), Some("a/b"));
        assert_eq!(finding("/elsewhere/a").below(root), None);
    }
}
