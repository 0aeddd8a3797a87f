//! The rules of reading by example: text in, reply out, and each text also cut at every place.

mod acceptance;
mod closers;
mod corpus;
mod ends;
mod reasoning;
mod values;
mod whitespace;

use std::sync::Arc;

use serde_json::json;

use super::Format::{Glm, Hermes, Qwen3Xml};
use super::{End, Finish, Fold, Folded, FoldedCall, Format, Offer, Reader, ReplyEvent, Thinking, Tool};

const ALL: &[Format] = &Format::ALL;

/// One call can be made of `lookup`, `get_time` takes nothing; `other` is not offered.
fn offer(one_call: bool) -> Arc<Offer> {
    let lookup = json!({"type": "object", "properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}, "tags": {"type": "array"},
        "x": {"type": "number"}, "o": {"type": "object"}, "b": {"type": "boolean"},
    }});
    let tool = |name: &str, parameters| Tool { name: name.to_owned(), parameters };
    Arc::new(Offer { tools: vec![tool("lookup", lookup), tool("get_time", json!({}))], one_call })
}

/// A reply that is expected.
fn says(content: &str) -> Folded {
    let content = (!content.is_empty()).then(|| content.to_owned());
    Folded { content, reasoning: None, calls: Vec::new() }
}

impl Folded {
    fn thinks(mut self, reasoning: &str) -> Self {
        self.reasoning = Some(reasoning.to_owned());
        self
    }

    fn calls(self, arguments: &str) -> Self {
        self.call("lookup", arguments, true)
    }

    fn cut(self, arguments: &str) -> Self {
        self.call("lookup", arguments, false)
    }

    fn call(mut self, name: &str, arguments: &str, complete: bool) -> Self {
        self.calls.push(FoldedCall { name: name.to_owned(), arguments: arguments.to_owned(), complete });
        self
    }
}

/// A request and an end, to be held against texts.
#[derive(Clone)]
struct Case<'f> {
    formats: &'f [Format],
    offer: Arc<Offer>,
    thinking: Thinking,
    end: End,
}

fn many(formats: &[Format]) -> Case<'_> {
    Case { formats, offer: offer(false), thinking: Thinking::MayOpen, end: End::Model }
}

fn one(formats: &[Format]) -> Case<'_> {
    Case { offer: offer(true), ..many(formats) }
}

impl Case<'_> {
    fn ends(self, end: End) -> Self {
        Self { end, ..self }
    }

    fn thinking(self, thinking: Thinking) -> Self {
        Self { thinking, ..self }
    }

    fn no_tools(self) -> Self {
        Self { offer: Arc::default(), ..self }
    }

    /// The text, however it is cut, gives this reply in each of the formats.
    #[track_caller]
    fn check(&self, text: &str, expected: Folded) {
        let expected = match expected {
            Folded { content: None, calls, reasoning } if calls.is_empty() => {
                Folded { content: Some(String::new()), reasoning, calls }
            }
            expected => expected,
        };
        let finish = match self.end {
            End::Length => Finish::Length,
            _ if expected.calls.iter().any(|call| call.complete) => Finish::ToolCalls,
            _ => Finish::Stop,
        };
        for format in self.formats {
            let whole = self.read(*format, &[text]);
            assert_eq!(whole, (expected.clone(), finish), "{format:?} {:?}: {text}", self.end);
            for pieces in cuts(text) {
                assert_eq!(self.read(*format, &pieces), whole, "{format:?} cut as {pieces:?}");
            }
        }
    }

    fn read(&self, format: Format, pieces: &[&str]) -> (Folded, Finish) {
        let mut reader = Reader::new(format, Arc::clone(&self.offer), self.thinking);
        let (mut events, mut fold) = (Vec::new(), Fold::default());
        for piece in pieces {
            reader.feed(piece, &mut events);
        }
        let finish = reader.finish(self.end, &mut events);
        for event in &events {
            fold.event(event);
        }
        account(&events, pieces.iter().map(|piece| piece.len()).sum());
        (fold.done(), finish)
    }
}

/// Every way to cut a text once, and the way that leaves single characters.
fn cuts(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let at = |(at, _): (usize, char)| <[&str; 2]>::from(text.split_at(at)).to_vec();
    let characters = text.char_indices().map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap()).collect();
    text.char_indices().map(at).chain([characters])
}

/// Every byte is accounted for exactly once, and what is said of one thing is said in order.
fn account(events: &[ReplyEvent], bytes: usize) {
    let mut spans: Vec<_> =
        events.iter().map(|event| event.span.clone()).filter(|span| !span.is_empty()).collect();
    spans.sort_by_key(|span| span.start);
    let end = spans.iter().fold(0, |end, span| {
        assert_eq!(span.start, end, "{events:#?}");
        span.end
    });
    assert_eq!(end, bytes, "{events:#?}");
}

#[test]
fn a_reader_can_move_between_threads() {
    fn moves<T: Send>(_: T) {}
    moves(Reader::new(Hermes, offer(false), Thinking::Open));
}
