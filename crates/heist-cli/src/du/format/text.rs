//! `--format text`: a tree with percentages and bars, for people.
//!
//! Percentages and bars are shares of all roots together. For each directory the largest entries
//! are shown, and one line says how many more there are. With an upper limit (`-t -SIZE`), a
//! directory above the limit is still shown if it contains an entry below the limit.

use super::{DuOutput, shown};
use crate::color::Role;
use crate::du::arguments::Order;
use crate::du::traverse::{Step, root_path, traverse};
use crate::du::view::View;
use crate::escape::shortened;
use crate::units::{Threshold, grouped};
use heist_walk::usage::{NodeId, Size, Usage, UsageTree};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::convert::Infallible;
use std::io::{self, Write};

/// The width of a bar.
const BAR_COLUMNS: usize = 20;

/// The width of a size. A longer size shifts the rest of its line.
const SIZE_COLUMNS: usize = 6;

/// Narrower terminals show no bars.
const COLUMNS_WITH_BARS: usize = 60;

/// Names are not shortened to less than this, even on a narrower terminal.
const NAME_COLUMNS_MIN: usize = 12;

/// A line of the tree.
#[derive(Clone, Copy, Debug)]
struct Row {
    what: RowContent,
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
enum RowContent {
    Entry(NodeId),
    /// The entries of a directory that are not shown.
    More {
        count: usize,
        size: Size,
    },
}

/// Writes the tree.
pub(super) fn write(
    usage: &Usage,
    view: &View,
    output: &mut DuOutput<impl Write>,
) -> io::Result<()> {
    let total = usage.total();
    // A single total is always 100 percent, so its share says nothing.
    let has_shares = usage.tree.is_some() || usage.roots.len() > 1;
    let lines = RowWriter { has_shares, ..RowWriter::new(view, total) };
    match &usage.tree {
        None => {
            for root in &usage.roots {
                let Some(size) = root.size.filter(|size| view.admits(*size)) else { continue };
                let path = shown(root_path(root.path.as_os_str().as_encoded_bytes()));
                lines.write(size, "", &path, Role::Directory, output)?;
            }
        }
        Some(tree) => {
            for root in tree.roots() {
                lines.write_tree(tree, &rows(tree, root, view), output)?;
            }
        }
    }
    if view.grand_total {
        lines.write(total, "", "total", Role::Faint, output)?;
    }
    Ok(())
}

/// Returns the lines of one root, parents before their children.
fn rows(tree: &UsageTree, root: NodeId, view: &View) -> Vec<Row> {
    let ancestors = ancestors_of_visible(tree, root, view);
    let mut rows = Vec::new();
    // A stack: the next line is the last element.
    let mut pending = Vec::new();
    if is_shown(tree, root, view, &ancestors) {
        pending.push(Row { what: RowContent::Entry(root), depth: 0 });
    }
    while let Some(row) = pending.pop() {
        rows.push(row);
        if let RowContent::Entry(node) = row.what
            && row.depth < view.depth_max
        {
            push_children(tree, node, row.depth + 1, view, &ancestors, &mut pending);
        }
    }
    rows
}

/// Returns the directories above the limit that contain something below the limit.
fn ancestors_of_visible(tree: &UsageTree, root: NodeId, view: &View) -> HashSet<NodeId> {
    let mut ancestors = HashSet::new();
    if !matches!(view.threshold, Some(Threshold::AtMost(_))) {
        return ancestors;
    }
    // For each open directory, whether anything in it is shown.
    let mut shown_within = Vec::new();
    let Ok(()) = traverse(tree, root, view.depth_max, |visit| {
        if visit.step == Step::Enter {
            shown_within.push(false);
            return Ok::<_, Infallible>(true);
        }
        let within = shown_within.pop().unwrap_or(false);
        let admitted = view.admits(tree.size(visit.node));
        if within && !admitted {
            ancestors.insert(visit.node);
        }
        if let Some(above) = shown_within.last_mut() {
            *above |= within || admitted;
        }
        Ok(true)
    });
    ancestors
}

fn is_shown(tree: &UsageTree, node: NodeId, view: &View, ancestors: &HashSet<NodeId>) -> bool {
    view.admits(tree.size(node)) || ancestors.contains(&node)
}

/// Pushes the visible entries of a directory, in reverse order.
fn push_children(
    tree: &UsageTree,
    node: NodeId,
    depth: usize,
    view: &View,
    ancestors: &HashSet<NodeId>,
    pending: &mut Vec<Row>,
) {
    let shown = tree.children(node).filter(|child| is_shown(tree, *child, view, ancestors));
    let mut children: Vec<NodeId> = shown.collect();
    let weight = |child: &NodeId| match view.order {
        Order::Count => tree.size(*child).inodes,
        Order::Size | Order::Name => view.amount(tree.size(*child)),
    };
    let mut more = None;
    if children.len() > view.top {
        // Children come sorted by name; a stable sort keeps that order among equals.
        children.sort_by_key(|child| Reverse(weight(child)));
        let rest = children.split_off(view.top);
        let size = rest.iter().map(|child| tree.size(*child)).sum();
        more = Some(RowContent::More { count: rest.len(), size });
    }
    match view.order {
        Order::Name => children.sort_by(|a, b| tree.name(*a).cmp(tree.name(*b))),
        Order::Size | Order::Count => children.sort_by_key(|child| Reverse(weight(child))),
    }
    if view.reverse {
        children.reverse();
    }
    pending.extend(more.map(|what| Row { what, depth }));
    pending.extend(
        children.into_iter().rev().map(|child| Row { what: RowContent::Entry(child), depth }),
    );
}

/// Writes the lines of one table or tree.
pub(super) struct RowWriter<'a> {
    view: &'a View,
    /// The amount that counts as 100 percent.
    whole: u64,
    /// Whether lines have a percentage and a bar.
    has_shares: bool,
}

