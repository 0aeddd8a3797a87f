//! Which official clients a finding breaks, and what they do: by rule, from what released clients were seen to do.
//!
//! A fallback for rules whose stream was not read through the clients' own ways of folding, and for clients whose way of
//! folding is not known.

use super::Finding;

/// What a client may raise on, as lenses say it, and the rules that are about that.
const RAISES: &[(&str, &[&str])] = &[
    ("a tool call without an index", &["openai-chat/tool-index-missing"]),
    ("a negative tool call index", &["openai-chat/tool-index-type"]),
    (
        "a gap in the tool call indexes",
        &["openai-chat/tool-index-gap", "openai-chat/tool-index-order", "openai-chat/tool-index-missing"],
    ),
    ("a tool call without a type", &["openai-chat/tool-type-missing"]),
    ("a null function on a later fragment", &["openai-chat/tool-function-null"]),
    ("a choice before those below it", &["openai-chat/choice-first-order", "openai-chat/choice-index-range"]),
    (
        "a stream without a finish reason",
        &["openai-chat/finish-reason-missing", "sse/unterminated-event", "sse/no-events"],
    ),
    ("a null error key", &["openai-chat/error-null-key"]),
    ("an error without the key error", &["openai-chat/error-envelope"]),
    ("bytes that are not UTF-8", &["sse/invalid-utf8"]),
    ("NaN or Infinity", &["sse/json-nonfinite"]),
    (
        "data that is no JSON document",
        &["sse/data-not-json", "sse/missing-blank-line", "sse/empty-data", "openai-chat/done-exact"],
    ),
    ("a block with retry alone", &["sse/event-without-data"]),
    ("an event without data", &["sse/event-without-data"]),
];

/// What official clients are called.
const OFFICIAL: &str = "openai-";

/// Rule, client, what it does.
const AFFECTED: &[(&str, &str, &str)] = &[
    (
        "parity/tool-count",
        "openai-python, openai-node",
        "run a call that the other mode does not make, or miss one",
    ),
    ("parity/tool-name", "openai-python, openai-node", "call another tool"),
    ("parity/tool-arguments", "openai-python, openai-node", "call the tool with other arguments"),
    ("parity/finish-reason", "agents", "stop before running the calls, or wait for calls that are not there"),
    ("parity/reasoning-split", "chat front ends", "show reasoning as the answer, or hide the answer"),
    ("openai-chat/tool-index-missing", "openai-python", "raises"),
    ("openai-chat/tool-index-missing", "openai-node", "loses the call silently"),
    ("openai-chat/tool-index-type", "openai-python", "merges the fragment into the last call"),
    ("openai-chat/tool-index-type", "openai-node", "raises"),
    ("openai-chat/tool-index-gap", "openai-python, openai-node", "raise"),
    ("openai-chat/tool-index-gap", "openai-go", "fills the gap with empty calls"),
    ("openai-chat/tool-index-order", "openai-python", "raises"),
    ("openai-chat/tool-index-reused", "openai-python", "glues ids, names and arguments of both calls"),
    ("openai-chat/tool-index-reused", "openai-node, openai-go", "keep the last id and glue the arguments"),
    ("openai-chat/tool-id-repeated", "openai-python", "doubles the id"),
    ("openai-chat/tool-id-missing", "ai-sdk", "raises"),
    ("openai-chat/tool-id-missing", "openai-node", "invents a random id"),
    ("openai-chat/tool-type-missing", "openai-node", "raises"),
    ("openai-chat/tool-name-split", "openai-node", "keeps the last piece of the name"),
    ("openai-chat/tool-name-repeated", "openai-python, openai-go", "double the name"),
    ("openai-chat/tool-arguments-type", "openai-node", "reads [object Object]"),
    ("openai-chat/tool-arguments-cumulative", "every client", "glues the growing prefixes"),
    ("openai-chat/tool-function-null", "openai-python", "raises"),
    ("openai-chat/role-repeated", "openai-python", "reads assistantassistant…"),
    ("openai-chat/finish-reason-missing", "openai-node", "raises"),
    ("openai-chat/finish-reason-missing", "openai-python", "gives no finish reason and no error"),
    ("openai-chat/finish-reason-erased", "openai-go", "loses the finish reason"),
    ("openai-chat/usage-last", "openai-python", "loses the usage"),
    ("openai-chat/usage-repeated", "openai-go", "adds the counts up"),
    ("openai-chat/id-constant", "openai-go", "drops the chunk"),
    ("openai-chat/error-null-key", "openai-go", "ends the stream with an error"),
    ("openai-chat/done-missing", "openai-python", "cannot tell a cut stream from a complete one"),
    ("http/stream-not-streamed", "openai-python", "reads no chunk and no error"),
    ("sse/invalid-utf8", "openai-python", "raises"),
    ("sse/invalid-utf8", "openai-node, openai-go", "read U+FFFD"),
    ("sse/bom-leading", "openai-python, openai-go", "lose the first event"),
    ("sse/unterminated-event", "openai-python, openai-node, openai-go", "drop the last event"),
    ("sse/data-not-json", "openai-python, openai-node, openai-go", "raise"),
    ("sse/event-without-data", "openai-python, openai-node", "raise"),
    ("sse/json-nonfinite", "openai-node, openai-go", "raise"),
];

/// The clients that a break of `rule` affects.
pub fn affected(rule: &str) -> Vec<(String, String)> {
    let rows = AFFECTED.iter().filter(|(affects, _, _)| *affects == rule);
    rows.map(|(_, client, what)| ((*client).to_owned(), (*what).to_owned())).collect()
}

/// The clients that a break of `rule` affects, other than those whose way of folding is known.
pub fn beside<'a>(rule: &str, known: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let known: Vec<&str> = known.collect();
    let mut rows = affected(rule);
    rows.retain(|(clients, _)| !known.iter().any(|name| clients.contains(name)));
    rows
}

/// Whether a client that raises on `why` does so for what `rule` is about.
pub fn raises(why: &str, rule: &str) -> bool {
    rule == "merge/sdk-crash" || RAISES.iter().any(|(on, rules)| *on == why && rules.contains(&rule))
}

/// Whether what `found` says of clients comes of a break of `rule`.
pub(super) fn comes_of(found: &Finding, rule: &str) -> bool {
    let text = found.stream.as_deref().unwrap_or_default();
    match found.rule.as_str() {
        "merge/sdk-crash" => RAISES.iter().any(|(why, rules)| rules.contains(&rule) && text.contains(why)),
        "merge/sdk-divergence" => {
            AFFECTED.iter().any(|(affects, client, _)| *affects == rule && client.contains(OFFICIAL))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_their_clients() {
        let two = affected("openai-chat/tool-index-missing");
        assert_eq!(two.iter().map(|(c, _)| c.as_str()).collect::<Vec<_>>(), ["openai-python", "openai-node"]);
        assert_eq!(affected("parity/content"), []);
    }
}
