//! Recognizes reports, and refuses output files that the same run reads or writes.

use super::settings::is_stdin;
use crate::error::CliError;
use std::fs;
use std::path::Path;

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
