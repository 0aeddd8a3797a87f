//! What of a reply each rule is about, in one table; and which rules say that the replies said different things.
//!
//! In: a rule's id. Out: its [`Aspect`], and whether a break of it counts only where equal tokens are proven.

/// What of a reply a rule is about, from cause to consequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// The transport lost bytes, or brought the other mode, as its own framing says.
    Transport,
    /// The exchange ended badly, as we saw it.
    Ended,
    /// Events are lost on the way.
    Loss,
    /// The answer is an error.
    Error,
    /// Number of choices.
    Choices,
    /// How fragments are put together to calls.
    Merge,
    /// Number and order of calls.
    Calls,
    /// A call's name and id.
    Name,
    /// A call's arguments.
    Arguments,
    /// Content, and where reasoning ends.
    Content,
    /// Reasoning, refusal, and what else a message brings.
    Reasoning,
    /// Whether there is an answer at all: a summary of the above.
    Answer,
    /// How a choice ends on the wire.
    End,
    /// Finish reason, and what made the model stop.
    Finish,
    /// Completion tokens.
    Usage,
    /// Token ids and logprobs.
    Tokens,
    /// None of these.
    Own,
    /// Something owed does not come in one mode: follows from what that reply broke or lost, and else from nothing.
    Echo,
    /// What clients make of a breach.
    Client,
}

/// The table of rules; a trailing `*` stands for anything. Rules that are not listed are [`Aspect::Own`].
const ASPECTS: &[(&str, Aspect)] = &[
    ("http/chunked-truncated", Aspect::Transport),
    ("http/length-short", Aspect::Transport),
    ("http/h2-reset", Aspect::Transport),
    ("http/stream-not-streamed", Aspect::Transport),
    ("http/whole-streamed", Aspect::Transport),
    ("exchange/*", Aspect::Ended),
    ("sse/invalid-utf8", Aspect::Loss),
    ("sse/bom-inner", Aspect::Loss),
    ("sse/unterminated-event", Aspect::Loss),
    ("sse/missing-blank-line", Aspect::Loss),
    ("sse/data-not-json", Aspect::Loss),
    ("sse/no-events", Aspect::Loss),
    ("parity/error-*", Aspect::Error),
    ("expect/error", Aspect::Error),
    ("truth/error", Aspect::Error),
    ("openai-chat/error-envelope", Aspect::Error),
    ("openai-chat/error-fields", Aspect::Error),
    ("openai-chat/error-code-type", Aspect::Error),
    ("parity/choices-count", Aspect::Choices),
    ("openai-chat/choice-missing", Aspect::Choices),
    ("openai-chat/tool-index-*", Aspect::Merge),
    ("openai-chat/tool-id-changed", Aspect::Merge),
    ("openai-chat/tool-name-split", Aspect::Merge),
    ("openai-chat/tool-name-repeated", Aspect::Merge),
    ("openai-chat/tool-arguments-cumulative", Aspect::Merge),
    ("openai-chat/tool-arguments-type", Aspect::Merge),
    ("parity/tool-count", Aspect::Calls),
    ("parity/tool-order", Aspect::Calls),
    ("expect/tool-count", Aspect::Calls),
    ("truth/tool-count", Aspect::Calls),
    ("parity/tool-name", Aspect::Name),
    ("parity/tool-id-form", Aspect::Name),
    ("expect/tool-name", Aspect::Name),
    ("truth/tool-name", Aspect::Name),
    ("openai-chat/tool-name-missing", Aspect::Name),
    ("openai-chat/tool-name-undeclared", Aspect::Name),
    ("parity/tool-arguments", Aspect::Arguments),
    ("parity/tool-arguments-kind", Aspect::Arguments),
    ("parity/tool-arguments-text", Aspect::Arguments),
    ("expect/tool-arguments", Aspect::Arguments),
    ("truth/tool-arguments", Aspect::Arguments),
    ("expect/argument-deltas", Aspect::Arguments),
    ("openai-chat/tool-arguments-json", Aspect::Arguments),
    ("parity/content", Aspect::Content),
    ("parity/content-whitespace", Aspect::Content),
    ("parity/content-presence", Aspect::Content),
    ("parity/stop-string-leak", Aspect::Content),
    ("parity/unicode-replacement", Aspect::Content),
    ("parity/reasoning-split", Aspect::Content),
    ("expect/content*", Aspect::Content),
    ("truth/content*", Aspect::Content),
    ("openai-chat/markup-leak", Aspect::Content),
    ("openai-chat/stop-string-in-content", Aspect::Content),
    ("parity/reasoning", Aspect::Reasoning),
    ("parity/reasoning-whitespace", Aspect::Reasoning),
    ("parity/reasoning-field", Aspect::Reasoning),
    ("parity/refusal", Aspect::Reasoning),
    ("parity/message-member", Aspect::Reasoning),
    ("expect/reasoning*", Aspect::Reasoning),
    ("truth/reasoning*", Aspect::Reasoning),
    ("parity/empty-answer", Aspect::Answer),
    ("openai-chat/empty-but-billed", Aspect::Answer),
    ("openai-chat/finish-reason-missing", Aspect::End),
    ("openai-chat/finish-reason-once", Aspect::End),
    ("openai-chat/finish-reason-erased", Aspect::End),
    ("parity/finish-reason", Aspect::Finish),
    ("parity/stop-detail", Aspect::Finish),
    ("expect/finish", Aspect::Finish),
    ("truth/finish", Aspect::Finish),
    ("openai-chat/tool-finish-*", Aspect::Finish),
    ("parity/usage-completion", Aspect::Usage),
    ("openai-chat/usage-arithmetic", Aspect::Usage),
    ("openai-chat/usage-vs-tokens", Aspect::Usage),
    ("parity/logprobs-tokens", Aspect::Tokens),
    ("parity/logprobs-values", Aspect::Tokens),
    ("parity/token-ids", Aspect::Tokens),
    ("parity/usage-missing", Aspect::Echo),
    ("parity/logprobs-absent", Aspect::Echo),
    ("merge/*", Aspect::Client),
];

