//! A filtered walk shows what `ignore::WalkBuilder` shows with the same settings, on any tree, with
//! any ignore files and any number of threads.
//!
//! Not compared: errors, because the `ignore` crate does not report all of them, and lines that are
//! not UTF-8, because it gives up the rest of such a file.

use crate::support::check;
use heist_walk::{Filter, Symlinks, Walk};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use ignore::types::{Types, TypesBuilder};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that match each other's patterns.
const NAMES: [&str; 9] = ["a", "b", "ab", "a.rs", "b.rs", ".h", ".a.rs", "c d", "src"];

/// Patterns without prefixes and suffixes.
const PATTERNS: [&str; 18] = [
    "a",
    "b",
    "ab",
    "*.rs",
    "*",
    ".*",
    "a*",
    "[ab]",
    "a/b",
    "src/a",
    "**/b",
    "a/**",
    "src/**/a.rs",
    "**",
    "?",
    "c d",
    "a/*",
    ".h",
];

/// The rule files of a directory.
#[derive(Clone, Debug, Default)]
struct Rules {
    ignore: Option<Vec<String>>,
    git_ignore: Option<Vec<String>>,
    custom: Option<Vec<String>>,
    other_custom: Option<Vec<String>>,
    /// `Some` for a repository, with the lines of its exclude file, if there is one.
    git: Option<Option<Vec<String>>>,
    jj: bool,
}

#[derive(Clone, Debug)]
enum Node {
    File,
    /// A link to the first entry of its directory.
    Link,
    Directory(Rules, Vec<(usize, Node)>),
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    hidden: bool,
    ignore: bool,
    git_ignore: bool,
    git_exclude: bool,
    git_global: bool,
    require_git: bool,
    parents: bool,
    custom: bool,
    types: bool,
    follow: bool,
    max_depth: Option<usize>,
}

fn line() -> impl Strategy<Value = String> {
    let pattern = prop::sample::select(&PATTERNS[..]);
    let usual = (prop::bool::weighted(0.3), any::<bool>(), pattern, prop::bool::weighted(0.3))
        .prop_map(|(negated, anchored, pattern, only_directories)| {
            let before = match (negated, anchored) {
                (false, false) => "",
                (false, true) => "/",
                (true, false) => "!",
                (true, true) => "!/",
            };
            format!("{before}{pattern}{}", if only_directories { "/" } else { "" })
        });
    let odd = prop::sample::select(vec!["", "# a", "\\#a", "{a", "a  ", "a\r", "[a", "\\!a", "/"]);
    prop_oneof![8 => usual, 1 => odd.prop_map(String::from)]
}

fn lines() -> impl Strategy<Value = Option<Vec<String>>> {
    prop::option::weighted(0.3, prop::collection::vec(line(), 0..4))
}

fn rules() -> impl Strategy<Value = Rules> {
    let git = prop::option::weighted(0.25, lines());
    (lines(), lines(), lines(), lines(), git, prop::bool::weighted(0.05)).prop_map(
        |(ignore, git_ignore, custom, other_custom, git, jj)| Rules {
            ignore,
            git_ignore,
            custom,
            other_custom,
            git,
            jj,
        },
    )
}

fn directory() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![6 => Just(Node::File), 1 => Just(Node::Link)];
    let node = leaf.prop_recursive(4, 48, 6, |inner| {
        let entries = prop::collection::vec((0..NAMES.len(), inner), 0..6);
        (rules(), entries).prop_map(|(rules, entries)| Node::Directory(rules, entries))
    });
    let entries = prop::collection::vec((0..NAMES.len(), node), 1..7);
    (rules(), entries).prop_map(|(rules, entries)| Node::Directory(rules, entries))
}

fn settings() -> impl Strategy<Value = Settings> {
    let on = || prop::bool::weighted(0.7);
    let git = (on(), on(), on(), on());
    (on(), on(), git, on(), any::<bool>(), prop::bool::weighted(0.2), any::<bool>(), 0..9_usize)
        .prop_map(
            |(
                hidden,
                ignore,
                (git_ignore, git_exclude, git_global, require_git),
                parents,
                custom,
                types,
                follow,
                deep,
            )| {
                Settings {
                    hidden,
                    ignore,
                    git_ignore,
                    git_exclude,
                    git_global,
                    require_git,
                    parents,
                    custom,
                    types,
                    follow,
                    max_depth: (deep < 4).then_some(deep),
                }
            },
        )
}

fn write_lines(path: &Path, lines: Option<&Vec<String>>) {
    if let Some(lines) = lines {
        fs::write(path, lines.join("\n")).expect("a rule file");
    }
}

fn make(path: &Path, node: &Node) {
    let Node::Directory(rules, entries) = node else { return fs::write(path, "").expect("a file") };
    fs::create_dir(path).expect("a directory");
    write_lines(&path.join(".ignore"), rules.ignore.as_ref());
    write_lines(&path.join(".gitignore"), rules.git_ignore.as_ref());
    write_lines(&path.join(".custom"), rules.custom.as_ref());
    write_lines(&path.join(".other"), rules.other_custom.as_ref());
    if let Some(exclude) = &rules.git {
        fs::create_dir_all(path.join(".git/info")).expect("a repository");
        write_lines(&path.join(".git/info/exclude"), exclude.as_ref());
    }
    if rules.jj {
        fs::create_dir(path.join(".jj")).expect("a repository");
    }
    let mut taken = BTreeSet::new();
    let mut first = None;
    for (name, node) in entries {
        if !taken.insert(name) {
            continue;
        }
        let below = path.join(NAMES[*name]);
        match (node, first) {
            #[cfg(unix)]
            (Node::Link, Some(first)) => {
                std::os::unix::fs::symlink(NAMES[first], &below).expect("a link");
            }
            _ => make(&below, node),
        }
        first = first.or(Some(*name));
    }
}

