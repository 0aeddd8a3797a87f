//! Rules about what a delta says: role, content, refusal, reasoning, and members that no document knows.

use crate::rules::{
    Digest, Example, Found, Rule, Severity,
    digest::{Delta, given, text},
    found::Shown,
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[
    ROLE_FIRST,
    ROLE_REPEATED,
    CONTENT_TYPE,
    REFUSAL_TYPE,
    CONTENT_AND_REFUSAL,
    FUNCTION_CALL_LEGACY,
    REASONING_AFTER_CONTENT,
    REASONING_TWO_FIELDS,
    LIST_EXTENSION_NO_INDEX,
    NUMERIC_EXTENSION,
];

const ROLE_FIRST: Rule = Rule {
    id: "openai-chat/role-first",
    severity: Severity::Warn,
    sentence: "The first delta of a choice carries the role assistant.",
    source: "OpenAI API reference, chat streaming",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|_| digest.streamed()) {
            let first = digest.deltas_of(choice).next();
            if let Some(delta) =
                first.filter(|delta| text(delta.role) != "assistant" && delta.delta.is_some())
            {
                let path = digest.delta_path(delta, "role");
                match delta.role {
                    Some(role) => found.event(delta.event, path, Shown(role)),
                    None => found.event(delta.event, path, "no role"),
                }
            }
        }
    },
    good: &[stream!(finish!("stop"), done!())],
    bad: &[Example::stream(concat!(delta!(r#"{"content":"Hi"}"#), role!(), finish!("stop"), done!()))],
};

const ROLE_REPEATED: Rule = Rule {
    id: "openai-chat/role-repeated",
    severity: Severity::Error,
    sentence: "The role is sent once for each choice.",
    source: "openai-python joins them to assistantassistant",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|_| digest.streamed()) {
            let with_role = digest.deltas_of(choice).filter(|delta| !text(delta.role).is_empty());
            for delta in with_role.skip(1) {
                found.event(delta.event, digest.delta_path(delta, "role"), "the role again");
            }
        }
    },
    good: &[stream!(delta!(r#"{"content":"Hi","role":null}"#), finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"role":"assistant","content":"Hi"}"#), finish!("stop"), done!())],
};

const CONTENT_TYPE: Rule = Rule {
    id: "openai-chat/content-type",
    severity: Severity::Error,
    sentence: "`content` is a string or null.",
    source: "OpenAI API reference, chat completions; openai-python drops others in silence",
    check: |digest, found| string_or_null(digest, "content", |delta| delta.content, found),
    good: &[stream!(delta!(r#"{"content":""}"#), finish!("stop"), done!())],
    bad: &[
        stream!(delta!(r#"{"content":7}"#), finish!("stop"), done!()),
        whole!(r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#, "stop"),
    ],
};

const REFUSAL_TYPE: Rule = Rule {
    id: "openai-chat/refusal-type",
    severity: Severity::Error,
    sentence: "`refusal` is a string or null.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| string_or_null(digest, "refusal", |delta| delta.refusal, found),
    good: &[stream!(delta!(r#"{"refusal":"No"}"#), finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"refusal":true}"#), finish!("stop"), done!())],
};

const CONTENT_AND_REFUSAL: Rule = Rule {
    id: "openai-chat/content-and-refusal",
    severity: Severity::Info,
    sentence: "A choice brings content or a refusal, not both.",
    source: "own reasoning",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|c| c.refusal > 0 && !c.content.value.is_empty()) {
            found.exchange(format_args!("content and a refusal in choice {}", choice.number));
        }
    },
    good: &[stream!(delta!(r#"{"refusal":"No"}"#), finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"content":"Hi"}"#), delta!(r#"{"refusal":"No"}"#), finish!("stop"), done!())],
};

const FUNCTION_CALL_LEGACY: Rule = Rule {
    id: "openai-chat/function-call-legacy",
    severity: Severity::Info,
    sentence: "The deprecated function_call is not mixed with tool_calls.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        let old = digest.deltas.iter().find(|delta| given(delta.function_call).is_some());
        if let Some(delta) = old.filter(|_| !digest.calls.is_empty()) {
            found.event(delta.event, digest.delta_path(delta, "function_call"), "both kinds of call");
        }
    },
    good: &[stream!(
        delta!(r#"{"function_call":{"name":"f","arguments":"{}"}}"#),
        finish!("function_call"),
        done!()
    )],
    bad: &[whole!(
        r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"},"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        "tool_calls"
    )],
};

const REASONING_AFTER_CONTENT: Rule = Rule {
    id: "openai-chat/reasoning-after-content",
    severity: Severity::Info,
    sentence: "Reasoning does not resume after content began.",
    source: "AI SDK closes the reasoning there",
    check: |digest, found| {
        for choice in digest.choices.iter().filter(|c| c.reasoning > 0 && !c.content.value.is_empty()) {
            let mut deltas = digest.deltas_of(choice).skip_while(|delta| delta.says().trim().is_empty());
            if let Some(delta) = deltas.find(|delta| delta.says().is_empty() && !delta.thinks().is_empty()) {
                found.event(
                    delta.event,
                    format_args!("choices[{}].delta", delta.at),
                    "reasoning after content",
                );
            }
        }
    },
    good: &[stream!(
        delta!(r#"{"reasoning_content":"a"}"#),
        delta!(r#"{"content":"b"}"#),
        finish!("stop"),
        done!()
    )],
    bad: &[stream!(
        delta!(r#"{"content":"b"}"#),
        delta!(r#"{"reasoning_content":"a"}"#),
        finish!("stop"),
        done!()
    )],
};

const REASONING_TWO_FIELDS: Rule = Rule {
    id: "openai-chat/reasoning-two-fields",
    severity: Severity::Warn,
    sentence: "Reasoning comes under one name, `reasoning` or `reasoning_content`.",
    source: "vLLM, SGLang and Ollama use different ones; a client that reads both doubles it",
    check: |digest, found| {
        let mut names = (false, false);
        for delta in &digest.deltas {
            names.0 |= !text(delta.reasoning).is_empty();
            names.1 |= !text(delta.reasoning_content).is_empty();
            if names == (true, true) {
                found.event(delta.event, digest.delta_path(delta, "reasoning"), "both names");
                return;
            }
        }
    },
    good: &[stream!(delta!(r#"{"reasoning":"a","reasoning_content":null}"#), finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"reasoning":"a","reasoning_content":"a"}"#), finish!("stop"), done!())],
};

const LIST_EXTENSION_NO_INDEX: Rule = Rule {
    id: "openai-chat/list-extension-no-index",
    severity: Severity::Warn,
    sentence: "Objects in a list that no document knows carry an index.",
    source: "openai-python's accumulator raises at the second delta",
    check: |digest, found| {
        let indexless = |item: &Value| item.is_object() && item.get("index").is_none();
        for extension in digest.extensions.iter().filter(|_| digest.streamed()) {
            if extension.value.as_array().is_some_and(|items| items.iter().any(indexless)) {
                let path = format_args!("choices[{}].delta.{}", extension.choice, extension.key);
                found.event(extension.event, path, "objects without an index");
            }
        }
    },
    good: &[stream!(delta!(r#"{"details":[{"index":0,"text":"a"}],"ids":[1,2]}"#), finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"reasoning_details":[{"text":"a"}]}"#), finish!("stop"), done!())],
};

const NUMERIC_EXTENSION: Rule = Rule {
    id: "openai-chat/numeric-extension",
    severity: Severity::Warn,
    sentence: "A delta holds no bare numbers.",
    source: "openai-python's accumulator sums them up",
    check: |digest, found| {
        for extension in digest.extensions.iter().filter(|e| digest.streamed() && e.value.is_number()) {
            let path = format_args!("choices[{}].delta.{}", extension.choice, extension.key);
            found.event(extension.event, path, Shown(extension.value));
        }
    },
    good: &[stream!(delta!(r#"{"matched":"7"}"#), finish!("stop"), done!())],
    bad: &[stream!(delta!(r#"{"token_id":7}"#), finish!("stop"), done!())],
};

fn string_or_null<'a>(
    digest: &Digest<'a>,
    name: &str,
    field: impl Fn(&Delta<'a>) -> Option<&'a Value>,
    found: &mut Found<'_>,
) {
    for delta in &digest.deltas {
        if let Some(value) = given(field(delta)).filter(|value| !value.is_string()) {
            found.event(delta.event, digest.delta_path(delta, name), Shown(value));
        }
    }
}
