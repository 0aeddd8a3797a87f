//! What the tests of the binary share: a server that plays bytes, and a folder to run the binary in.

#![allow(dead_code, reason = "each test uses a part")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set up its stage fails, and says where"
)]

pub mod asking;
pub mod running;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// What a server does with one connection after it read a request.
#[derive(Clone)]
pub enum Play {
    /// Sends bytes.
    Say(Vec<u8>),
    /// Sends a byte so many times.
    Repeat(u8, usize),
    /// Waits.
    Wait(Duration),
}

/// A server that plays scripts; `answer` chooses one by the request's text. It closes the connection after each.
pub struct Stage {
    /// Its address, `http://127.0.0.1:PORT`.
    pub url: String,
    /// Requests to the chat path so far.
    pub asked: Arc<AtomicUsize>,
}

/// Starts a server.
pub fn stage(answer: impl Fn(&str) -> Vec<Play> + Send + Sync + 'static) -> Stage {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let (counter, answer) = (Arc::clone(&asked), Arc::new(answer));
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (counter, answer) = (Arc::clone(&counter), Arc::clone(&answer));
            thread::spawn(move || serve(socket, &counter, &*answer));
        }
    });
    Stage { url, asked }
}

/// Every connection gets the same script on the chat path; all else is not found.
pub fn stage_of(script: Vec<Play>) -> Stage {
    stage(move |request| if request.starts_with("POST") { script.clone() } else { not_found() })
}

fn serve(mut socket: TcpStream, counter: &AtomicUsize, answer: &dyn Fn(&str) -> Vec<Play>) {
    let Some(request) = request(&mut socket) else { return };
    if request.starts_with("POST") {
        counter.fetch_add(1, Ordering::SeqCst);
    }
    for play in answer(&request) {
        let sent = match play {
            Play::Say(bytes) => socket.write_all(&bytes),
            Play::Repeat(byte, times) => repeat(&mut socket, byte, times),
            Play::Wait(pause) => {
                thread::sleep(pause);
                Ok(())
            }
        };
        // A client that went away has seen enough.
        if sent.is_err() {
            return;
        }
    }
}

fn repeat(socket: &mut TcpStream, byte: u8, times: usize) -> std::io::Result<()> {
    let block = vec![byte; 1 << 16];
    (0..times.div_ceil(block.len())).try_for_each(|_| socket.write_all(&block))
}

/// The head and the body of a request, as its length says.
fn request(socket: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut block) = (Vec::new(), [0; 4096]);
    loop {
        let read = socket.read(&mut block).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(block.get(..read)?);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text.into_owned());
        }
    }
}

/// A whole response of a kind.
pub fn response(status: &str, media: &str, body: &[u8]) -> Vec<Play> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    vec![Play::Say(head.into_bytes()), Play::Say(body.to_vec())]
}

/// No such path.
pub fn not_found() -> Vec<Play> {
    response("404 Not Found", "text/plain", b"no")
}

/// A folder in which the binary is run.
pub struct Folder(TempDir);

impl Folder {
    /// An empty one.
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// A path in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).expect(name)
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().unwrap();
        Ran::of(&output)
    }

    /// Runs the binary and tells the most memory it had resident, in KiB.
    pub fn run_measured(&self, arguments: &[&str]) -> (Ran, u64) {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = child.id();
        let watch = thread::spawn(move || watched(id));
        let output = child.wait_with_output().unwrap();
        (Ran::of(&output), watch.join().unwrap())
    }

    /// Starts the binary and leaves it running.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The binary, to be run in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tfproxy"));
        command.args(arguments).current_dir(self.0.path()).env_remove("HTTP_PROXY").stdin(Stdio::null());
        command
    }
}

/// The highest mark of a process's resident memory, read until it is gone.
fn watched(id: u32) -> u64 {
    let path = format!("/proc/{id}/status");
    let mut most = 0;
    while let Ok(status) = fs::read_to_string(Path::new(&path)) {
        // A process that has ended and was not waited for has no such line.
        let Some(line) = status.lines().find(|l| l.starts_with("VmHWM:")) else { break };
        most = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0).max(most);
        thread::sleep(Duration::from_millis(5));
    }
    most
}

/// What a run of the binary gave.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status.
    pub status: i32,
    /// What it printed.
    pub out: String,
    /// What it complained of.
    pub err: String,
}

impl Ran {
    /// What came of it.
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            status: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Asserts the exit status, and parts of what was printed on either stream; and that nothing panicked.
    pub fn expect(&self, status: i32, parts: &[&str]) {
        assert_eq!(self.status, status, "{self:#?}");
        let all = format!("{}{}", self.out, self.err);
        assert!(!all.contains("panicked"), "{self:#?}");
        for part in parts {
            assert!(all.contains(part), "{part:?} in {self:#?}");
        }
    }
}
