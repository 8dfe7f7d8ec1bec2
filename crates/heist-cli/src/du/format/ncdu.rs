//! `--format ncdu`: the export format of ncdu, version 1.2, which `ncdu -f FILE` reads.
//!
//! Every entry has its own size; ncdu adds them up, and it counts a file with several names once,
//! by its inode. Names are written byte for byte, as ncdu writes them, so a name that is not UTF-8
//! makes the output invalid as JSON.
//!
//! Not exported: owners, permissions and times (the extended mode of ncdu), and excluded entries.

use super::{DuOutput, NameStyle, shown};
use crate::du::traverse::{Step, traverse};
use heist_walk::FileKind;
use heist_walk::usage::{NodeId, Usage, UsageTree};
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// Exports the only root, whose path must be absolute.
pub(super) fn write(usage: &Usage, output: &mut DuOutput<impl Write>) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    write!(
        output.out,
        "[1,2,{{\"progname\":\"heist\",\"progver\":\"{version}\",\"timestamp\":{now}}}"
    )?;
    let tree = usage.tree.as_ref();
    if let Some((tree, root)) = tree.and_then(|tree| Some((tree, tree.roots().next()?))) {
        traverse(tree, root, usize::MAX, |visit| {
            let is_directory = tree.kind(visit.node).is_dir();
            match visit.step {
                Step::Enter => {
                    output.out.write_all(if is_directory { b",\n[" } else { b",\n" })?;
                    write_entry(tree, visit.node, output)?;
                }
                Step::Leave if is_directory => output.out.write_all(b"]")?,
                Step::Leave => {}
            }
            io::Result::Ok(true)
        })?;
    }
    output.out.write_all(b"]\n")
}

fn write_entry(
    tree: &UsageTree,
    node: NodeId,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    output.out.write_all(b"{\"name\":\"")?;
    write_name(tree.name(node).as_encoded_bytes(), output)?;
    output.out.write_all(b"\"")?;
    let (own, kind) = (tree.own_size(node), tree.kind(node));
    // Like ncdu, leave out values that are 0 or false.
    if own.len > 0 {
        write!(output.out, ",\"asize\":{}", own.len)?;
    }
    if own.allocated > 0 {
        write!(output.out, ",\"dsize\":{}", own.allocated)?;
    }
    let device = tree.device(node);
    if tree.parent(node).is_none_or(|parent| tree.device(parent) != device) {
        write!(output.out, ",\"dev\":{device}")?;
    }
    let links = tree.links(node);
    if !kind.is_dir() && links > 1 {
        write!(output.out, ",\"ino\":{},\"hlnkc\":true,\"nlink\":{links}", tree.inode(node))?;
    }
    if tree.has_errors(node) {
        output.out.write_all(b",\"read_error\":true")?;
    }
    if !matches!(kind, FileKind::File | FileKind::Directory) {
        output.out.write_all(b",\"notreg\":true")?;
    }
    output.out.write_all(b"}")
}

/// Writes a name with the escapes that ncdu supports, and no others.
fn write_name(name: &[u8], output: &mut DuOutput<impl Write>) -> io::Result<()> {
    let text;
    let name = match output.names {
        NameStyle::Raw => name,
        NameStyle::Escaped => {
            text = shown(name);
            text.as_bytes()
        }
    };
    for &byte in name {
        match byte {
            b'"' => output.out.write_all(b"\\\""),
            b'\\' => output.out.write_all(b"\\\\"),
            b'\n' => output.out.write_all(b"\\n"),
            0..=31 | 127 => write!(output.out, "\\u{byte:04x}"),
            plain => output.out.write_all(&[plain]),
        }?;
    }
    Ok(())
}
