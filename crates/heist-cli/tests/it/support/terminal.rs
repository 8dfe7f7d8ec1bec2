//! A real terminal for tests, by way of tmux.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a screen may take to show something, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal of its own, with a shell in it.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    pub(crate) fn open(test: &str, columns: usize, directory: &Path) -> Self {
        let terminal = Self { socket: format!("heist-{test}-{}", std::process::id()) };
        let width = columns.to_string();
        let mut command = terminal.tmux();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", "40"]);
        // At Ctrl-C a terminal throws away the output that it has not shown yet, also the half of a message, unless it
        // is told not to.
        let shell = ["sh", "-c", "stty noflsh; exec sh"];
        command.args(["env", "-u", "NO_COLOR", "LC_ALL=C.UTF-8", "PS1=$ "]).args(shell);
        let status = command.current_dir(directory).status().expect("tmux starts");
        assert!(status.success());
        terminal.wait_for("$");
        terminal
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]);
        command
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        let status = self.tmux().args(["send-keys", "-t", "0"]).args(keys).status();
        assert!(status.expect("tmux is there").success());
    }

    pub(crate) fn type_line(&self, line: &str) {
        let status = self.tmux().args(["send-keys", "-t", "0", "-l", line]).status();
        assert!(status.expect("tmux is there").success());
        self.press(&["Enter"]);
    }

    pub(crate) fn screen(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p", "-t", "0"]).output();
        String::from_utf8(output.expect("tmux is there").stdout).expect("a screen is text")
    }

    /// The screen, as soon as it shows `text`.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(started.elapsed() < PATIENCE, "no `{text}` on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The server of this socket alone.
        let _ = self.tmux().arg("kill-server").status();
    }
}
