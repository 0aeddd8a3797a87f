//! Chunks of a stream: the reply events of a round written as server-sent events.
//!
//! In: reply events. Out: bytes of whole `data:` events. What all chunks have in common is written once; within a round
//! neighbouring events of a kind become one chunk, in their order.

use super::{Envelope, finish_reason, push_usage, push_vendor};
use crate::{
    api::json,
    chat::{Ended, UsageChunk},
    read::{ReplyEvent, Said},
};

/// Writes the chunks of one reply.
#[derive(Debug)]
pub struct Chunks {
    envelope: Envelope,
    /// From `data: {` to the model.
    head: Vec<u8>,
    /// Whether content or a call was sent, so that there is a reply to speak of.
    answered: bool,
    open: Open,
    text: String,
}

/// What the text collected so far belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Content,
    Reasoning,
    Arguments(usize),
}

// === impl Chunks ===

impl Chunks {
    /// A writer for a reply of which nothing was sent.
    pub fn new(envelope: Envelope) -> Self {
        let mut head = b"data: {".to_vec();
        envelope.push(&mut head, "chat.completion.chunk");
        Self { envelope, head, answered: false, open: Open::Nothing, text: String::new() }
    }

    /// The first chunk: the role.
    pub fn begin(&self, out: &mut Vec<u8>) {
        self.delta(out, |out| json::raw(out, r#"{"role":"assistant","content":null}"#));
    }

    /// The chunks of a round.
    pub fn round(&mut self, events: &[ReplyEvent], out: &mut Vec<u8>) {
        for event in events {
            match &event.said {
                Said::Content(text) => self.collect(Open::Content, text, out),
                Said::Reasoning(text) => self.collect(Open::Reasoning, text, out),
                Said::Arguments { call, piece } => self.collect(Open::Arguments(*call), piece, out),
                Said::CallStart { call, name } => self.call(*call, name, out),
                Said::CallEnd { .. } | Said::Nothing => {}
            }
        }
        self.close(out);
    }

    /// The chunks after the last round: an empty reply's content, the finish, the usage, the end.
    pub fn end(&mut self, ended: &Ended, usage: UsageChunk, out: &mut Vec<u8>) {
        if !self.answered {
            self.delta(out, |out| json::raw(out, r#"{"content":""}"#));
        }
        json::raw_bytes(out, &self.head);
        json::raw(out, r#""choices":[{"index":0,"delta":{},"finish_reason":"#);
        json::push(out, finish_reason(ended.finish));
        json::raw(out, "}]");
        if usage == UsageChunk::Included {
            json::raw(out, "}\n\n");
            json::raw_bytes(out, &self.head);
            json::raw(out, r#""choices":[],"#);
            push_usage(out, ended.usage);
        }
        json::raw(out, ",");
        push_vendor(out, &ended.token_sha);
        json::raw(out, "}\n\ndata: [DONE]\n\n");
    }

    fn collect(&mut self, kind: Open, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        if self.open != kind {
            self.close(out);
            self.open = kind;
        }
        self.text.push_str(text);
    }

    /// Sends what was collected.
    fn close(&mut self, out: &mut Vec<u8>) {
        let text = &self.text;
        match self.open {
            Open::Nothing => return,
            Open::Content => {
                self.answered = true;
                self.delta(out, |out| field(out, r#"{"content":"#, text, "}"));
            }
            Open::Reasoning => self.delta(out, |out| field(out, r#"{"reasoning_content":"#, text, "}")),
            Open::Arguments(call) => self.delta(out, |out| {
                json::raw(out, r#"{"tool_calls":[{"index":"#);
                json::push(out, &call);
                field(out, r#","function":{"arguments":"#, text, "}}]}");
            }),
        }
        self.open = Open::Nothing;
        self.text.clear();
    }

    fn call(&mut self, call: usize, name: &str, out: &mut Vec<u8>) {
        self.close(out);
        self.answered = true;
        self.delta(out, |out| {
            json::raw(out, r#"{"tool_calls":[{"index":"#);
            json::push(out, &call);
            field(out, r#","id":"#, &self.envelope.id.call(call), r#","type":"function""#);
            field(out, r#","function":{"name":"#, name, r#","arguments":""}}]}"#);
        });
    }

    fn delta(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        json::raw_bytes(out, &self.head);
        json::raw(out, r#""choices":[{"index":0,"delta":"#);
        write(out);
        json::raw(out, ",\"finish_reason\":null}]}\n\n");
    }
}

/// A string between two pieces of JSON.
fn field(out: &mut Vec<u8>, before: &str, text: &str, after: &str) {
    json::raw(out, before);
    json::push(out, text);
    json::raw(out, after);
}
