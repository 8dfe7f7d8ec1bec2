//! `--format csv`: a header, then one line per entry, sorted by name, parents before their
//! children.
//!
//! | column | meaning |
//! |---|---|
//! | `path` | the path, with U+FFFD for bytes that are not UTF-8 |
//! | `kind` | `directory`, `file`, `symlink`, `fifo`, `socket`, `character-device`, `block-device`, `other` |
//! | `bytes` | the length of the entry and everything below it |
//! | `allocated` | the space that these take on the disk, in bytes |
//! | `inodes` | the number of entries; 0 for another name of a file that is counted elsewhere |
//! | `path_base64` | the bytes of the path, if it is not UTF-8; empty otherwise |
//!
//! Fields are quoted as in RFC 4180, but lines end with a single newline.

use super::{DuOutput, NameStyle, kind_name, root_kind, shown};
use crate::du::traverse::{Step, root_path, traverse};
use crate::du::view::View;
use crate::escape;
use heist_walk::FileKind;
use heist_walk::usage::{Size, Usage};
use std::io::{self, Write};

/// Writes the table.
pub(super) fn write(
    usage: &Usage,
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    output.out.write_all(b"path,kind,bytes,allocated,inodes,path_base64\n")?;
    let Some(tree) = &usage.tree else {
        for root in &usage.roots {
            let Some(size) = root.size.filter(|size| view.admits(*size)) else { continue };
            let path = root_path(root.path.as_os_str().as_encoded_bytes());
            write_line(path, root_kind(&root.path, view), size, output)?;
        }
        return Ok(());
    };
    for root in tree.roots() {
        traverse(tree, root, view.depth_max, |visit| {
            let size = tree.size(visit.node);
            if visit.step == Step::Enter && view.admits(size) {
                write_line(visit.path, tree.kind(visit.node), size, output)?;
            }
            io::Result::Ok(true)
        })?;
    }
    Ok(())
}

fn write_line(
    path: &[u8],
    kind: FileKind,
    size: Size,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    write_field(path, output)?;
    let Size { len, allocated, inodes, .. } = size;
    write!(output.out, ",{},{len},{allocated},{inodes},", kind_name(kind))?;
    if std::str::from_utf8(path).is_err() {
        escape::write_base64(&mut output.out, path)?;
    }
    output.out.write_all(b"\n")
}

/// Writes a field, quoted if necessary.
pub(super) fn write_field(text: &[u8], output: &mut DuOutput<impl Write>) -> io::Result<()> {
    let text = match output.names {
        NameStyle::Raw => String::from_utf8_lossy(text),
        NameStyle::Escaped => shown(text),
    };
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        write!(output.out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        output.out.write_all(text.as_bytes())
    }
}
