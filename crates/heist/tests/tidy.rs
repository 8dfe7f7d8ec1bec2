//! Lints the tree for rules of the house style that no compiler checks: files and lines stay short,
//! protocols use atomics only through `sync`, nothing unfinished is left, a `PROTOCOL.md` names
//! only tests that exist, links in Markdown files resolve, and words we have given up do not come
//! back.
//!
//! A program of its own, because it tests the sources, not the library, and so builds in a second.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A longer file has more than one idea.
const FILE_LINES_MAX: usize = 1_000;

/// The one width of code, comments, documents, scripts and manifests; `rustfmt.toml` has it, too.
const LINE_CHARS_MAX: usize = 100;

/// The width of the lines that nothing wraps: those that end in a string, and samples of output.
const UNBROKEN_CHARS_MAX: usize = 120;

/// Files without an extension, or in hidden folders.
const OTHER_TEXTS: [&str; 5] = [
    ".cargo/mutants.toml",
    ".ci/run",
    ".github/workflows/ci.yml",
    "justfile",
    "packaging/Dockerfile",
];

/// Rules are data: an expression cannot be wrapped. The comments between them can.
const RULE_DATA: &str = "crates/heist-scan/src/rules/data/";

/// The places in `crates/heist/src` that may use the standard library's atomics and locks, and why.
const STD_SYNC_ALLOWED: [(&str, &str); 6] = [
    ("sync/", "it is the door"),
    ("metrics/", "nothing is decided by a counter, and modelled atomics multiply the schedules"),
    ("worker_id.rs", "ids are only handed out; any order of them is right"),
    (
        "queue/local_model.rs",
        "part of a model: its cells' locks must order nothing that the indices do not",
    ),
    ("queue/slot_model.rs", "the same, for the slot's content"),
    ("future/raw_model.rs", "as the modelled queue: the state word alone must order"),
];

/// The crates whose code the checkers run.
const CHECKED_CRATES: [&str; 3] = ["heist", "heist-device", "heist-runtime"];

fn workspace() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    workspace.canonicalize().expect("the workspace is two levels up")
}

/// Returns every file below `folder` with this extension, and its text. Skips build output.
fn files(folder: &Path, extension: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the tree").flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().expect("names in the tree are UTF-8");
            if path.is_dir() {
                // `target` and `target-*` are build output.
                if !name.starts_with("target") && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                let text = fs::read_to_string(&path).expect("a text file");
                found.insert(path, text);
            }
        }
    }
    assert!(!found.is_empty() || extension != "rs", "no sources below {}", folder.display());
    found
}

/// Fails with all findings at once.
#[track_caller]
fn check_none(findings: &[String], rule: &str) {
    let mut list = String::new();
    for finding in findings {
        let _ = write!(list, "\n  {finding}");
    }
    assert!(findings.is_empty(), "{rule}:{list}");
}

fn shown(path: &Path) -> String {
    path.strip_prefix(workspace()).unwrap_or(path).display().to_string()
}

#[test]
fn no_source_file_is_too_long() {
    let findings: Vec<_> = files(&workspace().join("crates"), "rs")
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(path, lines)| format!("{}: {lines} lines", shown(path)))
        .collect();
    check_none(
        &findings,
        &format!("at most {FILE_LINES_MAX} lines per file; a folder has room for more ideas"),
    );
}

/// Returns the numbers and widths of the lines of Rust code that are too long. If column
/// [`LINE_CHARS_MAX`] is in a string, the line may be longer: rustfmt breaks no strings either.
fn long_lines_of_code(text: &str) -> Vec<(usize, usize)> {
    let mut in_string = BTreeSet::new();
    let (mut number, mut column, mut rest) = (1, 0, text);
    while !rest.is_empty() {
        let (len, is_string) = next_token(rest);
        for character in rest[..len].chars() {
            column += 1;
            if character == '\n' {
                (number, column) = (number + 1, 0);
            } else if is_string && column == LINE_CHARS_MAX {
                in_string.insert(number);
            }
        }
        rest = &rest[len..];
    }
    long_lines(text, |number, line| {
        let is_comment = line.trim_start().starts_with("//");
        (is_comment && cannot_be_wrapped(line.trim_start_matches(['/', '!', ' '])))
            .then_some(usize::MAX)
            .or(in_string.contains(&number).then_some(UNBROKEN_CHARS_MAX))
    })
}

