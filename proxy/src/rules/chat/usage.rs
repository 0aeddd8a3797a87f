//! Rules about usage: whether it comes, where it comes, and whether it adds up.

use crate::{
    request::Mode,
    rules::{
        Digest, Found, Rule, Severity,
        digest::{Chunk, Delta, Object, given},
        found::Shown,
    },
};
use serde_json::Value;

/// The rules of this file.
pub static RULES: &[Rule] = &[
    MISSING,
    UNREQUESTED,
    CHOICES,
    NONFINAL_NULL,
    NONFINAL_ZERO,
    LAST,
    REPEATED,
    MONOTONIC,
    ARITHMETIC,
    VS_TOKENS,
    EMPTY_BUT_BILLED,
];

/// Tokens that an empty reply may cost: an empty thinking block and an end token are no more than this.
const EMPTY_TOKENS: u64 = 16;

const MISSING: Rule = Rule {
    id: "openai-chat/usage-missing",
    severity: Severity::Error,
    sentence: "Usage that was asked for comes before the sentinel.",
    source: "OpenAI API reference, stream_options",
    check: |digest, found| {
        let due = digest.facts.asked.include_usage && digest.streamed();
        let none = digest.chunks.iter().all(|chunk| chunk.counts().is_none());
        if due && none && digest.concluded() && !digest.chunks.is_empty() {
            found.exchange("none until the end");
        }
    },
    good: &[
        stream!(finish!("stop"), usage!(1, 2, 3), done!()).asking(USAGE),
        stream!(finish!("stop"), done!()),
    ],
    bad: &[stream!(finish!("stop"), done!()).asking(USAGE)],
};

const UNREQUESTED: Rule = Rule {
    id: "openai-chat/usage-unrequested",
    severity: Severity::Info,
    sentence: "A stream has no usage that was not asked for.",
    source: "OpenAI API reference, stream_options",
    check: |digest, found| {
        // A whole reply has usage unasked, so one that came as a stream may have it too.
        let asked = digest.facts.asked.include_usage
            || digest.facts.asked.continuous_usage
            || digest.facts.exchange.mode == Mode::Whole;
        if let Some(chunk) =
            digest.chunks.iter().find(|c| c.counts().is_some() && digest.streamed() && !asked)
        {
            found.event(chunk.event, "usage", "usage that was not asked for");
        }
    },
    good: &[
        stream!(finish!("stop"), usage!(1, 2, 3), done!()).asking(USAGE),
        stream!(finish!("stop"), usage!(1, 2, 3), done!()).asking(r#"{"model":"m"}"#),
    ],
    bad: &[stream!(finish!("stop"), usage!(1, 2, 3), done!())],
};

const CHOICES: Rule = Rule {
    id: "openai-chat/usage-choices",
    severity: Severity::Warn,
    sentence: "The chunk that brings usage has empty choices.",
    source: "OpenAI API reference, stream_options",
    check: |digest, found| {
        let asked = digest.facts.asked.include_usage && digest.streamed();
        let last = digest.chunks.iter().rev().find(|chunk| chunk.counts().is_some());
        if let Some(chunk) = last.filter(|chunk| asked && chunk.width() > 0) {
            found.event(chunk.event, "choices", "choices beside usage");
        }
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!()).asking(USAGE)],
    bad: &[stream!(
        chunk!(
            r#"{"index":0,"delta":{},"finish_reason":"stop"}"#,
            r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#
        ),
        done!()
    )
    .asking(USAGE)],
};

