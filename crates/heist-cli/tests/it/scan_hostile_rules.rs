//! Rule files that are made to exhaust memory or time: each is refused with a clear error, or the
//! scan ends soon after its `--timeout`.
//!
//! A shell measures the CPU time and limits the address space, so that a busy machine does not
//! make the test fail.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The limit for the address space, in KiB. Some of it is never resident: less than 300 MB are.
const MEMORY_KIB: u32 = 360 << 10;

/// The limit for the CPU time, in seconds: a second for `--timeout`, and one more. Without
/// optimisation, reading TOML and large expressions takes ten times as long.
const CPU_SECONDS: f64 = if cfg!(debug_assertions) { 20.0 } else { 2.0 };

/// Returns a rule with this expression.
fn regex(pattern: impl AsRef<str>) -> String {
    format!("[[rules]]\nid = 'a'\nregex = '''{}'''\n", pattern.as_ref())
}

/// Returns `count` rules, each with the fields that `fields` returns for its number.
fn rules(count: usize, fields: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| format!("[[rules]]\nid = 'r{number}'\n{}\n", fields(number))).collect()
}

/// Returns `count` words in a list.
fn words(count: usize, word: impl Fn(usize) -> String) -> String {
    let words: Vec<String> = (0..count).map(|number| format!("'{}'", word(number))).collect();
    format!("[{}]", words.join(","))
}

/// Returns a list of expressions in an allowlist.
fn allowlist(field: &str, expressions: &str) -> String {
    format!("{}\n[[allowlists]]\n{field} = {expressions}\n", regex("[a-z0-9]{12,40}"))
}

