//! `--format json`: one JSON object, written piece by piece, for trees of any depth.
//!
//! ```json
//! {"format": "heist-du", "version": 1, "complete": true, "errors": 0,
//!  "total": {"bytes": 4103, "allocated": 8192, "inodes": 2},
//!  "roots": [
//!    {"name": "src", "kind": "directory", "bytes": 4103, "allocated": 8192, "inodes": 2,
//!     "children": [
//!      {"name": "a.rs", "kind": "file", "bytes": 7, "allocated": 4096, "inodes": 1}]}],
//!  "extensions": [{"extension": "rs", "files": 1, "bytes": 7, "allocated": 4096, "inodes": 1}]}
//! ```
//!
//! - Sizes are in bytes and include everything below. `bytes` is the length, `allocated` the space
//!   on the disk, `inodes` the number of entries.
//! - The `name` of a root is its path as the user gave it. If a name is not UTF-8, `name` has
//!   U+FFFD for the invalid bytes, and `name_base64` has the bytes.
//! - Directories have `children` if their content is shown (see `-a`, `-d`, `-t`), sorted by the
//!   bytes of the names.
//! - `"incomplete": true` marks an entry that could not be read completely; `"counted": false`
//!   marks another name of a file that is counted elsewhere.
//! - `complete` is false if the walk ended early; `errors` counts the entries that could not be
//!   read.
//! - With `--by-extension` there are `extensions`, the largest first, in lower case; `""` stands
//!   for files without one.

use super::{kind_name, root_kind};
use crate::du::traverse::{Step, root_path, traverse};
use crate::du::view::View;
use crate::escape::{write_base64, write_json_string};
use heist_walk::FileKind;
use heist_walk::usage::{ExtensionUsage, NodeId, Size, Usage, UsageTree};
use std::io::{self, Write};

/// The version of the schema. It increases when a field changes its meaning or disappears.
const VERSION: u32 = 1;

/// Writes the object.
pub(super) fn write(usage: &Usage, view: &View, out: &mut impl Write) -> io::Result<()> {
    let (complete, errors) = (!usage.stopped, usage.errors);
    write!(
        out,
        "{{\"format\":\"heist-du\",\"version\":{VERSION},\"complete\":{complete},\"errors\":{errors},\"total\":{{"
    )?;
    write_size(usage.total(), out)?;
    out.write_all(b"},\n\"roots\":[")?;
    let mut roots = 0_usize;
    match &usage.tree {
        None => {
            for root in &usage.roots {
                let Some(size) = root.size.filter(|size| view.admits(*size)) else { continue };
                separate(&mut roots, out)?;
                let path = root_path(root.path.as_os_str().as_encoded_bytes());
                begin_entry(path, root_kind(&root.path, view), size, out)?;
                out.write_all(b"}")?;
            }
        }
        Some(tree) => {
            for root in tree.roots().filter(|root| view.admits(tree.size(*root))) {
                separate(&mut roots, out)?;
                write_tree(tree, root, view, out)?;
            }
        }
    }
    out.write_all(b"]")?;
    if view.by_extension {
        write_extensions(usage, view, out)?;
    }
    out.write_all(b"}\n")
}

fn write_tree(tree: &UsageTree, root: NodeId, view: &View, out: &mut impl Write) -> io::Result<()> {
    // The number of entries written so far in each open directory.
    let mut written = vec![0];
    traverse(tree, root, view.depth_max, |visit| {
        let node = visit.node;
        let has_children = tree.kind(node).is_dir() && visit.depth < view.depth_max;
        if visit.step == Step::Leave {
            written.pop();
            out.write_all(if has_children { b"]}" } else { b"}" })?;
            return Ok(true);
        }
        if !view.admits(tree.size(node)) {
            return Ok(false);
        }
        if let Some(siblings) = written.last_mut() {
            separate(siblings, out)?;
        }
        let name = if visit.depth == 0 { visit.path } else { tree.name(node).as_encoded_bytes() };
        begin_entry(name, tree.kind(node), tree.size(node), out)?;
        if tree.has_errors(node) {
            out.write_all(b",\"incomplete\":true")?;
        }
        if !tree.is_counted(node) {
            out.write_all(b",\"counted\":false")?;
        }
        if has_children {
            out.write_all(b",\"children\":[")?;
        }
        written.push(0);
        io::Result::Ok(true)
    })
}

fn write_extensions(usage: &Usage, view: &View, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b",\n\"extensions\":[")?;
    let mut written = 0;
    for ExtensionUsage { extension, size, files, .. } in &usage.extensions {
        if view.admits(*size) {
            separate(&mut written, out)?;
            out.write_all(b"{")?;
            write_text("extension", extension.as_encoded_bytes(), out)?;
            write!(out, ",\"files\":{files},")?;
            write_size(*size, out)?;
            out.write_all(b"}")?;
        }
    }
    out.write_all(b"]")
}

/// Writes what separates array elements: a newline, with a comma before it except for the first.
fn separate(written: &mut usize, out: &mut impl Write) -> io::Result<()> {
    *written += 1;
    out.write_all(if *written == 1 { b"\n" } else { b",\n" })
}

fn begin_entry(name: &[u8], kind: FileKind, size: Size, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{")?;
    write_text("name", name, out)?;
    write!(out, ",\"kind\":\"{}\",", kind_name(kind))?;
    write_size(size, out)
}

/// Writes a string field and, if it is not UTF-8, a second field with its bytes in base64.
fn write_text(field: &str, text: &[u8], out: &mut impl Write) -> io::Result<()> {
    write!(out, "\"{field}\":")?;
    write_json_string(out, text)?;
    if std::str::from_utf8(text).is_err() {
        write!(out, ",\"{field}_base64\":\"")?;
        write_base64(out, text)?;
        out.write_all(b"\"")?;
    }
    Ok(())
}

fn write_size(size: Size, out: &mut impl Write) -> io::Result<()> {
    let Size { len, allocated, inodes, .. } = size;
    write!(out, "\"bytes\":{len},\"allocated\":{allocated},\"inodes\":{inodes}")
}
