//! The stage of the proxy's tests: an upstream that plays literal bytes, a client that speaks them, a desk that
//! judges by a word in the body.

use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    io::Write,
    sync::{Arc, Mutex, atomic::AtomicU64, atomic::Ordering::Relaxed},
    time::Duration,
};
use tempfile::TempDir;
use tfproxy::{
    exchange::{Credentials, End, Exchange, Head, Slice, Took},
    finding::Finding,
    request::{Mode, Request},
    rules::Severity,
    run::{Expected, FailOn, Judged, Verdict},
    serve::{Ask, Desk, Server, Settings, Shadow, serve},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};

pub const SECRET: &str = "s3cr3t-0123456789";
pub const WAIT: Duration = Duration::from_secs(10);

/// One step of an upstream's answer.
#[derive(Clone)]
pub enum Play {
    Bytes(Vec<u8>),
    /// Waits until the test says so.
    Cue,
    /// Reads until the other side closes; then tells the test.
    AwaitClose,
}

/// An upstream that plays the same script on every connection.
pub struct Stage {
    pub url: String,
    /// What each connection sent to it: head and body until the script began.
    pub requests: mpsc::UnboundedReceiver<Vec<u8>>,
    pub cue: mpsc::UnboundedSender<()>,
    pub closed: mpsc::UnboundedReceiver<()>,
}

pub async fn stage(script: Vec<Play>) -> Stage {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, requests) = mpsc::unbounded_channel();
    let (cue, cues) = mpsc::unbounded_channel();
    let (gone, closed) = mpsc::unbounded_channel();
    let cues = Arc::new(tokio::sync::Mutex::new(cues));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let played = play(stream, script.clone(), seen.clone(), cues.clone(), gone.clone());
            tokio::spawn(played);
        }
    });
    Stage { url, requests, cue, closed }
}

pub async fn play(
    mut stream: TcpStream,
    script: Vec<Play>,
    seen: mpsc::UnboundedSender<Vec<u8>>,
    cues: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<()>>>,
    gone: mpsc::UnboundedSender<()>,
) {
    let request = read_message(&mut stream).await;
    let _ = seen.send(request);
    for step in script {
        match step {
            Play::Bytes(bytes) => stream.write_all(&bytes).await.unwrap_or_default(),
            Play::Cue => _ = cues.lock().await.recv().await,
            Play::AwaitClose => {
                let mut rest = [0; 1024];
                while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                let _ = gone.send(());
            }
        }
    }
}

/// Reads one HTTP message: head, and as much body as its framing says.
pub async fn read_message(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 65536];
    while !is_whole(&bytes) {
        match stream.read(&mut buffer).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => break,
        }
    }
    bytes
}

