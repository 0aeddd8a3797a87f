//! Rules about a whole reply that have no counterpart in a chunk.

use crate::rules::{Example, Rule, Severity, digest::text, found::Shown};

/// The rules of this file.
pub static RULES: &[Rule] = &[OBJECT, REQUIRED_FIELDS, MESSAGE_MISSING];

const OBJECT: Rule = Rule {
    id: "openai-chat/whole-object",
    severity: Severity::Error,
    sentence: "The `object` of a whole reply is chat.completion.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for chunk in digest.chunks.iter().filter(|_| !digest.streamed()) {
            if let Some(object) = chunk.object.filter(|object| text(Some(object)) != "chat.completion") {
                found.event(chunk.event, "object", Shown(object));
            }
        }
    },
    good: &[whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop")],
    bad: &[Example::whole(r#"{"object":"chat.completion.chunk","choices":[]}"#)],
};

const REQUIRED_FIELDS: Rule = Rule {
    id: "openai-chat/whole-required-fields",
    severity: Severity::Error,
    sentence: "A whole reply has id, object, created, model and choices.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for chunk in digest.chunks.iter().filter(|_| !digest.streamed()) {
            let fields = [
                ("id", chunk.id),
                ("object", chunk.object),
                ("created", chunk.created),
                ("model", chunk.model),
                ("choices", chunk.choices),
            ];
            for (name, _) in fields.iter().filter(|(_, field)| field.is_none()) {
                found.event(chunk.event, name, "no such key");
            }
        }
    },
    good: &[whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop")],
    bad: &[Example::whole(r#"{"id":"c","choices":[]}"#)],
};

const MESSAGE_MISSING: Rule = Rule {
    id: "openai-chat/message-missing",
    severity: Severity::Error,
    sentence: "Each choice of a whole reply has a message of the role assistant.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for delta in digest.deltas.iter().filter(|_| !digest.streamed()) {
            let path = format_args!("choices[{}].message", delta.at);
            match delta.message {
                Some(message) if !message.is_object() => found.event(delta.event, path, Shown(message)),
                Some(_) if text(delta.role) != "assistant" => {
                    found.event(delta.event, path, "another role, or none");
                }
                Some(_) => {}
                None => found.event(delta.event, path, "no message"),
            }
        }
    },
    good: &[whole!(r#"{"role":"assistant","content":"Hi"}"#, "stop")],
    bad: &[
        Example::whole(r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#),
        whole!(r#"{"role":"user","content":"Hi"}"#, "stop"),
    ],
};