impl<'a> RowWriter<'a> {
    /// Creates a writer whose percentages are shares of `whole`.
    pub(super) fn new(view: &'a View, whole: Size) -> Self {
        Self { view, whole: view.amount(whole), has_shares: true }
    }

    fn write_tree(
        &self,
        tree: &UsageTree,
        rows: &[Row],
        output: &mut DuOutput<impl Write>,
    ) -> io::Result<()> {
        let is_last = last_of_their_directories(rows);
        // The vertical lines of the directories above the current line.
        let mut branches = String::new();
        // The length of `branches`, in bytes, at each depth.
        let mut ends = vec![0];
        for (row, is_last) in rows.iter().zip(is_last) {
            ends.truncate(row.depth + 1);
            // A line's directory always precedes it, so no depth is missing.
            branches.truncate(ends[ends.len() - 1]);
            let own = match (row.depth, is_last) {
                (0, _) => "",
                (_, true) => "└─ ",
                (_, false) => "├─ ",
            };
            let prefix = format!("{branches}{own}");
            match row.what {
                RowContent::Entry(node) => {
                    let (name, role) = label(tree, node, row.depth);
                    self.write(tree.size(node), &prefix, &name, role, output)?;
                }
                RowContent::More { count, size } => {
                    let name = format!("({} more)", grouped(count as u64));
                    self.write(size, &prefix, &name, Role::Faint, output)?;
                }
            }
            if row.depth > 0 {
                branches.push_str(if is_last { "   " } else { "│  " });
            }
            ends.push(branches.len());
        }
        Ok(())
    }

    /// Writes the percentage and, if the terminal is wide enough, the bar. Returns the columns
    /// used.
    fn write_share(&self, amount: u64, output: &mut DuOutput<impl Write>) -> io::Result<usize> {
        let share = if self.whole == 0 { 0.0 } else { amount as f64 / self.whole as f64 };
        let percent = format!("{:>3.0}% ", share * 100.0);
        output.out.write_all(percent.as_bytes())?;
        if output.columns.is_some_and(|columns| columns < COLUMNS_WITH_BARS) {
            return Ok(percent.len());
        }
        let filled = ((share * BAR_COLUMNS as f64).round() as usize).min(BAR_COLUMNS);
        let (filled, empty) = ("█".repeat(filled), "░".repeat(BAR_COLUMNS - filled));
        let colors = output.colors;
        let (filled, empty) = (colors.paint(Role::Bar, filled), colors.paint(Role::Faint, empty));
        write!(output.out, "{filled}{empty} ")?;
        Ok(percent.len() + BAR_COLUMNS + 1)
    }

    /// Writes one line. `name` must be safe to print.
    pub(super) fn write(
        &self,
        size: Size,
        prefix: &str,
        name: &str,
        role: Role,
        output: &mut DuOutput<impl Write>,
    ) -> io::Result<()> {
        let colors = output.colors;
        let amount = self.view.amount(size);
        let figure = format!("{:>SIZE_COLUMNS$}", self.view.unit.show(amount));
        let mut used = figure.chars().count() + 2;
        write!(output.out, "{}  ", colors.paint(Role::Size, figure))?;
        if self.has_shares {
            used += self.write_share(amount, output)?;
        }
        let name = match output.columns {
            None => name.into(),
            Some(columns) => {
                let room = columns.saturating_sub(used + prefix.chars().count());
                shortened(name, room.max(NAME_COLUMNS_MIN))
            }
        };
        write!(output.out, "{}{}", colors.paint(Role::Faint, prefix), colors.paint(role, name))?;
        output.out.write_all(&[self.view.terminator])
    }
}

/// Returns for each line whether it is the last one of its directory.
fn last_of_their_directories(rows: &[Row]) -> Vec<bool> {
    // Walk backwards and remember, for each depth, whether the directory already had a line.
    let mut seen = Vec::new();
    let mut is_last = vec![false; rows.len()];
    for (row, is_last) in rows.iter().zip(&mut is_last).rev() {
        *is_last = !seen.get(row.depth).copied().unwrap_or(false);
        seen.resize(row.depth + 1, false);
        seen[row.depth] = true;
    }
    is_last
}

/// Returns the text of an entry and its colour.
fn label(tree: &UsageTree, node: NodeId, depth: usize) -> (String, Role) {
    let name = tree.name(node).as_encoded_bytes();
    let mut label = shown(if depth == 0 { root_path(name) } else { name }).into_owned();
    let is_directory = tree.kind(node).is_dir();
    if is_directory && !label.ends_with('/') {
        label.push('/');
    }
    if tree.has_errors(node) {
        label.push_str(" (incomplete)");
    }
    if !tree.is_counted(node) {
        label.push_str(" (counted elsewhere)");
    }
    (label, if is_directory { Role::Directory } else { Role::File })
}
