//! A verdict does not depend on how the PATH is spelled, nor on the current directory: rules, the
//! noise filter and ignore files see paths relative to the project root.

use crate::support::scan::{ScanFixture, errors, json, plain, run, text, token};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A project with secrets that are judged by their paths: in a directory of tests, in one that the
/// rules allow, and on a line that a `.gitleaksignore` lists.
struct Project {
    scene: ScanFixture,
}

impl Project {
    fn new() -> Self {
        let scene = ScanFixture::new();
        let secret = |seed| format!("api_key = \"{}\"\n", token("", seed));
        fs::create_dir(scene.tree().join(".git")).expect("a directory");
        for (seed, name) in
            (1..).zip(["test/proj/a.env", "src/b.env", "vendor/c.env", "src/docs/d.env"])
        {
            scene.file(name, secret(seed));
        }
        scene.file("src/listed.env", format!("{}\n", token("tok_", 9)));
        scene.file(".gitleaksignore", "src/listed.env:test-token:1\n");
        let rules = fs::read_to_string(scene.path("rules.toml")).expect("the tests' rules");
        let rules =
            format!("{rules}\n[extend]\nuseDefault = true\n[[allowlists]]\npaths = ['^vendor/']\n");
        fs::write(scene.path("rules.toml"), rules).expect("a file");
        Self { scene }
    }

    /// Scans `root` from `directory`. Returns each finding without the path of the root, and the
    /// number of those that are ignored.
    #[track_caller]
    fn scan(&self, directory: &Path, root: &Path) -> (BTreeSet<String>, Value) {
        let mut command = plain();
        command.args(["scan", "--no-config", "-c", "low", "-f", "json", "--rules"]);
        command.arg(self.scene.path("rules.toml")).arg(root).current_dir(directory);
        let output = run(command);
        assert!(errors(&output).is_empty(), "{root:?}: {}", errors(&output));
        let report = json(&output);
        let places = report["secrets"].as_array().expect("a list").iter().flat_map(|secret| {
            secret["places"].as_array().expect("a list").iter().map(move |place| {
                let path = Path::new(place["path"].as_str().expect("text"));
                let below = path.strip_prefix(root).expect("the path begins with the root");
                format!(
                    "{} {} {} {} {} {}",
                    below.display(),
                    place["rule"],
                    place["line"],
                    place["confidence"],
                    place["reason"],
                    secret["fingerprint"]
                )
            })
        });
        (places.collect(), report["not_reported"].clone())
    }
}

#[test]
fn a_file_of_tests_is_one_from_every_directory() {
    let project = Project::new();
    let tree = project.scene.tree();
    for (directory, root) in [
        ("", "test/proj"),
        ("", "test/proj/a.env"),
        ("test", "proj"),
        ("test/proj", "."),
        ("test/proj", "a.env"),
        ("src", "../test/proj"),
    ] {
        let (found, _) = project.scan(&tree.join(directory), Path::new(root));
        assert_eq!(found.len(), 1, "{directory} {root}: {found:?}");
        let finding = found.first().expect("there is one");
        assert!(finding.contains("\"low\""), "{directory} {root}: {finding}");
    }
    let (whole, unreported) = project.scan(&tree, Path::new("."));
    assert_eq!(whole.len(), 3, "{whole:?}");
    assert!(
        whole
            .iter()
            .any(|finding| finding.starts_with("src/b.env") && !finding.contains("\"low\""))
    );
    assert_eq!(unreported["ignored"], 1);
}

