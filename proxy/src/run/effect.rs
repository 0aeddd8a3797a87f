//! What a difference means to who holds the second of two replies, in words that follow a client's name.
//!
//! In: two replies and one of their differences. Out: an [`Effect`], where one can be named.

use crate::{
    compare::{Difference, Kind, arguments, show},
    fold::{Reply, reply::Call},
};

/// Characters of a value that are shown.
const SHOWN: usize = 40;

/// What happens to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It raises on something of the stream.
    Raises(&'static str),
    /// A call does not reach it; counted from 1.
    LosesCall(usize),
    /// Two calls reach it as one; the first of them counted from 1.
    GluesCalls(usize),
    /// No call reaches it.
    LosesEveryCall,
    /// A call reaches it whose arguments are not complete.
    RunsUnfinished,
    /// A call reaches it that is not there otherwise.
    RunsMore(String),
    /// It calls one tool instead of another.
    CallsOther(String, String),
    /// Its calls are in another order.
    RunsInOtherOrder,
    /// It holds other arguments.
    HoldsArguments(String),
    /// It holds another id.
    HoldsId(String),
    /// It has no text to show.
    ShowsNothing,
    /// It shows another text.
    ShowsOther,
    /// The finish reason keeps it from running a call.
    NeverRuns(String),
    /// It cannot know that the answer was cut.
    TakesCutForComplete,
    /// It holds another finish reason, or none.
    SeesFinish(String),
    /// It does not see the error.
    TakesErrorForAnswer,
    /// An error reaches it where there is an answer.
    SeesError,
    /// It counts other tokens.
    Counts(String),
}

// === impl Effect ===

impl Effect {
    /// What `difference` between two replies means to who holds `right`.
    pub fn of(difference: &Difference, left: &Reply, right: &Reply) -> Option<Self> {
        match difference.rule {
            "parity/tool-count" => Some(count(difference, left, right)),
            "parity/tool-order" => Some(Self::RunsInOtherOrder),
            "parity/tool-name" => Some(Self::CallsOther(shown(&difference.right), shown(&difference.left))),
            "parity/tool-arguments" => Some(held_arguments(difference, right)),
            "parity/content"
            | "parity/unicode-replacement"
            | "parity/stop-string-leak"
            | "parity/refusal" => {
                Some(if difference.right.is_empty() { Self::ShowsNothing } else { Self::ShowsOther })
            }
            "parity/empty-answer" if difference.kind == Kind::Lost => Some(Self::ShowsNothing),
            "parity/finish-reason" => Some(finish(left, right)),
            "parity/error-swallowed" => {
                Some(if right.error.is_none() { Self::TakesErrorForAnswer } else { Self::SeesError })
            }
            "parity/usage-completion" | "parity/usage-prompt" => Some(Self::Counts(shown(&difference.right))),
            _ => None,
        }
    }

    /// In words: what one client does, or several.
    pub fn said(&self, clients: usize) -> String {
        let s = if clients == 1 { "s" } else { "" };
        let goes = if clients == 1 { "goes" } else { "go" };
        match self {
            Self::Raises(why) => format!("raise{s} on {why}"),
            Self::LosesCall(number) => format!("lose{s} call {number}"),
            Self::GluesCalls(number) => format!("glue{s} call {number} and the next one together"),
            Self::LosesEveryCall => format!("lose{s} every call"),
            Self::RunsUnfinished => format!("run{s} or reject{s} a call the model did not finish"),
            Self::RunsMore(call) => format!("run{s} a call more: {call}"),
            Self::CallsOther(this, that) => format!("call{s} {this} instead of {that}"),
            Self::RunsInOtherOrder => format!("run{s} the calls in another order"),
            Self::HoldsArguments(text) => format!("hold{s} arguments {text}"),
            Self::HoldsId(id) => format!("hold{s} the id {id}"),
            Self::ShowsNothing => format!("show{s} nothing"),
            Self::ShowsOther => format!("show{s} another text"),
            Self::NeverRuns(finish) => format!("see{s} finish {finish} and never run{s} the call"),
            Self::TakesCutForComplete => format!("take{s} a cut answer for a complete one"),
            Self::SeesFinish(finish) => format!("see{s} finish {finish}"),
            Self::TakesErrorForAnswer => format!("take{s} the error for an answer"),
            Self::SeesError => format!("{goes} on with an error"),
            Self::Counts(tokens) => format!("count{s} {tokens} tokens"),
        }
    }
}

/// The first id in which the calls of two replies differ.
pub fn other_id(left: &Reply, right: &Reply) -> Option<Effect> {
    let differs =
        left.calls().zip(right.calls()).find(|(a, b)| a.id.is_some() && b.id.is_some() && a.id != b.id);
    differs.and_then(|(_, held)| held.id.as_deref()).map(|id| Effect::HoldsId(shown(id)))
}

fn count(difference: &Difference, left: &Reply, right: &Reply) -> Effect {
    let (a, b): (Vec<&Call>, Vec<&Call>) = (left.calls().collect(), right.calls().collect());
    if b.is_empty() {
        return Effect::LosesEveryCall;
    }
    let same = |(x, y): &(&&Call, &&Call)| x.name == y.name && x.arguments.value == y.arguments.value;
    let first = a.iter().zip(&b).take_while(same).count();
    if a.len() > b.len() {
        let is_glued = a.get(first).zip(b.get(first)).is_some_and(|(a, b)| holds_more(a, b));
        return if is_glued { Effect::GluesCalls(first + 1) } else { Effect::LosesCall(first + 1) };
    }
    match b.get(first) {
        Some(more) if difference.kind != Kind::Doubled && !is_complete(more) => Effect::RunsUnfinished,
        more => Effect::RunsMore(more.map(|call| called(call)).unwrap_or_default()),
    }
}

