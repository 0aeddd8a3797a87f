//! How many tokens a puppet needs to say a text: the checker's own count, that shares nothing with any engine.
//!
//! In: a format and a text. Out: the number of tokens before the end of turn. Every byte is one token, save the format's
//! special markers, which are one each; the end-of-turn marker written in the text ends it there.

/// The special markers of a format, and the one that ends the turn.
struct Vocabulary {
    format: &'static str,
    special: &'static [&'static str],
    end: &'static str,
}

const HERMES: &[&str] = &["<think>", "</think>", "<tool_call>", "</tool_call>"];
const GLM: &[&str] = &[
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
];

const VOCABULARIES: [Vocabulary; 3] = [
    Vocabulary { format: "hermes", special: HERMES, end: "<|im_end|>" },
    Vocabulary { format: "qwen3-xml", special: HERMES, end: "<|im_end|>" },
    Vocabulary { format: "glm", special: GLM, end: "<|user|>" },
];

/// The number of tokens of a text, without the one that ends the turn; `None` for a format that no puppet speaks.
pub fn count(format: &str, text: &str) -> Option<u64> {
    let vocabulary = VOCABULARIES.iter().find(|v| v.format == format)?;
    let script = text.split_once(vocabulary.end).map_or(text, |(script, _)| script);
    let (mut rest, mut tokens) = (script.as_bytes(), 0);
    while !rest.is_empty() {
        rest = rest.get(vocabulary.token(rest)..).unwrap_or_default();
        tokens += 1;
    }
    Some(tokens)
}

/// The formats that can be counted, which are those that can be asked for.
pub fn formats() -> impl Iterator<Item = &'static str> {
    VOCABULARIES.iter().map(|v| v.format)
}

// === impl Vocabulary ===

impl Vocabulary {
    /// The length of the token at the start of a text.
    fn token(&self, text: &[u8]) -> usize {
        if text.first() != Some(&b'<') {
            return 1;
        }
        self.special.iter().find(|s| text.starts_with(s.as_bytes())).map_or(1, |s| s.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_special_markers_are_one_token_each() {
        for (format, text, tokens) in [
            ("hermes", "", Some(0)),
            ("hermes", "abc", Some(3)),
            ("hermes", "é", Some(2)),
            ("hermes", "<tool_call>{}</tool_call>", Some(4)),
            ("hermes", "<arg_key>", Some(9)),
            ("glm", "<tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>", Some(9)),
            ("glm", "ab<|user|>cd", Some(2)),
            ("hermes", "ab<|user|>", Some(10)),
            ("qwen3-xml", "<think>\n</think><|im_end|><think>", Some(3)),
            ("hermes", "<think", Some(6)),
            ("hermes", "<<think>", Some(2)),
            ("harmony", "abc", None),
        ] {
            assert_eq!(count(format, text), tokens, "{format} {text}");
        }
    }
}
