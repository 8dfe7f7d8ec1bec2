//! The scan of a history: which secrets it finds, and what it says about their commits.

use crate::git::{Repo, Sandbox};
use heist_git::{Access, HashKind, HistoryReport, HistoryScan, Revisions, Trust};
use heist_scan::rules::RuleSet;
use heist_scan::{
    DetectorOptions, Finding, HistoryFate, HistoryPlace, HistoryText, Scan, SecretDetector,
};
use std::sync::{Arc, LazyLock, Mutex};

static DETECTOR: LazyLock<Arc<SecretDetector>> =
    LazyLock::new(|| Arc::new(SecretDetector::new(RuleSet::builtin(), DetectorOptions::default())));

const SECRET: &str = "password = \"7tRmq!x2Lw9z\"\n"; // heist:allow

fn scan_with(
    repo: &Repo,
    change: impl FnOnce(HistoryScan<Arc<SecretDetector>>) -> HistoryScan<Arc<SecretDetector>>,
) -> (Vec<Finding>, HistoryReport) {
    let access = Access::new([&repo.path], Trust::RootsOnly).unwrap();
    let findings = Arc::new(Mutex::new(Vec::new()));
    let scan = HistoryScan::new(Scan::new(Arc::clone(&*DETECTOR)), &repo.path, access);
    let report = change(scan.shown_as("repo")).run(Arc::clone(&findings)).unwrap();
    let findings = std::mem::take(&mut *findings.lock().unwrap());
    assert_eq!(findings.len() as u64, report.findings);
    (findings, report)
}

fn scan(repo: &Repo) -> (Vec<Finding>, HistoryReport) {
    scan_with(repo, |scan| scan)
}

/// Commits all of these files, and returns the commit.
fn commit(repo: &Repo, message: &str, files: &[(&str, &str)]) -> String {
    for entry in std::fs::read_dir(&repo.path).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != ".git" {
            let _ = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
        }
    }
    for (path, content) in files {
        let path = repo.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    repo.git(&["add", "--all"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
    repo.line(&["rev-parse", "HEAD"])
}

fn history(finding: &Finding) -> &HistoryPlace {
    finding.history.as_deref().unwrap()
}

fn introduced(finding: &Finding) -> &str {
    &history(finding).introduced.as_ref().unwrap().id
}

#[test]
fn a_secret_that_was_removed_is_found_with_both_commits() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    commit(&repo, "Begin", &[("src/settings.ini", "# nothing\n")]);
    let added = commit(&repo, "Add it\n\nBody", &[("src/settings.ini", &format!("#\n{SECRET}"))]);
    // Another version of the file with the same secret is not another finding.
    let longer = format!("# longer\n# longer\n\n{SECRET}# end\n");
    commit(&repo, "Edit", &[("src/settings.ini", &longer)]);
    let removed = commit(&repo, "Remove it", &[("src/settings.ini", "# nothing\n")]);
    commit(&repo, "Later", &[("src/settings.ini", "# nothing more\n")]);
    let (findings, report) = scan(&repo);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.path.to_str(), finding.line), (Some("repo/src/settings.ini"), 2));
    let place = history(finding);
    assert_eq!(introduced(finding), added);
    assert_eq!(place.introduced.as_ref().unwrap().subject, "Add it");
    let HistoryFate::Removed(by) = &place.fate else { panic!("{place:?}") };
    assert_eq!((&*by.id, &*by.subject), (&*removed, "Remove it"));
    assert_eq!((place.text, &*place.path), (HistoryText::File, &b"src/settings.ini"[..]));
    assert_eq!((place.refs.clone(), place.ref_count), (vec!["main".to_owned()], Some(1)));
    assert_eq!((report.commits, report.blobs.scanned, report.messages), (5, 4, 5));
    assert!(report.is_complete());
}

