//! Plants at the third seam: chunks and bodies of a wrong shape, or that end wrongly.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Filter, Moment,
    frames::{self, Frame},
};

/// Changes each chunk by itself.
pub struct EachChunk(pub fn(&mut Value));

/// Changes the whole body.
pub struct WholeBody(pub fn(&mut Value));

/// Keeps some frames only.
pub struct Keep(pub fn(&Frame) -> bool);

/// Loses the usage chunk. The vendor's key moves to the finish chunk, as it does where no usage was asked for.
pub struct UsageMissing;

/// Repeats id, type and name of a call on each of its fragments.
#[derive(Default)]
pub struct HeaderRepeated {
    headers: HashMap<u64, Map<String, Value>>,
}

/// Gives each chunk an id of its own.
#[derive(Default)]
pub struct IdPerChunk {
    chunks: u64,
}

/// Gives each chunk a time of its own.
#[derive(Default)]
pub struct CreatedPerChunk {
    chunks: u64,
}

/// Ends cleanly in the middle: the second half is never sent.
#[derive(Default)]
pub struct TruncatedClean {
    held: Vec<Frame>,
}

// === impl EachChunk ===

impl Filter for EachChunk {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        frames::chunks(frames).for_each(self.0);
    }
}

// === impl WholeBody ===

impl Filter for WholeBody {
    fn whole(&mut self, body: &mut Value) {
        self.0(body);
    }
}

// === impl Keep ===

impl Filter for Keep {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        frames.retain(self.0);
    }
}

// === impl UsageMissing ===

impl Filter for UsageMissing {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        merge_usage_chunk(frames, &["tfengine"]);
    }
}

/// Takes the usage chunk away and moves those of its keys to the finish chunk.
pub fn merge_usage_chunk(frames: &mut Vec<Frame>, keys: &[&str]) {
    let usage_chunk = frames.iter_mut().position(|frame| frame.chunk().is_some_and(is_usage_chunk));
    let Some(at) = usage_chunk else { return };
    let mut taken = frames.remove(at);
    let finish_chunk = at.checked_sub(1).and_then(|at| frames.get_mut(at)).and_then(Frame::chunk);
    if let (Some(Value::Object(from)), Some(Value::Object(to))) = (taken.chunk(), finish_chunk) {
        for key in keys {
            to.extend(from.remove(*key).map(|value| ((*key).to_owned(), value)));
        }
    }
}

fn is_usage_chunk(chunk: &mut Value) -> bool {
    chunk.get("choices").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

// === impl HeaderRepeated ===

impl Filter for HeaderRepeated {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            for call in frames::calls(frames::delta(chunk)) {
                self.repeat(call);
            }
        }
    }
}

impl HeaderRepeated {
    fn repeat(&mut self, call: &mut Map<String, Value>) {
        let Some(index) = call.get("index").and_then(Value::as_u64) else { return };
        match self.headers.get(&index) {
            None => {
                self.headers.insert(index, call.clone());
            }
            Some(header) => copy_header(header, call),
        }
    }
}

fn copy_header(header: &Map<String, Value>, call: &mut Map<String, Value>) {
    for key in ["id", "type"] {
        call.extend(header.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let name = header.get("function").and_then(|function| function.get("name"));
    if let (Some(name), Some(Value::Object(function))) = (name, call.get_mut("function")) {
        function.insert("name".to_owned(), name.clone());
    }
}

// === impl IdPerChunk ===

impl Filter for IdPerChunk {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            self.chunks += 1;
            if let Some(id) = chunk.get_mut("id") {
                *id = Value::from(format!("{}-{}", id.as_str().unwrap_or_default(), self.chunks));
            }
        }
    }
}

// === impl CreatedPerChunk ===

impl Filter for CreatedPerChunk {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            if let Some(created) = chunk.get_mut("created") {
                *created = Value::from(created.as_u64().unwrap_or_default() + self.chunks);
            }
            self.chunks += 1;
        }
    }
}

// === impl TruncatedClean ===

impl Filter for TruncatedClean {
    fn frames(&mut self, frames: &mut Vec<Frame>, moment: Moment) {
        self.held.append(frames);
        if moment == Moment::Last {
            let half = self.held.len() / 2;
            self.held.truncate(half);
            *frames = std::mem::take(&mut self.held);
        }
    }
}

/// The finish of a call reads `stop`.
pub fn finish_stop(chunk: &mut Value) {
    if let Some(finish) = frames::choice(chunk).and_then(|choice| choice.get_mut("finish_reason"))
        && finish.as_str() == Some("tool_calls")
    {
        *finish = Value::from("stop");
    }
}

/// No chunk carries a finish.
pub fn finish_missing(chunk: &mut Value) {
    if let Some(choice) = frames::choice(chunk) {
        choice.insert("finish_reason".to_owned(), Value::Null);
    }
}

/// Each chunk carries one.
pub fn finish_everywhere(chunk: &mut Value) {
    if let Some(finish) = frames::choice(chunk).and_then(|choice| choice.get_mut("finish_reason"))
        && finish.is_null()
    {
        *finish = Value::from("stop");
    }
}

/// One token more than was generated.
pub fn usage_differs(chunk: &mut Value) {
    for key in ["completion_tokens", "total_tokens"] {
        if let Some(count) = chunk.get_mut("usage").and_then(|usage| usage.get_mut(key)) {
            *count = Value::from(count.as_u64().unwrap_or_default() + 1);
        }
    }
}

/// All calls have the index 0.
pub fn index_zero(chunk: &mut Value) {
    for call in frames::calls(frames::delta(chunk)) {
        call.insert("index".to_owned(), Value::from(0));
    }
}

/// No call has an index.
pub fn index_missing(chunk: &mut Value) {
    for call in frames::calls(frames::delta(chunk)) {
        call.shift_remove("index");
    }
}

/// No call has a type.
pub fn type_missing(chunk: &mut Value) {
    for call in frames::calls(frames::delta(chunk)) {
        call.shift_remove("type");
    }
}

/// No call has an id.
pub fn tool_id_missing(chunk: &mut Value) {
    for call in frames::calls(frames::delta(chunk)) {
        call.shift_remove("id");
    }
}

/// Each delta says the role.
pub fn role_repeated(chunk: &mut Value) {
    if let Some(delta) = frames::delta(chunk) {
        delta.insert("role".to_owned(), Value::from("assistant"));
    }
}

/// With calls there is no prose.
pub fn prose_beside_call_lost(body: &mut Value) {
    if let Some(message) = frames::message(body).filter(|message| message.contains_key("tool_calls")) {
        message.insert("content".to_owned(), Value::Null);
    }
}
