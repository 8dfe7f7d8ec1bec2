//! Searches files for a word in parallel, and writes the matching lines from a single consumer.
//!
//! This example shows a bounded [`GatedQueue`]. Many tasks search, and push the lines they find
//! into the queue. The queue's consumer is a task as well, which the queue puts on a worker when
//! there is something to write. So no thread waits for lines, no task waits for a lock on the
//! output, and lines never mix.
//!
//! A task that finds the queue full does not block its worker either. It calls `push_then` and
//! ends; another task continues the search when there is room. So a slow reader of the output slows
//! the search down, and memory stays bounded.
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

/// Small, so that the search tasks have to wait from time to time.
const QUEUE: QueueConfig = QueueConfig::new().capacity(Some(256)).batch(64);

enum Task {
    /// Look at a path: a file to search, or a directory to list.
    Look(PathBuf, GatedQueue<String>),
    /// Search a file, or continue a search.
    Search(Search),
    /// Write some of the lines that were found.
    Write(QueueTurn<String>),
}

/// A search that can stop after any line and continue in another task.
struct Search {
    word: Arc<str>,
    path: PathBuf,
    text: String,
    /// The number of the next line, and the offset at which it begins.
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

    /// Pushes matching lines until the queue is full, and then continues as another task when there
    /// is room.
    fn run(mut self, executor: &ExecutorHandle<Task>) {
        while let Some(finding) = self.next_finding() {
            let Err(refused) = self.findings.try_push(finding) else { continue };
            if refused.kind() == PushErrorKind::Full {
                let findings = self.findings.clone();
                let go_on = move |pushed: Result<(), PushError<String>>| {
                    // An error means that the queue is closed or the pool was stopped, so skip the
                    // rest of the file.
                    if pushed.is_err() {
                        self.begins = self.text.len();
                    }
                    Task::Search(self)
                };
                // A running task of this executor is never refused.
                let _ = findings.push_then(refused.into_inner(), executor, go_on);
            }
            return;
        }
    }
}

/// Looks at a path. The entries of a directory become tasks, and the text of a file becomes a
/// search.
fn look(path: PathBuf, word: &Arc<str>, findings: GatedQueue<String>) -> io::Result<Vec<Task>> {
    if path.is_dir() {
        let mut children = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // Symbolic links could lead around in circles.
            if !entry.file_type()?.is_symlink() {
                children.push(Task::Look(entry.path(), findings.clone()));
            }
        }
        return Ok(children);
    }
    let text = match fs::read_to_string(&path) {
        // Not a text file.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Vec::new()),
        read => read?,
    };
    let word = Arc::clone(word);
    Ok(vec![Task::Search(Search { word, path, text, line: 1, begins: 0, findings })])
}

/// Writes a batch of lines, with one system call if they are short.
fn write_batch(turn: QueueTurn<String>) -> io::Result<()> {
    // A queue has one turn at a time, so no other task writes now.
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
                    // The reader of the output has closed it, as in `| head`. Cancelling drops the
                    // queued lines and the waiting tasks.
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
        "{} lines found, {} turns of the writer, {} lines dropped, {} tasks",
        stats.pushed,
        stats.turns,
        stats.dropped,
        metrics.tasks_run()
    );
    Ok(if failed.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
