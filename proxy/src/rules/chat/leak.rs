//! Rules about text that should not have reached the client: markup of calls and of thinking, stop strings.
//!
//! Bias: a marker in backticks, quotes or a fenced block is prose that names it, and so is one the right answer holds.

use crate::{
    fold::reply::Text,
    request::case::Expect,
    rules::{Digest, Facts, Found, Rule, Severity, digest::Choice},
};

/// The rules of this file.
pub static RULES: &[Rule] = &[MARKUP, STOP_STRING];

/// Markers of the known families of models. Those that begin with `<` are compared without case.
pub const MARKERS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<tool_response>",
    "<think>",
    "</think>",
    "<function=",
    "<parameter=",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<function_calls>",
    "</function_calls>",
    "<invoke name=",
    "</invoke>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
    "<|start|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|message|>",
    "<|channel|>",
    "<|channel>",
    "<channel|>",
    "<|tool_call>",
    "<tool_call|>",
    "<|tool_call_begin|>",
    "<|tool_call_end|>",
    "<|tool_call_argument_begin|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<｜DSML｜",
    "</｜DSML｜",
    "<｜tool▁",
    "<｜end▁of▁sentence｜>",
    "[TOOL_CALLS]",
    "[THINK]",
    "[/THINK]",
];

const MARKUP: Rule = Rule {
    id: "openai-chat/markup-leak",
    severity: Severity::Warn,
    sentence: "Content holds no markup of calls or of thinking.",
    source: "vllm#47903, vllm#45687",
    check: |digest, found| digest.choices.iter().for_each(|choice| markup(digest, choice, found)),
    good: &[
        stream!(delta!(r#"{"content":"a < b, `<tool_call>` is a marker"}"#), finish!("stop"), done!()),
        stream!(delta!(r#"{"content":"Look:\n```\n<think>\n```\n"}"#), finish!("stop"), done!()),
        stream!(delta!(r#"{"reasoning_content":"<tool_call>"}"#), finish!("stop"), done!()),
    ],
    bad: &[
        stream!(
            delta!(r#"{"content":"a </thi"}"#),
            delta!(r#"{"content":"nk> b"}"#),
            finish!("stop"),
            done!()
        ),
        whole!(r#"{"role":"assistant","content":"[TOOL_CALLS]{}"}"#, "stop"),
        whole!(r#"{"role":"assistant","content":"<TOOL_CALL>\n{}"}"#, "stop"),
    ],
};

const STOP_STRING: Rule = Rule {
    id: "openai-chat/stop-string-in-content",
    severity: Severity::Warn,
    sentence: "Content holds no stop string of the request: generation ends before it.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        // Markup that was taken out between two pieces of prose may have joined them to one.
        for choice in digest.choices.iter().filter(|choice| choice.calls.is_empty()) {
            let Text { value, .. } = &choice.content;
            for stop in digest.facts.asked.stop.iter().filter(|stop| !stop.is_empty()) {
                if let Some(at) = value.find(stop).filter(|_| !expected(digest, value, stop)) {
                    place(digest, choice, at, format_args!("the stop string {stop:?}"), found);
                }
            }
        }
    },
    good: &[stream!(delta!(r#"{"content":"EN"}"#), finish!("stop"), done!())
        .asking(r#"{"stream":true,"stop":"END"}"#)],
    bad: &[stream!(delta!(r#"{"content":"EN"}"#), delta!(r#"{"content":"D"}"#), finish!("stop"), done!())
        .asking(r#"{"stream":true,"stop":"END"}"#)],
};

fn markup(digest: &Digest<'_>, choice: &Choice, found: &mut Found<'_>) {
    let content = choice.content.value.as_str();
    let mut known: Vec<(&str, bool)> = Vec::new();
    let (mut fences, mut counted) = (0, 0);
    for at in memchr::memchr2_iter(b'<', b'[', content.as_bytes()) {
        let Some(marker) = marker_at(content, at) else { continue };
        fences += content.get(counted..at).unwrap_or_default().matches("```").count();
        counted = at;
        if fences % 2 == 1 || is_quoted(content, at) {
            continue;
        }
        let memo = known.iter().find(|(name, _)| *name == marker).map(|(_, fine)| *fine);
        let fine = memo.unwrap_or_else(|| {
            let fine = expected(digest, content, marker);
            known.push((marker, fine));
            fine
        });
        if !fine {
            place(digest, choice, at, format_args!("the marker {marker}"), found);
        }
    }
}

fn marker_at(content: &str, at: usize) -> Option<&'static str> {
    let rest = content.as_bytes().get(at..)?;
    let begins = |marker: &&&str| {
        rest.get(..marker.len()).is_some_and(|head| match marker.as_bytes().first() {
            Some(b'<') => head.eq_ignore_ascii_case(marker.as_bytes()),
            _ => head == marker.as_bytes(),
        })
    };
    MARKERS.iter().find(begins).copied()
}

fn is_quoted(content: &str, at: usize) -> bool {
    content.get(..at).is_some_and(|before| before.ends_with(['`', '"', '\'', '“', '«']))
}

/// Whether the right answer holds a marker at least as often as the content does; or, where a part of a text was asked for,
/// the right answer to all of it begins like this.
fn expected(digest: &Digest<'_>, content: &str, marker: &str) -> bool {
    let times = |text: &str| text.to_ascii_lowercase().matches(&marker.to_ascii_lowercase()).count();
    let right = |text: &Option<Option<String>>| text.as_ref().and_then(Option::as_deref).map_or(0, times);
    let begins = |expect: &Expect| {
        expect.content.as_ref().and_then(Option::as_deref).is_some_and(|text| text.starts_with(content))
    };
    let Facts { expect, whole, .. } = digest.facts;
    (expect.is_some() && digest.facts.expects(|expect| right(&expect.content) >= times(content)))
        || (whole.is_some() && digest.facts.expects_of_whole(begins))
}

fn place(
    digest: &Digest<'_>,
    choice: &Choice,
    at: usize,
    what: impl std::fmt::Display,
    found: &mut Found<'_>,
) {
    let path = format_args!("choices[{}].{}.content", choice.number, digest.holder());
    match choice.content.event_at(at) {
        Some(event) => found.event(event, path, what),
        None => found.exchange(what),
    }
}
