//! The formats of `heist scan`: masked, sorted, with exact paths.

use crate::support::scan::{ScanFixture, code, errors, json, lines, plain, run, text, token};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

/// Two secrets in five locations, one finding with low confidence, and one that a comment allows.
fn scene() -> ScanFixture {
    let scene = ScanFixture::new();
    let (first, second) = (token("tok_", 1), token("fair_", 2));
    scene.file("a.py", format!("import os\nkey = \"{first}\"\n"));
    scene.file("sub/b.txt", format!("{first}\n\n  é日🦀 {second}  tail\n"));
    scene.file("sub/c.txt", format!("one {second} two {first}\n"));
    scene.file("d.txt", token("faint_", 3));
    scene.file("e.txt", format!("{} # heist:allow", token("tok_", 4)));
    scene.file("binary", b"\0\x01\x02");
    scene
}

#[test]
fn text_groups_by_secret_and_lists_next_steps() {
    let output = scene().scan::<&str>([]);
    let printed = text(&output);
    assert_eq!((code(&output), errors(&output)), (1, String::new()), "{printed}");
    let heading = printed.lines().next().expect("there is one");
    assert!(heading.starts_with("Token of a test  tok_******"), "{printed}");
    for expected in [
        "    a.py:2:8\n      key = \"tok_******",
        "    sub/b.txt:1:1\n",
        "    sub/b.txt:3:13\n",
        "    sub/c.txt:1:35\n",
        "    high: ",
        "    remedy: Throw it away.\n",
        "2 secrets in 5 places (1 high, 1 medium), in 5 files",
        "Not reported: 1 with lower confidence (--confidence low shows it); 1 allowed by a comment.\n",
        "Not scanned: 1 binary (--binary scans it).\n",
        "What to do next:",
        "heist baseline --output",
    ] {
        assert!(printed.contains(expected), "no `{expected}` in:\n{printed}");
    }
    assert_eq!(printed.matches("Token of a test").count(), 1, "each secret once:\n{printed}");
    assert!(!printed.contains('\x1b'), "{printed}");
    let colored = text(&scene().scan(["--color", "always"]));
    assert!(colored.contains("\x1b[1;31m") && colored.contains("\x1b[0m"), "{colored}");
}

#[test]
fn text_says_when_there_are_no_secrets() {
    let scene = ScanFixture::new();
    scene.file("a", "nothing here");
    let output = scene.scan::<&str>([]);
    assert_eq!((code(&output), &*text(&output)), (0, "No secrets in 1 file (12 bytes).\n"));
    scene.file("b", token("faint_", 1));
    let output = scene.scan::<&str>([]);
    assert_eq!(code(&output), 0);
    assert!(text(&output).starts_with("No secrets of medium confidence or more in 2 files"));
}

#[test]
fn jsonl_has_one_object_per_finding() {
    let scene = scene();
    let output = scene.scan(["--format", "jsonl", "--sorted"]);
    assert_eq!((code(&output), errors(&output)), (1, String::new()));
    let places = lines(&output);
    assert_eq!(places.len(), 5);
    let first = &places[0];
    let expected = [
        ("rule", Value::from("test-token")),
        ("description", "Token of a test".into()),
        ("path", "a.py".into()),
        ("line", 2.into()),
        ("column", 8.into()),
        ("end_line", 2.into()),
        ("end_column", 32.into()),
        ("offset", 17.into()),
        ("length", 24.into()),
        ("confidence", "high".into()),
        ("encoding", "plain".into()),
    ];
    for (field, value) in expected {
        assert_eq!(first[field], value, "{field} of {first}");
    }
    assert_eq!(first["fingerprint"].as_str().map(str::len), Some(32), "{first}");
    assert!(first["reason"].is_string(), "{first}");
    assert!(first["secret"].as_str().expect("text").starts_with("tok_***"), "{first}");
    assert!(first["excerpt"].as_str().expect("text").starts_with("key = \"tok_***"), "{first}");
    for place in &places {
        let content = fs::read(scene.tree().join(place["path"].as_str().expect("text")))
            .expect("it is there");
        let at = |field: &str| place[field].as_u64().expect("a number") as usize;
        let secret = &content[at("offset")..at("offset") + at("length")];
        assert!(
            [token("tok_", 1), token("fair_", 2)].iter().any(|token| token.as_bytes() == secret)
        );
        let line_start =
            content[..at("offset")].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        assert_eq!(at("column"), at("offset") - line_start + 1, "{place}");
    }
}