/// The files. Each attacks something else.
fn hostile_files() -> Vec<String> {
    let nested = |inner: &str, depth: usize, times: &str| {
        format!("{}{inner}{}", "(".repeat(depth), format!("){times}").repeat(depth))
    };
    let mut files = vec![
        // Groups and repetitions.
        regex("(a?)".repeat(8000)),
        regex("(a?)".repeat(4000)),
        regex("(a)".repeat(101)),
        regex("()".repeat(8000)),
        regex("(a|b|c)?".repeat(2000)),
        regex("(?:a?){8000}a{8000}"),
        regex("(?:(?:a{100}){100}){100}"),
        regex("a{1000}{1000}"),
        regex("(?:a{0,1000}){0,1000}"),
        regex("[a-z]{1,60000}"),
        regex("(?:[a-z]{1,100}[0-9]{1,100}){50}"),
        regex("(?:.{0,1000}a){15}"),
        regex("(?s:.){19000}"),
        regex(".*.*.*.*.*.*.*.*.*.*=.*"),
        regex("(?:a+)+b"),
        regex("(?:a*)*(?:a*)*c"),
        regex("(?:a|aa)+$"),
        regex("(?:a|a|a|a|a|a)*d"),
        regex("([a-z]+)*([a-z]+)*([a-z]+)*!"),
        regex("(?i)(?:[a-z]{0,50}?key[a-z]{0,50}){20}"),
        regex(nested("a", 150, "?")),
        regex(nested("a", 150, "*")),
        regex(nested("a", 12, "{9}")),
        regex(nested("a", 5000, "")),
        regex(nested("[a-z]", 100, "{1,2}")),
        // Classes.
        regex("\\pL".repeat(2000)),
        regex("(?i)".to_owned() + &"\\pL".repeat(2000)),
        regex("\\pL{2000}"),
        regex("(?i)\\p{Greek}{9000}"),
        regex("[^a]".repeat(4000)),
        regex(format!("[{}]", "a-z".repeat(5000))),
        regex("[\\pL\\pN\\pS]{500}"),
        regex("(?iu)\\w\\W\\s\\S\\d\\D{300}"),
        regex("é".repeat(8000)),
        regex("(?i)[à-ÿ]{0,3000}"),
        // Alternatives.
        regex((0..3000).map(|n| format!("w{n}")).collect::<Vec<_>>().join("|")),
        regex((0..1500).map(|n| format!("[a-z]{{{}}}", n % 9)).collect::<Vec<_>>().join("|")),
        regex("a|".repeat(8000)),
        regex(format!("(?:{}){{40}}", vec!["[ab]c"; 200].join("|"))),
        regex("(?i:abc|abd|abe|abf){2000}"),
        // Other syntax.
        regex("\\Q".repeat(8000)),
        regex("(?P<a>b)".repeat(99)),
        regex("\\b".repeat(8000)),
        regex("^*$+".repeat(3000)),
        regex("["),
        regex("(?:".repeat(5000)),
        regex("a".repeat(16 << 10)),
        regex("a".repeat(70_000)),
        regex("\\x{10ffff}{15000}"),
        regex("a{999999999}"),
        // Many rules.
        rules(4_000, |_| "regex = '[a-z]+'".to_owned()),
        rules(4_001, |_| "regex = 'a'".to_owned()),
        rules(3_900, |n| format!("regex = '[a-z]{{{}}}x*'", n % 90)),
        rules(1_000, |_| "regex = '(?:a|b)*c(?:d|e){100}'".to_owned()),
        rules(2_000, |n| format!("regex = 'abc[0-9]{{{}}}'\nkeywords = ['abc']", n % 99)),
        rules(500, |_| "regex = '(?:[a-z]*[0-9]){20}'\nmaxLength = 65536".to_owned()),
        rules(100, |_| "regex = '(?s:.)*x(?s:.){1900}'\nmaxLength = 65536".to_owned()),
        rules(3_000, |n| format!("path = 'p{n}.*q.*r'")),
        rules(1_000, |n| format!("regex = 'a'\npath = '(?:.*{n}){{9}}'")),
        rules(1_000, |n| format!("assignment = '[a-z0-9]{{{n}}}'\nkeywords = ['key']")),
        rules(2_000, |_| "detector = 'generic-secret'".to_owned()),
        // Keywords and stopwords.
        format!("{}keywords = {}\n", regex("abc"), words(100_000, |n| format!("w{n}"))),
        format!("{}keywords = {}\n", regex("abc"), words(9_999, |n| format!("key{n}"))),
        format!("{}keywords = {}\n", regex("[a-z]{9}"), words(9_000, |n| format!("{n:03x}"))),
        format!("{}keywords = ['{}']\n", regex("abc"), "k".repeat(900_000)),
        rules(900, |n| format!("regex = 'x'\nkeywords = {}", words(11, |m| format!("k{n}-{m}")))),
        allowlist("stopwords", &words(9_000, |n| format!("stop{n}"))),
        allowlist("stopwords", &words(50, |_| "s".repeat(10_000))),
        // Allowlists.
        allowlist("regexes", &words(1_000, |n| format!("(?:[a-z]*[0-9]){{{}}}z", n % 20))),
        allowlist("regexes", &words(1_001, |_| "a".to_owned())),
        allowlist("regexes", &words(5, |_| "(?:.{0,90}a){40}".to_owned())),
        allowlist("regexes", &words(9, |_| "(a?){9000}".to_owned())),
        allowlist("paths", &words(900, |n| format!("(?:.*{n}){{9}}$"))),
        allowlist("paths", &words(40, |_| "(?:a?){900}a{900}".to_owned())),
        {
            let targets = words(3_000, |n| format!("r{n}"));
            let text = "t".repeat(100_000);
            let rules = rules(3_000, |_| "regex = 'a'".to_owned());
            format!(
                "{rules}[[allowlists]]\ndescription = '{text}'\npaths = ['a']\n\
                 targetRules = {targets}\n"
            )
        },
        // TOML.
        "[".repeat(900_000),
        format!("a = {}", "[".repeat(900_000)),
        format!("a = {}", "{a=".repeat(300_000)),
        format!("[{}a]\n", "a.".repeat(400_000)),
        format!("{}a = 1\n", "a.".repeat(400_000)),
        "k = 1\n".repeat(150_000),
        (0..90_000).map(|n| format!("k{n} = 1\n")).collect(),
        "[[rules]]\n".repeat(100_000),
    ];
    // Encodings.
    files.push(format!("\u{FEFF}{}", regex("a\u{0}b\u{202e}c")));
    files
}

