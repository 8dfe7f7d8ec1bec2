//! Going through a measured tree, depth-first and by name, with a stack of its own: a tree may be deeper than a
//! thread's stack allows.

use heist_walk::usage::{NodeId, UsageTree};

/// A node that the traversal has come to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    pub(crate) node: NodeId,
    /// How far below its root.
    pub(crate) depth: usize,
    /// Its path as bytes: the root's as it was given, and the names below.
    pub(crate) path: &'a [u8],
    pub(crate) step: Step,
}

/// Each node is visited twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Before what is in it. The answer says whether that, and then the second visit, is wanted.
    Enter,
    /// After what is in it. The answer is of no consequence.
    Leave,
}

/// Visits `root` and what is at most `depth_max` levels below it.
///
/// # Errors
/// The first error of `visit`, which ends the traversal.
pub(crate) fn traverse<E>(
    tree: &UsageTree,
    root: NodeId,
    depth_max: usize,
    mut visit: impl FnMut(Visit<'_>) -> Result<bool, E>,
) -> Result<(), E> {
    let mut path = root_path(tree.name(root).as_encoded_bytes()).to_vec();
    // Those that were entered: the node, those of its children that are still to come, and the length of its path.
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

/// A root's path as GNU du shows it: of several slashes at its end one stays, and of two that are all of it both.
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
    fn slashes_at_the_end_of_a_root_become_one() {
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
