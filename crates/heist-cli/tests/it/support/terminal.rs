//! A real terminal for tests, provided by tmux.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a test waits for text on the screen. The limit allows for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tmux session with a shell.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    pub(crate) fn open(test: &str, columns: usize, directory: &Path) -> Self {
        let terminal = Self { socket: format!("heist-{test}-{}", std::process::id()) };
        let width = columns.to_string();
        let mut command = terminal.tmux();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", "40"]);
        // `noflsh`: otherwise a terminal discards pending output on Ctrl-C, even half a message.
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

    /// Waits until the screen shows `text`, and returns the screen.
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
        // Each terminal has its own tmux server.
        let _ = self.tmux().arg("kill-server").status();
    }
}