#[test]
fn json_groups_by_secret_and_counts() {
    let output = scene().scan(["--format", "json"]);
    let report = json(&output);
    assert_eq!(report["format"], "heist-scan");
    assert_eq!((&report["version"], &report["complete"]), (&Value::from(1), &Value::from(true)));
    assert_eq!(report["files"], 5);
    assert_eq!(report["not_reported"]["below_confidence"], 1);
    assert_eq!(report["not_reported"]["allowed"], 1);
    assert_eq!(report["skipped"]["binary"], 1);
    let secrets = report["secrets"].as_array().expect("a list");
    let places = |index: usize| secrets[index]["places"].as_array().expect("a list").len();
    assert_eq!((secrets.len(), places(0), places(1)), (2, 3, 2));
    assert_eq!(secrets[0]["remedy"], "Throw it away.");
    assert_eq!(secrets[0]["places"][1]["path"], "sub/b.txt");
}

#[test]
fn the_confidence_can_be_chosen() {
    let scene = scene();
    for (level, expected) in [("low", 6), ("medium", 5), ("high", 3), ("certain", 0)] {
        let output = scene.scan(["--format", "jsonl", "--confidence", level]);
        assert_eq!(lines(&output).len(), expected, "{level}");
        assert_eq!(code(&output), i32::from(expected > 0), "{level}");
    }
}

#[test]
fn secrets_are_masked_unless_show_secrets_is_given() {
    let scene = scene();
    let secrets = [token("tok_", 1), token("fair_", 2), token("faint_", 3), token("tok_", 4)];
    // Parts that a mask never shows.
    let parts = secrets.iter().map(|secret| &secret[6..18]);
    let parts: Vec<&str> = parts.collect();
    for format in ["text", "json", "jsonl", "sarif"] {
        let all = ["--format", format, "--confidence", "low", "--stats", "--color", "always"];
        let output = scene.scan(all);
        let printed = text(&output) + &errors(&output);
        assert!(parts.iter().all(|part| !printed.contains(part)), "{format}: {printed}");
        let output = scene.scan(all.iter().chain(&["--show-secrets"]));
        let printed = text(&output);
        assert!(
            printed.contains(&secrets[0]) && printed.contains(&secrets[1]),
            "{format}: {printed}"
        );
    }
    let report = scene.path("report");
    let to_file = ["--show-secrets", "--output", report.to_str().expect("UTF-8")];
    assert_eq!(code(&scene.scan(to_file)), 1);
    assert!(fs::read_to_string(&report).expect("it is there").contains(&secrets[0]));
    let mode = fs::metadata(&report).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner may read it");
}

#[test]
fn secrets_of_unselected_rules_are_masked() {
    let scene = ScanFixture::new();
    let own = token("tok_", 1);
    let (password, word) = (token("", 2), token("", 3)[..12].to_owned());
    // A vendor format: a prefix and twenty letters and digits.
    let vendor = [["gl", "pat-"].concat(), token("", 4)].concat();
    let url = format!("postgres://app:{word}@db.acme.net/shop");
    scene.file("a.env", format!("{url} {own} PASSWORD='{password}' {vendor}\n"));
    // A secret that the end of the excerpt cuts.
    scene.file("cut.env", format!("{own} {} {vendor}\n", "word ".repeat(13)));
    let rules = scene.path("rules.toml");
    let rules = rules.to_str().expect("UTF-8");
    for (chosen, expected) in [
        (vec!["--rules", rules], vec![&own, &word, &password, &vendor]),
        (vec!["--only", "gitlab-*"], vec![&vendor]),
        (vec!["--except", "gitlab-*,password"], vec![&word]),
        (vec!["--no-generic"], vec![&vendor, &word]),
        (vec!["--no-decode"], vec![&vendor, &word]),
    ] {
        for format in ["text", "json", "jsonl", "sarif"] {
            let scan = |more: &[&str]| {
                let mut command = plain();
                command.args(["scan", "--no-config", "-f", format]).args(&chosen).args(more);
                command.current_dir(scene.tree());
                text(&run(command))
            };
            let shown = scan(&["--show-secrets"]);
            assert!(expected.iter().all(|secret| shown.contains(*secret)), "{chosen:?}: {shown}");
            let secrets = [&password, &word, &vendor];
            let masked = scan(&[]);
            assert!(masked.contains("******"), "{chosen:?}: {masked}");
            for secret in secrets {
                assert!(!masked.contains(&secret[6..12]), "{chosen:?}: {masked}");
            }
        }
    }
}

