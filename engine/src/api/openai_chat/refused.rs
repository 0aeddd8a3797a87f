//! Keys whose meaning the engine cannot honour: refused by name, so that nobody takes an answer for what it is not.
//!
//! All other keys are accepted without effect: sampling settings, since a puppet has one text to say; `user`,
//! `metadata`, `store`, `seed`, `service_tier`, `reasoning_effort` and the like, which change no reply; and keys not known
//! here at all, as servers differ in what they add.

use serde_json::Value;

use super::fields::Fields;
use crate::api::errors::Refusal;

/// Which values of a key mean nothing, beside null.
type Harmless = fn(&Value) -> bool;

/// The keys, and what they may say all the same.
const KEYS: &[(&str, Harmless)] = &[
    ("logprobs", is_false),
    ("top_logprobs", is_zero),
    ("prompt_logprobs", never),
    ("response_format", is_text_format),
    ("functions", is_empty),
    ("function_call", is_none),
    ("audio", never),
    ("modalities", is_text_only),
    ("prediction", never),
    ("web_search_options", never),
    ("logit_bias", is_empty),
    ("best_of", is_one),
    ("use_beam_search", is_false),
    ("ignore_eos", is_false),
    ("min_tokens", is_zero),
    ("stop_token_ids", is_empty),
    ("include_stop_str_in_output", is_false),
    ("echo", is_false),
    ("continue_final_message", is_false),
    ("thinking_budget", never),
    ("structured_outputs", never),
    ("guided_json", never),
    ("guided_regex", never),
    ("guided_choice", never),
    ("guided_grammar", never),
    ("grammar", never),
    ("json_schema", never),
];

/// Refuses the first key that asks for what the engine cannot do.
pub fn check(body: &Fields<'_>) -> Result<(), Refusal> {
    let refused = KEYS.iter().find(|(key, harmless)| body.get(key).is_some_and(|value| !harmless(value)));
    refused.map_or(Ok(()), |(key, _)| Err(Refusal::unsupported(*key)))
}

fn never(_: &Value) -> bool {
    false
}

fn is_false(value: &Value) -> bool {
    value.as_bool() == Some(false)
}

fn is_zero(value: &Value) -> bool {
    value.as_u64() == Some(0)
}

fn is_one(value: &Value) -> bool {
    value.as_u64() == Some(1)
}

fn is_none(value: &Value) -> bool {
    value.as_str() == Some("none")
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn is_text_format(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("text")
}

fn is_text_only(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(|item| item.as_str() == Some("text")))
}
