//! The whole reply: the fold of the events that a stream would have sent.
//!
//! In: [`ReplyEvent`]s in order. Out: content, reasoning and calls. Nothing here reads model text.

use super::{ReplyEvent, Said};

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    /// The prose; absent if there are calls and no prose.
    pub content: Option<String>,
    /// The reasoning; absent if there is none.
    pub reasoning: Option<String>,
    /// The calls in order.
    pub calls: Vec<FoldedCall>,
}

/// A whole call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedCall {
    /// The offered spelling of its name.
    pub name: String,
    /// Its arguments, JSON text; a beginning of one if it is not complete.
    pub arguments: String,
    /// Whether the last bracket of its arguments was sent.
    pub complete: bool,
}

/// A reply while its events arrive.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    content: String,
    reasoning: String,
    calls: Vec<FoldedCall>,
}

// === impl Folded ===

impl Folded {
    /// The fold of all these events.
    pub fn of<'e>(events: impl IntoIterator<Item = &'e ReplyEvent>) -> Self {
        let mut fold = Fold::default();
        for event in events {
            fold.event(event);
        }
        fold.done()
    }
}

// === impl Fold ===

impl Fold {
    /// Takes in the next event.
    pub fn event(&mut self, event: &ReplyEvent) {
        match &event.said {
            Said::Reasoning(text) => self.reasoning.push_str(text),
            Said::Content(text) => self.content.push_str(text),
            Said::CallStart { name, .. } => {
                self.calls.push(FoldedCall { name: name.clone(), arguments: String::new(), complete: false });
            }
            Said::Arguments { call, piece } => {
                if let Some(call) = self.calls.get_mut(*call) {
                    call.arguments.push_str(piece);
                }
            }
            Said::CallEnd { call, complete } => {
                if let Some(call) = self.calls.get_mut(*call) {
                    call.complete = *complete;
                }
            }
            Said::Nothing => {}
        }
    }

    /// The reply, once all events are in.
    pub fn done(self) -> Folded {
        let said = |text: String, needed: bool| (needed || !text.is_empty()).then_some(text);
        Folded {
            content: said(self.content, self.calls.is_empty()),
            reasoning: said(self.reasoning, false),
            calls: self.calls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Folded, FoldedCall, ReplyEvent, Said};
    use crate::read::Origin;

    fn check(said: Vec<Said>, expected: &Folded) {
        let events: Vec<_> =
            said.into_iter().map(|said| ReplyEvent { span: 0..0, origin: Origin::Prose, said }).collect();
        assert_eq!(&Folded::of(&events), expected);
    }

    #[test]
    fn content_is_absent_only_beside_calls() {
        check(vec![], &Folded { content: Some(String::new()), reasoning: None, calls: vec![] });
        let call = FoldedCall { name: "lookup".into(), arguments: "{}".into(), complete: true };
        check(
            vec![
                Said::Reasoning("Hm".into()),
                Said::CallStart { call: 0, name: "lookup".into() },
                Said::Arguments { call: 0, piece: "{".into() },
                Said::Reasoning(".".into()),
                Said::Arguments { call: 0, piece: "}".into() },
                Said::CallEnd { call: 0, complete: true },
            ],
            &Folded { content: None, reasoning: Some("Hm.".into()), calls: vec![call] },
        );
    }
}