/// Returns the numbers and widths of the lines of a Markdown text that are too long. Table rows and
/// links may have any width, and samples of output (`text`) keep the width of the output.
fn long_lines_of_markdown(text: &str) -> Vec<(usize, usize)> {
    let mut in_sample = false;
    long_lines(text, |_number, line| {
        if line.trim_start().starts_with("```") {
            in_sample = !in_sample && line.trim_start().starts_with("```text");
        }
        cannot_be_wrapped(line.trim_start())
            .then_some(usize::MAX)
            .or(in_sample.then_some(UNBROKEN_CHARS_MAX))
    })
}

/// Returns `true` for a row of a table, and for a line with a link.
fn cannot_be_wrapped(content: &str) -> bool {
    content.starts_with('|') || content.contains("http://") || content.contains("https://")
}

/// Returns the numbers and widths of the lines that are wider than `exception` says, if it says
/// anything, or than [`LINE_CHARS_MAX`].
fn long_lines(
    text: &str,
    mut exception: impl FnMut(usize, &str) -> Option<usize>,
) -> Vec<(usize, usize)> {
    let widths = (1..).zip(text.lines()).filter_map(|(number, line)| {
        let width = line.chars().count();
        let allowed = exception(number, line).unwrap_or(LINE_CHARS_MAX);
        (width > allowed).then_some((number, width))
    });
    widths.collect()
}

/// Returns the length of the token at the beginning of a piece of Rust code, and whether it is a
/// string. Knows only as much about tokens as it takes to find strings.
fn next_token(text: &str) -> (usize, bool) {
    let until = |from: usize, end: &str| {
        text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return (until(2, "\n"), false);
    }
    let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let hashes = text[word..].bytes().take_while(|byte| *byte == b'#').count();
    if ["r", "br"].contains(&&text[..word]) && text[word + hashes..].starts_with('"') {
        return (until(word + hashes + 1, &format!("\"{}", "#".repeat(hashes))), true);
    }
    if word > 0 {
        return (word, false);
    }
    if let Some(inside) = text.strip_prefix('"') {
        let mut is_escaped = false;
        let end = inside.find(|c: char| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        return (end.map_or(text.len(), |at| at + 2), true);
    }
    // A quotation mark as a character begins no string.
    let mark = ["'\"'", "'\\\"'"].into_iter().find(|mark| text.starts_with(mark));
    (mark.map_or_else(|| text.chars().next().map_or(0, char::len_utf8), str::len), false)
}

#[test]
fn no_line_is_too_long() {
    let rustfmt = fs::read_to_string(workspace().join("rustfmt.toml")).expect("its settings");
    assert!(rustfmt.contains(&format!("max_width = {LINE_CHARS_MAX}\n")), "{rustfmt}");

    let mut texts = BTreeMap::new();
    for extension in ["rs", "md", "sh", "toml", "yml"] {
        texts.extend(files(&workspace(), extension));
    }
    for name in OTHER_TEXTS {
        let path = workspace().join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        texts.insert(path, text);
    }
    let mut findings = Vec::new();
    for (path, text) in &texts {
        let is_rule_data = shown(path).starts_with(RULE_DATA);
        let too_long = match path.extension().and_then(OsStr::to_str) {
            Some("rs") => long_lines_of_code(text),
            Some("md") => long_lines_of_markdown(text),
            _ => long_lines(text, |_number, line| {
                (is_rule_data && !line.starts_with('#')).then_some(usize::MAX)
            }),
        };
        let shown = too_long
            .iter()
            .map(|(number, width)| format!("{}:{number}: {width} characters", shown(path)));
        findings.extend(shown);
    }
    check_none(&findings, &format!("at most {LINE_CHARS_MAX} characters per line"));
}

#[test]
fn long_lines_are_found() {
    let long = |before: &str, after: &str| format!("{before}{}{after}", "x".repeat(90));
    let found = |text: &str| long_lines_of_code(text).len();
    assert_eq!(found(&long("let a = ", ";")), 0);
    assert_eq!(found(&long("let a_longer_name = ", ";")), 1);
    assert_eq!(found(&long("// A comment with ", ".")), 1);
    assert_eq!(found(&long("// https://", "/a/b")), 0);
    assert_eq!(found(&long("//! | a row of a table | ", " |")), 0);
    // Within a string, up to the larger limit.
    assert_eq!(found(&long("let a_longer_name = \"", "\";")), 0);
    assert_eq!(found(&long("let a_longer_name = r#\"a \" ", "\"#;")), 0);
    assert_eq!(found(&long("let a = '\"'; ", "; (\"\")")), 1);
    assert_eq!(found(&long("let a_longer_name = \"\\\"", "\\\"\";")), 0);
    assert_eq!(found(&long("let a_much_longer_name_than_that_one = \"", "\";")), 1);
    // A short string does not excuse the rest of its line.
    assert_eq!(found(&long("let a_longer_name = \"\" + ", ";")), 1);

    let found = |text: &str| long_lines_of_markdown(text).len();
    assert_eq!(found(&long("A sentence that is long: ", ".")), 1);
    assert_eq!(found(&long("```text\nThis is printed as it is: ", "\n```")), 0);
    assert_eq!(found(&long("```text\n```\nThis is not printed: ", "")), 1);
    assert_eq!(found(&long("```sh\na-command --with-an-option ", "\n```")), 1);
}

#[test]
fn protocols_go_through_the_one_door() {
    // Put together, so that this file does not find itself.
    let forbidden =
        ["atomic", "Mutex", "RwLock", "Condvar"].map(|name| format!("std::sync::{name}"));
    let grouped = "use std::sync::{";
    let mut findings = Vec::new();
    let folder = |name: &&str| workspace().join("crates").join(name).join("src");
    for (path, text) in CHECKED_CRATES.iter().flat_map(|name| files(&folder(name), "rs")) {
        let place = path.strip_prefix(folder(&"heist")).ok().and_then(Path::to_str);
        let allows = |(allowed, _why): &(&str, _)| place.is_some_and(|at| at.starts_with(allowed));
        if STD_SYNC_ALLOWED.iter().any(allows) {
            continue;
        }
        // Unit tests may watch the code under test with what they like.
        let shipped = text.split("\nmod tests {").next().unwrap_or_default();
        for (number, line) in (1..).zip(shipped.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            let direct = forbidden.iter().any(|name| code.contains(name));
            let in_group = code.contains(grouped)
                && ["atomic", "Mutex", "RwLock", "Condvar"].iter().any(|name| code.contains(name));
            if direct || in_group {
                findings.push(format!("{}:{number}: {}", shown(&path), line.trim()));
            }
        }
    }
    check_none(
        &findings,
        "atomics and locks come from `crate::sync`, so that the checkers see them",
    );
}

#[test]
fn the_exceptions_to_the_one_door_are_in_use() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let texts = files(&sources, "rs");
    for (allowed, _why) in STD_SYNC_ALLOWED {
        let uses = texts.iter().any(|(path, text)| {
            let place = path.strip_prefix(&sources).expect("it is below").to_str().expect("UTF-8");
            place.starts_with(allowed) && text.contains("std::sync")
        });
        assert!(uses, "`{allowed}` needs no exception any more");
    }
}

