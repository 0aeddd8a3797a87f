//! What is equal in substance and differs in form: role, presence of content, the name of the reasoning field, model,
//! fingerprint, fields of the vendor; and the number of choices, which is substance but has no better home.

use super::{Difference, Kind};
use crate::fold::{Reply, reply::Presence};

/// Compares the number of choices; 0 means that nobody counted.
pub(super) fn compare_choices(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    if left.choices != right.choices && left.choices > 0 && right.choices > 0 {
        let (a, b) = (left.choices.to_string(), right.choices.to_string());
        let mut one = Difference::of_values("parity/choices-count", "choices", Some(&a), Some(&b));
        one.kind = if right.choices < left.choices { Kind::Lost } else { Kind::Added };
        found.push(one);
    }
}

/// Fields of vendors that are known to come in one mode only, and mean nothing there.
const ONE_MODE: [&str; 9] = [
    // vLLM: of the whole reply.
    "prompt_logprobs",
    "prompt_token_ids",
    "prompt_text",
    "kv_transfer_params",
    "prompt_routed_experts",
    // Groq and others: usage and trace ids of their own on one chunk.
    "x_groq",
    // llama.cpp: on request, of the last chunk or the whole reply.
    "__verbose",
    "timings",
    "prompt_progress",
];

/// Compares the forms.
pub(super) fn compare(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    if let (Some(x), Some(y)) = (&left.role, &right.role) {
        push_unequal("parity/role", "role", x, y, found);
    }
    let (a, b) = (&left.reasoning_field, &right.reasoning_field);
    if let (Some(x), Some(y)) = (a, b) {
        push_unequal("parity/reasoning-field", "reasoning", x, y, found);
    }
    if let (Some(x), Some(y)) = (&left.model, &right.model) {
        push_unequal("parity/model", "model", base(x), base(y), found);
    }
    if let (Some(x), Some(y)) = (&left.fingerprint, &right.fingerprint) {
        push_unequal("parity/fingerprint", "system_fingerprint", x, y, found);
    }
    compare_presence(left, right, found);
    compare_extras(left, right, found);
}

/// Fields of the vendor that one reply has and the other has not.
fn compare_extras(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    let differs = |path: &str, x, y| Difference::of_values("parity/extra-fields", path, x, y);
    let only = |here: &Reply, there: &Reply| -> Vec<String> {
        let is_known = |path: &str| ONE_MODE.contains(&path.rsplit('.').next().unwrap_or(path));
        here.extras.iter().filter(|path| !there.extras.contains(path) && !is_known(path)).cloned().collect()
    };
    found.extend(only(left, right).iter().map(|path| differs(path, Some("there"), None)));
    found.extend(only(right, left).iter().map(|path| differs(path, None, Some("there"))));
}

fn push_unequal(rule: &'static str, path: &str, left: &str, right: &str, found: &mut Vec<Difference>) {
    if left != right {
        found.push(Difference::of_values(rule, path, Some(left), Some(right)));
    }
}

/// A model's name without the suffixes by which rounds are asked for: gateways echo the name they were asked.
fn base(model: &str) -> &str {
    model.split('+').next().unwrap_or(model)
}

/// Null or nothing on one side and the empty string on the other.
fn compare_presence(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    let word = |presence: Presence| match presence {
        Presence::Absent => "absent",
        Presence::Null => "null",
        Presence::Empty => "empty string",
        Presence::Text => "text",
    };
    let (a, b) = (left.content_presence, right.content_presence);
    let none = |p| matches!(p, Presence::Absent | Presence::Null);
    if (none(a) && b == Presence::Empty) || (none(b) && a == Presence::Empty) {
        push_unequal("parity/content-presence", "content", word(a), word(b), found);
    }
}
