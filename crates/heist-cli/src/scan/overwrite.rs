//! Refuses output files that would destroy input.
//!
//! heist does not report findings in a file that it is about to overwrite. If that were a file of
//! the user, its secrets would be neither reported nor kept. So `--output` and `--trace` may
//! replace a file in a scanned tree only if it looks like earlier output of heist. Not guaranteed:
//! that a file which looks like a report is one. The findings in it are counted.

use super::settings::is_stdin;
use crate::error::CliError;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How much of a file is read. A report identifies itself in fewer bytes.
const LOOK_BYTES: u64 = 64 * 1024;

/// Refuses an `output` that is a scanned file, unless `looks_ours` recognizes its beginning.
///
/// # Errors
/// The output would overwrite such a file.
pub(crate) fn refuse_scanned_file(
    option: &'static str,
    output: Option<&Path>,
    roots: &[PathBuf],
    looks_ours: fn(&[u8]) -> bool,
) -> Result<(), CliError> {
    let Some(output) = output.filter(|path| !is_stdin(path)) else { return Ok(()) };
    // Nothing is lost if the file does not exist, or is not a regular file.
    let Ok(file) = output.canonicalize() else { return Ok(()) };
    if !fs::metadata(&file).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(());
    }
    let is_scanned = roots
        .iter()
        .filter(|root| !is_stdin(root))
        .any(|root| root.canonicalize().is_ok_and(|root| file.starts_with(root)));
    if !is_scanned {
        return Ok(());
    }
    let mut start = Vec::new();
    // A file that cannot be read is refused.
    let read = File::open(&file).and_then(|file| file.take(LOOK_BYTES).read_to_end(&mut start));
    if read.is_ok() && (start.is_empty() || looks_ours(&start)) {
        return Ok(());
    }
    Err(CliError::OverwritesScannedFile { option, path: output.to_owned() })
}

/// Returns `true` if a file begins like a report, in any format.
pub(crate) fn looks_like_report(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    if text.starts_with('{') {
        return text.starts_with("{\"format\":\"heist-scan\"")
            || (text.starts_with("{\"rule\":\"") && text.contains(",\"fingerprint\":\""))
            || text.starts_with("{\"end\":{\"version\":1,\"tool_version\":\"")
            || (text.starts_with("{\"$schema\":\"")
                && String::from_utf8_lossy(start).contains("\"driver\":{\"name\":\"heist\""));
    }
    let text = without_colors(&text);
    text.starts_with("No secrets") || ends_with_fingerprint(&text)
}

/// Returns `true` if a file begins like a trace.
pub(crate) fn looks_like_trace(start: &[u8]) -> bool {
    start == b"[]\n" || start.starts_with(b"[\n{\"pid\":1,\"tid\":")
}

/// Refuses an `output` that the same run also reads or writes: one of `others`, each with its
/// description.
///
/// # Errors
/// The output would overwrite such a file.
pub(crate) fn refuse_own_file(
    option: &'static str,
    output: Option<&Path>,
    others: &[(&'static str, &Path)],
) -> Result<(), CliError> {
    // A file that does not exist yet is identified by its directory and name.
    let real = |path: &Path| {
        path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                parent.canonicalize().unwrap_or_else(|_| parent.to_owned()).join(name)
            }
            _ => path.to_owned(),
        })
    };
    let Some(output) = output.filter(|path| !is_stdin(path)) else { return Ok(()) };
    let is_device = fs::metadata(output).is_ok_and(|metadata| !metadata.is_file());
    match others.iter().find(|(_, other)| !is_device && real(other) == real(output)) {
        None => Ok(()),
        Some((what, _)) => {
            Err(CliError::OverwritesOwnFile { option, path: output.to_owned(), what })
        }
    }
}

/// Returns `true` for a line such as `..., 0123456789abcdef0123456789abcdef)`, with which the
/// paragraph of a secret begins.
fn ends_with_fingerprint(line: &str) -> bool {
    line.strip_suffix(')').and_then(|line| line.rsplit_once(", ")).is_some_and(|(_, last)| {
        last.len() == 32 && last.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn without_colors(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, text)| text));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::looks_like_report;

    #[test]
    fn other_files_do_not_look_like_reports() {
        for text in [
            "TOKEN=abc\n",
            "{\"a\": 1}\n",
            "{\"rule\":\"x\"}\n",
            "{\"$schema\":\"https://json-schema.org\"}",
            "\x7fELF",
            "a, 0123)\n",
        ] {
            assert!(!looks_like_report(text.as_bytes()), "{text}");
        }
        let fingerprint = "0123456789abcdef".repeat(2);
        for text in [
            "No secrets in 3 files (12 bytes).\n".to_owned(),
            "{\"end\":{\"version\":1,\"tool_version\":\"0.1.0\",\"complete\":true".to_owned(),
            format!(
                "\x1b[1mA token\x1b[0m  \x1b[31mx\x1b[0m  \x1b[2m(rule, {fingerprint})\x1b[0m\n"
            ),
        ] {
            assert!(looks_like_report(text.as_bytes()), "{text}");
        }
    }
}
