//! What other stages say: ids of findings that no rule of one exchange makes, with severity, sentence and source.
//!
//! Whoever makes such a finding takes its severity from here, through the profile.

use super::{Rule, Severity};
use Severity::{Error, Info, Warn};

/// An id that findings can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// `family/name`, stable for ever.
    pub id: &'static str,
    /// How bad it is, before the profile has its say.
    pub severity: Severity,
    /// What must hold, in one sentence.
    pub sentence: &'static str,
    /// Who says so.
    pub source: &'static str,
}

const OWN: &str = "own reasoning";
const CASE: &str = "the case's expected answer";

const fn named(id: &'static str, severity: Severity, sentence: &'static str, source: &'static str) -> Named {
    Named { id, severity, sentence, source }
}

/// Every id of the stages beside the rules.
#[rustfmt::skip]
pub static NAMED: &[Named] = &[
    // Whole against stream, and stream against stream.
    named("parity/error-status", Error, "One bad request gives one status in both modes.", "llama.cpp#14566"),
    named("parity/error-envelope", Error, "An error has one JSON shape in both modes, before and within a stream.", "SGLang and TGI differ"),
    named("parity/error-type", Error, "An error has the same type, code and param in both modes.", OWN),
    named("parity/error-message", Info, "An error has the same message, ids and numbers aside, in both modes.", OWN),
    named("parity/error-late", Warn, "An error that the whole mode reports by status is not delayed into a stream of status 200.", "llama.cpp#14566"),
    named("parity/error-swallowed", Error, "Where one mode fails the other does not end as if all were well.", "lmstudio-bug-tracker#2339"),
    named("parity/empty-answer", Error, "One mode is not empty where the other answers.", "lmstudio-bug-tracker#2339"),
    named("parity/choices-count", Error, "Both modes bring as many choices.", OWN),
    named("parity/role", Error, "Both modes have the same role.", OWN),
    named("parity/tool-count", Error, "Both modes bring as many calls.", "vllm#47903"),
    named("parity/tool-order", Error, "Both modes bring the calls in the same order.", OWN),
    named("parity/tool-name", Error, "Both modes call the same names.", OWN),
    named("parity/tool-arguments", Error, "Arguments are equal as JSON values.", OWN),
    named("parity/tool-arguments-kind", Error, "Arguments are a string in both modes, not an object in one.", "TGI sends an object whole"),
    named("parity/tool-arguments-text", Info, "Arguments that are equal as JSON are equal as text.", "vLLM writes JSON anew in the whole mode"),
    named("parity/tool-id-form", Info, "Ids of calls have one form in both modes.", OWN),
    named("parity/reasoning-split", Error, "Reasoning and content part at the same place in both modes.", "vllm#32125, vllm#39885"),
    named("parity/reasoning", Error, "Reasoning is equal, code point for code point.", "TensorRT-LLM#17296"),
    named("parity/reasoning-whitespace", Error, "Reasoning does not differ in whitespace.", OWN),
    named("parity/reasoning-field", Warn, "Reasoning comes under one name in both modes.", OWN),
    named("parity/content", Error, "Content is equal, code point for code point.", OWN),
    named("parity/content-whitespace", Error, "Content does not differ in whitespace.", OWN),
    named("parity/content-presence", Info, "Content is null, empty or absent alike in both modes.", "vLLM starts with an empty string"),
    named("parity/unicode-replacement", Error, "No mode has replacement characters that the other has not.", "vllm-mlx#109, exo#1691"),
    named("parity/refusal", Error, "Refusals are equal, in text and kind.", "OpenAI API reference, chat completions"),
    named("parity/message-member", Warn, "Audio, annotations and reasoning under a second key are equal.", "OpenAI API reference, chat completions"),
    named("parity/stop-string-leak", Error, "A stop string, or a part of it, is not in one mode alone.", "vLLM holds text back in streams only"),
    named("parity/finish-reason", Error, "Both modes finish for the same reason.", "vllm#53269, vllm#9053"),
    named("parity/stop-detail", Warn, "Both modes stop at the same stop string or token.", OWN),
    named("parity/usage-prompt", Error, "Both modes count the same prompt tokens.", OWN),
    named("parity/usage-completion", Error, "Both modes count the same completion tokens if the tokens are the same.", "vllm#8625"),
    named("parity/usage-missing", Error, "Usage comes in both modes, where the stream was asked for it.", "OpenAI API reference, stream_options"),
    named("parity/usage-details", Warn, "The breakdown of usage comes in both modes.", "d-inference#304"),
    named("parity/logprobs-absent", Error, "Logprobs come in both modes.", "llama.cpp omits the key in one"),
    named("parity/logprobs-tokens", Error, "The tokens of the logprobs are equal.", OWN),
    named("parity/logprobs-values", Warn, "Logprobs are equal within the tolerance.", OWN),
    named("parity/token-ids", Info, "Token ids are equal; they tell a fault from chance.", "vLLM, return_token_ids"),
    named("parity/model", Warn, "Both modes name the same model.", OWN),
    named("parity/fingerprint", Info, "Both modes have one system_fingerprint; else the comparison is weaker.", "OpenAI API reference, chat completions"),
    named("parity/extra-fields", Info, "Fields of the vendor come in both modes.", OWN),
    named("parity/rechunk", Error, "The answer does not depend on how the tokens arrive.", "vllm#32125"),
    // One answer against the right one, where the modes differ.
    named("expect/error", Error, "An error comes exactly where it is the right answer.", CASE),
    named("expect/tool-count", Error, "There are as many calls as there should be.", CASE),
    named("expect/tool-name", Error, "The calls have the right names.", CASE),
    named("expect/tool-arguments", Error, "The calls have the right arguments.", CASE),
    named("expect/reasoning", Error, "The reasoning is the right one.", CASE),
    named("expect/reasoning-whitespace", Error, "The reasoning is right to its whitespace.", CASE),
    named("expect/content", Error, "The content is the right one.", CASE),
    named("expect/content-whitespace", Error, "The content is right to its whitespace.", CASE),
    named("expect/finish", Error, "The finish reason is the right one.", CASE),
    named("expect/argument-deltas", Error, "Arguments arrive piece by piece, in at least as many deltas as expected.", CASE),
    // Both modes alike against the right answer.
    named("truth/error", Error, "Both modes fail exactly where that is the right answer.", CASE),
    named("truth/tool-count", Error, "Both modes have as many calls as there should be.", CASE),
    named("truth/tool-name", Error, "Both modes call the right names.", CASE),
    named("truth/tool-arguments", Error, "Both modes have the right arguments.", CASE),
    named("truth/reasoning", Error, "Both modes have the right reasoning.", CASE),
    named("truth/reasoning-whitespace", Error, "Both modes have the reasoning right to its whitespace.", CASE),
    named("truth/content", Error, "Both modes have the right content.", CASE),
    named("truth/content-whitespace", Error, "Both modes have the content right to its whitespace.", CASE),
    named("truth/finish", Error, "Both modes have the right finish reason.", CASE),
    // Transport that broke.
    named("exchange/refused", Error, "A connection is made.", OWN),
    named("exchange/timeout", Error, "An answer comes, and goes on, within the time allowed.", OWN),
    named("exchange/cut", Error, "An answer is not broken off.", "RFC 9112, incomplete messages"),
    named("exchange/too-large", Error, "An answer is smaller than the cap.", OWN),
    named("exchange/malformed", Error, "An answer is HTTP.", "RFC 9112"),
    // Our reading against itself, a second one and the official clients.
    named("sse/recut", Error, "The bytes mean the same however they are cut.", OWN),
    named("sse/second-reading", Error, "A second event stream reader reads the same events.", "WHATWG HTML, server-sent events"),
    named("merge/sdk-divergence", Warn, "The official clients agree on what was said.", "openai-python, openai-node, openai-go"),
    named("merge/sdk-crash", Error, "No official client raises.", "openai-python, openai-node, openai-go"),
];

// === impl Named ===

impl From<&Rule> for Named {
    fn from(rule: &Rule) -> Self {
        named(rule.id, rule.severity, rule.sentence, rule.source)
    }
}