fn held_arguments(difference: &Difference, right: &Reply) -> Effect {
    let held = right.calls().find(|call| call.arguments.value == difference.right);
    let is_broken = arguments::canonical_text(&difference.right).is_none();
    match held {
        _ if difference.right.is_empty() => Effect::HoldsArguments("that are empty".to_owned()),
        Some(_) if is_broken => {
            Effect::HoldsArguments(format!("that are no JSON: {}", shown(&difference.right)))
        }
        _ => Effect::HoldsArguments(shown(&difference.right)),
    }
}

fn finish(left: &Reply, right: &Reply) -> Effect {
    let held = right.finish_reason().unwrap_or("none").to_owned();
    let has_call = right.calls().next().is_some();
    match left.finish_reason() {
        Some("tool_calls") if has_call => Effect::NeverRuns(held),
        Some("length") => Effect::TakesCutForComplete,
        _ => Effect::SeesFinish(held),
    }
}

/// Whether one call starts as the other does, and goes on.
fn holds_more(call: &Call, longer: &Call) -> bool {
    let (text, held) = (&call.arguments.value, &longer.arguments.value);
    !text.is_empty() && held.len() > text.len() && held.starts_with(text.as_str())
}

fn is_complete(call: &Call) -> bool {
    arguments::canonical_text(&call.arguments.value).is_some()
}

fn called(call: &Call) -> String {
    format!("{} {}", call.name, shown(&call.arguments.value)).trim_end().to_owned()
}

fn shown(text: &str) -> String {
    show::shorten(text, SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compare::{Equality, compare},
        fold::reply::{Part, Text},
    };

    fn text(value: &str) -> Text {
        let mut text = Text::default();
        text.push(value, 0);
        text
    }

    fn reply(content: &str, calls: &[(&str, &str)], finish: &str) -> Reply {
        let call = |(name, arguments): &(&str, &str)| {
            Part::Call(Call { name: (*name).to_owned(), arguments: text(arguments), ..Call::default() })
        };
        let content = (!content.is_empty()).then(|| Part::Text(text(content)));
        Reply {
            parts: content.into_iter().chain(calls.iter().map(call)).collect(),
            finish: Some((finish.to_owned(), 1)),
            ..Reply::default()
        }
    }

    fn check(left: &Reply, right: &Reply, expect: &[&str]) {
        let found = compare(left, right, Equality::default());
        let said: Vec<String> =
            found.iter().filter_map(|d| Effect::of(d, left, right)).map(|e| e.said(1)).collect();
        assert_eq!(said, expect, "{found:#?}");
    }

    const F: (&str, &str) = ("f", r#"{"a":1}"#);
    const G: (&str, &str) = ("g", "{}");

    #[test]
    fn what_happens_to_calls() {
        let two = reply("", &[F, G], "tool_calls");
        check(&two, &reply("", &[F], "tool_calls"), &["loses call 2"]);
        check(&two, &reply("", &[G], "tool_calls"), &["loses call 1"]);
        check(&two, &reply("", &[], "stop"), &["loses every call", "shows nothing", "sees finish stop"]);
        check(&reply("", &[F], "tool_calls"), &two, &["runs a call more: g {}"]);
        let cut = ("g", "{\"a\"");
        check(
            &reply("", &[F], "length"),
            &reply("", &[F, cut], "length"),
            &["runs or rejects a call the model did not finish"],
        );
        check(
            &reply("", &[F], "tool_calls"),
            &reply("", &[("g", F.1)], "tool_calls"),
            &["calls g instead of f"],
        );
        check(&two, &reply("", &[G, F], "tool_calls"), &["runs the calls in another order"]);
        check(&two, &reply("", &[("f", "{\"a\":2}"), G], "tool_calls"), &["holds arguments {\"a\":2}"]);
        check(
            &two,
            &reply("", &[("f", "{\"a\":1"), G], "tool_calls"),
            &["holds arguments that are no JSON: {\"a\":1"],
        );
        check(&two, &reply("", &[("f", ""), G], "tool_calls"), &["holds arguments that are empty"]);
    }

    #[test]
    fn what_happens_to_text_and_finish() {
        let call = reply("", &[F], "tool_calls");
        check(&call, &reply("", &[F], "stop"), &["sees finish stop and never runs the call"]);
        check(
            &reply("a", &[], "length"),
            &reply("a", &[], "stop"),
            &["takes a cut answer for a complete one"],
        );
        check(&reply("a", &[], "stop"), &reply("a", &[], "length"), &["sees finish length"]);
        check(&reply("ab", &[], "stop"), &reply("a", &[], "stop"), &["shows another text"]);
        assert_eq!(Effect::Raises("a gap").said(2), "raise on a gap");
    }

    #[test]
    fn ids() {
        let with = |id: &str| {
            let mut one = reply("", &[F], "tool_calls");
            if let Some(Part::Call(call)) = one.parts.first_mut() {
                call.id = Some(id.to_owned());
            }
            one
        };
        assert_eq!(other_id(&with("a"), &with("aa")).unwrap().said(1), "holds the id aa");
        assert_eq!(other_id(&with("a"), &with("a")), None);
    }
}