/// Errors that are only ever inside of an `io::Error`, which requires by itself that they can be
/// shared.
const PRIVATE_ERRORS: [&str; 2] = ["Failed", "Refusal"];

#[test]
fn every_error_is_checked_to_be_shareable() {
    let mut findings = Vec::new();
    for name in ["heist", "heist-device", "heist-runtime", "heist-walk", "heist-scan"] {
        let folder = workspace().join("crates").join(name);
        let checks = fs::read_to_string(folder.join("tests/it/errors.rs")).expect("the checks");
        let mut errors = 0;
        for (path, text) in files(&folder.join("src"), "rs") {
            for line in text.lines().filter(|line| line.starts_with("impl")) {
                let Some((before, error)) = line.split_once("Error for ") else { continue };
                let error = error.split([' ', '<', '{']).next().unwrap_or_default();
                // Not `From<OtherError> for Error`, nor the trait's own name at the end of
                // another's.
                if !before.ends_with([' ', ':']) || PRIVATE_ERRORS.contains(&error) {
                    continue;
                }
                errors += 1;
                let checked =
                    [format!("::{error}>()"), format!("<{error}>()"), format!("<{error}<")];
                if !checked.iter().any(|check| checks.contains(check)) {
                    findings.push(format!("{}: {error}", shown(&path)));
                }
            }
        }
        assert!(errors > 0, "no errors found in {name}: this looks for them in the wrong way");
    }
    check_none(&findings, "every public error is in the `tests/it/errors.rs` of its crate");
}

#[test]
fn nothing_unfinished_is_left() {
    // Put together, so that this file does not find itself.
    let forbidden = ["todo", "unimplemented", "dbg"].map(|name| format!("{name}!("));
    let mut findings = Vec::new();
    for (path, text) in files(&workspace().join("crates"), "rs") {
        for (number, line) in (1..).zip(text.lines()) {
            if forbidden.iter().any(|macro_call| line.contains(macro_call.as_str())) {
                findings.push(format!("{}:{number}: {}", shown(&path), line.trim()));
            }
        }
    }
    check_none(&findings, "nothing unfinished is left");
}

