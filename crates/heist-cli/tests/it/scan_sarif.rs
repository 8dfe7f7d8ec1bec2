//! Checks `heist scan --format sarif` against the published schema of SARIF 2.1.0, as far as it
//! concerns what heist writes: allowed and required properties, their types and their bounds.

use crate::support::scan::{ScanFixture, json, token};
use serde_json::Value;
use std::fs;

/// An object of the schema: its name, its required and its allowed properties.
type ObjectSchema = (&'static str, &'static [&'static str], &'static [&'static str]);

const LOG: ObjectSchema =
    ("sarifLog", &["version", "runs"], &["$schema", "inlineExternalProperties", "properties"]);
const RUN: ObjectSchema = (
    "run",
    &["tool"],
    &[
        "invocations",
        "originalUriBaseIds",
        "columnKind",
        "results",
        "artifacts",
        "properties",
        "automationDetails",
    ],
);
const DRIVER: ObjectSchema = (
    "toolComponent",
    &["name"],
    &["version", "semanticVersion", "informationUri", "rules", "properties"],
);
const RULE: ObjectSchema = (
    "reportingDescriptor",
    &["id"],
    &[
        "name",
        "shortDescription",
        "fullDescription",
        "help",
        "helpUri",
        "defaultConfiguration",
        "properties",
    ],
);
const RESULT: ObjectSchema = (
    "result",
    &["message"],
    &[
        "ruleId",
        "ruleIndex",
        "level",
        "kind",
        "locations",
        "partialFingerprints",
        "fingerprints",
        "rank",
        "properties",
    ],
);
const REGION: ObjectSchema = (
    "region",
    &[],
    &[
        "startLine",
        "startColumn",
        "endLine",
        "endColumn",
        "byteOffset",
        "byteLength",
        "snippet",
        "properties",
    ],
);
const INVOCATION: ObjectSchema = (
    "invocation",
    &["executionSuccessful"],
    &["exitCode", "toolExecutionNotifications", "properties"],
);
const NOTIFICATION: ObjectSchema =
    ("notification", &["message"], &["level", "locations", "properties"]);
const MESSAGE: ObjectSchema = ("message or multiformatMessageString", &["text"], &["markdown"]);
const ARTIFACT: ObjectSchema = ("artifactLocation", &[], &["uri", "uriBaseId", "properties"]);

#[track_caller]
fn check(value: &Value, (name, required, allowed): ObjectSchema) {
    let object = value.as_object().unwrap_or_else(|| panic!("{name} is an object: {value}"));
    for key in required {
        assert!(object.contains_key(*key), "{name} has `{key}`: {value}");
    }
    for key in object.keys() {
        let known = required.contains(&key.as_str()) || allowed.contains(&key.as_str());
        assert!(known, "{name} has no `{key}`: {value}");
    }
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("`{name}` is a list: {value}"))
}

fn check_text(value: &Value) {
    check(value, MESSAGE);
    assert!(value["text"].is_string(), "{value}");
}

fn check_level(value: &Value) {
    assert!(["none", "note", "warning", "error"].map(Value::from).contains(value), "{value}");
}

fn check_location(location: &Value, bases: &Value) {
    check(location, ("location", &[], &["physicalLocation"]));
    let physical = &location["physicalLocation"];
    check(physical, ("physicalLocation", &["artifactLocation"], &["region"]));
    let artifact = &physical["artifactLocation"];
    check(artifact, ARTIFACT);
    let uri = artifact["uri"].as_str().expect("a URI");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%/:".contains(&byte);
    assert!(uri.bytes().all(is_plain) && !uri.split('/').any(|part| part == ".."), "{uri}");
    match artifact.get("uriBaseId") {
        Some(base) => {
            assert!(!uri.starts_with('/') && !uri.contains(':'), "{uri} is relative");
            assert!(bases.get(base.as_str().expect("text")).is_some(), "{base}");
        }
        None => assert!(uri.starts_with("file:///"), "{uri} is absolute"),
    }
    let Some(region) = physical.get("region") else { return };
    check(region, REGION);
    let number = |key: &str| region[key].as_i64().unwrap_or_else(|| panic!("{key}: {region}"));
    for key in ["startLine", "startColumn", "endLine", "endColumn"] {
        assert!(number(key) >= 1, "{region}");
    }
    assert!(number("byteOffset") >= 0 && number("byteLength") >= 0, "{region}");
    assert!(
        (number("endLine"), number("endColumn")) > (number("startLine"), number("startColumn"))
    );
    check_text(&region["snippet"]);
}

fn check_log(log: &Value) {
    check(log, LOG);
    assert_eq!(log["version"], "2.1.0");
    for run in list(log, "runs") {
        check(run, RUN);
        assert!(
            ["utf16CodeUnits", "unicodeCodePoints"].map(Value::from).contains(&run["columnKind"])
        );
        check(&run["tool"], ("tool", &["driver"], &["extensions", "properties"]));
        let driver = &run["tool"]["driver"];
        check(driver, DRIVER);
        let rules = list(driver, "rules");
        for rule in rules {
            check(rule, RULE);
            for text in ["shortDescription", "fullDescription", "help"] {
                check_text(&rule[text]);
            }
            check_level(&rule["defaultConfiguration"]["level"]);
        }
        let unique: std::collections::HashSet<&str> =
            rules.iter().filter_map(|rule| rule["id"].as_str()).collect();
        assert_eq!(unique.len(), rules.len(), "the schema wants unique rules");
        let bases = &run["originalUriBaseIds"];
        for base in bases.as_object().expect("an object").values() {
            check(base, ARTIFACT);
            assert!(base["uri"].as_str().expect("text").ends_with('/'), "{base}");
        }
        for invocation in list(run, "invocations") {
            check(invocation, INVOCATION);
            assert!(
                invocation["executionSuccessful"].is_boolean() && invocation["exitCode"].is_i64()
            );
            for notification in list(invocation, "toolExecutionNotifications") {
                check(notification, NOTIFICATION);
                check_level(&notification["level"]);
                check_text(&notification["message"]);
                for location in
                    notification.get("locations").and_then(Value::as_array).into_iter().flatten()
                {
                    check_location(location, bases);
                }
            }
        }
        for result in list(run, "results") {
            check(result, RESULT);
            check_level(&result["level"]);
            check_text(&result["message"]);
            let index = result["ruleIndex"].as_u64().expect("a number") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(!list(result, "locations").is_empty());
            list(result, "locations").iter().for_each(|location| check_location(location, bases));
            for fingerprint in
                result["partialFingerprints"].as_object().expect("an object").values()
            {
                assert!(fingerprint.is_string());
            }
        }
    }
}

#[test]
fn the_log_follows_the_schema() {
    let scene = ScanFixture::new();
    scene.file("a b/é.txt", format!("é日🦀 {}\n", token("tok_", 1)));
    scene.file("c.txt", format!("{}\n{}", token("fair_", 2), token("faint_", 3)));
    let log = json(&scene.scan(["-f", "sarif", "-c", "low", ".", "/no/where"]));
    check_log(&log);
    let run = &log["runs"][0];
    let levels: Vec<&Value> = list(run, "results").iter().map(|result| &result["level"]).collect();
    assert_eq!(levels, ["error", "warning", "note"]);
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    assert_eq!(list(&run["invocations"][0], "toolExecutionNotifications").len(), 1);
    let region = &run["results"][0]["locations"][0]["physicalLocation"]["region"];
    // Two letters, a surrogate pair and a space: five UTF-16 units, ten bytes.
    assert_eq!(
        (&region["startColumn"], &region["byteOffset"]),
        (&Value::from(6), &Value::from(10))
    );
    assert_eq!(region["endColumn"], 30);
    // A scan without findings and errors is successful.
    scene.file("empty", "");
    let clean = json(&scene.scan(["-f", "sarif", "empty"]));
    check_log(&clean);
    assert_eq!(clean["runs"][0]["invocations"][0]["executionSuccessful"], true);
    assert!(list(&clean["runs"][0], "results").is_empty());
}

#[test]
fn a_finding_that_is_scanned_twice_is_one_result() {
    let scene = ScanFixture::new();
    scene.file("t/a", format!("{0}\n{0}\n", token("tok_", 1)));
    let results = |paths: &[&str]| {
        let log = json(&scene.scan(["-f", "sarif"].iter().chain(paths)));
        check_log(&log);
        list(&log["runs"][0], "results").clone()
    };
    let once = results(&["t"]);
    assert_eq!(once.len(), 2);
    for paths in [&["t", "t"][..], &["t", "./t"], &["t", "t/a"], &[".", "t"]] {
        assert_eq!(results(paths), once, "{paths:?}");
    }
}

#[test]
fn fingerprints_do_not_change_when_lines_move() {
    let scene = ScanFixture::new();
    let content = format!("{}\n{}\n", token("tok_", 1), token("tok_", 1));
    scene.file("a", &content);
    let fingerprints = || -> Vec<Value> {
        let log = json(&scene.scan(["-f", "sarif"]));
        let results = list(&log["runs"][0], "results");
        results.iter().map(|result| result["partialFingerprints"].clone()).collect()
    };
    let before = fingerprints();
    assert_ne!(before[0], before[1], "two places are two results");
    scene.file("a", format!("something\nabove\n{content}"));
    assert_eq!(fingerprints(), before);
    fs::rename(scene.tree().join("a"), scene.tree().join("b")).expect("it moves");
    assert_eq!(fingerprints(), before);
}