fn rust_files() -> Types {
    let mut types = TypesBuilder::new();
    types.add("rust", "*.rs").expect("a type");
    types.select("rust").build().expect("types")
}

fn peer(root: &Path, settings: Settings) -> WalkBuilder {
    let mut peer = WalkBuilder::new(root);
    peer.hidden(settings.hidden)
        .ignore(settings.ignore)
        .git_ignore(settings.git_ignore)
        .git_exclude(settings.git_exclude)
        .git_global(settings.git_global)
        .require_git(settings.require_git)
        .parents(settings.parents)
        .follow_links(settings.follow)
        .max_depth(settings.max_depth);
    if settings.custom {
        peer.add_custom_ignore_filename(".custom").add_custom_ignore_filename(".other");
    }
    if settings.types {
        peer.types(rust_files());
    }
    peer
}

fn filter(settings: Settings) -> Filter {
    let mut filter = Filter::new()
        .skip_hidden(settings.hidden)
        .ignore_files(settings.ignore)
        .git_ignore(settings.git_ignore)
        .git_exclude(settings.git_exclude)
        .git_global(settings.git_global)
        .require_git(settings.require_git)
        .parents(settings.parents);
    if settings.custom {
        filter = filter.custom_ignore_file(".custom").custom_ignore_file(".other");
    }
    if settings.types {
        filter = filter.types(rust_files());
    }
    filter
}

fn shown_by_peer(peer: &WalkBuilder) -> BTreeSet<PathBuf> {
    peer.build().filter_map(Result::ok).map(ignore::DirEntry::into_path).collect()
}

/// Returns the paths that the walk shows.
fn shown(root: &Path, filter: Filter, settings: Settings, threads: usize) -> BTreeSet<PathBuf> {
    let symlinks = if settings.follow { Symlinks::Always } else { Symlinks::Roots };
    let walk = Walk::new(root)
        .filter(filter)
        .symlinks(symlinks)
        .max_depth(settings.max_depth)
        .threads(Some(threads));
    check(walk).seen.into_keys().collect()
}

/// Returns the directories of a tree, including hidden ones.
fn directories(root: &Path) -> Vec<PathBuf> {
    let all = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_map(Result::ok);
    all.filter(|entry| entry.file_type().is_dir()).map(walkdir::DirEntry::into_path).collect()
}

/// Returns the path relative to the current directory.
fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().expect("a current directory");
    let up = here.components().count() - 1;
    let mut relative: PathBuf = std::iter::repeat_n("..", up).collect();
    relative.extend(path.components().skip(1));
    relative
}

fn cases() -> ProptestConfig {
    let cases =
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(120);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_walk_shows_what_the_ignore_crate_shows(
        tree in directory(),
        settings in settings(),
        which in any::<prop::sample::Index>(),
        style in 0..3_u8,
    ) {
        let within = tempfile::tempdir().expect("a directory");
        let top = within.path().join("top");
        make(&top, &tree);
        // If the root is inside the tree, there are rules above it.
        let all = directories(&top);
        let inside = which.get(&all).clone();
        let root = match style {
            0 => top,
            1 => inside,
            _ => relative(&inside),
        };
        let expected = shown_by_peer(&peer(&root, settings));
        for threads in [1, 2, 4] {
            prop_assert_eq!(&shown(&root, filter(settings), settings, threads), &expected, "{} threads", threads);
        }
    }

    #[test]
    fn globs_select_what_overrides_of_the_ignore_crate_select(
        tree in directory(),
        settings in settings(),
        only in prop::collection::vec(line(), 0..3),
        exclude in prop::collection::vec(prop::sample::select(&PATTERNS[..]), 0..3),
    ) {
        let within = tempfile::tempdir().expect("a directory");
        let top = within.path().join("top");
        make(&top, &tree);
        let mut overrides = OverrideBuilder::new(&top);
        let mut filter = filter(settings);
        for glob in &only {
            let theirs = overrides.add(glob).is_ok();
            let ours = filter.clone().only(glob);
            prop_assert_eq!(ours.is_ok(), theirs, "{}", glob);
            filter = ours.unwrap_or(filter);
        }
        for glob in &exclude {
            overrides.add(&format!("!{glob}")).expect("a glob");
            filter = filter.exclude(glob).expect("a glob");
        }
        let mut peer = peer(&top, settings);
        peer.overrides(overrides.build().expect("overrides"));
        prop_assert_eq!(shown(&top, filter, settings, 2), shown_by_peer(&peer));
    }
}

/// Random trees rarely contain this: a repository with rules above the root, in a walk that does
/// not read `.gitignore` files.
#[test]
fn rules_of_a_repository_above_the_root_match_the_ignore_crate() {
    let within = tempfile::tempdir().expect("a directory");
    let top = within.path().join("top");
    fs::create_dir_all(top.join(".git/info")).expect("a repository");
    fs::create_dir_all(top.join("root/inner/.git")).expect("a repository");
    fs::write(top.join(".git/info/exclude"), "a").expect("a rule file");
    for name in ["root/a", "root/inner/a", "root/b"] {
        fs::write(top.join(name), "").expect("a file");
    }
    for (git_ignore, parents) in [(false, true), (true, true), (false, false), (true, false)] {
        let settings = Settings {
            hidden: true,
            ignore: false,
            git_ignore,
            git_exclude: true,
            git_global: false,
            require_git: true,
            parents,
            custom: false,
            types: false,
            follow: false,
            max_depth: None,
        };
        let root = top.join("root");
        assert_eq!(
            shown(&root, filter(settings), settings, 1),
            shown_by_peer(&peer(&root, settings)),
            "{settings:?}"
        );
    }
}