/// A test that skips itself proves nothing, and cargo hides what a passing test prints. (It lists
/// an ignored test as not run.)
#[test]
fn no_test_skips_itself_and_passes() {
    // Not in one piece, or this file would be found.
    let words = ["skipped", "left out"].map(|word| format!("println!(\"{word}"));
    let mut findings = Vec::new();
    for (path, text) in files(&workspace().join("crates"), "rs") {
        let in_tests = path.components().any(|part| part.as_os_str() == "tests");
        for (number, line) in (1..).zip(text.lines()) {
            if in_tests && words.iter().any(|word| line.contains(word)) {
                findings.push(format!("{}:{number}: {}", shown(&path), line.trim()));
            }
        }
    }
    check_none(&findings, "a test that cannot run fails, and says what it needs");
}

/// Returns the targets of the relative links in a Markdown text, without their anchors.
fn relative_links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let paths = targets.map(|target| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains("::") && !path.contains(':')).collect()
}

#[test]
fn links_in_markdown_files_resolve() {
    let mut findings = Vec::new();
    for (path, text) in files(&workspace(), "md") {
        let folder = path.parent().expect("a file is in a folder");
        for link in relative_links(&text) {
            if !folder.join(link).exists() {
                findings.push(format!("{}: {link}", shown(&path)));
            }
        }
    }
    check_none(&findings, "relative links in Markdown files lead to files");
}

#[test]
fn relative_links_are_found_in_a_text() {
    let text = "[a](b.md), [c](../d.md#e), [f](#g), [h](https://example.com), [`I`](j::K)";
    assert_eq!(relative_links(text), ["b.md", "../d.md"]);
}

/// Words that made our sentences hard to read. `docs/glossary.md` and `CONTRIBUTING.md` say how we
/// write instead.
#[test]
fn words_that_we_have_given_up_do_not_come_back() {
    // In two pieces, so that this file does not find itself.
    let words =
        [("whoe", "ver"), ("someb", "ody"), ("for ", "ever"), ("nob", "ody"), ("but ", "for ")]
            .map(|(start, end)| format!("{start}{end}"));
    // The Unix user, and tests that look for the words.
    let is_justified =
        |line: &str| line.contains("user") || line.contains("setuid") || line.contains("marker");
    let mut findings = Vec::new();
    for extension in ["rs", "md"] {
        for (path, text) in files(&workspace(), extension) {
            for (number, line) in (1..).zip(text.lines()) {
                let lower = format!(" {} ", line.to_lowercase());
                let is_word = |word: &String| {
                    lower.match_indices(word.as_str()).any(|(at, _)| {
                        let before = lower[..at].chars().next_back();
                        let after = lower[at + word.len()..].chars().next();
                        !before.is_some_and(char::is_alphanumeric)
                            && (word.ends_with(' ') || !after.is_some_and(char::is_alphanumeric))
                    })
                };
                if words.iter().any(is_word) && !is_justified(&lower) {
                    findings.push(format!("{}:{number}: {}", shown(&path), line.trim()));
                }
            }
        }
    }
    check_none(&findings, "name the actor instead");
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let findings: Vec<_> = files(&workspace().join("crates"), "rs")
        .iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| shown(path))
        .collect();
    check_none(&findings, "every file starts with a `//!` header");
}

/// Returns the files of a crate that are a test program each, and their texts.
fn test_programs(name: &str) -> BTreeMap<PathBuf, String> {
    let tests = workspace().join("crates").join(name).join("tests");
    let mut programs = files(&tests, "rs");
    programs.retain(|path, _| {
        let folder = path.parent();
        let has_main = path.ends_with("main.rs") && folder.and_then(Path::parent) == Some(&tests);
        folder == Some(&tests) || has_main
    });
    programs
}

/// Each program is linked and started by itself, so tests share one unless they disturb others.
#[test]
fn a_test_program_beside_the_shared_ones_says_why() {
    let mut findings = Vec::new();
    for name in ["heist", "heist-device", "heist-runtime", "heist-walk", "heist-scan"] {
        for (path, text) in test_programs(name) {
            let shared = ["it/main.rs", "loom/main.rs", "shuttle/main.rs", "shuttle.rs"];
            let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
            if !shared.iter().any(|shared| path.ends_with(shared))
                && !header.contains(" of its own")
            {
                findings.push(shown(&path));
            }
        }
    }
    check_none(&findings, "the header says why the tests need a process or program of its own");
}