/// What stands at a place of the reply and yet takes no proof: form, which chance does not touch, and the proof itself.
const FORM: [&str; 5] = [
    "parity/token-ids",
    "parity/tool-arguments-kind",
    "parity/tool-id-form",
    "parity/content-presence",
    "parity/reasoning-field",
];

/// The difference that an echo is of: what one mode does not bring, as a rule of that reply alone says it.
const ECHOES: [(&str, &str); 2] = [
    ("parity/usage-missing", "openai-chat/usage-missing"),
    ("parity/logprobs-absent", "openai-chat/logprobs-missing"),
];

/// What a rule is about.
pub fn aspect(rule: &str) -> Aspect {
    ASPECTS.iter().find(|(row, _)| covers(row, rule)).map_or(Aspect::Own, |(_, aspect)| *aspect)
}

/// Whether a row of the table is about a rule.
fn covers(row: &str, rule: &str) -> bool {
    row.strip_suffix('*').map_or(rule == row, |start| rule.starts_with(start))
}

/// Whether a rule holds a reply against another, or against the right answer; the others look at one exchange alone.
pub fn compares(rule: &str) -> bool {
    rule.starts_with("parity/") || is_of_answer(rule)
}

/// Whether a rule holds a reply against the right answer.
pub(super) fn is_of_answer(rule: &str) -> bool {
    ["expect/", "truth/"].iter().any(|family| rule.starts_with(family))
}

/// Whether a rule's differences need proof of equal tokens before they may fail: what was said, not in which form.
pub fn needs_proof(rule: &str) -> bool {
    let is_said = (Aspect::Calls..=Aspect::Tokens).contains(&aspect(rule)) && !FORM.contains(&rule);
    (compares(rule) && is_said) || rule == "parity/rechunk"
}

