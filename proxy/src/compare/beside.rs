//! What messages bring beside content, reasoning and calls: the legacy function call, which is a call like any other, and
//! audio, annotations and reasoning under a second key, which have one rule.

use super::{Difference, Equality, Kind, arguments, calls, text};
use crate::fold::{
    Reply,
    reply::{Call, Text},
};
use serde_json::Value;

/// The rule of members that have none of their own.
const RULE: &str = "parity/message-member";

/// Compares the legacy function call, by the rules of calls.
pub(super) fn compare_call(left: &Reply, right: &Reply, equality: Equality<'_>, found: &mut Vec<Difference>) {
    let path = "function_call";
    let (a, b) = (left.beside.function_call.as_ref(), right.beside.function_call.as_ref());
    let (Some(x), Some(y)) = (a, b) else {
        found.extend((a.is_some() || b.is_some()).then(|| count_differs(path, a, b)));
        return;
    };
    if x.name != y.name {
        let path = format!("{path}.name");
        found.push(Difference::of_values("parity/tool-name", &path, Some(&x.name), Some(&y.name)));
    }
    arguments::compare(path, x, y, equality, found);
}

fn count_differs(path: &str, left: Option<&Call>, right: Option<&Call>) -> Difference {
    let described = |call: Option<&Call>| calls::describe(&Vec::from_iter(call), &Text::default());
    let (a, b) = (described(left), described(right));
    let one = Difference::of_values("parity/tool-count", path, Some(&a), Some(&b));
    Difference { kind: if left.is_some() { Kind::Lost } else { Kind::Added }, ..one }
}

/// Compares the rest.
pub(super) fn compare(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    let (a, b) = (&left.beside, &right.beside);
    if a.has_audio != b.has_audio {
        let there = |is_there: bool| is_there.then_some("there");
        found.push(Difference::of_values(RULE, "audio", there(a.has_audio), there(b.has_audio)));
    } else if a.transcript.value != b.transcript.value {
        found.push(text::of_texts(RULE, "audio.transcript", &a.transcript, &b.transcript));
    }
    let (x, y) = (listed(&a.annotations), listed(&b.annotations));
    if x != y {
        found.push(Difference::of_values(RULE, "annotations", x.as_deref(), y.as_deref()));
    }
    found.extend(second_reasoning(left, right));
}

/// All entries in one spelling; `None` where there are none.
fn listed(annotations: &[Value]) -> Option<String> {
    let each: Vec<String> = annotations.iter().map(arguments::canonical).collect();
    (!each.is_empty()).then(|| each.join(" "))
}

/// Reasoning under a second key: `None` where it only repeats the first, or where one mode has no reasoning at all, since
/// that is told already.
fn second_reasoning(left: &Reply, right: &Reply) -> Option<Difference> {
    let (a, b) = (&left.beside.reasoning, &right.beside.reasoning);
    let own = |reply: &Reply| reply.reasoning().value;
    let (first_a, first_b) = (own(left), own(right));
    let repeats = a.value == first_a && b.value == first_b;
    let is_told = first_a.is_empty() || first_b.is_empty();
    (a.value != b.value && !repeats && !is_told).then(|| text::of_texts(RULE, "message.reasoning", a, b))
}
