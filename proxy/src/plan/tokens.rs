//! What puppets speak: the checker's own count of tokens, that shares nothing with any engine.
//!
//! In: a format and a text. Out: the number of tokens before the end of turn. Every byte is one token, save the format's
//! special markers, which are one each; the end-of-turn marker written in the text ends it there. A checkpoint reads its text
//! from a window of fixed size at the end of the prompt, so its texts are padded.

/// The tokens of a format beside the 256 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vocabulary {
    /// The format's name.
    pub format: &'static str,
    /// Markers that a reply may hold, in the order of their ids.
    pub special: &'static [&'static str],
    /// What ends a turn.
    pub end: &'static str,
    /// What else stands between turns; no reply holds it.
    pub marks: &'static [&'static str],
    /// What fills a window.
    pub pad: &'static str,
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
const CHATML_MARKS: &[&str] = &["<|im_start|>"];
const GLM_MARKS: &[&str] = &["[gMASK]", "<sop>", "<|system|>", "<|assistant|>", "<|observation|>"];
const PAD: &str = "<|endoftext|>";

const VOCABULARIES: [Vocabulary; 3] = [
    Vocabulary { format: "hermes", special: HERMES, end: "<|im_end|>", marks: CHATML_MARKS, pad: PAD },
    Vocabulary { format: "qwen3-xml", special: HERMES, end: "<|im_end|>", marks: CHATML_MARKS, pad: PAD },
    Vocabulary { format: "glm", special: GLM, end: "<|user|>", marks: GLM_MARKS, pad: PAD },
];

/// The number of tokens of a text, without the one that ends the turn; `None` for a format that no puppet speaks.
pub fn count(format: &str, text: &str) -> Option<u64> {
    let vocabulary = Vocabulary::of(format)?;
    let (mut rest, mut tokens) = (vocabulary.script(text).as_bytes(), 0);
    while !rest.is_empty() {
        let token = first(rest, vocabulary.special.iter().copied());
        rest = rest.get(token.map_or(1, |(_, length)| length)..).unwrap_or_default();
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
    /// That of a format.
    pub fn of(format: &str) -> Option<&'static Self> {
        VOCABULARIES.iter().find(|v| v.format == format)
    }

    /// What is said of a text: all that stands before the end of the turn.
    pub fn script<'a>(&self, text: &'a str) -> &'a str {
        text.split_once(self.end).map_or(text, |(script, _)| script)
    }

    /// All tokens that are no bytes; the first has id 256.
    pub fn tokens(&self) -> impl Iterator<Item = &'static str> {
        let (end, pad) = (std::iter::once(self.end), std::iter::once(self.pad));
        self.special.iter().copied().chain(end).chain(self.marks.iter().copied()).chain(pad)
    }

    /// Whether a reply may hold a token, so that its text has to come out.
    pub fn is_said(&self, token: &str) -> bool {
        self.special.contains(&token)
    }

    /// A text as ids. Where several tokens match, the longest is taken.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let (mut rest, mut ids) = (text.as_bytes(), Vec::with_capacity(text.len()));
        while let Some(&byte) = rest.first() {
            let token = first(rest, self.tokens());
            let (id, length) = token.map_or((u32::from(byte), 1), |(number, length)| (256 + number, length));
            ids.push(id);
            rest = rest.get(length..).unwrap_or_default();
        }
        ids
    }

    /// A text, its end and what fills a window of this many tokens; `None` if it does not fit.
    pub fn fill(&self, text: &str, window: usize) -> Option<String> {
        let gap = window.checked_sub(self.encode(text).len() + 1)?;
        Some(format!("{text}{}{}", self.end, self.pad.repeat(gap)))
    }
}

/// Which of some tokens a text begins with, and its length; the longest of several.
fn first(text: &[u8], tokens: impl Iterator<Item = &'static str>) -> Option<(u32, usize)> {
    let there = (0..).zip(tokens).filter(|(_, token)| text.starts_with(token.as_bytes()));
    there.map(|(number, token)| (number, token.len())).max_by_key(|(_, length)| *length)
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

    #[test]
    fn a_window_is_filled_to_its_last_token() {
        for format in formats() {
            let vocabulary = Vocabulary::of(format).unwrap();
            for text in ["", "é", "<tool_call>{}</tool_call>", "a<|im_start|>[gMASK]", "<think"] {
                let filled = vocabulary.fill(text, 40).unwrap();
                let ids = vocabulary.encode(&filled);
                assert_eq!(ids.len(), 40, "{format} {text}");
                assert!(ids.starts_with(&vocabulary.encode(text)));
                assert!(
                    vocabulary.fill(text, vocabulary.encode(text).len()).is_none(),
                    "no room for the end"
                );
                assert!(vocabulary.fill(text, vocabulary.encode(text).len() + 1).is_some());
            }
        }
    }

    #[test]
    fn ids_are_bytes_then_special_tokens_in_their_order() {
        let hermes = Vocabulary::of("hermes").unwrap();
        assert_eq!(
            hermes.encode("a<think>é<|im_end|><|im_start|><|endoftext|><"),
            [97, 256, 195, 169, 260, 261, 262, 60]
        );
    }
}
