//! Which official clients a finding breaks, and what they do: by rule, from what released clients were seen to do.
//!
//! A fallback for rules whose stream was not read through the clients' own ways of folding.

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
