//! Token counts. What both replies say is compared; that one says nothing counts only where both owe it: a stream that was
//! not asked for usage has none.

use super::{Difference, Equality};
use crate::fold::{Reply, reply::Usage};

/// Compares prompt tokens, completion tokens where tokens are known to be equal, and which details are given.
pub(super) fn compare(left: &Reply, right: &Reply, equality: Equality<'_>, found: &mut Vec<Difference>) {
    let (Some(a), Some(b)) = (&left.usage, &right.usage) else {
        return found.extend(missing(left, right).filter(|_| equality.usage_due));
    };
    let counts = [
        ("parity/usage-prompt", "usage.prompt_tokens", a.prompt, b.prompt, true),
        (
            "parity/usage-completion",
            "usage.completion_tokens",
            a.completion,
            b.completion,
            equality.usage_completion,
        ),
        (
            "parity/usage-completion",
            "usage.reasoning_tokens",
            a.reasoning,
            b.reasoning,
            equality.usage_completion,
        ),
    ];
    for (rule, path, x, y, compared) in counts {
        if let (true, Some(x), Some(y)) = (compared && x != y, x, y) {
            found.push(differ(rule, path, (Some(x), Some(y)), a, b));
        }
    }
    for (path, x, y) in details(a, b) {
        found.push(differ("parity/usage-details", path, (x, y), a, b));
    }
}

/// Usage in one reply alone.
fn missing(left: &Reply, right: &Reply) -> Option<Difference> {
    let (a, b) = (left.usage.as_ref(), right.usage.as_ref());
    let there = |usage: Option<&Usage>| usage.map(|_| "there");
    (a.is_some() != b.is_some()).then(|| {
        Difference::of_values("parity/usage-missing", "usage", there(a), there(b))
            .at(a.map(|usage| usage.event), b.map(|usage| usage.event))
    })
}

/// Details that only one side gives. A cached count is left out by servers that had nothing cached and differs between two
/// requests by nature: only a zero against nothing shows that one mode does not report it.
fn details(a: &Usage, b: &Usage) -> Vec<(&'static str, Option<u64>, Option<u64>)> {
    let mut found = Vec::new();
    if a.reasoning.is_some() != b.reasoning.is_some() {
        found.push(("usage.reasoning_tokens", a.reasoning, b.reasoning));
    }
    if matches!((a.cached, b.cached), (Some(0), None) | (None, Some(0))) {
        found.push(("usage.cached_tokens", a.cached, b.cached));
    }
    found
}

fn differ(
    rule: &'static str,
    path: &str,
    counts: (Option<u64>, Option<u64>),
    a: &Usage,
    b: &Usage,
) -> Difference {
    let text = |count: Option<u64>| count.map(|c| c.to_string());
    let (x, y) = (text(counts.0), text(counts.1));
    Difference::of_values(rule, path, x.as_deref(), y.as_deref()).at(Some(a.event), Some(b.event))
}
