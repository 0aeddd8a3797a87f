//! Exchanges in which a server is handed the tokens of a reply and reads them: whole, and in pieces at every schedule.
//!
//! In: an entry, and what a [`Reader`] knows. Out: the exchanges, or why the entry cannot be asked so. Both modes read the same
//! tokens by construction, so each difference is the server's own.

use super::{Planned, Rounds, TEMPLATE_WORDS, Variant, entry::Entry, spare_thinking, tokens::Vocabulary};
use crate::request::{
    Mode, Request,
    case::{Ends, Need},
    handed::{Handed, PATH},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A server that reads tokens, and how it writes texts as tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reader {
    /// The model's name.
    pub model: String,
    /// The format whose texts it is handed.
    pub format: String,
    /// What its template makes of a prompt.
    pub prompts: Prompts,
    /// The format's markers that are single tokens.
    pub special: Vec<u32>,
    /// The texts, up to the end of their turn, as tokens.
    pub texts: HashMap<String, Vec<u32>>,
}

/// The tokens of one prompt, by what its request says of thinking: a reader looks at how it ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompts {
    /// Nothing is said.
    pub unasked: Vec<u32>,
    /// It shall think.
    pub on: Vec<u32>,
    /// It shall not.
    pub off: Vec<u32>,
}

/// The most tokens that are handed over: one by one each takes a request, and a server reads all before it again.
pub const MAX_TOKENS: usize = 10_000;

/// The text of a case that is handed over: what stands before the end of the turn.
pub fn text<'a>(format: &str, says: &'a str) -> &'a str {
    Vocabulary::of(format).map_or(says, |vocabulary| vocabulary.script(says))
}

// === impl Reader ===

impl Reader {
    /// The exchanges of an entry: whole, then in pieces at each schedule; or why it cannot be asked.
    pub(super) fn exchanges(&self, entry: &Entry, rounds: &[Rounds]) -> Result<Vec<Planned>, String> {
        let (tokens, finish) = self.tokens(entry)?;
        let mut asked = Map::from_iter([("model".to_owned(), self.model.clone().into())]);
        asked.extend(entry.body.iter().map(|(key, value)| (key.clone(), value.clone())));
        let prompt = self.prompts.of(entry, &mut asked);
        let handed = Handed { asked: &asked, prompt, tokens, finish };
        let whole = planned(entry, Mode::Whole, None, handed.whole());
        let streams = rounds.iter().map(|rounds| {
            let body = handed.streamed(rounds.sizes(tokens, &self.special));
            planned(entry, Mode::Stream, Some(*rounds), body)
        });
        Ok([whole].into_iter().chain(streams).collect())
    }

    /// The tokens of an entry's reply, and why it ends.
    fn tokens(&self, entry: &Entry) -> Result<(&[u32], &'static str), String> {
        let case = &entry.case;
        let (Some(says), true) = (&case.says, case.format.as_deref() == Some(&self.format)) else {
            return Err(format!("only texts of {} are handed over", self.format));
        };
        if case.needs.contains(&Need::Error) {
            return Err("what is refused has no tokens to hand over".to_owned());
        }
        let all = self.texts.get(text(&self.format, says)).map(Vec::as_slice).unwrap_or_default();
        let (tokens, finish) = match (entry.variant, &case.ends) {
            (Variant::Cut(at), _) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                (all.get(..at).ok_or_else(|| format!("its text has {} tokens", all.len()))?, "length")
            }
            (_, Ends::Length) => (all, "length"),
            (_, Ends::Model) => (all, "stop"),
            (_, Ends::Stop(_)) => {
                return Err("stop strings end a reply before its tokens are read".to_owned());
            }
        };
        if tokens.len() > MAX_TOKENS {
            return Err(format!(
                "its text has {} tokens, {MAX_TOKENS} are handed over at most",
                tokens.len()
            ));
        }
        if tokens.is_empty() {
            Err("no tokens are left to hand over".to_owned())
        } else {
            Ok((tokens, finish))
        }
    }
}

fn planned(entry: &Entry, mode: Mode, rounds: Option<Rounds>, body: Map<String, Value>) -> Planned {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let body = Value::Object(body).to_string().into();
    Planned {
        mode,
        rounds,
        request: Request { dialect: entry.dialect, path: PATH.to_owned(), headers, body },
    }
}

// === impl Prompts ===