/// The builds that a test program can be for. Under the schedulers that run in place of real
/// threads, a behaviour test would hang or panic; under ThreadSanitizer it is what is run.
const TEST_BUILDS: [&str; 5] = [
    "#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]\n",
    "#![cfg(heist_loom)]\n",
    "#![cfg(heist_shuttle)]\n",
    "#![cfg(heist_sim)]\n",
    "#![cfg(heist_tsan)]\n",
];

#[test]
fn behaviour_tests_are_left_out_of_the_model_checkers_build() {
    let findings: Vec<_> = CHECKED_CRATES
        .iter()
        .flat_map(|name| test_programs(name))
        .filter(|(_, text)| !TEST_BUILDS.iter().any(|build| text.contains(build)))
        .map(|(path, _)| shown(&path))
        .collect();
    check_none(&findings, &format!("a test program says one of {TEST_BUILDS:#?}"));
}

/// The test programs by which the texts name a test's module. Those with real threads are left out.
const NAMED_PROGRAMS: [&str; 2] = ["loom::", "shuttle::"];

/// The tests that a text names, each as the file, without its extension, and the test: everything
/// in backticks of the form `module::test_name` or `loom::module::test_name`.
fn tests_named_in(text: &str) -> Vec<(String, String)> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    // Every second piece is between backticks.
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|token| {
            let program = NAMED_PROGRAMS.iter().find(|program| token.starts_with(**program));
            let (module, test) =
                token[program.map_or(0, |program| program.len())..].split_once("::")?;
            let is_test =
                is_name(module) && is_name(test) && !["crate", "heist", "std"].contains(&module);
            let file = program.map_or("it/".to_owned(), |program| program.replace("::", "/"));
            is_test.then(|| (file + module, test.to_owned()))
        })
        .collect()
}

#[test]
fn protocols_name_tests_that_exist() {
    let folders = CHECKED_CRATES.map(|name| workspace().join("crates").join(name));
    let sources: Vec<_> =
        folders.iter().flat_map(|folder| files(&folder.join("src"), "rs")).collect();
    let tests: BTreeMap<_, _> =
        folders.iter().flat_map(|folder| files(&folder.join("tests"), "rs")).collect();
    let mut findings = Vec::new();
    for (path, text) in folders.iter().flat_map(|folder| files(&folder.join("src"), "md")) {
        for (file, test) in tests_named_in(&text) {
            let is_in = |text: &String| {
                text.contains(&format!("fn {test}(")) || text.contains(&format!("fn {test}<"))
            };
            let in_tests = folders
                .iter()
                .flat_map(|folder| {
                    ["", "/mod"].map(|end| folder.join(format!("tests/{file}{end}.rs")))
                })
                .filter_map(|path| tests.get(&path))
                .any(is_in);
            let exists = in_tests || sources.iter().any(|(_path, text)| is_in(text));
            if !exists {
                findings.push(format!("{}: `{file}::{test}`", shown(&path)));
            }
        }
    }
    check_none(&findings, "a PROTOCOL.md names tests that exist");
}

#[test]
fn the_threat_model_names_tests_that_exist() {
    let text = fs::read_to_string(workspace().join("docs/threat-model.md")).expect("the page");
    let crates = ["heist-cli", "heist-git", "heist-scan", "heist-walk"];
    let sources: Vec<_> = crates
        .iter()
        .flat_map(|name| files(&workspace().join("crates").join(name), "rs"))
        .collect();
    let named = tests_named_in(&text);
    assert!(named.len() > 30, "only {} tests are named", named.len());
    let exists = |(file, test): &(String, String)| {
        let module = file.trim_start_matches("it/");
        sources.iter().any(|(path, source)| {
            path.components()
                .any(|part| Path::new(part.as_os_str()).file_stem() == Some(module.as_ref()))
                && source.contains(&format!("fn {test}("))
        })
    };
    let findings: Vec<_> = named
        .iter()
        .filter(|name| !exists(name))
        .map(|(file, test)| format!("{file}::{test}"))
        .collect();
    check_none(&findings, "docs/threat-model.md names tests that exist");
}

#[test]
fn names_of_tests_are_found_in_a_text() {
    let text = "Proved by `loom::idle::a_push`, `leaks::runs_leak_nothing` and `idle::parks`, \
                not by `Idle::park`, `crate::sync`s or `std::sync::Arc`.";
    let expected =
        [("loom/idle", "a_push"), ("it/leaks", "runs_leak_nothing"), ("it/idle", "parks")];
    let found = tests_named_in(text);
    let found: Vec<_> = found.iter().map(|(file, test)| (file.as_str(), test.as_str())).collect();
    assert_eq!(found, expected);
}
