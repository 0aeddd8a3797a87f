//! Token counts.

use super::reply::Usage;
use serde_json::Value;

/// The counts of a `usage` object that `event` brought.
pub fn read(usage: &Value, event: usize) -> Option<Usage> {
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    usage.is_object().then(|| Usage {
        prompt: count("/prompt_tokens"),
        completion: count("/completion_tokens"),
        total: count("/total_tokens"),
        cached: count("/prompt_tokens_details/cached_tokens"),
        reasoning: count("/completion_tokens_details/reasoning_tokens"),
        raw: usage.clone(),
        event,
    })
}

/// Adds counts to those of before, as one client does.
pub fn add(before: Option<Usage>, mut now: Usage) -> Usage {
    let Some(before) = before else { return now };
    let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b)).or(a).or(b);
    now.prompt = sum(before.prompt, now.prompt);
    now.completion = sum(before.completion, now.completion);
    now.total = sum(before.total, now.total);
    now.cached = sum(before.cached, now.cached);
    now.reasoning = sum(before.reasoning, now.reasoning);
    now
}