const NONFINAL_NULL: Rule = Rule {
    id: "openai-chat/usage-nonfinal-null",
    severity: Severity::Info,
    sentence: "Usage that is not there yet is null or absent.",
    source: "OpenAI API reference, stream_options; vLLM omits it",
    check: |digest, found| {
        for chunk in &digest.chunks {
            let empty = |usage: &&Value| usage.as_object().is_some_and(Object::is_empty);
            if let Some(usage) = given(chunk.usage).filter(empty) {
                found.event(chunk.event, "usage", Shown(usage));
            }
        }
    },
    good: &[stream!(chunk!("", r#""usage":null"#), finish!("stop"), done!())],
    bad: &[stream!(chunk!("", r#""usage":{}"#), finish!("stop"), done!())],
};

const NONFINAL_ZERO: Rule = Rule {
    id: "openai-chat/usage-nonfinal-zero",
    severity: Severity::Warn,
    sentence: "Usage that is not there yet is not filled with zeros.",
    source: "Ollama's legacy endpoint; clients that keep the first or the sum are misled",
    check: |digest, found| {
        let counted: Vec<_> = digest.chunks.iter().filter(|chunk| chunk.counts().is_some()).collect();
        for chunk in counted.split_last().map_or(&[][..], |(_, before)| before) {
            if !digest.facts.asked.continuous_usage && chunk.counts().is_some_and(is_zero) {
                found.event(chunk.event, "usage", "zeros");
            }
        }
    },
    good: &[stream!(chunk!("", r#""usage":null"#), finish!("stop"), usage!(1, 2, 3), done!())],
    bad: &[stream!(usage!(0, 0, 0), finish!("stop"), usage!(1, 2, 3), done!())],
};

const LAST: Rule = Rule {
    id: "openai-chat/usage-last",
    severity: Severity::Error,
    sentence: "No chunk follows the one that brings usage.",
    source: "openai-python's accumulator takes usage from the last chunk",
    check: |digest, found| {
        let last = digest.chunks.iter().rposition(|chunk| chunk.counts().is_some());
        let after = last.and_then(|at| digest.chunks.get(at + 1));
        if let Some(chunk) = after {
            found.event(chunk.event, "", "a chunk after the usage");
        }
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!())],
    bad: &[stream!(usage!(1, 2, 3), finish!("stop"), done!())],
};

const REPEATED: Rule = Rule {
    id: "openai-chat/usage-repeated",
    severity: Severity::Warn,
    sentence: "Usage comes once, unless continuous usage was asked for.",
    source: "openai-go sums them up",
    check: |digest, found| {
        let counted =
            digest.chunks.iter().filter(|chunk| chunk.counts().is_some_and(|usage| !is_zero(usage)));
        for chunk in counted.skip(1).filter(|_| !digest.facts.asked.continuous_usage) {
            found.event(chunk.event, "usage", "usage again");
        }
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!())],
    bad: &[stream!(finish!("stop"), usage!(1, 2, 3), usage!(1, 2, 3), done!())],
};

const MONOTONIC: Rule = Rule {
    id: "openai-chat/usage-monotonic",
    severity: Severity::Warn,
    sentence: "Usage that comes more than once never falls.",
    source: "vLLM, continuous_usage_stats",
    check: |digest, found| {
        let mut before = 0;
        for chunk in &digest.chunks {
            let Some(now) = chunk.counts().and_then(|usage| count(usage, "completion_tokens")) else {
                continue;
            };
            if now < before {
                found.event(chunk.event, "usage.completion_tokens", format_args!("{now} after {before}"));
            }
            before = now;
        }
    },
    good: &[stream!(usage!(1, 1, 2), usage!(1, 2, 3), done!())],
    bad: &[stream!(usage!(1, 3, 4), usage!(1, 2, 3), done!())],
};

const ARITHMETIC: Rule = Rule {
    id: "openai-chat/usage-arithmetic",
    severity: Severity::Warn,
    sentence: "The total is prompt and completion together, and no detail exceeds what it is a part of.",
    source: "OpenAI API reference, chat completions",
    check: |digest, found| {
        for chunk in &digest.chunks {
            if let Some(usage) = chunk.counts() {
                adds_up(chunk, usage, found);
                details_fit(chunk, usage, found);
            }
        }
    },
    good: &[stream!(finish!("stop"), usage!(1, 2, 3), done!())],
    bad: &[
        stream!(finish!("stop"), usage!(1, 2, 4), done!()),
        whole!(
            r#"{"role":"assistant","content":"Hi"}"#,
            "stop",
            r#""usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"completion_tokens_details":{"reasoning_tokens":9}}"#
        ),
    ],
};

const VS_TOKENS: Rule = Rule {
    id: "openai-chat/usage-vs-tokens",
    severity: Severity::Warn,
    sentence: "As many completion tokens are counted as token ids were sent.",
    source: "own reasoning; vLLM, return_token_ids",
    check: |digest, found| {
        let lists = digest.deltas.iter().filter_map(|delta| delta.token_ids?.as_array());
        let sent = lists.map(Vec::len).sum::<usize>() as u64;
        if let Some((chunk, counted)) =
            completion(digest).filter(|(_, n)| sent > 0 && *n != sent && digest.concluded())
        {
            found.event(
                chunk.event,
                "usage.completion_tokens",
                format_args!("{counted}, with {sent} token ids"),
            );
        }
    },
    good: &[stream!(
        chunk!(r#"{"index":0,"delta":{"content":"a"},"token_ids":[5,6],"finish_reason":"stop"}"#),
        usage!(1, 2, 3),
        done!()
    )],
    bad: &[stream!(
        chunk!(r#"{"index":0,"delta":{"content":"a"},"token_ids":[5,6,7],"finish_reason":"stop"}"#),
        usage!(1, 2, 3),
        done!()
    )],
};

const EMPTY_BUT_BILLED: Rule = Rule {
    id: "openai-chat/empty-but-billed",
    severity: Severity::Error,
    sentence: "A reply that counts many tokens says something: content, reasoning, a refusal or a call.",
    source: "lmstudio-bug-tracker#2339 and others: the parser ate the answer",
    check: |digest, found| {
        let Some((chunk, counted)) = completion(digest).filter(|_| digest.concluded()) else { return };
        let hidden = chunk.counts().and_then(|usage| detail(usage, REASONING)).unwrap_or_default();
        let billed = counted.saturating_sub(hidden);
        if billed > EMPTY_TOKENS && says_nothing(digest) && !may_be_empty(digest) {
            found.event(chunk.event, "", format_args!("an empty reply, {billed} tokens billed"));
        }
    },
    good: &[
        stream!(finish!("length"), usage!(1, 41, 42), done!()),
        stream!(finish!("stop"), usage!(1, 1, 2), done!()),
        stream!(delta!(r#"{"content":"Hi"}"#), finish!("stop"), usage!(1, 41, 42), done!()),
        stream!(finish!("stop"), usage!(1, 41, 42), done!()).asking(r#"{"stream":true,"stop":["x"]}"#),
    ],
    bad: &[
        stream!(finish!("stop"), usage!(1, 41, 42), done!()),
        whole!(
            r#"{"role":"assistant","content":""}"#,
            "stop",
            r#""usage":{"prompt_tokens":1,"completion_tokens":41,"total_tokens":42}"#
        ),
    ],
};

/// A request that asks for a stream with usage.
pub(super) const USAGE: &str = r#"{"stream":true,"stream_options":{"include_usage":true}}"#;

const REASONING: (&str, &str, &str) = ("completion_tokens", "completion_tokens_details", "reasoning_tokens");

/// A whole, the object of its details, and the detail.
pub(super) const DETAILS: [(&str, &str, &str); 4] = [
    ("prompt_tokens", "prompt_tokens_details", "cached_tokens"),
    ("prompt_tokens", "prompt_tokens_details", "audio_tokens"),
    REASONING,
    ("completion_tokens", "completion_tokens_details", "audio_tokens"),
];

fn count(usage: &Object, key: &str) -> Option<u64> {
    usage.get(key).and_then(Value::as_u64)
}

fn detail(usage: &Object, (_, object, key): (&str, &str, &str)) -> Option<u64> {
    usage.get(object)?.get(key)?.as_u64()
}

fn is_zero(usage: &Object) -> bool {
    usage.values().filter(|value| value.is_number()).all(|value| value.as_u64() == Some(0))
}

/// The last count of completion tokens, with its chunk.
fn completion<'d, 'a>(digest: &'d Digest<'a>) -> Option<(&'d Chunk<'a>, u64)> {
    let counted = |chunk: &'d Chunk<'a>| Some((chunk, count(chunk.counts()?, "completion_tokens")?));
    digest.chunks.iter().rev().find_map(counted)
}

fn adds_up(chunk: &Chunk<'_>, usage: &Object, found: &mut Found<'_>) {
    let parts =
        (count(usage, "prompt_tokens"), count(usage, "completion_tokens"), count(usage, "total_tokens"));
    if let (Some(prompt), Some(completion), Some(total)) = parts
        && prompt.checked_add(completion) != Some(total)
    {
        found.event(
            chunk.event,
            "usage.total_tokens",
            format_args!("{total}, with {prompt} and {completion}"),
        );
    }
}

fn details_fit(chunk: &Chunk<'_>, usage: &Object, found: &mut Found<'_>) {
    for place @ (whole, object, key) in DETAILS {
        if let (Some(all), Some(part)) = (count(usage, whole), detail(usage, place))
            && part > all
        {
            found.event(
                chunk.event,
                format_args!("usage.{object}.{key}"),
                format_args!("{part}, with {all} {whole}"),
            );
        }
    }
}

fn says_nothing(digest: &Digest<'_>) -> bool {
    let silent = |delta: &Delta<'_>| {
        !delta.speaks()
            && given(delta.function_call).is_none()
            && given(delta.content).is_none_or(Value::is_string)
    };
    digest.deltas.iter().all(silent) && digest.extensions.iter().all(|extension| is_vacuous(extension.value))
}

fn is_vacuous(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A cut may leave nothing but markup; and the right answer may be known to be empty.
fn may_be_empty(digest: &Digest<'_>) -> bool {
    let asked = digest.facts.asked;
    let cut = digest.choices.iter().any(|choice| match choice.finish() {
        Some("stop") => !asked.stop.is_empty(),
        Some("length" | "content_filter") => true,
        _ => false,
    });
    let empty = |text: &Option<Option<String>>| {
        text.as_ref().is_some_and(|t| t.as_deref().unwrap_or_default().is_empty())
    };
    cut || digest.facts.expects(|e| empty(&e.content) && e.tool_calls.as_ref().is_none_or(Vec::is_empty))
}
