//! Rules about errors: how they are wrapped, and what may follow them.

use crate::{
    decode::Payload,
    rules::{Example, Rule, Severity, digest::ErrorEvent, found::Shown},
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[ENVELOPE, FIELDS, NULL_KEY, THEN_DATA, CODE_TYPE];

const ENVELOPE: Rule = Rule {
    id: "openai-chat/error-envelope",
    severity: Severity::Error,
    sentence: "An error, under an error status or within a stream, is `error`, an object with a message.",
    source: "OpenAI API reference, errors; openai-python skips flat ones in silence",
    check: |digest, found| {
        for event in &digest.errors {
            if let Some(envelope) = wrong_envelope(event) {
                found.event(event.event, "error", envelope);
            }
        }
        for (at, event) in digest.facts.decoded.events.iter().enumerate() {
            let named = event.name.as_deref() == Some("error");
            if named && matches!(&event.payload, Payload::Json(body) if body.get("error").is_none()) {
                found.event(at, "event", "an event named error without `error` in it");
            }
        }
    },
    good: &[
        stream!(
            "data: {\"error\":{\"message\":\"no\",\"type\":\"x\",\"code\":null,\"param\":null}}\n\n",
            done!()
        ),
        Example::whole(r#"{"error":{"message":"no","type":"x","code":null,"param":null}}"#).status(400),
    ],
    bad: &[
        stream!("data: {\"error\":\"no\"}\n\n", done!()),
        stream!("data: {\"object\":\"error\",\"message\":\"no\"}\n\n", done!()),
        stream!("event: error\ndata: {\"message\":\"no\"}\n\n", done!()),
        Example::whole(r#"{"detail":"no"}"#).status(422),
    ],
};

const FIELDS: Rule = Rule {
    id: "openai-chat/error-fields",
    severity: Severity::Info,
    sentence: "An error has message, type, param and code.",
    source: "OpenAI API reference, errors",
    check: |digest, found| {
        for event in digest.errors.iter().filter(|event| wrong_envelope(event).is_none()) {
            let lacks = |key: &&&str| event.error.is_some_and(|error| error.get(**key).is_none());
            if let Some(key) = ["type", "param", "code"].iter().find(lacks) {
                found.event(event.event, "error", format_args!("no {key}"));
            }
        }
    },
    good: &[stream!(
        "data: {\"error\":{\"message\":\"no\",\"type\":\"x\",\"code\":null,\"param\":null}}\n\n",
        done!()
    )],
    bad: &[stream!("data: {\"error\":{\"message\":\"no\",\"type\":\"x\"}}\n\n", done!())],
};

const NULL_KEY: Rule = Rule {
    id: "openai-chat/error-null-key",
    severity: Severity::Warn,
    sentence: "A chunk without an error has no key `error`, not even null.",
    source: "openai-go takes it for an error",
    check: |digest, found| {
        for chunk in digest.chunks.iter().filter(|chunk| chunk.error.is_some() && digest.streamed()) {
            found.event(chunk.event, "error", "null");
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[stream!(chunk!("", r#""error":null"#), finish!("stop"), done!())],
};

const THEN_DATA: Rule = Rule {
    id: "openai-chat/error-then-data",
    severity: Severity::Warn,
    sentence: "After an error only the sentinel follows.",
    source: "own reasoning: what follows looks like success",
    check: |digest, found| {
        let Some(error) = digest.errors.first().filter(|_| digest.streamed()) else { return };
        for chunk in digest.chunks.iter().filter(|chunk| chunk.event > error.event) {
            found.event(chunk.event, "", "a chunk after an error");
        }
    },
    good: &[stream!("data: {\"error\":{\"message\":\"no\"}}\n\n", done!())],
    bad: &[stream!("data: {\"error\":{\"message\":\"no\"}}\n\n", finish!("stop"), done!())],
};

const CODE_TYPE: Rule = Rule {
    id: "openai-chat/error-code-type",
    severity: Severity::Info,
    sentence: "The code of an error is a string or null.",
    source: "OpenAI API reference, errors; vLLM, SGLang and llama.cpp send numbers",
    check: |digest, found| {
        for event in &digest.errors {
            let code = event.error.and_then(|error| error.get("code"));
            if let Some(code) = code.filter(|code| !code.is_string() && !code.is_null()) {
                found.event(event.event, "error.code", Shown(code));
            }
        }
    },
    good: &[Example::whole(r#"{"error":{"message":"no","code":"model_not_found"}}"#).status(404)],
    bad: &[Example::whole(r#"{"error":{"message":"no","code":404}}"#).status(404)],
};

fn wrong_envelope(event: &ErrorEvent<'_>) -> Option<&'static str> {
    match event.error {
        None => Some("a flat object, without `error`"),
        Some(Value::Object(error)) if error.get("message").is_some_and(Value::is_string) => None,
        Some(Value::Object(_)) => Some("an error without a message"),
        Some(_) => Some("an `error` that is no object"),
    }
}
