//! Rules about the members of a chunk beside its choices.

use crate::rules::{
    Digest, Example, Found, Rule, Severity,
    digest::{Chunk, Delta, given, text},
    found::Shown,
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[
    OBJECT,
    REQUIRED_FIELDS,
    CHOICES_NOT_ARRAY,
    ID_EMPTY,
    ID_CONSTANT,
    CREATED_CONSTANT,
    MODEL_CONSTANT,
    FINGERPRINT_STABLE,
    CHOICES_EMPTY,
    OBFUSCATION,
];

const OBJECT: Rule = Rule {
    id: "openai-chat/chunk-object",
    severity: Severity::Error,
    sentence: "A chunk is an object whose `object` is chat.completion.chunk.",
    source: "OpenAI API reference, chat streaming; openai-python skips others",
    check: |digest, found| {
        if !digest.streamed() {
            return;
        }
        for (event, value) in &digest.strange {
            found.event(*event, "", format_args!("{} in place of a chunk", Shown(value)));
        }
        for chunk in &digest.chunks {
            // An empty one is how Azure marks annotations, which say nothing themselves.
            let annotation = || text(chunk.object).is_empty() && !speaks(digest, chunk);
            match chunk.object {
                Some(object) if object.as_str() != Some("chat.completion.chunk") && !annotation() => {
                    found.event(chunk.event, "object", Shown(object));
                }
                _ => {}
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        Example::stream("data: {\"object\":\"chat.completion\",\"choices\":[]}\n\n"),
        Example::stream("data: [1]\n\n"),
        Example::stream(
            "data: {\"object\":\"\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n",
        ),
    ],
};

const REQUIRED_FIELDS: Rule = Rule {
    id: "openai-chat/chunk-required-fields",
    severity: Severity::Error,
    sentence: "A chunk has id, object, created, model and choices.",
    source: "OpenAI API reference, chat streaming",
    check: |digest, found| {
        if digest.streamed() {
            digest.chunks.iter().for_each(|chunk| missing(chunk, found));
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[Example::stream("data: {\"id\":\"c\",\"choices\":[]}\n\n"), Example::stream("data: {}\n\n")],
};

const CHOICES_NOT_ARRAY: Rule = Rule {
    id: "openai-chat/choices-not-array",
    severity: Severity::Error,
    sentence: "`choices` is an array, never null.",
    source: "OpenAI API reference, chat completions; the official clients raise",
    check: |digest, found| {
        for chunk in &digest.chunks {
            if let Some(choices) = chunk.choices.filter(|choices| !choices.is_array()) {
                found.event(chunk.event, "choices", Shown(choices));
            }
        }
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!())],
    bad: &[
        Example::stream("data: {\"id\":\"c\",\"choices\":null,\"usage\":{}}\n\n"),
        Example::whole(r#"{"id":"c","choices":{}}"#),
    ],
};

const ID_EMPTY: Rule = Rule {
    id: "openai-chat/id-empty",
    severity: Severity::Warn,
    sentence: "`id` is a string that is not empty.",
    source: "OpenAI API reference, chat completions; TGI sends an empty one",
    check: |digest, found| {
        for chunk in &digest.chunks {
            // Azure's annotations have none, and say nothing themselves.
            if let Some(id) = chunk.id.filter(|id| text(Some(id)).is_empty() && speaks(digest, chunk)) {
                found.event(chunk.event, "id", Shown(id));
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[
        Example::stream("data: {\"id\":\"\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"),
        Example::whole(r#"{"id":7,"choices":[{"index":0,"message":{"content":"Hi"}}]}"#),
    ],
};

const ID_CONSTANT: Rule = Rule {
    id: "openai-chat/id-constant",
    severity: Severity::Error,
    sentence: "Every chunk has the same id.",
    source: "OpenAI API reference, chat streaming; openai-go drops the chunk",
    check: |digest, found| constant(digest, "id", |chunk| chunk.id, found),
    good: &[stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop"), done!())],
    bad: &[stream!(
        r#"data: {"id":"d","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}"#,
        "\n\n"
    )],
};

const CREATED_CONSTANT: Rule = Rule {
    id: "openai-chat/created-constant",
    severity: Severity::Warn,
    sentence: "Every chunk has the same `created`.",
    source: "OpenAI API reference, chat streaming; llama.cpp and TGI read the clock anew",
    check: |digest, found| {
        // NaN is told by a rule about JSON.
        constant(digest, "created", |chunk| chunk.created.filter(|created| created.is_number()), found);
    },
    good: &[
        stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop"), done!()),
        stream!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":NaN,"model":"m","choices":[]}"#,
            "\n\n"
        ),
    ],
    bad: &[stream!(
        r#"data: {"id":"c","object":"chat.completion.chunk","created":2,"model":"m","choices":[]}"#,
        "\n\n"
    )],
};

const MODEL_CONSTANT: Rule = Rule {
    id: "openai-chat/model-constant",
    severity: Severity::Warn,
    sentence: "The model does not change within a stream.",
    source: "own reasoning",
    check: |digest, found| constant(digest, "model", |chunk| chunk.model, found),
    good: &[stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop"), done!())],
    bad: &[stream!(
        r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"n","choices":[]}"#,
        "\n\n"
    )],
};

const FINGERPRINT_STABLE: Rule = Rule {
    id: "openai-chat/fingerprint-stable",
    severity: Severity::Info,
    sentence: "`system_fingerprint`, once seen, does not change; it may come late.",
    source: "OpenAI API reference, chat streaming; vLLM sends it last",
    check: |digest, found| constant(digest, "system_fingerprint", |chunk| chunk.fingerprint, found),
    good: &[stream!(chunk!("", r#""system_fingerprint":"a""#), chunk!("", r#""system_fingerprint":null"#))],
    bad: &[stream!(chunk!("", r#""system_fingerprint":"a""#), chunk!("", r#""system_fingerprint":"b""#))],
};

const CHOICES_EMPTY: Rule = Rule {
    id: "openai-chat/choices-empty",
    severity: Severity::Info,
    sentence: "`choices` is empty only on a chunk that brings usage or an extension.",
    source: "OpenAI API reference, chat streaming",
    check: |digest, found| {
        for chunk in digest.chunks.iter().filter(|_| digest.streamed()) {
            let empty = chunk.width() == 0 && chunk.choices.is_some_and(Value::is_array);
            if empty && !chunk.extended && given(chunk.usage).is_none() {
                found.event(chunk.event, "choices", "an empty array on a chunk that brings nothing else");
            }
        }
    },
    good: &[
        stream!(finish!("stop"), usage!(1, 2, 3), done!()),
        Example::stream("data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n"),
    ],
    bad: &[stream!(chunk!(""), finish!("stop"), done!())],
};

const OBFUSCATION: Rule = Rule {
    id: "openai-chat/obfuscation",
    severity: Severity::Info,
    sentence: "`obfuscation` comes in streams only, and not where it was switched off.",
    source: "OpenAI API reference, stream_options",
    check: |digest, found| {
        let Some(chunk) = digest.chunks.iter().find(|chunk| chunk.obfuscation.is_some()) else { return };
        let request = digest.facts.exchange.request.json().unwrap_or_default();
        let off = request.pointer("/stream_options/include_obfuscation") == Some(&Value::Bool(false));
        if off || !digest.streamed() {
            found.event(chunk.event, "obfuscation", "padding that was not asked for");
        }
    },
    good: &[stream!(chunk!("", r#""obfuscation":"xyz""#), finish!("stop"), done!())],
    bad: &[stream!(chunk!("", r#""obfuscation":"xyz""#))
        .asking(r#"{"stream":true,"stream_options":{"include_obfuscation":false}}"#)],
};

fn speaks(digest: &Digest<'_>, chunk: &Chunk<'_>) -> bool {
    digest.deltas.get(chunk.deltas.clone()).is_some_and(|deltas| deltas.iter().any(Delta::speaks))
}

fn missing(chunk: &Chunk<'_>, found: &mut Found<'_>) {
    let fields = [
        ("id", chunk.id),
        ("object", chunk.object),
        ("created", chunk.created),
        ("model", chunk.model),
        ("choices", chunk.choices),
    ];
    if fields.iter().any(|(_, field)| field.is_none()) {
        let names: Vec<_> =
            fields.iter().filter(|(_, field)| field.is_none()).map(|(name, _)| *name).collect();
        found.event(chunk.event, "", format_args!("no {}", names.join(", no ")));
    }
}

/// Says where a field differs from its first value; null and empty count as absent.
fn constant<'a>(
    digest: &Digest<'a>,
    name: &str,
    field: impl Fn(&Chunk<'a>) -> Option<&'a Value>,
    found: &mut Found<'_>,
) {
    let mut first = None;
    for chunk in &digest.chunks {
        let Some(value) = given(field(chunk)).filter(|value| value.as_str() != Some("")) else { continue };
        let before = *first.get_or_insert(value);
        if before != value {
            found.event(chunk.event, name, format_args!("{} after {}", Shown(value), Shown(before)));
        }
    }
}
