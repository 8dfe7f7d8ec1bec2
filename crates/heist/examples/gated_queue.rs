//! Many tasks that find, one at a time that writes: searches files for a word, and prints the lines that have it.
//!
//! The searchers push what they find into a bounded [`GatedQueue`]. Its consumer is a task like theirs, and comes to a
//! worker when there is something to write: no thread waits for findings, no searcher for the output's lock, and lines
//! never mix. A searcher that finds the queue full does not block its worker either. It leaves with the finding that
//! has no room, and comes back as a task when it has (`push_then`): so a slow reader of the output slows the search
//! down, and the memory stays bounded.
//!
//! ```text
//! cargo run --release --example gated_queue -- join README.md crates
//! cargo run --release --example gated_queue -- fn crates | head -3
//! ```

use heist::{
    CancelToken, Executor, ExecutorHandle, GatedQueue, PushError, PushErrorKind, QueueConfig,
    QueueTurn,
};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs};

/// Small, so that the searchers are held back now and then.
const QUEUE: QueueConfig = QueueConfig { capacity: Some(256), batch: 64 };

enum Task {
    /// A file to search, or a folder to look into.
    Look(PathBuf, GatedQueue<String>),
    /// A file that is being searched.
    Search(Search),
    /// Some findings to write.
    Write(QueueTurn<String>),
}

/// A search that can be put down and taken up again.
struct Search {
    word: Arc<str>,
    path: PathBuf,
    text: String,
    /// The next line: its number, and where it begins.
    line: usize,
    begins: usize,
    findings: GatedQueue<String>,
}

impl Search {
    fn next_finding(&mut self) -> Option<String> {
        while self.begins < self.text.len() {
            let rest = &self.text[self.begins..];
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            let number = self.line;
            self.line += 1;
            self.begins += line.len();
            if line.contains(&*self.word) {
                return Some(format!("{}:{number}: {}", self.path.display(), line.trim()));
            }
        }
        None
    }

    /// Pushes what it finds, until the queue is full; then goes on as another task when there is room.
    fn run(mut self, executor: &ExecutorHandle<Task>) {
        while let Some(finding) = self.next_finding() {
            let Err(refused) = self.findings.try_push(finding) else { continue };
            if refused.kind() == PushErrorKind::Full {
                let findings = self.findings.clone();
                let go_on = move |pushed: Result<(), PushError<String>>| {
                    // Not pushed: nobody reads any more, or the pool was stopped. Then there is nothing left to find.
                    if pushed.is_err() {
                        self.begins = self.text.len();
                    }
                    Task::Search(self)
                };
                // A running task of this executor is not refused.
                let _ = findings.push_then(refused.into_inner(), executor, go_on);
            }
            return;
        }
    }
}

/// Looks at a path: its children become tasks, its text a search.
fn look(path: PathBuf, word: &Arc<str>, findings: GatedQueue<String>) -> io::Result<Vec<Task>> {
    if path.is_dir() {
        let mut children = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // Links may go round in circles.
            if !entry.file_type()?.is_symlink() {
                children.push(Task::Look(entry.path(), findings.clone()));
            }
        }
        return Ok(children);
    }
    let text = match fs::read_to_string(&path) {
        // Not a text.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Vec::new()),
        read => read?,
    };
    let word = Arc::clone(word);
    Ok(vec![Task::Search(Search { word, path, text, line: 1, begins: 0, findings })])
}

/// Writes a batch of findings, with one system call where they are short.
fn write_batch(turn: QueueTurn<String>) -> io::Result<()> {
    // Nobody else writes: a queue has one turn at a time.
    let mut out = BufWriter::new(io::stdout().lock());
    let mut result = Ok(());
    turn.run(|finding| {
        if result.is_ok() {
            result = writeln!(out, "{finding}");
        }
    });
    result.and_then(|()| out.flush())
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = env::args_os().skip(1);
    let word = arguments.next().and_then(|word| word.into_string().ok());
    let paths: Vec<_> = arguments.map(PathBuf::from).collect();
    let (Some(word), false) = (word, paths.is_empty()) else {
        eprintln!("usage: gated_queue WORD FILE-or-DIRECTORY...");
        return Ok(ExitCode::from(2));
    };
    let word: Arc<str> = word.into();
    let failed = Arc::new(AtomicBool::new(false));
    let (cancel, any_failed) = (CancelToken::new(), Arc::clone(&failed));
    let executor = Executor::builder().cancel(cancel.clone()).build(
        |_worker| (),
        move |task, ctx| match task {
            Task::Look(path, findings) => match look(path.clone(), &word, findings) {
                Ok(tasks) => ctx.spawn_local_batch(tasks),
                Err(error) => {
                    eprintln!("cannot read {}: {error}", path.display());
                    any_failed.store(true, Ordering::Relaxed);
                }
            },
            Task::Search(search) => search.run(&ctx.handle()),
            Task::Write(turn) => {
                if let Err(error) = write_batch(turn) {
                    // Whoever reads has seen enough, as in `| head`: what is queued is dropped, what waits is let go.
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        eprintln!("cannot write to standard output: {error}");
                        any_failed.store(true, Ordering::Relaxed);
                    }
                    cancel.cancel();
                }
            }
        },
    )?;
    let findings = GatedQueue::with_config(&executor.handle(), &QUEUE, Task::Write)?;
    let roots = paths.into_iter().map(|path| Task::Look(path, findings.clone()));
    executor.spawn_batch(roots)?;
    let metrics = executor.join();
    let stats = findings.stats();
    eprintln!(
        "{} findings, {} turns of the writer, {} dropped, {} tasks",
        stats.pushed,
        stats.turns,
        stats.dropped,
        metrics.tasks_run()
    );
    Ok(if failed.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
