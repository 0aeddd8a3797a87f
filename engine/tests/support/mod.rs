//! An engine on a free port, and bytes to and from it over a plain socket.

#![allow(dead_code, reason = "each test file uses another part")]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;
use tfengine::{Config, Server, Switch, serve};
use tokio::runtime::Runtime;

/// A running engine.
pub struct Engine {
    runtime: Runtime,
    server: Option<Server>,
    pub addr: SocketAddr,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub head: String,
    pub body: String,
}

impl Engine {
    pub fn start(plants: Switch) -> Self {
        let runtime = Runtime::new().unwrap();
        let server = runtime.block_on(serve(Config { plants, ..Config::default() })).unwrap();
        Self { runtime, addr: server.addr, server: Some(server) }
    }

    pub fn rounds(&self) -> u64 {
        self.server.as_ref().unwrap().rounds()
    }

    /// Shuts down, and gives the time it may take.
    pub fn shutdown(mut self) {
        let server = self.server.take().unwrap();
        self.runtime.block_on(server.shutdown());
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes, reads to the end.
    pub fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    pub fn get(&self, path: &str) -> Answer {
        read_answer(
            &self.raw(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()),
        )
    }

    /// Posts a chat request with more headers, each ending in CR and LF.
    pub fn chat(&self, headers: &str, body: &str) -> Answer {
        read_answer(&self.raw(chat_bytes(headers, body).as_bytes()))
    }
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The chunks of a stream, and whether `[DONE]` ended it.
    pub fn chunks(&self) -> (Vec<Value>, bool) {
        let text = self.body.replace("\r\n", "\n");
        let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let chunks = data.iter().filter(|data| **data != "[DONE]");
        (chunks.map(|data| serde_json::from_str(data).unwrap()).collect(), data.last() == Some(&"[DONE]"))
    }

    /// The body with ids and times replaced by words of their own length.
    pub fn masked(&self) -> String {
        let mut text = mask(&self.body, "chatcmpl-", 32);
        text = mask(&text, "\"call_", 24);
        mask(&text, "\"created\":", 10)
    }
}

pub fn chat_bytes(headers: &str, body: &str) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A request for a puppet, with more keys after the messages.
pub fn puppet(model: &str, says: &str, keys: &str) -> String {
    let says = Value::from(says);
    let comma = if keys.is_empty() { "" } else { "," };
    format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":{says}}}]{comma}{keys}}}"#)
}

fn mask(text: &str, prefix: &str, length: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(prefix) {
        let (before, after) = rest.split_at(at + prefix.len());
        out.push_str(before);
        assert!(after.as_bytes()[..length].iter().all(u8::is_ascii_hexdigit), "{after}");
        out.push('#');
        rest = &after[length..];
    }
    out + rest
}

pub fn read_answer(bytes: &[u8]) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_owned() };
    Answer { head, body }
}

fn unchunk(mut rest: &str) -> String {
    let mut out = String::new();
    loop {
        let (length, after) = rest.split_once("\r\n").expect("the body ends with its last chunk");
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return out;
        }
        out.push_str(&after[..length]);
        rest = &after[length + 2..];
    }
}