/// Runs `heist scan` with these rules and checks how it ends.
#[track_caller]
fn check(folder: &Path, number: usize, rules: &[u8]) {
    let path = folder.join(format!("{number}.toml"));
    fs::File::create(&path).and_then(|mut file| file.write_all(rules)).expect("a file");
    let script = "ulimit -v \"$1\"; shift; TIMEFORMAT='cpu %U %S'; time \"$@\"";
    let output = Command::new("bash")
        .args(["-c", script, "bash", &MEMORY_KIB.to_string(), env!("CARGO_BIN_EXE_heist")])
        .args(["scan", "--no-config", "-j1", "--timeout", "1s", "--format", "jsonl", "--rules"])
        .args([&path, &folder.join("tree")])
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .expect("bash is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    let beginning: String = String::from_utf8_lossy(rules).chars().take(120).collect();
    let what = || {
        let errors: String = errors.chars().take(600).collect();
        format!("file {number}, {} bytes, {beginning:?}...: {errors}", rules.len())
    };
    let code = output.status.code();
    assert!(matches!(code, Some(0..=3)), "{code:?} {}", what());
    if code == Some(2) {
        assert!(errors.starts_with("heist: "), "{}", what());
        assert!(!errors.contains("panicked"), "{}", what());
    }
    let times = errors.lines().rev().find_map(|line| line.strip_prefix("cpu "));
    let times = times.unwrap_or_else(|| panic!("no times: {}", what()));
    let seconds: f64 = times.split(' ').map(|time| time.parse::<f64>().expect("a number")).sum();
    assert!(seconds <= CPU_SECONDS, "{seconds} s: {}", what());
    fs::remove_file(path).expect("it was made");
}

/// Makes a tree with text that many of the rules match.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory for the test");
    fs::create_dir(folder.path().join("tree")).expect("a directory");
    let lines = (0..800).map(|number| {
        let letters = "a".repeat(41);
        format!("key{number} = abc{number:09}{letters}b 0{number:02x} w{number}\n")
    });
    let mut text: String = lines.collect();
    text.push_str(&"a".repeat(20_000));
    fs::write(folder.path().join("tree/text"), text).expect("a file");
    folder
}

#[test]
fn hostile_rule_files_are_refused_or_end_in_time() {
    let folder = folder();
    let files = hostile_files();
    assert!(files.len() >= 83, "{} files", files.len());
    for (number, file) in files.iter().enumerate() {
        check(folder.path(), number, file.as_bytes());
    }
}

#[test]
fn mutated_rule_files_are_refused_or_end_in_time() {
    let folder = folder();
    let files = hostile_files();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below.max(1)
    };
    for number in 0..200 {
        let mut file = files[random(files.len())].clone().into_bytes();
        file.truncate(1 + random(60_000));
        for _ in 0..=random(6) {
            let at = random(file.len());
            match random(5) {
                0 => file[at] = random(256) as u8,
                1 => drop(file.drain(at..file.len().min(at + random(2000)))),
                2 => {
                    let copy = file[at..file.len().min(at + random(2000))].to_vec();
                    file.splice(at..at, copy);
                }
                3 => {
                    let pieces = ["{9,99}", "(", ")*", "\\pL", "(?i)", "[[rules]]\n", "'''\n", "|"];
                    file.splice(at..at, pieces[random(8)].bytes());
                }
                _ => {
                    let other = files[random(files.len())].as_bytes();
                    file.truncate(at);
                    file.extend(&other[..other.len().min(random(30_000))]);
                }
            }
            if file.is_empty() {
                file.push(b'a');
            }
        }
        check(folder.path(), 1000 + number, &file);
    }
}
