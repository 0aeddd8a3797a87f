//! Requests that hand a server the tokens of a reply, for it to read them: no model, no sampling, and the borders are ours.
//!
//! In: a chat request, the tokens of its prompt, those of the reply, and where to cut them. Out: bodies for vLLM's endpoint
//! `/v1/chat/completions/derender`. A whole reply is one request. A streamed one is a request a piece, each with the state that
//! the answer to the one before it gave: kept as one body whose `generate_chunk` is the list of all pieces, which shows where the
//! reply was cut, and taken apart when it is sent.

use super::{Mode, Request, twin::twin};
use bytes::Bytes;
use serde_json::{Map, Value, json};

/// The endpoint.
pub const PATH: &str = "/v1/chat/completions/derender";

/// The key under which the chat request stands that the tokens answer.
const ASKED: &str = "chat_request";

/// The key of the pieces.
const PIECES: &str = "generate_chunk";

/// The key of what the server has to be told again with each piece.
const STATE: &str = "stream_state";

/// The tokens of a reply, and what they answer.
#[derive(Debug, Clone, Copy)]
pub struct Handed<'a> {
    /// The chat request, without `stream`.
    pub asked: &'a Map<String, Value>,
    /// The tokens that its template makes of it.
    pub prompt: &'a [u32],
    /// The tokens of the reply, without the one that ends a turn.
    pub tokens: &'a [u32],
    /// Why it ended, as an engine says it.
    pub finish: &'a str,
}

/// A reply that is handed over piece by piece.
#[derive(Debug, Clone, PartialEq)]
pub struct Pieces {
    /// All that each piece is sent with.
    frame: Map<String, Value>,
    /// The pieces, in their order.
    pieces: Vec<Value>,
}

// === impl Handed ===

