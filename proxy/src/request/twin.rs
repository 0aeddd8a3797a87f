//! The whole twin and the streamed twin of a request: what is added, what is dropped.
//!
//! In: any openai-chat body, as a client wrote it. Out: the same question in the other mode. Everything else stays, in
//! its order, byte for byte once written again.

use super::Mode;
use serde_json::{Map, Value, json};

/// Fields that a server refuses, or that mean nothing, without `stream`.
const STREAM_ONLY: [&str; 4] = ["stream_options", "stream_interval", "sse_ping_interval", "return_progress"];

/// The body that asks the same in a mode.
pub fn twin(body: &Map<String, Value>, mode: Mode) -> Map<String, Value> {
    match mode {
        Mode::Whole => whole(body),
        Mode::Stream => streamed(body),
    }
}

/// The whole twin: no switch, and nothing that is refused without it.
pub fn whole(body: &Map<String, Value>) -> Map<String, Value> {
    let is_kept = |key: &str| key != "stream" && !STREAM_ONLY.contains(&key);
    body.iter().filter(|(key, _)| is_kept(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// The streamed twin: the switch, usage asked for, and nothing that is refused with it.
pub fn streamed(body: &Map<String, Value>) -> Map<String, Value> {
    let is_many = body.get("best_of").and_then(Value::as_u64).is_some_and(|n| n > 1);
    let is_kept = |key: &str| key != "prompt_logprobs" && !(key == "best_of" && is_many);
    let mut twin: Map<String, Value> =
        body.iter().filter(|(key, _)| is_kept(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
    twin.insert("stream".to_owned(), Value::Bool(true));
    match twin.get_mut("stream_options") {
        Some(Value::Object(options)) => _ = options.insert("include_usage".to_owned(), Value::Bool(true)),
        _ => _ = twin.insert("stream_options".to_owned(), json!({ "include_usage": true })),
    }
    twin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(twin: fn(&Map<String, Value>) -> Map<String, Value>, body: &str, expect: &str) {
        let body: Map<String, Value> = serde_json::from_str(body).unwrap();
        assert_eq!(serde_json::to_string(&twin(&body)).unwrap(), expect);
    }

    #[test]
    fn the_whole_twin_drops_what_only_streams_have() {
        check(
            whole,
            r#"{"model":"m","stream":true,"n":1.0,"stream_options":{"include_usage":true},"stream_interval":3,"return_progress":true,"stop":null}"#,
            r#"{"model":"m","n":1.0,"stop":null}"#,
        );
    }

    #[test]
    fn the_streamed_twin_asks_for_usage_and_keeps_other_options() {
        check(
            streamed,
            r#"{"model":"m","best_of":2,"prompt_logprobs":1}"#,
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#,
        );
        check(
            streamed,
            r#"{"stream":false,"stream_options":{"include_obfuscation":false},"best_of":1}"#,
            r#"{"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true},"best_of":1}"#,
        );
        check(
            streamed,
            r#"{"stream_options":null}"#,
            r#"{"stream_options":{"include_usage":true},"stream":true}"#,
        );
    }

    #[test]
    fn twins_of_twins_are_the_twins() {
        let body: Map<String, Value> = serde_json::from_str(r#"{"model":"m","x":[1]}"#).unwrap();
        assert_eq!(whole(&streamed(&body)), whole(&body));
        assert_eq!(streamed(&whole(&streamed(&body))), streamed(&body));
    }
}
