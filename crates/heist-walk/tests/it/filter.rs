//! What a filter leaves out, where `ignore_peer.rs` cannot compare it with the `ignore` crate:
//! combinations of globs and kinds, unusual rule files, and repositories in unusual places.

use crate::support::check;
use heist_walk::{FileKind, Filter, Operation, Symlinks, Totals, Walk, WalkError};
use std::fs;
use std::path::Path;

/// Returns the sorted paths below the root, the errors and the totals of a walk.
fn walk(root: &Path, walk: Walk) -> (Vec<String>, Vec<WalkError>, Totals) {
    let mut record = check(walk.threads(Some(2)));
    record.seen.retain(|_, seen| seen.depth > 0);
    let mut paths = record.below(root);
    paths.sort();
    (paths, record.errors, record.totals)
}

/// Returns the paths that are shown. There must be no errors.
fn shown(root: &Path, filter: Filter) -> Vec<String> {
    let (paths, errors, _) = walk(root, Walk::new(root).filter(filter));
    assert!(errors.is_empty(), "{errors:?}");
    paths
}

/// Makes a tree of empty files. Names that end in a slash are directories.
fn tree(paths: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for path in paths {
        let path_there = root.path().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(path_there).expect("a directory");
        } else {
            fs::create_dir_all(path_there.parent().expect("a parent")).expect("a directory");
            fs::write(path_there, "").expect("a file");
        }
    }
    root
}

fn write(root: &tempfile::TempDir, path: &str, contents: impl AsRef<[u8]>) {
    fs::write(root.path().join(path), contents).expect("a file");
}

#[test]
fn by_default_nothing_is_left_out() {
    let root = tree(&[".git/info/exclude", ".gitignore", "a", ".hidden/b"]);
    write(&root, ".gitignore", "*");
    let everything =
        [".git", ".git/info", ".git/info/exclude", ".gitignore", ".hidden", ".hidden/b", "a"];
    assert_eq!(shown(root.path(), Filter::default()), everything);
    // None of the settings that are on by default leaves anything out.
    assert_eq!(shown(root.path(), Filter::new().standard(true).standard(false)), everything);
}

#[test]
fn an_include_overrides_all_other_rules_but_a_later_exclude() {
    let root = tree(&["a/.b/c.o", "a/d.o", "a/skip/x", "e.o", ".f", ".git/x", "g/h", "i"]);
    write(&root, ".gitignore", "g\ni\n");
    let before = Filter::new().standard(true).exclude("*.o").expect("a glob");
    let before = before.exclude_counted("a").expect("a glob").exclude_counted("!e.o");
    let before = before.expect("a glob");
    assert_eq!(shown(root.path(), before.clone()), ["e.o"]);
    let mut filter = before;
    for glob in ["/a", "/a/**", "/g", "/g/**"] {
        filter = filter.include(glob).expect("a glob");
    }
    filter = filter.exclude("skip").expect("a glob");
    let expected = ["a", "a/.b", "a/.b/c.o", "a/d.o", "e.o", "g", "g/h"];
    assert_eq!(shown(root.path(), filter.clone()), expected);
    for (path, is_dir, excluded) in
        [("a/skip/x", false, true), ("a/d.o", false, false), ("x/y.o", false, true)]
    {
        assert_eq!(filter.excludes_path(path, is_dir).ok(), Some(excluded), "{path}");
    }
    // A `!` glob of `exclude` leaves the decision to other rules.
    let filter = Filter::new().skip_hidden(true).exclude("!.f").expect("a glob");
    assert!(!shown(root.path(), filter).contains(&".f".to_owned()));
}

#[test]
fn what_is_left_out_is_counted_and_not_entered() {
    let root = tree(&["a", ".b/c", ".d"]);
    let filter = Filter::new().skip_hidden(true);
    let (paths, _, totals) = walk(root.path(), Walk::new(root.path()).filter(filter));
    assert_eq!(paths, ["a"]);
    assert_eq!((totals.files, totals.directories, totals.excluded), (1, 1, 2));
}