impl Handed<'_> {
    /// The body for all of it at once.
    pub fn whole(&self) -> Map<String, Value> {
        let choice = json!({ "index": 0, "token_ids": self.tokens, "finish_reason": self.finish });
        let mut body = self.frame(Mode::Whole);
        body.insert("generate_response".to_owned(), json!({ "request_id": "whole", "choices": [choice] }));
        body
    }

    /// The body for pieces of these many tokens each; what the sizes leave over is a piece more. What the reply counts comes
    /// last, in a piece without tokens.
    pub fn streamed(&self, sizes: impl Iterator<Item = usize>) -> Map<String, Value> {
        let (mut rest, mut cut) = (self.tokens, Vec::new());
        let mut sizes = sizes.filter(|size| *size > 0);
        while !rest.is_empty() {
            let size = sizes.next().unwrap_or(rest.len()).min(rest.len());
            let (piece, after) = rest.split_at(size);
            rest = after;
            let finish = rest.is_empty().then_some(self.finish);
            let choice = json!({ "index": 0, "token_ids": piece, "finish_reason": finish });
            cut.push(json!({ "request_id": "stream", "choices": [choice] }));
        }
        let (prompt, reply) = (self.prompt.len(), self.tokens.len());
        let usage =
            json!({ "prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply });
        cut.push(json!({ "request_id": "stream", "choices": [], "usage": usage }));
        let mut body = self.frame(Mode::Stream);
        body.insert(PIECES.to_owned(), cut.into());
        body
    }

    fn frame(&self, mode: Mode) -> Map<String, Value> {
        let mut frame = Map::new();
        if mode == Mode::Stream {
            frame.insert("stream".to_owned(), true.into());
        }
        frame.extend(self.asked.get("model").map(|model| ("model".to_owned(), model.clone())));
        frame.insert("prompt_tokens".to_owned(), self.prompt.len().into());
        frame.insert("prompt_token_ids".to_owned(), json!(self.prompt));
        frame.insert(ASKED.to_owned(), twin(self.asked, mode).into());
        frame
    }
}

/// The chat request that a body answers; the body itself where it hands nothing over.
pub(super) fn asked(body: &Value) -> &Value {
    body.get(ASKED).filter(|asked| asked.is_object()).unwrap_or(body)
}

/// The tokens that a request hands over, all at once or in pieces; `None` where it hands none over.
pub fn tokens(request: &Request) -> Option<Vec<Value>> {
    if !request.hands_tokens() {
        return None;
    }
    let body = request.json()?;
    let all_at_once = body.get("generate_response").map(std::slice::from_ref);
    let parts = all_at_once.or_else(|| body.get(PIECES)?.as_array().map(Vec::as_slice))?;
    let ids = parts.iter().filter_map(|part| part.pointer("/choices/0/token_ids")?.as_array());
    Some(ids.flatten().cloned().collect())
}

// === impl Pieces ===

impl Pieces {
    /// The pieces of a request; `None` where it is sent as it is.
    pub fn of(request: &Request) -> Option<Self> {
        if !request.hands_tokens() {
            return None;
        }
        let Some(Value::Object(mut frame)) = request.json() else { return None };
        match frame.remove(PIECES) {
            Some(Value::Array(pieces)) if !pieces.is_empty() => Some(Self { frame, pieces }),
            _ => None,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// The body of a piece before the state, which is its last value and wants a brace behind it.
    pub fn head(&self, at: usize) -> Option<String> {
        let mut body = self.frame.clone();
        body.insert(PIECES.to_owned(), self.pieces.get(at)?.clone());
        body.insert(STATE.to_owned(), Value::Null);
        let body = Value::Object(body).to_string();
        body.strip_suffix("null}").map(ToOwned::to_owned)
    }

    /// The body of a piece with what the server said of the one before it, as JSON text.
    pub fn body(&self, at: usize, state: &str) -> Option<Bytes> {
        Some(format!("{}{state}}}", self.head(at)?).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Dialect;

    fn request(path: &str, body: Map<String, Value>) -> Request {
        let body = Value::Object(body).to_string().into();
        Request { dialect: Dialect::OpenaiChat, path: path.to_owned(), headers: Vec::new(), body }
    }

    fn asked() -> Map<String, Value> {
        let text = r#"{"model":"m","messages":[],"stop":["x"],"tools":[{"type":"function","function":{"name":"f"}}]}"#;
        serde_json::from_str(text).unwrap()
    }

    fn handed<'a>(asked: &'a Map<String, Value>, tokens: &'a [u32]) -> Handed<'a> {
        Handed { asked, prompt: &[1, 2], tokens, finish: "stop" }
    }

    #[test]
    fn all_at_once_is_one_request() {
        let asked = asked();
        let body = handed(&asked, &[7, 8, 9]).whole();
        assert_eq!(body["generate_response"]["choices"][0]["token_ids"], json!([7, 8, 9]));
        assert_eq!((&body["model"], &body["prompt_token_ids"]), (&json!("m"), &json!([1, 2])));
        let request = request(PATH, body);
        assert_eq!(Pieces::of(&request), None);
        assert_eq!(tokens(&request), Some(vec![json!(7), json!(8), json!(9)]));
        let seen = request.asked();
        assert_eq!((seen.tools, seen.stop, seen.stream), (vec!["f".to_owned()], vec!["x".to_owned()], false));
    }

    #[test]
    fn pieces_hold_every_token_once_and_the_last_says_why_it_ended() {
        let asked = asked();
        for (sizes, expect) in [
            (vec![], vec![vec![7, 8, 9]]),
            (vec![1, 1, 1], vec![vec![7], vec![8], vec![9]]),
            (vec![2, 5], vec![vec![7, 8], vec![9]]),
            (vec![0, 1], vec![vec![7], vec![8, 9]]),
        ] {
            let tokens: Vec<u32> = vec![7, 8, 9];
            let body = handed(&asked, &tokens).streamed(sizes.into_iter());
            let pieces = body[PIECES].as_array().unwrap();
            let (usage, cut) = pieces.split_last().unwrap();
            let ids: Vec<Value> = cut.iter().map(|piece| piece["choices"][0]["token_ids"].clone()).collect();
            assert_eq!(json!(ids), json!(expect));
            let ends: Vec<&Value> = cut.iter().map(|piece| &piece["choices"][0]["finish_reason"]).collect();
            assert_eq!(ends.last(), Some(&&json!("stop")));
            assert!(ends.iter().rev().skip(1).all(|end| end.is_null()));
            assert_eq!(
                usage["usage"],
                json!({"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5})
            );
        }
    }

    #[test]
    fn a_piece_is_sent_with_what_the_one_before_gave() {
        let asked = asked();
        let request = request(PATH, handed(&asked, &[7, 8]).streamed([1].into_iter()));
        assert!(request.asked().stream && request.asked().include_usage);
        assert_eq!(tokens(&request), Some(vec![json!(7), json!(8)]));
        let pieces = Pieces::of(&request).unwrap();
        assert_eq!(pieces.count(), 3);
        let body: Value = serde_json::from_slice(&pieces.body(1, r#"{"a":[1]}"#).unwrap()).unwrap();
        assert_eq!(body[PIECES]["choices"][0]["token_ids"], json!([8]));
        assert_eq!((&body[STATE], &body["stream"]), (&json!({"a": [1]}), &json!(true)));
        assert_eq!(pieces.body(3, "null"), None);
    }

    #[test]
    fn other_requests_are_sent_as_they_are() {
        let asked = asked();
        let streamed = || handed(&asked, &[7]).streamed(std::iter::empty());
        let ordinary = request("/v1/chat/completions", streamed());
        assert_eq!((Pieces::of(&ordinary), tokens(&ordinary)), (None, None));
        assert!(!ordinary.asked().include_usage, "what stands beside it is not what is asked");
        let mut odd = streamed();
        odd.insert(PIECES.to_owned(), json!({"choices": []}));
        assert_eq!(Pieces::of(&request(PATH, odd)), None);
        let text = Request { body: "no".into(), ..request(PATH, Map::new()) };
        assert_eq!(Pieces::of(&text), None);
    }
}
