//! Runs one command as a process and measures elapsed time, CPU time and peak memory.
//!
//! The stopwatch is a small process of its own, the hidden subcommand `stopwatch`. The kernel
//! counts the memory that a process had before `exec` towards its peak, and a forked child starts
//! with its parent's memory: a large parent would add its own size to everything it measures. For
//! the same reason the stopwatch forks, which copies little, while `posix_spawn` would make the
//! child share all of it. [`least_peak_bytes`] returns the remainder.
//!
//! The command inherits the stopwatch's stdout. Its stdin is empty and its stderr is discarded,
//! because some contenders complain about each of 2,000 directories. The [`Lap`] goes to the
//! stopwatch's stderr as one line of JSON.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, mem, thread};

use clap::Args;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

/// A command that takes longer is killed: it hangs, or is too slow to be of interest.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Arguments of the hidden subcommand.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The measurements of one run of a command.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Lap {
    pub(crate) wall_seconds: f64,
    /// Of all threads, user and system.
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) end: End,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum End {
    Code(i32),
    Signal(i32),
    TimeLimit,
}

/// Measures the command and prints the lap.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let (program, arguments) = options.command.split_first().ok_or("there is no command")?;
    let cannot = |error| format!("cannot run {}: {error}", program.display());
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the closure does nothing, so it cannot break the rules for code between fork and
    // exec. Its presence makes `spawn` fork.
    unsafe { command.pre_exec(|| Ok(())) };
    let started = Instant::now();
    let child = command.spawn().map_err(cannot)?;
    let lap = wait(&child, started).map_err(cannot)?;
    eprintln!("{}", serde_json::to_string(&lap).expect("plain numbers"));
    Ok(())
}

/// Waits for the child to end, and kills it at the time limit. No other thread may wait for it.
fn wait(child: &Child, started: Instant) -> io::Result<Lap> {
    // Not by its process id, which the system may reuse as soon as the child has been waited for.
    let handle = rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let (ended, watched) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        let late = watched.recv_timeout(TIME_LIMIT) == Err(RecvTimeoutError::Timeout);
        // Fails if the child has just ended, which is fine.
        late && rustix::process::pidfd_send_signal(handle, Signal::KILL).is_ok()
    });
    let mut status = 0;
    // SAFETY: `rusage` contains only numbers, for which all zeros are valid.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    let waited = loop {
        // SAFETY: both pointers are to variables of the types that the call fills.
        let waited =
            unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
        let error = io::Error::last_os_error();
        if waited != -1 || error.kind() != io::ErrorKind::Interrupted {
            break if waited == -1 { Err(error) } else { Ok(()) };
        }
    };
    let wall_seconds = started.elapsed().as_secs_f64();
    drop(ended);
    let late = watchdog.join().expect("the watchdog does not panic");
    waited?;
    let status = ExitStatus::from_raw(status);
    let end = match (late, status.code()) {
        (true, _) => End::TimeLimit,
        (false, Some(code)) => End::Code(code),
        (false, None) => End::Signal(status.signal().unwrap_or_default()),
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Lap {
        wall_seconds,
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        // Linux reports KiB.
        peak_bytes: usage.ru_maxrss.cast_unsigned() * 1024,
        end,
    })
}

/// Runs the command under a stopwatch. `read` gets what the command prints; without it, the output
/// is discarded.
///
/// # Errors
/// Returns a message if the command cannot be run or `read` fails.
pub(crate) fn measure<T>(
    command: &[OsString],
    read: Option<impl FnOnce(&mut dyn io::Read) -> io::Result<T>>,
) -> Result<(Lap, Option<T>), String> {
    let shown = command.first().map(|program| program.display().to_string()).unwrap_or_default();
    let cannot = |error: io::Error| format!("cannot measure {shown}: {error}");
    let mut stopwatch = Command::new(env::current_exe().map_err(cannot)?)
        .arg("stopwatch")
        .arg("--")
        .args(command)
        .stdout(if read.is_some() { Stdio::piped() } else { Stdio::null() })
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let printed = match (read, stopwatch.stdout.take()) {
        (Some(read), Some(mut stdout)) => {
            let printed = read(&mut stdout);
            // Drain the rest: otherwise the command would block on a full pipe.
            io::copy(&mut stdout, &mut io::sink()).map_err(cannot)?;
            Some(printed.map_err(cannot)?)
        }
        _ => None,
    };
    let mut report = String::new();
    if let Some(stderr) = &mut stopwatch.stderr {
        stderr.read_to_string(&mut report).map_err(cannot)?;
    }
    stopwatch.wait().map_err(cannot)?;
    let lap = serde_json::from_str(&report).map_err(|_no_lap| report.trim().to_owned())?;
    Ok((lap, printed))
}

/// Returns the peak memory of a program that does nothing. Smaller peaks cannot be measured.
pub(crate) fn least_peak_bytes() -> Option<u64> {
    let nothing = [OsString::from("true")];
    let unread = None::<fn(&mut dyn io::Read) -> io::Result<()>>;
    measure(&nothing, unread).ok().map(|(lap, _)| lap.peak_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::zombie_processes, reason = "the function under test waits for it")]
    fn lap_of(shell: &str) -> Lap {
        let started = Instant::now();
        let child = Command::new("sh").args(["-c", shell]).spawn().expect("there is a shell");
        wait(&child, started).expect("it ends")
    }

    #[test]
    fn the_lap_reports_how_the_process_ended() {
        assert_eq!(lap_of("exit 0").end, End::Code(0));
        assert_eq!(lap_of("exit 3").end, End::Code(3));
        assert_eq!(lap_of("kill -9 $$").end, End::Signal(9));
    }

    #[test]
    fn sleeping_takes_time_and_no_cpu() {
        let lap = lap_of("sleep 0.3");
        assert!(lap.wall_seconds >= 0.3, "{lap:?}");
        assert!(lap.cpu_seconds < 0.2, "{lap:?}");
        assert!(lap.peak_bytes > 100_000, "{lap:?}");
    }
}
