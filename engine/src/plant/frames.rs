//! The events of a stream taken apart and put together again, for plants that change them.

use serde_json::{Map, Value};

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A chunk.
    Json(Value),
    /// `[DONE]`.
    Done,
    /// Bytes as they are sent.
    Raw(Vec<u8>),
}

// === impl Frame ===

impl Frame {
    /// The chunk, if it is one.
    pub fn chunk(&mut self) -> Option<&mut Value> {
        match self {
            Self::Json(chunk) => Some(chunk),
            Self::Done | Self::Raw(_) => None,
        }
    }

    /// The bytes that are sent.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Json(chunk) => format!("data: {chunk}\n\n").into_bytes(),
            Self::Done => b"data: [DONE]\n\n".to_vec(),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

/// Takes the engine's own stream apart: one `data:` line an event.
pub fn read(bytes: &[u8]) -> Vec<Frame> {
    let text = String::from_utf8_lossy(bytes);
    text.split_terminator("\n\n").map(read_one).collect()
}

fn read_one(event: &str) -> Frame {
    match event.strip_prefix("data: ") {
        Some("[DONE]") => Frame::Done,
        Some(data) => serde_json::from_str(data).map_or_else(|_| raw(event), Frame::Json),
        None => raw(event),
    }
}

fn raw(event: &str) -> Frame {
    Frame::Raw(format!("{event}\n\n").into_bytes())
}

/// Puts a stream together.
pub fn write(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(Frame::bytes).collect()
}

/// All chunks.
pub fn chunks(frames: &mut [Frame]) -> impl Iterator<Item = &mut Value> {
    frames.iter_mut().filter_map(Frame::chunk)
}

/// The only choice of a chunk or of a whole body.
pub fn choice(body: &mut Value) -> Option<&mut Map<String, Value>> {
    body.pointer_mut("/choices/0")?.as_object_mut()
}

/// The delta of a chunk.
pub fn delta(chunk: &mut Value) -> Option<&mut Map<String, Value>> {
    choice(chunk)?.get_mut("delta")?.as_object_mut()
}

/// The message of a whole body.
pub fn message(body: &mut Value) -> Option<&mut Map<String, Value>> {
    choice(body)?.get_mut("message")?.as_object_mut()
}

/// The calls of a delta or a message.
pub fn calls(said: Option<&mut Map<String, Value>>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let calls = said.and_then(|said| said.get_mut("tool_calls")).and_then(Value::as_array_mut);
    calls.into_iter().flatten().filter_map(Value::as_object_mut)
}
