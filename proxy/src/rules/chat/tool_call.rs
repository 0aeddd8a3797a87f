//! Rules about the identity of a tool call: its id, its type, its name.

use crate::rules::{Rule, Severity, digest::text, found::Shown};
use std::collections::HashSet;

/// The rules of this file.
pub static RULES: &[Rule] = &[
    ID_MISSING,
    ID_REPEATED,
    ID_CHANGED,
    ID_DUPLICATE,
    ID_EMPTY_LATER,
    TYPE_MISSING,
    FUNCTION_NULL,
    NAME_MISSING,
    NAME_SPLIT,
    NAME_REPEATED,
    NAME_LATE,
    NAME_UNDECLARED,
];

const ID_MISSING: Rule = Rule {
    id: "openai-chat/tool-id-missing",
    severity: Severity::Error,
    sentence: "The first fragment of a call carries an id that is not empty.",
    source: "OpenAI API reference, chat completions; the AI SDK raises, openai-node invents one",
    check: |digest, found| {
        for (_, first) in digest.openings().filter(|(_, first)| text(first.id).is_empty()) {
            found.event(first.event, digest.fragment_path(first, "id"), "no id");
        }
    },
    good: &[stream!(call!(
        r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#
    ))],
    bad: &[
        stream!(call!(r#"{"index":0,"type":"function","function":{"name":"f","arguments":""}}"#)),
        whole!(
            r#"{"role":"assistant","tool_calls":[{"id":"","function":{"name":"f","arguments":"{}"}}]}"#,
            "tool_calls"
        ),
    ],
};

const ID_REPEATED: Rule = Rule {
    id: "openai-chat/tool-id-repeated",
    severity: Severity::Error,
    sentence: "The id of a call is not sent again on later fragments.",
    source: "langchain4j#4544; openai-python joins them to call_1call_1",
    check: |digest, found| {
        for (call, later) in digest.continuations() {
            if call.id.is_some_and(|id| id == text(later.id)) {
                found.event(later.event, digest.fragment_path(later, "id"), "the id again");
            }
        }
    },
    good: &[stream!(
        call!(r#"{"index":0,"id":"a"}"#),
        call!(r#"{"index":0,"id":null,"function":{"arguments":"{}"}}"#)
    )],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a"}"#),
        call!(r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#)
    )],
};

const ID_CHANGED: Rule = Rule {
    id: "openai-chat/tool-id-changed",
    severity: Severity::Error,
    sentence: "The id of a call never changes.",
    source: "hermes-agent#106943; clients that go by id split the call",
    check: |digest, found| {
        for (call, later) in digest.continuations().filter(|(_, later)| !text(later.id).is_empty()) {
            if let Some(id) = call.id.filter(|id| *id != text(later.id)) {
                let path = digest.fragment_path(later, "id");
                found.event(later.event, path, format_args!("{:?} after {id:?}", text(later.id)));
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":0,"function":{"arguments":"{}"}}"#))],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a"}"#),
        call!(r#"{"index":0,"id":"b","function":{"arguments":"{}"}}"#)
    )],
};

const ID_DUPLICATE: Rule = Rule {
    id: "openai-chat/tool-id-duplicate",
    severity: Severity::Error,
    sentence: "The ids of the calls of a reply differ.",
    source: "own reasoning: tool results are matched by id",
    check: |digest, found| {
        let mut ids = HashSet::new();
        for (call, first) in digest.openings() {
            if let Some(id) = call.id.filter(|id| !ids.insert(*id)) {
                found.event(first.event, digest.fragment_path(first, "id"), format_args!("{id:?} again"));
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":1,"id":"b"}"#))],
    bad: &[
        stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":1,"id":"a"}"#)),
        whole!(r#"{"role":"assistant","tool_calls":[{"id":"a"},{"id":"a"}]}"#, "tool_calls"),
    ],
};

const ID_EMPTY_LATER: Rule = Rule {
    id: "openai-chat/tool-id-empty-later",
    severity: Severity::Info,
    sentence: "Later fragments leave the id out, rather than send an empty one.",
    source: "OpenAI API reference, chat streaming",
    check: |digest, found| {
        for (_, later) in digest.continuations().filter(|(_, later)| later.id.is_some_and(|id| id == "")) {
            found.event(later.event, digest.fragment_path(later, "id"), "an empty id");
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":0,"function":{"arguments":"{}"}}"#))],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a"}"#),
        call!(r#"{"index":0,"id":"","function":{"arguments":"{}"}}"#)
    )],
};

const TYPE_MISSING: Rule = Rule {
    id: "openai-chat/tool-type-missing",
    severity: Severity::Warn,
    sentence: "The first fragment of a call carries its type.",
    source: "OpenAI API reference, chat completions; openai-node raises",
    check: |digest, found| {
        for (_, first) in digest.openings().filter(|(_, first)| text(first.kind).is_empty()) {
            found.event(first.event, digest.fragment_path(first, "type"), "no type");
        }
    },
    good: &[stream!(call!(
        r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#
    ))],
    bad: &[
        stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#)),
        whole!(
            r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
            "tool_calls"
        ),
    ],
};

const FUNCTION_NULL: Rule = Rule {
    id: "openai-chat/tool-function-null",
    severity: Severity::Warn,
    sentence: "`function` is an object, or absent on a later fragment.",
    source: "openai-python's accumulator raises",
    check: |digest, found| {
        for fragment in &digest.fragments {
            if let Some(function) = fragment.function.filter(|function| !function.is_object()) {
                found.event(fragment.event, digest.fragment_path(fragment, "function"), Shown(function));
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#), call!(r#"{"index":0}"#))],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#),
        call!(r#"{"index":0,"function":null}"#)
    )],
};

const NAME_MISSING: Rule = Rule {
    id: "openai-chat/tool-name-missing",
    severity: Severity::Error,
    sentence: "A finished call has a name.",
    source: "OpenAI API reference, chat completions; the AI SDK raises",
    check: |digest, found| {
        for (_, first) in digest.openings().filter(|(call, _)| call.name.is_none() && digest.concluded()) {
            found.event(first.event, digest.fragment_path(first, "function.name"), "no name until the end");
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#), done!())],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#),
        finish!("tool_calls"),
        done!()
    )],
};

const NAME_SPLIT: Rule = Rule {
    id: "openai-chat/tool-name-split",
    severity: Severity::Error,
    sentence: "A name comes whole, in one fragment.",
    source: "openai-node keeps the last piece, the AI SDK the first",
    check: |digest, found| {
        for (call, later) in digest.continuations() {
            let piece = text(later.name);
            if let Some(name) = call.name.filter(|name| !piece.is_empty() && *name != piece) {
                let path = digest.fragment_path(later, "function.name");
                found.event(later.event, path, format_args!("{piece:?} after {name:?}"));
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a","function":{"name":"get_weather"}}"#))],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"get_"}}"#),
        call!(r#"{"index":0,"function":{"name":"weather"}}"#)
    )],
};

const NAME_REPEATED: Rule = Rule {
    id: "openai-chat/tool-name-repeated",
    severity: Severity::Error,
    sentence: "A name is sent once.",
    source: "openai-python and openai-go double it",
    check: |digest, found| {
        for call in &digest.calls {
            let named = digest.fragments_of(call).filter(|fragment| !text(fragment.name).is_empty());
            for later in named.skip(1).filter(|later| call.name == Some(text(later.name))) {
                found.event(later.event, digest.fragment_path(later, "function.name"), "the name again");
            }
        }
    },
    good: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#),
        call!(r#"{"index":0,"function":{"name":null,"arguments":"{}"}}"#)
    )],
    bad: &[stream!(
        call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#),
        call!(r#"{"index":0,"function":{"name":"f","arguments":"{}"}}"#)
    )],
};

const NAME_LATE: Rule = Rule {
    id: "openai-chat/tool-name-late",
    severity: Severity::Warn,
    sentence: "The name is in the first fragment of a call.",
    source: "the AI SDK raises otherwise",
    check: |digest, found| {
        for (call, first) in digest.openings() {
            if call.name.is_some() && text(first.name).is_empty() {
                found.event(first.event, digest.fragment_path(first, "function.name"), "no name yet");
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#))],
    bad: &[stream!(call!(r#"{"index":0,"id":"a"}"#), call!(r#"{"index":0,"function":{"name":"f"}}"#))],
};

const NAME_UNDECLARED: Rule = Rule {
    id: "openai-chat/tool-name-undeclared",
    severity: Severity::Warn,
    sentence: "The name of a call is one of the tools offered.",
    source: "own reasoning: no client can run it",
    check: |digest, found| {
        let offered = &digest.facts.asked.tools;
        for (call, first) in digest.openings() {
            let joined: String = digest.fragments_of(call).map(|fragment| text(fragment.name)).collect();
            let repeated = call.name.is_some_and(|name| offered.iter().any(|tool| tool == name));
            if !joined.is_empty() && !repeated && !offered.contains(&joined) {
                let path = digest.fragment_path(first, "function.name");
                found.event(first.event, path, format_args!("{joined:?}, which was not offered"));
            }
        }
    },
    good: &[stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#))
        .asking(r#"{"stream":true,"tools":[{"type":"function","function":{"name":"f"}}]}"#)],
    bad: &[
        stream!(call!(r#"{"index":0,"id":"a","function":{"name":"g"}}"#))
            .asking(r#"{"stream":true,"tools":[{"type":"function","function":{"name":"f"}}]}"#),
        stream!(call!(r#"{"index":0,"id":"a","function":{"name":"f"}}"#)),
    ],
};
