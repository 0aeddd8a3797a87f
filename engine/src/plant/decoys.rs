//! Decoys at the third seam: what servers do differently and are free to do.

use serde_json::{Map, Value};

use super::{
    Filter, Moment,
    frames::{self, Frame},
    shape,
};

/// Usage stands on the finish chunk, and there is no chunk of its own.
pub struct UsageOnFinish;

/// Fields that are absent are there, and null.
pub struct NullForAbsent;

/// A comment before each event, as keep-alives are sent.
pub struct Comments;

/// Lines end in CR and LF.
pub struct Crlf;

/// Ids of another form.
pub struct OtherIds;

/// Cached tokens are counted; a stream that comes second finds all of them.
pub struct CachedTokens;

/// Deltas that say nothing stand between the others.
pub struct EmptyDeltas;

// === impl UsageOnFinish ===

impl Filter for UsageOnFinish {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        shape::merge_usage_chunk(frames, &["usage", "tfengine"]);
    }
}

// === impl NullForAbsent ===

impl Filter for NullForAbsent {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            add_nulls(frames::delta(chunk), &["content", "refusal", "tool_calls", "function_call"]);
            add_nulls(frames::choice(chunk), &["logprobs"]);
            add_nulls(chunk.as_object_mut(), &["usage", "system_fingerprint", "service_tier"]);
        }
    }

    fn whole(&mut self, body: &mut Value) {
        add_nulls(frames::message(body), &["refusal", "tool_calls", "function_call", "audio", "annotations"]);
        add_nulls(frames::choice(body), &["logprobs"]);
        add_nulls(body.as_object_mut(), &["system_fingerprint", "service_tier"]);
    }
}

fn add_nulls(object: Option<&mut Map<String, Value>>, keys: &[&str]) {
    if let Some(object) = object {
        for key in keys {
            object.entry(*key).or_insert(Value::Null);
        }
    }
}

// === impl Comments ===

impl Filter for Comments {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        let comment = Frame::Raw(b": keep-alive\n\n".to_vec());
        *frames = frames.drain(..).flat_map(|frame| [comment.clone(), frame]).collect();
    }
}

// === impl Crlf ===

impl Filter for Crlf {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for frame in frames {
            let text = String::from_utf8_lossy(&frame.bytes()).replace('\n', "\r\n");
            *frame = Frame::Raw(text.into_bytes());
        }
    }
}

// === impl OtherIds ===

impl Filter for OtherIds {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            rename(chunk.get_mut("id"), "gen_");
            frames::calls(frames::delta(chunk)).for_each(|call| rename(call.get_mut("id"), "tool-"));
        }
    }

    fn whole(&mut self, body: &mut Value) {
        rename(body.get_mut("id"), "gen_");
        frames::calls(frames::message(body)).for_each(|call| rename(call.get_mut("id"), "tool-"));
    }
}

/// Puts another word before the digits of an id.
fn rename(id: Option<&mut Value>, prefix: &str) {
    if let Some(id) = id
        && let Some((_, digits)) = id.as_str().and_then(|id| id.split_once(['-', '_']))
    {
        *id = Value::from(format!("{prefix}{}", digits.to_uppercase()));
    }
}

// === impl CachedTokens ===

impl Filter for CachedTokens {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        for chunk in frames::chunks(frames) {
            add_cached(chunk, Value::clone);
        }
    }

    fn whole(&mut self, body: &mut Value) {
        add_cached(body, |_| Value::from(0));
    }
}

fn add_cached(body: &mut Value, cached: fn(&Value) -> Value) {
    if let Some(Value::Object(usage)) = body.get_mut("usage") {
        let cached = usage.get("prompt_tokens").map_or(Value::Null, cached);
        let details = Map::from_iter([("cached_tokens".to_owned(), cached)]);
        usage.insert("prompt_tokens_details".to_owned(), Value::Object(details));
    }
}

// === impl EmptyDeltas ===

impl Filter for EmptyDeltas {
    fn frames(&mut self, frames: &mut Vec<Frame>, _: Moment) {
        *frames = frames.drain(..).flat_map(followed_by_empty).collect();
    }
}

/// A chunk with a delta, and two that say nothing; none after the finish.
fn followed_by_empty(mut frame: Frame) -> Vec<Frame> {
    let says_more = frame
        .chunk()
        .and_then(frames::choice)
        .is_some_and(|choice| choice.get("finish_reason") == Some(&Value::Null));
    if !says_more {
        return vec![frame];
    }
    let empty = with_delta(&frame, Map::new());
    let no_content = with_delta(&frame, Map::from_iter([("content".to_owned(), Value::from(""))]));
    vec![frame, empty, no_content]
}

fn with_delta(frame: &Frame, delta: Map<String, Value>) -> Frame {
    let mut frame = frame.clone();
    if let Some(choice) = frame.chunk().and_then(frames::choice) {
        choice.insert("delta".to_owned(), Value::Object(delta));
    }
    frame
}
