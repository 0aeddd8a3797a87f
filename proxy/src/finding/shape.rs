//! What a finding looks like, in a few words: what makes two of them one fault, and what a person reads first.
//!
//! In: a [`Finding`]. Out: its shape: `whole has no call, stream has one`. Values are looked at only for whether there is
//! something, and how many.

use super::{Finding, Side, place};
use crate::compare::Kind;

/// What a finding looks like, in a few words.
pub fn shape(finding: &Finding) -> String {
    let (whole, stream) =
        (finding.whole.as_deref().unwrap_or_default(), finding.stream.as_deref().unwrap_or_default());
    let Some(kind) = finding.kind else { return breach_shape(finding) };
    match finding.rule.split_once('/').unwrap_or_default() {
        ("parity", "tool-count") => format!("whole has {}, stream has {}", count(whole), short_count(stream)),
        ("parity", "tool-order") => "stream has the calls in another order".to_owned(),
        ("parity", "finish-reason") => format!("whole says {whole}, stream says {stream}"),
        ("parity", "reasoning-split") => "reasoning ends at another place".to_owned(),
        ("parity", "rechunk") => format!(
            "{} of the stream {} on the rounds",
            noun(&finding.path),
            verb(&finding.path, "depends", "depend")
        ),
        ("expect" | "truth", name) => unexpected(finding, name, kind),
        _ => parity_shape(&finding.path, kind, whole, stream),
    }
}

fn parity_shape(path: &str, kind: Kind, whole: &str, stream: &str) -> String {
    let what = noun(path);
    match kind {
        Kind::Lost if is_nothing(stream) => format!("stream has no {what}"),
        Kind::Added if is_nothing(whole) => format!("whole has no {what}"),
        Kind::Lost => format!("stream lacks a part of the {what}"),
        Kind::Added => format!("stream has more {what}"),
        Kind::Doubled => format!("stream has the {what} twice"),
        Kind::Moved => format!("stream has the {what} in another place"),
        Kind::Whitespace => format!("{what} {} in whitespace", verb(path, "differs", "differ")),
        Kind::Changed => format!("{what} {}", verb(path, "differs", "differ")),
    }
}

/// What a reply has in place of the right answer.
fn unexpected(finding: &Finding, name: &str, kind: Kind) -> String {
    let (expected, came) =
        (finding.whole.as_deref().unwrap_or_default(), finding.stream.as_deref().unwrap_or_default());
    let (who, what) = (side(finding), noun(&finding.path));
    let have = if finding.side == Side::Both { "have" } else { "has" };
    let how = match kind {
        Kind::Lost if is_nothing(came) => return format!("{who} {have} no {what}"),
        Kind::Lost => "a part is lost",
        Kind::Added => "there is more",
        Kind::Doubled => "it is doubled",
        Kind::Moved => "it moved",
        Kind::Whitespace => "whitespace only",
        Kind::Changed => "it is changed",
    };
    match name {
        "tool-count" => format!("{who} {have} {} where {} is expected", count(came), count(expected)),
        "finish" => format!("{who} finished with {came} where {expected} is expected"),
        "error" if came == "no error" => format!("{who} answered where {expected} is expected"),
        "error" => format!("{who} answered {came} where {expected} is expected"),
        _ => format!("{who} {have} other {what} than expected: {how}"),
    }
}

fn breach_shape(finding: &Finding) -> String {
    let at = place(&finding.path);
    if at.is_empty() { format!("in {}", side(finding)) } else { format!("in {}, at {at}", side(finding)) }
}

fn side(finding: &Finding) -> &'static str {
    match finding.side {
        Side::Whole => "the whole reply",
        Side::Stream => "the stream",
        Side::Both => "both modes",
    }
}

/// `no call`, `one call`, `2 calls`: what a described list of calls begins with.
fn count(value: &str) -> &str {
    value.split_once(": ").map_or(value, |(count, _)| count)
}

/// The same without the word: `none`, `one`, `2`.
fn short_count(value: &str) -> &str {
    match count(value) {
        "no call" => "none",
        other => other.split(' ').next().unwrap_or(other),
    }
}

fn is_nothing(value: &str) -> bool {
    value.is_empty() || value == "none" || value == "no error"
}

/// The last word of a path, in plain words.
fn noun(path: &str) -> String {
    let last = place(path).rsplit('.').next().unwrap_or_default().replace("[]", "").replace('_', " ");
    if last.is_empty() { "answer".to_owned() } else { last }
}

/// The form of a verb that fits the noun of a path.
fn verb<'a>(path: &str, one: &'a str, many: &'a str) -> &'a str {
    if noun(path).ends_with('s') { many } else { one }
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};
    use Kind::{Added, Changed, Doubled, Lost, Whitespace};

    #[test]
    fn shapes() {
        let check = |rule: &str, path: &str, kind, whole: &str, stream: &str, expect: &str| {
            let mut one = example::finding(rule, path, &["1"]);
            (one.kind, one.whole, one.stream) = (kind, Some(whole.to_owned()), Some(stream.to_owned()));
            if kind.is_none() {
                one.side = Side::Stream;
            }
            assert_eq!(shape(&one), expect);
        };
        let count = "parity/tool-count";
        check(
            count,
            "tool_calls",
            Some(Added),
            "no call",
            "2 calls: f {}, g {}",
            "whole has no call, stream has 2",
        );
        check(
            count,
            "tool_calls",
            Some(Lost),
            "one call: f {}",
            "no call",
            "whole has one call, stream has none",
        );
        let finish = "parity/finish-reason";
        check(
            finish,
            "finish",
            Some(Changed),
            "tool_calls",
            "stop",
            "whole says tool_calls, stream says stop",
        );
        check("parity/content", "content", Some(Lost), "abc", "ab", "stream lacks a part of the content");
        check("parity/content", "content", Some(Lost), "abc", "", "stream has no content");
        check("parity/content", "content", Some(Added), "", "abc", "whole has no content");
        let arguments = "tool_calls[3].arguments";
        check("parity/tool-arguments", arguments, Some(Doubled), "a", "aa", "stream has the arguments twice");
        check(
            "expect/content-whitespace",
            "content",
            Some(Whitespace),
            "a",
            "a ",
            "both modes have other content than expected: whitespace only",
        );
        let usage = "usage.completion_tokens";
        check("parity/usage-completion", usage, Some(Changed), "1", "2", "completion tokens differ");
        check(
            "expect/error",
            "error",
            Some(Changed),
            "status 400",
            "no error",
            "both modes answered where status 400 is expected",
        );
        check(
            "expect/finish",
            "finish",
            Some(Changed),
            "stop",
            "length",
            "both modes finished with length where stop is expected",
        );
        check(
            "openai-chat/role-repeated",
            "choices[0].delta.role",
            None,
            "",
            "x",
            "in the stream, at choices[].delta.role",
        );
        check("openai-chat/done-missing", "", None, "", "x", "in the stream");
    }
}