#[test]
fn a_secret_at_another_path_is_another_place() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha256);
    commit(&repo, "Add", &[("a.ini", SECRET)]);
    let moved = commit(&repo, "Move", &[("b/c.ini", SECRET)]);
    let (findings, report) = scan(&repo);
    let [first, second] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(first.fingerprint, second.fingerprint);
    assert!(matches!(&history(first).fate, HistoryFate::Removed(by) if *by.id == *moved));
    assert_eq!(history(second).fate, HistoryFate::InHead);
    assert_eq!(report.blobs.scanned, 1);
}

#[test]
fn messages_of_commits_and_tags_are_scanned() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let id = commit(&repo, &format!("Set it\n\n{SECRET}"), &[("a", "b")]);
    repo.git(&["tag", "-a", "v1", "-m", "password = \"qT5#kd8Lw!2m\""]); // heist:allow
    let (findings, _) = scan(&repo);
    let [in_commit, in_tag] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(history(in_commit).text, HistoryText::CommitMessage);
    assert_eq!((introduced(in_commit), in_commit.line), (&*id, 3));
    assert_eq!(history(in_tag).text, HistoryText::TagMessage);
    assert_eq!(history(in_tag).refs, ["v1"]);
}

#[test]
fn a_range_has_only_what_its_commits_introduce() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let other = "password = \"qT5#kd8Lw!2m\"\n"; // heist:allow
    let first = commit(&repo, "First", &[("a.ini", SECRET)]);
    let second = commit(&repo, "Second", &[("a.ini", SECRET), ("b.ini", other)]);
    let range = |text: &str| {
        let mut revisions = Revisions::default();
        revisions.add_range(text).unwrap();
        let (findings, report) = scan_with(&repo, |scan| scan.revisions(revisions));
        let ids = findings.iter().map(|finding| introduced(finding).to_owned());
        (ids.collect::<Vec<_>>(), report.blobs.scanned)
    };
    assert_eq!(range("HEAD~1..HEAD"), (vec![second.clone()], 1));
    assert_eq!(range(&format!("{}..main", &first[..8])), (vec![second.clone()], 1));
    assert_eq!(range("main..HEAD"), (vec![], 0));
    let only = |id: &str| {
        let mut revisions = Revisions::default();
        revisions.only.push(id.to_owned());
        let (findings, _) = scan_with(&repo, |scan| scan.revisions(revisions));
        findings.len()
    };
    assert_eq!((only(&first), only(&second)), (1, 1));
    let mut since = Revisions::default();
    since.since = Some(i64::MAX);
    assert!(scan_with(&repo, |scan| scan.revisions(since)).0.is_empty());
}

#[test]
fn an_allowed_and_an_open_version_are_both_known() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    let allowed = SECRET.replace('\n', " # heist:allow\n");
    commit(&repo, "Add", &[("a.ini", SECRET)]);
    commit(&repo, "Allow", &[("a.ini", &allowed)]);
    let (findings, _) = scan(&repo);
    let allowed: Vec<bool> = findings.iter().map(|finding| finding.allowed).collect();
    assert_eq!(allowed, [false, true]);
}

#[test]
fn excluded_paths_and_stopped_scans_are_counted() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("repo", HashKind::Sha1);
    commit(&repo, "Add", &[("a.ini", SECRET), ("vendor/b.ini", SECRET)]);
    let (findings, report) =
        scan_with(&repo, |scan| scan.exclude(|path| path.starts_with("vendor")));
    assert_eq!((findings.len(), report.excluded), (1, 1));
    let (findings, report) = scan_with(&repo, |scan| scan.kept_bytes(10));
    assert_eq!((findings.len(), report.over_memory), (0, 1));
    assert!(!report.is_complete());
    let cancel = heist::CancelToken::new();
    cancel.cancel();
    let (findings, report) = scan_with(&repo, |scan| scan.cancel(cancel));
    assert!(findings.is_empty() && report.stopped.is_some() && !report.is_complete());
}
