//! The binary as a server: started on a free port, listened to, and stopped.

use super::Folder;
use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// How long a line may take to come. None takes so long; a test that waits in vain has to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the binary that serves. It is killed when this is dropped.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    /// Where it answers, `http://127.0.0.1:PORT`.
    pub url: String,
}

// === impl Running ===

impl Running {
    /// Starts the bundled engine alone; `more` are options.
    pub fn engine(folder: &Folder, more: &[&str]) -> Self {
        Self::start(folder, &[&["engine", "--listen", "127.0.0.1:0"], more].concat())
    }

    /// Starts the proxy; `more` are options.
    pub fn proxy(folder: &Folder, more: &[&str]) -> Self {
        Self::start(folder, &[&["--listen", "127.0.0.1:0"], more].concat())
    }

    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut child = folder.start(arguments);
        let lines = lines(child.stdout.take().unwrap());
        let mut running = Self { child, lines, url: String::new() };
        let greeting = running.line(&["http://127.0.0.1:", "/v1"]);
        let url = greeting.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        url.trim_end_matches("/v1").clone_into(&mut running.url);
        running
    }

    /// The next line that holds all these parts; those before it are passed over.
    pub fn line(&self, parts: &[&str]) -> String {
        let mut passed = Vec::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            assert!(line.is_ok(), "no line with {parts:?} after {passed:#?}");
            let line = line.unwrap();
            if parts.iter().all(|part| line.contains(part)) {
                return line;
            }
            passed.push(line);
        }
    }

    /// Interrupts it, as a user does, and gives its exit status once all it still had to do is done.
    pub fn stop(mut self) -> i32 {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The lines of a pipe, read all the time, so that nobody waits to print.
fn lines(pipe: ChildStdout) -> Receiver<String> {
    let (told, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            _ = told.send(line);
        }
    });
    lines
}
