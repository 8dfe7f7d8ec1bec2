//! `--format du`: the lines of GNU du (size, tab, path), sorted by name, children before their
//! parents.
//!
//! The lines equal those of GNU du byte for byte; only their order differs. One exception: heist
//! counts a file with several names for the first of them in sorted order, GNU du for the first one
//! that it reads.

use super::DuOutput;
use crate::du::traverse::{Step, root_path, traverse};
use crate::du::view::View;
use heist_walk::usage::{Size, Usage};
use std::io::{self, Write};

/// Writes the lines.
pub(super) fn write(
    usage: &Usage,
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    match &usage.tree {
        None => {
            for root in &usage.roots {
                let Some(size) = root.size.filter(|size| view.admits(*size)) else { continue };
                let path = root_path(root.path.as_os_str().as_encoded_bytes());
                write_line(size, path, view, output)?;
            }
        }
        Some(tree) => {
            for root in tree.roots() {
                traverse(tree, root, view.depth_max, |visit| {
                    let wants_line = visit.step == Step::Leave
                        && tree.is_counted(visit.node)
                        && view.admits(tree.size(visit.node));
                    if wants_line {
                        write_line(tree.size(visit.node), visit.path, view, output)?;
                    }
                    io::Result::Ok(true)
                })?;
            }
        }
    }
    if view.grand_total {
        write_line(usage.total(), b"total", view, output)?;
    }
    Ok(())
}

fn write_line(
    size: Size,
    path: &[u8],
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    write!(output.out, "{}\t", view.unit.show(view.amount(size)))?;
    output.name(path)?;
    output.out.write_all(&[view.terminator])
}
