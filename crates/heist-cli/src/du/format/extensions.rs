//! `--by-extension`: a table of extensions instead of a tree, as text and as CSV.
//!
//! Extensions are in lower case, the largest first. The CSV columns are
//! `extension,files,bytes,allocated,inodes`. Files without an extension have an empty one, and
//! bytes that are not UTF-8 become U+FFFD.

use super::text::RowWriter;
use super::{DuOutput, csv, shown};
use crate::color::Role;
use crate::du::arguments::Order;
use crate::du::view::View;
use crate::units::grouped;
use heist_walk::usage::{ExtensionUsage, Size, Usage};
use std::cmp::Reverse;
use std::io::{self, Write};

/// Writes the table as text.
pub(super) fn write_text(
    usage: &Usage,
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    let total = usage.total();
    let lines = RowWriter::new(view, total);
    let mut extensions = admitted(usage, view);
    let rest = extensions.split_off(extensions.len().min(view.top));
    if view.order == Order::Name {
        extensions.sort_by(|a, b| a.extension.cmp(&b.extension));
    }
    if view.reverse {
        extensions.reverse();
    }
    for ExtensionUsage { extension, size, files, .. } in extensions {
        let name = match extension.as_encoded_bytes() {
            b"" => "(no extension)".into(),
            extension => format!(".{}", shown(extension)),
        };
        let files = plural(*files, "file");
        lines.write(*size, "", &format!("{name}  {files}"), Role::File, output)?;
    }
    if !rest.is_empty() {
        let size = rest.iter().map(|usage| usage.size).sum();
        let name = format!("({} more)", grouped(rest.len() as u64));
        lines.write(size, "", &name, Role::Faint, output)?;
    }
    if view.grand_total {
        lines.write(total, "", "total", Role::Faint, output)?;
    }
    Ok(())
}

/// Writes the table as CSV.
pub(super) fn write_csv(
    usage: &Usage,
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    output.out.write_all(b"extension,files,bytes,allocated,inodes\n")?;
    for ExtensionUsage { extension, size, files, .. } in admitted(usage, view) {
        csv::write_field(extension.as_encoded_bytes(), output)?;
        let Size { len, allocated, inodes, .. } = size;
        writeln!(output.out, ",{files},{len},{allocated},{inodes}")?;
    }
    Ok(())
}

/// Returns the extensions that are shown: the largest first or, with `--sort count`, the one with
/// the most files first.
fn admitted<'a>(usage: &'a Usage, view: &View) -> Vec<&'a ExtensionUsage> {
    let mut extensions: Vec<_> =
        usage.extensions.iter().filter(|usage| view.admits(usage.size)).collect();
    // The library sorts them by size on disk, then by name; a stable sort keeps that order among
    // equals.
    extensions.sort_by_key(|usage| {
        Reverse(if view.order == Order::Count { usage.files } else { view.amount(usage.size) })
    });
    extensions
}

fn plural(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}