pub fn is_whole(bytes: &[u8]) -> bool {
    let Some(head) = find(bytes, b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    match length {
        Some(length) => bytes.len() >= head + 4 + length,
        None if text.contains("transfer-encoding: chunked") => bytes.ends_with(b"0\r\n\r\n"),
        None => true,
    }
}

pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// What a message says: its head in lower case, its body with chunked framing removed, and whether it ended so.
pub fn parsed(message: &[u8]) -> (String, Vec<u8>, bool) {
    let split = find(message, b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&message[..split]).to_ascii_lowercase();
    let body = &message[split + 4..];
    if !head.contains("transfer-encoding: chunked") {
        return (head, body.to_vec(), true);
    }
    let (body, complete) = unchunked(body);
    (head, body, complete)
}

pub fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(line) = find(rest, b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let data = &rest[line + 2..];
        body.extend_from_slice(&data[..size.min(data.len())]);
        rest = data.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

pub fn chunked(slices: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for slice in slices {
        bytes.extend_from_slice(format!("{:x}\r\n", slice.len()).as_bytes());
        bytes.extend_from_slice(slice);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

pub fn sse_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()
}

pub fn answer(body: &[u8]) -> Vec<Play> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    vec![Play::Bytes(bytes)]
}

/// A place that lines are written to.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

pub struct Proxy {
    pub server: Server,
    pub lines: Lines,
    pub folder: TempDir,
    /// What the judge was given.
    pub judged: Arc<Mutex<Vec<Vec<Exchange>>>>,
    /// The twins that were sent.
    pub asks: Arc<Mutex<Vec<Ask>>>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Record {
    Everything,
    Failing,
}

pub async fn proxy(upstream: &str, shadow: Shadow, record: Record) -> Proxy {
    let folder = tempfile::tempdir().unwrap();
    let (lines, judged, asks) = (Lines::default(), Arc::default(), Arc::default());
    let settings = Settings {
        upstream: upstream.parse().unwrap(),
        shadow,
        failed: folder.path().join("failed"),
        record: (record == Record::Everything).then(|| folder.path().join("recorded")),
        head_timeout: Duration::from_secs(2),
        credentials: Credentials::default(),
        fail_on: FailOn::Error,
    };
    start(settings, folder, lines, judged, asks).await
}

pub async fn start(
    settings: Settings,
    folder: TempDir,
    lines: Lines,
    judged: Arc<Mutex<Vec<Vec<Exchange>>>>,
    asks: Arc<Mutex<Vec<Ask>>>,
) -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let desk = desk(judged.clone(), asks.clone());
    let server = serve(listener, settings, desk, Box::new(lines.clone())).unwrap();
    Proxy { server, lines, folder, judged, asks }
}

/// Judges bodies that hold `wrong` as failing and those that hold `useless` as no answer; answers twins with `twin`.
pub fn desk(judged: Arc<Mutex<Vec<Vec<Exchange>>>>, asks: Arc<Mutex<Vec<Ask>>>) -> Desk {
    let ticks = AtomicU64::new(1);
    Desk {
        judge: Arc::new(move |request, exchanges, _| {
            judged.lock().unwrap().push(exchanges.to_vec());
            verdict(request, exchanges)
        }),
        sender: Arc::new(move |ask| {
            asks.lock().unwrap().push(ask.clone());
            Box::pin(async move { twin_answer(ask) })
        }),
        twin: Arc::new(|request, mode| {
            let mut body = request.json()?;
            body.as_object_mut()?.insert("stream".to_owned(), (mode == Mode::Stream).into());
            Some(Request { body: body.to_string().into(), ..request.clone() })
        }),
        clock: Arc::new(move || ticks.fetch_add(1, Relaxed)),
    }
}

pub fn twin_answer(ask: Ask) -> Exchange {
    Exchange {
        mode: ask.mode,
        rounds: ask.rounds,
        request: ask.request,
        head: Some(Head { status: 200, headers: Vec::new() }),
        slices: vec![Slice { at: 1, bytes: Bytes::from_static(b"twin") }],
        end: End::Complete,
        took: Took::default(),
    }
}

pub fn verdict(request: &Request, exchanges: &[Exchange]) -> Judged {
    let holds = |word: &[u8]| exchanges.iter().any(|e| find(&e.body(), word).is_some());
    let is_wrong = holds(b"wrong");
    let verdict = match is_wrong {
        true => Verdict::Fail,
        false if holds(b"useless") => Verdict::Error,
        false => Verdict::Pass,
    };
    let finding = Finding {
        rule: "parity/content".to_owned(),
        severity: Severity::Error,
        rounds: Vec::new(),
        path: "content".to_owned(),
        whole: Some("a\x1b[31m".to_owned()),
        stream: Some("b".to_owned()),
        kind: None,
        because_of: None,
        event: None,
        span: None,
        at: None,
        diff: None,
        repeat: String::new(),
        side: tfproxy::finding::Side::Stream,
        clients: Vec::new(),
        known: None,
    };
    Judged {
        id: String::new(),
        case: String::new(),
        about: String::new(),
        dialect: request.dialect,
        format: None,
        says: None,
        verdict,
        reason: None,
        expected: Expected::None,
        exchanges: Vec::new(),
        reply: Value::Null,
        findings: is_wrong.then_some(finding).into_iter().collect(),
        tokens: tfproxy::run::Tokens::default(),
        other_policy: false,
        tags: Vec::new(),
        exercised: Vec::new(),
    }
}

impl Proxy {
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.server.addr()).await.unwrap()
    }

    /// Sends bytes on a connection of their own, and reads all that comes back until it closes.
    pub async fn ask(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect().await;
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        let _ = timeout(WAIT, stream.read_to_end(&mut answer)).await.expect("the proxy to answer");
        answer
    }

    pub async fn idle(&self) {
        timeout(WAIT, self.server.idle()).await.expect("the proxy to fall idle");
    }
}

pub fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: me\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub fn chat(stream: bool) -> Vec<u8> {
    let body = json!({ "model": "m", "stream": stream }).to_string();
    post("/v1/chat/completions", &format!("authorization: Bearer {SECRET}\r\n"), body.as_bytes())
}

pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(WAIT, future).await.expect("it to happen soon")
}

/// Reads until `what` has come.
pub async fn read_until(stream: &mut TcpStream, what: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while find(&bytes, what).is_none() {
        let count = soon(stream.read(&mut buffer)).await.unwrap();
        assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&buffer[..count]);
    }
    bytes
}