#[test]
fn exclude_overrides_all_other_rules() -> Result<(), heist_walk::FilterError> {
    let root = tree(&["a.rs", "b.rs", "c", "src/a.rs", "src/d.rs", "target/a.rs"]);
    write(&root, ".ignore", "!a.rs\n");
    let filter =
        Filter::new().ignore_files(true).only("*.rs")?.exclude("/a.rs")?.exclude("target/")?;
    assert_eq!(shown(root.path(), filter), ["b.rs", "src", "src/a.rs", "src/d.rs"]);
    // Among exclude globs the last match decides.
    let filter = Filter::new().exclude("*.rs")?.exclude("!d.rs")?.exclude(".ignore")?;
    assert_eq!(shown(root.path(), filter), ["c", "src", "src/d.rs", "target"]);
    assert!(Filter::new().only("{").is_err());
    Ok(())
}

#[test]
fn only_overrides_ignore_files() -> Result<(), heist_walk::FilterError> {
    let root = tree(&[".a.rs", "b.rs", "c"]);
    write(&root, ".ignore", "b.rs\n");
    let filter = Filter::new().ignore_files(true).skip_hidden(true);
    assert_eq!(shown(root.path(), filter.clone()), ["c"]);
    assert_eq!(shown(root.path(), filter.only("*.rs")?), [".a.rs", "b.rs"]);
    Ok(())
}

#[test]
fn globs_are_relative_to_each_root() -> Result<(), heist_walk::FilterError> {
    let root = tree(&["one/a", "one/b/a", "two/a", "two/b/c"]);
    let filter = Filter::new().exclude("/a")?.exclude("b/c")?;
    let roots = [root.path().join("one"), root.path().join("two/")];
    let (paths, errors, _) = walk(root.path(), Walk::over(roots).filter(filter));
    assert!(errors.is_empty());
    assert_eq!(paths, ["one/b", "one/b/a", "two/b"]);
    Ok(())
}