impl Prompts {
    /// The prompt that a request has. Where thinking is on unasked, a text without any is asked for with thinking off.
    fn of(&self, entry: &Entry, asked: &mut Map<String, Value>) -> &[u32] {
        let says = entry.case.says.as_deref().unwrap_or_default();
        if self.unasked != self.off {
            spare_thinking(asked, says);
        }
        let thinks = asked.get(TEMPLATE_WORDS).and_then(|words| words.get("enable_thinking")?.as_bool());
        match thinks {
            None => &self.unasked,
            Some(true) => &self.on,
            Some(false) => &self.off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Depth, entry::entries},
        request::{Dialect, case::read_cases},
    };
    use serde_json::json;
    use std::sync::Arc;

    fn reader() -> Reader {
        let text = |text: &str, ids: &[u32]| (text.to_owned(), ids.to_vec());
        Reader {
            model: "m".to_owned(),
            format: "hermes".to_owned(),
            prompts: Prompts { unasked: vec![1, 2], on: vec![1, 2], off: vec![1] },
            special: vec![90, 91],
            texts: HashMap::from([text("Hi.", &[7, 8, 9]), text("<think>\na", &[90, 5, 6])]),
        }
    }

    fn planned(case: &str) -> Vec<(String, Result<Vec<Planned>, String>)> {
        let (mut cases, mistakes) = read_cases("t.json", case);
        assert_eq!(mistakes, []);
        let all = entries(&Arc::new(cases.remove(0)), Dialect::OpenaiChat, Depth::Deep);
        let rounds = [Rounds::Whole, Rounds::Every(2)];
        all.into_iter().map(|entry| (entry.id.clone(), reader().exchanges(&entry, &rounds))).collect()
    }

    fn body(planned: &Planned) -> Value {
        planned.request.json().unwrap()
    }

    #[test]
    fn a_text_is_handed_over_whole_and_in_pieces_and_so_are_its_beginnings() {
        let all =
            planned(r#"{"id": "h/a", "format": "hermes", "says": "Hi.<|im_end|>never", "request": {}}"#);
        let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["h/a", "h/a~cut-1", "h/a~cut-2", "h/a~cut-3"]);
        let base = all[0].1.as_ref().unwrap();
        let modes: Vec<_> = base.iter().map(|one| (one.mode, one.rounds)).collect();
        let expect = [
            (Mode::Whole, None),
            (Mode::Stream, Some(Rounds::Whole)),
            (Mode::Stream, Some(Rounds::Every(2))),
        ];
        assert_eq!(modes, expect);
        let whole = body(&base[0]);
        assert_eq!(
            whole["generate_response"]["choices"][0],
            json!({"index": 0, "token_ids": [7, 8, 9], "finish_reason": "stop"})
        );
        assert_eq!(
            (&whole["prompt_token_ids"], &whole["chat_request"]["chat_template_kwargs"]),
            (&json!([1]), &json!({"enable_thinking": false}))
        );
        assert_eq!(body(&base[2])["generate_chunk"].as_array().unwrap().len(), 3);
        let cut = body(&all[2].1.as_ref().unwrap()[0]);
        assert_eq!(
            cut["generate_response"]["choices"][0],
            json!({"index": 0, "token_ids": [7, 8], "finish_reason": "length"})
        );
    }

    #[test]
    fn a_text_that_thinks_follows_the_prompt_that_lets_it() {
        let all = planned(r#"{"id": "h/a", "format": "hermes", "says": "<think>\na", "request": {}}"#);
        let whole = body(&all[0].1.as_ref().unwrap()[0]);
        assert_eq!(
            (&whole["prompt_token_ids"], whole["chat_request"].get("chat_template_kwargs")),
            (&json!([1, 2]), None)
        );
    }

    #[test]
    fn what_has_no_tokens_is_not_asked() {
        for (case, expect) in [
            (
                r#"{"id": "h/a", "format": "glm", "says": "Hi.", "request": {}}"#,
                "only texts of hermes are handed over",
            ),
            (r#"{"id": "h/a", "request": {}}"#, "only texts of hermes are handed over"),
            (
                r#"{"id": "h/a", "format": "hermes", "says": "Hi.", "ends": {"stop": ["i"]}, "request": {}}"#,
                "stop strings end a reply before its tokens are read",
            ),
            (
                r#"{"id": "h/a", "format": "hermes", "says": "unknown", "request": {}}"#,
                "no tokens are left to hand over",
            ),
        ] {
            assert_eq!(planned(case)[0].1, Err(expect.to_owned()), "{case}");
        }
    }
}