#[test]
fn a_rule_without_a_description_is_shown_by_its_id() {
    let scene = ScanFixture::new();
    let rule = "[[rules]]\nid = 'mute'\nregex = '''tok_[a-z0-9]{20}'''\n";
    fs::write(scene.path("rules.toml"), rule).expect("a file");
    scene.file("a", token("tok_", 1));
    let printed = text(&scene.scan::<&str>([]));
    assert!(printed.starts_with("mute  tok_******"), "{printed}");
    assert_eq!(lines(&scene.scan(["-f", "jsonl"]))[0]["description"], "mute");
    let log = json(&scene.scan(["-f", "sarif"]));
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["shortDescription"]["text"], "mute");
    let message = run["results"][0]["message"]["text"].as_str().expect("text");
    assert!(message.starts_with("mute: tok_******"), "{message}");
}

#[test]
fn output_is_the_same_for_any_number_of_threads() {
    let scene = scene();
    for number in 0..300 {
        let content = format!("x\n{}\n{}\n", token("tok_", number % 7), token("fair_", number));
        scene.file(format!("many/{}/{number}", number % 11), content);
    }
    for format in ["text", "json", "jsonl", "sarif"] {
        let run = |threads: &str| {
            let output = scene.scan(["--format", format, "--sorted", "-j", threads]);
            assert_eq!(code(&output), 1);
            output.stdout
        };
        let expected = run("1");
        for threads in ["2", "3", "4", "5", "6", "7", "8"] {
            assert!(run(threads) == expected, "{format} with {threads} threads is another");
        }
    }
}

#[test]
fn every_format_preserves_any_path() {
    let scene = ScanFixture::new();
    let names: [&[u8]; 7] = [
        b"plain",
        b"new\nline",
        b"\xff\xfe",
        b"quote\"\\",
        b"\x1b[31m",
        "é\u{202e}".as_bytes(),
        b"a:b%20 c#?",
    ];
    for (seed, name) in (0..).zip(names) {
        scene.file(OsStr::from_bytes(name), token("tok_", seed));
    }
    let decoded = |place: &Value| match place.get("path_bytes") {
        Some(bytes) => from_base64(bytes.as_str().expect("text")),
        None => place["path"].as_str().expect("text").as_bytes().to_vec(),
    };
    let mut expected = names.map(<[u8]>::to_vec);
    expected.sort();
    let mut found: Vec<Vec<u8>> = lines(&scene.scan(["-f", "jsonl"])).iter().map(decoded).collect();
    found.sort();
    assert_eq!(found, expected);
    let report = json(&scene.scan(["-f", "json"]));
    let secrets = report["secrets"].as_array().expect("a list");
    let mut found: Vec<_> = secrets.iter().map(|secret| decoded(&secret["places"][0])).collect();
    found.sort();
    assert_eq!(found, expected);
    let log = json(&scene.scan(["-f", "sarif"]));
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let uri = |result: &Value| {
        let location = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        from_percent(location["uri"].as_str().expect("text"))
    };
    let mut found: Vec<_> = results.iter().map(uri).collect();
    found.sort();
    assert_eq!(found, expected);
    let printed = text(&scene.scan::<&str>([]));
    for shown in ["new\\nline:1:1", "\\xff\\xfe:1:1", "\\x1b[31m:1:1", "é\\u{202e}:1:1"] {
        assert!(printed.contains(shown), "{printed}");
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 6 | u32::from(digit(*byte)));
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

fn from_percent(uri: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = uri.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(&after[..2]).expect("ASCII");
            bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    bytes
}
