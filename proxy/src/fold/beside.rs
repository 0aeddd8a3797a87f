//! What a message brings beside content, reasoning and calls: the legacy function call, audio, annotations, and reasoning
//! under a second key.
//!
//! In: a message or delta. Out: it is put into the [`Reply`]; nothing of it is lost on the way to a comparison.

use super::{calls, reply::Reply, wire};
use serde_json::Value;

/// Where a message stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// The event that brought it.
    pub event: usize,
    /// Whether halves of characters may have to be joined.
    pub has_halves: bool,
}

/// Takes what stands beside the text.
pub(super) fn note(reply: &mut Reply, message: &Value, at: At) {
    function_call(reply, message, at);
    audio(reply, message, at);
    if let Some(annotations) = message.get("annotations").and_then(Value::as_array) {
        reply.beside.annotations.extend(annotations.iter().cloned());
    }
    // Where both keys are there the first one is the reply's reasoning.
    if let (Some(_), Some(second)) =
        (wire::text(message, "reasoning_content"), wire::text(message, "reasoning"))
    {
        calls::append(&mut reply.beside.reasoning, second, at.event, at.has_halves);
    }
}

fn function_call(reply: &mut Reply, message: &Value, at: At) {
    let Some(fragment) = message.get("function_call").filter(|call| call.is_object()) else { return };
    let call = reply.beside.function_call.get_or_insert_default();
    if let Some(name) = wire::text(fragment, "name") {
        call.name.push_str(name);
    }
    calls::merge_arguments(call, fragment, at.event, at.has_halves);
}

/// Of audio the bytes are not compared: streams bring them in pieces that are encoded one by one.
fn audio(reply: &mut Reply, message: &Value, at: At) {
    let Some(audio) = wire::given(message, "audio") else { return };
    reply.beside.has_audio = true;
    if let Some(transcript) = wire::text(audio, "transcript") {
        calls::append(&mut reply.beside.transcript, transcript, at.event, at.has_halves);
    }
}
