//! Counts what is below the given paths and adds up the sizes:
//! `totals [--names] [--threads N] PATH...`

use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use std::convert::Infallible;

/// Prints errors. The walk's own counters do the rest.
struct Errors;

impl Visitor for Errors {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        eprintln!("{error}");
        Flow::Continue
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = Vec::new();
    let (mut metadata, mut threads) = (true, None);
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--names") => metadata = false,
            Some("--threads") => {
                let number = arguments.next().ok_or("--threads needs a number")?;
                threads = Some(number.to_str().ok_or("--threads needs a number")?.parse()?);
            }
            _ => paths.push(argument),
        }
    }
    if paths.is_empty() {
        paths.push(".".into());
    }
    let report = Walk::over(paths).metadata(metadata).threads(threads).run(|_thread| Errors)?;
    println!("{:#?} on {} threads", report.totals, report.threads);
    Ok(())
}
