//! What may be written over: nothing in a scanned tree but reports of this tool.
//!
//! A file that is written to is left out of the scan: what is in it is about to go. So a file that is not ours must not
//! be one: its secrets would be neither found nor there any more. Not guaranteed: that a file which looks like a report
//! is one. What is found in it is counted.

use super::settings::is_stdin;
use crate::escape;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How much of a file is looked at. A report says what it is in less.
const LOOK_BYTES: u64 = 64 * 1024;

/// Refuses to write `output` over a file that would be scanned and does not look like what is written. `looks_ours` is
/// asked about its beginning.
///
/// # Errors
/// It is to be refused; the text says why, and what to do.
pub(crate) fn refuse_foreign(
    option: &str,
    output: Option<&Path>,
    roots: &[PathBuf],
    looks_ours: fn(&[u8]) -> bool,
) -> Result<(), String> {
    let Some(output) = output.filter(|path| !is_stdin(path)) else { return Ok(()) };
    // What is not there, or is no regular file, loses nothing.
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
    // (What cannot be read does not look like anything.)
    let read = File::open(&file).and_then(|file| file.take(LOOK_BYTES).read_to_end(&mut start));
    if read.is_ok() && (start.is_empty() || looks_ours(&start)) {
        return Ok(());
    }
    Err(format!(
        "{option} '{}' is a file of what is scanned, and nothing that heist wrote: it would be lost, and what is in it \
         not be found; give another FILE, or remove this one",
        escape::for_terminal(output.as_os_str())
    ))
}

/// Whether a file begins like a report, in any format.
pub(crate) fn looks_like_report(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    if text.starts_with('{') {
        return text.starts_with("{\"format\":\"heist-scan\"")
            || (text.starts_with("{\"rule\":\"") && text.contains(",\"fingerprint\":\""))
            || (text.starts_with("{\"$schema\":\"")
                && String::from_utf8_lossy(start).contains("\"driver\":{\"name\":\"heist\""));
    }
    let text = without_colors(&text);
    text.starts_with("No secrets") || ends_with_fingerprint(&text)
}

/// Whether a file begins like a trace.
pub(crate) fn looks_like_trace(start: &[u8]) -> bool {
    start == b"[]\n" || start.starts_with(b"[\n{\"pid\":1,\"tid\":")
}

/// Refuses to write over what the same run reads or writes: `others`, each with what it is.
///
/// # Errors
/// It is to be refused; the text says why, and what to do.
pub(crate) fn refuse_same(
    option: &str,
    output: Option<&Path>,
    others: &[(&str, &Path)],
) -> Result<(), String> {
    // What is not there yet is known by where it will be.
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
        Some((what, _)) => Err(format!(
            "{option} '{}' is {what}, too; give another FILE",
            escape::for_terminal(output.as_os_str())
        )),
    }
}

/// `..., 0123456789abcdef0123456789abcdef)`: how each secret's paragraph begins.
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
            format!(
                "\x1b[1mA token\x1b[0m  \x1b[31mx\x1b[0m  \x1b[2m(rule, {fingerprint})\x1b[0m\n"
            ),
        ] {
            assert!(looks_like_report(text.as_bytes()), "{text}");
        }
    }
}
