//! Members that no document knows: which a reply brought, by name only.
//!
//! Null counts as absent. Whole replies and streams put them in the same places, so `message` stands for `delta` too.

use serde_json::Value;

/// The most that are kept apart.
const MAX_EXTRAS: usize = 32;

/// Where members stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At the head of a chunk or body.
    Body,
    /// In an entry of `choices`.
    Choice,
    /// In `message` or `delta`.
    Message,
}

/// Notes the members of `object` that are not documented.
pub(super) fn note(extras: &mut Vec<String>, place: Place, object: &Value) {
    for (key, value) in object.as_object().into_iter().flatten() {
        if !value.is_null() && !place.documents(key) {
            add(extras, place.prefix(), key);
        }
    }
}

fn add(extras: &mut Vec<String>, prefix: &str, key: &str) {
    let is_known = extras.iter().any(|known| known.strip_prefix(prefix) == Some(key));
    if !is_known && extras.len() < MAX_EXTRAS {
        extras.push(format!("{prefix}{key}"));
    }
}

// === impl Place ===

impl Place {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Body => "",
            Self::Choice => "choices[0].",
            Self::Message => "choices[0].message.",
        }
    }

    fn documents(self, key: &str) -> bool {
        match self {
            Self::Body => matches!(
                key,
                "id" | "object"
                    | "created"
                    | "model"
                    | "choices"
                    | "usage"
                    | "system_fingerprint"
                    | "service_tier"
                    | "error"
                    | "obfuscation"
                    | "moderation"
            ),
            Self::Choice => {
                matches!(key, "index" | "delta" | "message" | "finish_reason" | "logprobs")
            }
            Self::Message => matches!(
                key,
                "role"
                    | "content"
                    | "refusal"
                    | "tool_calls"
                    | "function_call"
                    | "audio"
                    | "annotations"
                    | "reasoning"
                    | "reasoning_content"
            ),
        }
    }
}