/// Returns a spelling of the path of `root` in the tree, and the directory to use it from.
fn spelled(project: &Project, root: &str, how: &[usize]) -> (PathBuf, PathBuf) {
    let tree = project.scene.tree();
    let is_directory = tree.join(root).is_dir();
    let (base, directory) = match how[0] % 5 {
        0 => (tree.clone(), project.scene.temp.path().to_owned()),
        1 => (PathBuf::from("."), tree.clone()),
        2 => (PathBuf::from("../tree"), tree.clone()),
        3 => (PathBuf::from("../.."), tree.join("src/docs")),
        _ => {
            let link = project.scene.path("alias");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(tree.join(root), &link).expect("a link");
            return (link, tree);
        }
    };
    let mut path = base.into_os_string();
    let parts = root.split('/').filter(|part| !part.is_empty());
    for (number, (part, how)) in parts.zip(how[1..].iter().cycle()).enumerate() {
        // A detour through `src` is possible only from the top.
        let separators = ["/", "//", "/./", "/src/../", "/src/docs/../../"];
        path.push(separators[how % if number == 0 { 5 } else { 3 }]);
        path.push(part);
    }
    if is_directory {
        path.push(["", "/", "/.", "//"][how[1] % 4]);
    }
    (path.into(), directory)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_spelling_of_a_root_has_the_same_findings(
        root in prop::sample::select(vec![
            "", "src", "test", "test/proj", "vendor", "src/docs", "src/b.env", "vendor/c.env",
            "src/listed.env", "test/proj/a.env",
        ]),
        how in prop::collection::vec(0..60_usize, 4),
    ) {
        let project = Project::new();
        let plain = if root.is_empty() { "." } else { root };
        let expected = project.scan(&project.scene.tree(), Path::new(plain));
        let (path, directory) = spelled(&project, root, &how);
        let found = project.scan(&directory, &path);
        prop_assert_eq!(found, expected, "{:?} in {:?}", path, directory);
    }
}

#[test]
fn a_marker_below_the_root_changes_no_verdict() {
    let project = Project::new();
    let tree = project.scene.tree();
    let before = project.scan(&tree, Path::new("."));
    fs::create_dir(tree.join("test/proj/.git")).expect("a directory");
    fs::write(tree.join("vendor/heist.toml"), "").expect("a file");
    assert_eq!(project.scan(&tree, Path::new(".")), before);
}

#[test]
fn without_a_project_paths_begin_at_the_root() {
    let project = Project::new();
    let tree = project.scene.tree();
    fs::remove_dir(tree.join(".git")).expect("a directory");
    // A temporary directory may itself be below a project; this test needs one that is not.
    assert!(
        tree.ancestors()
            .all(|above| !above.join(".git").exists() && !above.join("heist.toml").exists())
    );
    for root in [tree.join("test/proj"), PathBuf::from("test/proj")] {
        let (found, _) = project.scan(&tree, &root);
        assert!(found.first().is_some_and(|finding| !finding.contains("\"low\"")), "{found:?}");
    }
    // Directories of tests below the root are recognised.
    let (found, _) = project.scan(&tree, Path::new("test/.."));
    assert!(
        found
            .iter()
            .any(|finding| finding.starts_with("test/proj/a.env") && finding.contains("\"low\""))
    );
}

#[test]
fn explain_sees_the_path_of_a_scan() {
    let project = Project::new();
    let tree = project.scene.tree();
    for (directory, file) in
        [("", "test/proj/a.env"), ("test/proj", "a.env"), ("src", "../test/proj/a.env")]
    {
        for file in [PathBuf::from(file), tree.join(directory).join(file)] {
            let mut command = project.scene.heist("scan", ["--no-config", "--explain"]);
            command.arg(format!("{}:1", file.display())).current_dir(tree.join(directory));
            let output = run(command);
            let shown = text(&output);
            assert!(
                shown.contains("in a test or an example"),
                "{file:?}: {shown}{}",
                errors(&output)
            );
        }
    }
}

#[test]
fn a_marker_of_another_user_above_the_root_has_no_effect() {
    let project = Project::new();
    let above = project.scene.temp.path();
    let root = above.join("test");
    fs::create_dir(&root).expect("a directory");
    fs::write(root.join("a.env"), format!("api_key = \"{}\"\n", token("", 7))).expect("a file");
    let is_low = || {
        let (found, _) = project.scan(above, &root);
        found.first().expect("there is one").contains("\"low\"")
    };
    assert!(!is_low(), "the root is its own project");
    let marker = above.join(".git");
    fs::create_dir(&marker).expect("a directory");
    assert!(is_low(), "the owner of the root has marked a project above it");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&marker, Some(65534), None).expect("root may");
        assert!(!is_low(), "anyone can put a marker into a shared directory");
    }
}
