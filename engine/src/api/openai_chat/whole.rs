//! The whole reply: the fold of the events of all rounds, written as one JSON body.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Envelope, finish_reason, push_usage, push_vendor};
use crate::{
    api::json,
    chat::Ended,
    generate::{Generation, Step},
    plant::Seams,
    read::{Fold, Folded, FoldedCall},
};

/// After how many rounds other connections, and news of a client that went away, get their turn.
const ROUNDS_AT_A_TIME: u32 = 1024;

/// Generates and writes the reply. Dropping the future stops the generation.
pub async fn reply(
    envelope: Envelope,
    mut generation: Generation,
    mut seams: Seams,
    rounds: &AtomicU64,
) -> Vec<u8> {
    let mut fold = Fold::default();
    let mut events = Vec::new();
    let mut turn = 0;
    let ended = loop {
        let step = generation.round(&mut seams, &mut events);
        rounds.fetch_add(1, Ordering::Relaxed);
        events.drain(..).for_each(|event| fold.event(&event));
        turn += 1;
        match step {
            Step::Last(ended) => break ended,
            Step::More if turn % ROUNDS_AT_A_TIME == 0 => tokio::task::yield_now().await,
            Step::More => {}
        }
    };
    let mut body = write(envelope, &fold.done(), &ended);
    seams.whole(&mut body);
    body
}

fn write(envelope: Envelope, folded: &Folded, ended: &Ended) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    json::raw(&mut out, "{");
    envelope.push(&mut out, "chat.completion");
    json::raw(&mut out, r#""choices":[{"index":0,"message":"#);
    push_message(&mut out, envelope, folded);
    json::raw(&mut out, r#","finish_reason":"#);
    json::push(&mut out, finish_reason(ended.finish));
    json::raw(&mut out, "}],");
    push_usage(&mut out, ended.usage);
    json::raw(&mut out, ",");
    push_vendor(&mut out, &ended.token_sha);
    json::raw(&mut out, "}");
    out
}

fn push_message(out: &mut Vec<u8>, envelope: Envelope, folded: &Folded) {
    json::raw(out, r#"{"role":"assistant","content":"#);
    match folded.content.as_deref().filter(|content| !content.is_empty()) {
        Some(content) => json::push(out, content),
        None if folded.calls.is_empty() => json::push(out, ""),
        None => json::raw(out, "null"),
    }
    if let Some(reasoning) = folded.reasoning.as_deref().filter(|reasoning| !reasoning.is_empty()) {
        json::raw(out, r#","reasoning_content":"#);
        json::push(out, reasoning);
    }
    if !folded.calls.is_empty() {
        push_calls(out, envelope, &folded.calls);
    }
    json::raw(out, "}");
}

fn push_calls(out: &mut Vec<u8>, envelope: Envelope, calls: &[FoldedCall]) {
    json::raw(out, r#","tool_calls":["#);
    for (at, call) in calls.iter().enumerate() {
        json::raw(out, if at == 0 { r#"{"id":"# } else { r#",{"id":"# });
        json::push(out, &envelope.id.call(at));
        json::raw(out, r#","type":"function","function":{"name":"#);
        json::push(out, &call.name);
        json::raw(out, r#","arguments":"#);
        json::push(out, &call.arguments);
        json::raw(out, "}}");
    }
    json::raw(out, "]");
}