/// Whether a difference by `rule` is no more than a break of `breach`, seen from the other mode.
pub(super) fn is_echo(rule: &str, breach: &str) -> bool {
    ECHOES.contains(&(rule, breach))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::catalogue;

    /// Rules that belong to no place of the reply: of the transport and its labels, of the form of events and their members,
    /// of what surrounds the answer. Every one is a cause of its own.
    const OWN: &str = "
        http/stream-content-type http/whole-content-type http/whole-unreadable http/error-body-2xx
        http/error-status-sse http/close-delimited http/truncated-after-terminal http/buffered-stream
        http/idle-without-keepalive http/linger-after-terminal http/cacheable-stream
        sse/utf8-boundary sse/bom-leading sse/cr-line-ends sse/mixed-line-ends sse/nul-byte sse/event-size
        sse/unknown-field sse/data-no-space sse/data-multiline sse/event-without-data sse/empty-data
        sse/id-used sse/id-nul sse/retry-used sse/retry-not-digits sse/comment sse/event-name-unexpected
        sse/after-terminal sse/json-nonfinite sse/json-duplicate-key sse/json-lone-surrogate
        sse/json-raw-line-separator sse/json-too-deep sse/json-list-size sse/recut sse/second-reading
        openai-chat/error-null-key openai-chat/error-then-data
        openai-chat/whole-object openai-chat/whole-required-fields openai-chat/message-missing
        openai-chat/chunk-object openai-chat/chunk-required-fields openai-chat/choices-not-array
        openai-chat/id-empty openai-chat/id-constant openai-chat/created-constant openai-chat/model-constant
        openai-chat/fingerprint-stable openai-chat/choices-empty openai-chat/obfuscation
        openai-chat/choice-index-missing openai-chat/choice-index-range openai-chat/choice-first-order
        openai-chat/delta-missing openai-chat/message-in-chunk openai-chat/finish-key-absent
        openai-chat/role-first openai-chat/role-repeated openai-chat/content-type openai-chat/refusal-type
        openai-chat/content-and-refusal openai-chat/function-call-legacy openai-chat/reasoning-after-content
        openai-chat/reasoning-two-fields openai-chat/list-extension-no-index openai-chat/numeric-extension
        openai-chat/tool-interleaved openai-chat/tool-id-missing openai-chat/tool-id-repeated
        openai-chat/tool-id-duplicate openai-chat/tool-id-empty-later openai-chat/tool-type-missing
        openai-chat/tool-function-null openai-chat/tool-name-late openai-chat/tool-arguments-null
        openai-chat/finish-reason-empty openai-chat/finish-reason-enum openai-chat/content-after-finish
        openai-chat/logprobs-shape openai-chat/logprobs-first-chunk openai-chat/logprobs-floor
        openai-chat/logprobs-missing
        openai-chat/usage-missing openai-chat/usage-unrequested openai-chat/usage-choices
        openai-chat/usage-nonfinal-null openai-chat/usage-nonfinal-zero openai-chat/usage-last
        openai-chat/usage-repeated openai-chat/usage-monotonic openai-chat/usage-type
        openai-chat/usage-incomplete
        openai-chat/done-missing openai-chat/done-exact openai-chat/done-duplicate
        parity/role parity/usage-prompt parity/usage-details parity/model parity/fingerprint
        parity/extra-fields parity/rechunk
    ";

    #[test]
    fn every_rule_has_an_aspect_or_is_listed_as_one_of_its_own() {
        let own: Vec<&str> = OWN.split_whitespace().collect();
        let wrong: Vec<&str> = catalogue::ids()
            .map(|named| named.id)
            .filter(|id| (aspect(id) == Aspect::Own) != own.contains(id))
            .collect();
        assert_eq!(wrong, Vec::<&str>::new(), "neither an aspect nor listed here, or both");
        let unknown: Vec<&&str> = own.iter().filter(|id| catalogue::describe(id).is_none()).collect();
        assert_eq!(unknown, Vec::<&&str>::new(), "no rules");
    }

    #[test]
    fn every_row_of_the_table_is_of_some_rule() {
        for (row, aspect_of) in ASPECTS {
            let mut matching = catalogue::ids().filter(|named| aspect(named.id) == *aspect_of);
            assert!(matching.any(|named| covers(row, named.id)), "{row}");
        }
        for id in FORM.iter().chain(ECHOES.iter().flat_map(|(rule, breach)| [rule, breach])) {
            assert!(catalogue::describe(id).is_some(), "{id}");
        }
    }

    #[test]
    fn what_was_said_needs_proof_and_form_does_not() {
        let check = |rule: &str, expect: bool| assert_eq!(needs_proof(rule), expect, "{rule}");
        check("parity/content", true);
        check("parity/tool-count", true);
        check("parity/usage-completion", true);
        check("expect/content", true);
        check("parity/rechunk", true);
        check("parity/tool-arguments-text", true);
        check("parity/reasoning-whitespace", true);
        check("parity/logprobs-tokens", true);
        check("parity/message-member", true);
        check("truth/content", true);
        check("truth/error", false);
        check("parity/content-presence", false);
        check("parity/tool-id-form", false);
        check("parity/usage-missing", false);
        check("parity/logprobs-absent", false);
        check("parity/tool-arguments-kind", false);
        check("parity/error-status", false);
        check("parity/choices-count", false);
        check("parity/usage-prompt", false);
        check("openai-chat/markup-leak", false);
        check("openai-chat/done-missing", false);
    }
}