/// Globs work for any spelling of the root. (Cargo runs tests in the directory of the crate.)
#[test]
fn globs_are_relative_to_a_root_called_dot() -> Result<(), heist_walk::FilterError> {
    for (root, glob) in
        [(".", "/src/lib.rs"), ("./", "src/lib.rs"), ("src", "/lib.rs"), ("./src/", "/lib.rs")]
    {
        let (paths, errors, totals) =
            walk(Path::new(root), Walk::new(root).filter(Filter::new().only(glob)?));
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(totals.files, 1, "{glob} in {root}: {paths:?}");
        assert!(paths.iter().any(|path| path.ends_with("lib.rs")), "{glob} in {root}");
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn kinds_apply_to_the_targets_of_followed_links() {
    let root = tree(&["directory/file", "file"]);
    std::os::unix::fs::symlink("file", root.path().join("link")).expect("a link");
    std::os::unix::fs::symlink("directory", root.path().join("to_directory")).expect("a link");
    let files = Filter::new().kinds([FileKind::File]);
    assert_eq!(shown(root.path(), files.clone()), ["directory", "directory/file", "file"]);
    let links = Filter::new().kinds([FileKind::Symlink]);
    assert_eq!(shown(root.path(), links), ["directory", "link", "to_directory"]);
    let follow = Walk::new(root.path()).symlinks(Symlinks::Always).filter(files);
    let (paths, ..) = walk(root.path(), follow);
    let all = ["directory", "directory/file", "file", "link", "to_directory", "to_directory/file"];
    assert_eq!(paths, all);
    assert_eq!(shown(root.path(), Filter::new().kinds([])), ["directory"]);
}

#[test]
fn a_bad_line_is_reported_and_the_other_lines_apply() {
    let root = tree(&["sub/a", "sub/b", "sub/c"]);
    write(&root, "sub/.ignore", b"a\n{open\n\xff\nb");
    let filter = Filter::new().ignore_files(true).skip_hidden(true);
    let (paths, errors, totals) = walk(root.path(), Walk::new(root.path()).filter(filter));
    assert_eq!(paths, ["sub", "sub/c"]);
    assert_eq!(totals.errors, 2);
    for (error, line) in errors.iter().zip(["line 2: ", "line 3: "]) {
        assert_eq!(error.operation, Operation::ReadIgnoreFile);
        assert_eq!(error.path, root.path().join("sub/.ignore"));
        assert_eq!(error.depth, 2);
        assert!(error.source.to_string().starts_with(line), "{error}");
    }
}

#[test]
fn a_bad_line_above_two_roots_is_reported_once() {
    let root = tree(&["one/a", "two/a"]);
    write(&root, ".ignore", "{open\na");
    let roots = [root.path().join("one"), root.path().join("two")];
    let filter = Filter::new().ignore_files(true);
    let (paths, errors, _) = walk(root.path(), Walk::over(roots).filter(filter));
    assert!(paths.is_empty(), "{paths:?}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].path.file_name(), Some(".ignore".as_ref()));
}

/// The file starts with a byte order mark, and its lines end in CR LF.
#[test]
fn byte_order_marks_and_carriage_returns_are_ignored_like_in_git() {
    let root = tree(&["a", "b", "c"]);
    write(&root, ".ignore", "\u{feff}a\r\nb\r\n");
    let filter = Filter::new().ignore_files(true).skip_hidden(true);
    assert_eq!(shown(root.path(), filter), ["c"]);
}

#[cfg(unix)]
#[test]
fn rule_files_that_are_not_regular_files_have_no_rules() {
    let filter = Filter::new().ignore_files(true).git_ignore(true).require_git(false);
    // A directory, a named pipe that would block a reader forever, and a link to itself.
    let root = tree(&[".ignore/a", "b"]);
    let made = std::process::Command::new("mkfifo").arg(root.path().join(".gitignore")).status();
    assert!(made.expect("mkfifo").success());
    assert_eq!(shown(root.path(), filter.clone()), [".gitignore", ".ignore", ".ignore/a", "b"]);
    fs::remove_file(root.path().join(".gitignore")).expect("a pipe");
    std::os::unix::fs::symlink(".gitignore", root.path().join(".gitignore")).expect("a link");
    let (paths, errors, _) = walk(root.path(), Walk::new(root.path()).filter(filter));
    assert_eq!(paths, [".gitignore", ".ignore", ".ignore/a", "b"]);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].operation, Operation::ReadIgnoreFile);
}

/// The rules of the repository apply in its linked worktrees, whether git has stored an absolute or
/// a relative path to it.
#[test]
fn a_linked_worktree_obeys_the_rules_of_its_repository() {
    let root = tree(&[
        "main/.git/info/exclude",
        "main/.git/worktrees/linked/commondir",
        "linked/a",
        "linked/b",
    ]);
    write(&root, "main/.git/info/exclude", "a\n");
    write(&root, "main/.git/worktrees/linked/commondir", "../..\n");
    let filter = Filter::new().git_exclude(true).skip_hidden(true);
    let linked = root.path().join("linked");
    assert_eq!(shown(&linked, filter.clone()), ["a", "b"]);
    let state = root.path().join("main/.git/worktrees/linked");
    write(&root, "linked/.git", format!("gitdir: {}\n", state.display()));
    assert_eq!(shown(&linked, filter.clone()), ["b"]);
    write(&root, "linked/.git", "gitdir: ../main/.git/worktrees/linked\n");
    assert_eq!(shown(&linked, filter.clone()), ["b"]);
    write(&root, "linked/.git", "nonsense");
    assert_eq!(shown(&linked, filter), ["a", "b"]);
}

#[test]
fn a_nested_repository_has_its_own_rules() {
    let root = tree(&[".git/", "a", "inner/.git/", "inner/a", "inner/b", "other/a", "other/b"]);
    write(&root, ".gitignore", "a");
    write(&root, "inner/.gitignore", "b");
    let filter = Filter::new().git_ignore(true).skip_hidden(true);
    assert_eq!(shown(root.path(), filter), ["inner", "inner/a", "other", "other/b"]);
}
