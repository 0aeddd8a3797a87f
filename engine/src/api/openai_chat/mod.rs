//! `POST /v1/chat/completions`: JSON to the neutral request, reply events to one JSON body or a stream of chunks.
//!
//! Both modes run the same generation and read the same events; here they only part in how these are written.

mod chunks;
mod fields;
mod messages;
mod refused;
mod request;
mod stream;
mod tools;
mod whole;

pub use stream::StreamBody;

use hyper::{HeaderMap, Response, StatusCode};

use super::{
    Body, clock,
    errors::Refusal,
    ids::ReplyId,
    json,
    router::{self, Service},
};
use crate::{
    chat::{Mode, Usage},
    generate::Generation,
    plant::{Seams, Setting},
    read::Finish,
};

/// What all parts of a reply have in common.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    id: ReplyId,
    created: u64,
    model: &'static str,
}

/// Answers one request.
pub async fn answer(service: &Service, headers: &HeaderMap, body: &[u8]) -> Result<Response<Body>, Refusal> {
    let asked = request::read(body, headers, service.plants)?;
    let envelope =
        Envelope { id: service.ids.next(), created: clock::now(), model: asked.request.model.name };
    let setting = Setting::of(&asked.request, asked.mode);
    let seams = Seams::new(asked.steering.plant, setting);
    let generation = Generation::new(asked.request, asked.steering.rounds);
    Ok(match asked.mode {
        Mode::Whole => {
            router::json(StatusCode::OK, whole::reply(envelope, generation, seams, &service.rounds).await)
        }
        Mode::Stream(usage) => {
            let rounds = std::sync::Arc::clone(&service.rounds);
            let stream = StreamBody::new(envelope, usage, generation, seams, rounds);
            router::event_stream(Body::Stream(Box::new(stream)))
        }
    })
}

// === impl Envelope ===

impl Envelope {
    /// `"id":...,"object":...,"created":...,"model":...,` without the brace before it.
    fn push(self, out: &mut Vec<u8>, object: &str) {
        json::raw(out, r#""id":"#);
        json::push(out, &self.id.chat());
        json::raw(out, r#","object":"#);
        json::push(out, object);
        json::raw(out, r#","created":"#);
        json::push(out, &self.created);
        json::raw(out, r#","model":"#);
        json::push(out, self.model);
        json::raw(out, ",");
    }
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
    }
}

fn push_usage(out: &mut Vec<u8>, usage: Usage) {
    json::raw(out, r#""usage":{"prompt_tokens":"#);
    json::push(out, &usage.prompt);
    json::raw(out, r#","completion_tokens":"#);
    json::push(out, &usage.completion);
    json::raw(out, r#","total_tokens":"#);
    json::push(out, &(usage.prompt + usage.completion));
    json::raw(out, "}");
}

fn push_vendor(out: &mut Vec<u8>, token_sha: &str) {
    json::raw(out, r#""tfengine":{"token_sha":"#);
    json::push(out, token_sha);
    json::raw(out, "}");
}
