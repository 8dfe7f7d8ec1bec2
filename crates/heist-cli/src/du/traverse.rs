//! Visits a measured tree depth-first and by name, without recursion: a tree may be deeper than a
//! thread's stack allows.

use heist_walk::usage::{NodeId, UsageTree};

/// One visit of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    pub(crate) node: NodeId,
    /// The number of levels below the root.
    pub(crate) depth: usize,
    /// The path as bytes: the root as the user gave it, then the names below.
    pub(crate) path: &'a [u8],
    pub(crate) step: Step,
}

/// Whether the children of the node come after this visit or came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Before the children. The callback returns `false` to skip them and the second visit.
    Enter,
    /// After the children. The callback's return value is ignored.
    Leave,
}

/// Visits `root` and everything at most `depth_max` levels below it.
///
/// # Errors
/// Returns the first error of `visit`, which ends the traversal.
pub(crate) fn traverse<E>(
    tree: &UsageTree,
    root: NodeId,
    depth_max: usize,
    mut visit: impl FnMut(Visit<'_>) -> Result<bool, E>,
) -> Result<(), E> {
    let mut path = root_path(tree.name(root).as_encoded_bytes()).to_vec();
    // The open nodes: each with its remaining children and the length of its path.
    let mut entered = Vec::new();
    if visit(Visit { node: root, depth: 0, path: &path, step: Step::Enter })? {
        entered.push((root, tree.children(root), path.len()));
    }
    while let Some((node, children, path_len)) = entered.last_mut() {
        let (node, path_len) = (*node, *path_len);
        let child = children.next();
        path.truncate(path_len);
        let depth = entered.len();
        match child.filter(|_| depth <= depth_max) {
            Some(child) => {
                if path.last() != Some(&b'/') {
                    path.push(b'/');
                }
                path.extend_from_slice(tree.name(child).as_encoded_bytes());
                if visit(Visit { node: child, depth, path: &path, step: Step::Enter })? {
                    entered.push((child, tree.children(child), path.len()));
                }
            }
            None => {
                entered.pop();
                visit(Visit { node, depth: depth - 1, path: &path, step: Step::Leave })?;
            }
        }
    }
    Ok(())
}

/// Returns a root's path as GNU du shows it: with at most one slash at the end, except that `//`
/// stays as it is.
pub(crate) fn root_path(path: &[u8]) -> &[u8] {
    let mut len = path.len();
    if len > 2 {
        while len > 1 && path[len - 2..len] == *b"//" {
            len -= 1;
        }
    }
    &path[..len]
}

#[cfg(test)]
mod tests {
    use super::root_path;

    #[test]
    fn trailing_slashes_of_a_root_become_one() {
        for (given, shown) in [
            ("a", "a"),
            ("a/", "a/"),
            ("a//", "a/"),
            ("a////", "a/"),
            ("/", "/"),
            ("//", "//"),
            ("///", "/"),
            ("a//b", "a//b"),
            ("", ""),
        ] {
            assert_eq!(root_path(given.as_bytes()), shown.as_bytes(), "{given}");
        }
    }
}
