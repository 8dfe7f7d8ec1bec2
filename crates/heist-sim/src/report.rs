//! Prints a schedule so that a person can follow it.

use crate::machine::{Event, EventKind, Outcome};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// Formats every operation of a schedule as one line: step, thread, what it did, the word and its
/// value, and the line of source code.
pub fn interleaving(outcome: &Outcome) -> String {
    let mut sources = Sources::default();
    let width = outcome.thread_names.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    let mut last_thread = None;
    for event in &outcome.events {
        let name = &outcome.thread_names[event.thread];
        // A blank line marks each switch to another thread, which is what matters in an
        // interleaving.
        if last_thread != Some(event.thread) && event.kind != EventKind::Flush {
            last_thread = Some(event.thread);
            text.push('\n');
        }
        let what = describe(event, &mut sources);
        let _ = writeln!(text, "{:>6}  {name:<width$}  {what}", event.step);
    }
    text
}

fn describe(event: &Event, sources: &mut Sources) -> String {
    let value = event.value;
    let what = match event.kind {
        EventKind::Say => return format!("* {}", event.text.as_deref().unwrap_or_default()),
        EventKind::Flush => {
            return format!("(its store of {value} to word {} arrives)", event.address);
        }
        EventKind::Wait => return "sleeps".to_owned(),
        EventKind::Pause => return "pauses".to_owned(),
        EventKind::Load => format!("reads {value}"),
        EventKind::Store => format!("stores {value}"),
        EventKind::Modify => format!("makes it {value}"),
        EventKind::Lock => "locks".to_owned(),
        EventKind::Unlock => "unlocks".to_owned(),
        EventKind::TakeToken => "takes its token, if there is one".to_owned(),
        EventKind::GiveToken => "gives a token".to_owned(),
        EventKind::Fence => "fence".to_owned(),
    };
    let Some(caller) = event.caller else { return what };
    let file = Path::new(caller.file());
    let place = file.iter().rev().take(2).collect::<Vec<_>>().into_iter().rev();
    let place: Vec<_> = place.map(|part| part.to_string_lossy()).collect();
    let line = sources.line(caller.file(), caller.line());
    format!("{what:<16} [{}]  {}:{}  {line}", event.address, place.join("/"), caller.line())
}

/// The lines of source files, each file read once. If a file cannot be read, its lines are empty,
/// and the report still names the file and line number.
#[derive(Default)]
struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    fn line(&mut self, file: &str, line: u32) -> &str {
        let lines = self.0.entry(file.to_owned()).or_insert_with(|| {
            // The compiler names files relative to the root of the workspace.
            let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file);
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        lines.get(line as usize - 1).map_or("", String::as_str)
    }
}
