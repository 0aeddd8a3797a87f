//! The plants that lose rejected envelopes, in each spelling.
//!
//! In: the content of a reply, in pieces. Out: the same without envelopes that were rejected by the reader, or that it
//! never took for one (`<NAME:tool_call>`). What may still become such an opener waits.

use super::{Filter, prose::content};
use crate::{
    chat::Ended,
    read::{End, Origin, ReplyEvent, Said},
};

/// Loses the text of rejected envelopes, and of `<NAME:tool_call>` envelopes that were never more than prose.
#[derive(Default)]
pub struct RejectedLost {
    when: When,
    /// Prose from a `<` on that may start an envelope.
    pending: String,
    /// What waits for the end to be lost or kept.
    held: Vec<(Fate, String)>,
    out: Vec<ReplyEvent>,
}

/// When it is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// In any stream.
    #[default]
    Always,
    /// In a stream that was cut by its length.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Lost,
}

/// What prose starts with.
#[derive(Debug, PartialEq, Eq)]
enum Scan {
    Plain(usize),
    Envelope(usize),
    Wait,
}

// === impl RejectedLost ===

impl RejectedLost {
    /// Loses them then.
    pub fn new(when: When) -> Self {
        Self { when, ..Self::default() }
    }

    fn prose(&mut self, text: &str) {
        self.pending.push_str(text);
        loop {
            let (fate, length) = match scan(&self.pending) {
                Scan::Plain(length) => (Fate::Kept, length),
                Scan::Envelope(length) => (Fate::Lost, length),
                Scan::Wait => return,
            };
            let text = self.pending.drain(..length).collect();
            self.decide(fate, text);
        }
    }

    fn decide(&mut self, fate: Fate, text: String) {
        match (self.when, fate) {
            (When::Always, Fate::Lost) => {}
            (When::Cut, Fate::Kept) if self.held.is_empty() => self.out.push(content(text)),
            (When::Cut, _) => self.held.push((fate, text)),
            (When::Always, Fate::Kept) => self.out.push(content(text)),
        }
    }

    fn end(&mut self, end: End) {
        let rest = std::mem::take(&mut self.pending);
        self.decide(Fate::Kept, rest);
        let held = std::mem::take(&mut self.held);
        let kept = held.into_iter().filter(|(fate, _)| end != End::Length || *fate == Fate::Kept);
        self.out.extend(kept.map(|(_, text)| content(text)));
    }
}

impl Filter for RejectedLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, ended: Option<&mut Ended>) {
        for event in std::mem::take(events) {
            match (event.origin, &event.said) {
                (Origin::Rejected, Said::Content(text)) => {
                    let before = std::mem::take(&mut self.pending);
                    self.decide(Fate::Kept, before);
                    self.decide(Fate::Lost, text.clone());
                }
                (_, Said::Content(text)) => self.prose(text),
                _ => self.out.push(event),
            }
        }
        if let Some(ended) = ended {
            self.end(ended.end);
        }
        *events = std::mem::take(&mut self.out);
    }
}

fn scan(text: &str) -> Scan {
    match text.find('<') {
        None if text.is_empty() => Scan::Wait,
        None => Scan::Plain(text.len()),
        Some(0) => scan_opener(text),
        Some(at) => Scan::Plain(at),
    }
}

/// `<NAME:tool_call>` through `</NAME:tool_call>`.
fn scan_opener(text: &str) -> Scan {
    const OPENER: &str = ":tool_call>";
    let after = text.strip_prefix('<').unwrap_or_default();
    let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_.-".contains(c));
    let name = after.strip_suffix(rest).unwrap_or_default();
    let named = !name.is_empty();
    if !(named && rest.starts_with(OPENER)) {
        let may_come = rest.is_empty() || (named && OPENER.starts_with(rest));
        return if may_come { Scan::Wait } else { Scan::Plain(1) };
    }
    let closer = format!("</{name}{OPENER}");
    text.find(&closer).map_or(Scan::Wait, |at| Scan::Envelope(at + closer.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat::Usage, read::Finish};

    fn ended(end: End) -> Ended {
        let usage = Usage { prompt: 0, completion: 0 };
        Ended { end, stop: None, finish: Finish::Stop, usage, token_sha: String::new() }
    }

    /// Feeds prose cut at every byte, then the end.
    fn check(when: When, text: &str, end: End, expect: &str) {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (first, second) = text.split_at(cut);
            let mut plant = RejectedLost::new(when);
            let mut said = String::new();
            for (piece, ended) in [(first, None), (second, Some(&mut ended(end)))] {
                let mut events = vec![content(piece.to_owned())];
                plant.events(&mut events, ended);
                for event in events {
                    let Said::Content(text) = event.said else { panic!("{event:?}") };
                    said += &text;
                }
            }
            assert_eq!(said, expect, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn envelopes_in_prose_are_lost_and_nothing_else() {
        check(When::Always, "a <foo:tool_call>x < y</foo:tool_call> b", End::Model, "a  b");
        check(When::Always, "<a.b_c-1:tool_call></a.b_c-1:tool_call>", End::Model, "");
        for kept in [
            "a < b <c:d> <:tool_call></:tool_call>",
            "<foo:tool_call>x",
            "<foo:tool_call>x</bar:tool_call>",
            "a<",
        ] {
            check(When::Always, kept, End::Length, kept);
        }
    }

    #[test]
    fn a_cut_decides_for_all_that_was_held() {
        let text = "a <f:tool_call>x</f:tool_call> b <f:tool_call>y</f:tool_call>\u{e9}";
        check(When::Cut, text, End::Length, "a  b \u{e9}");
        check(When::Cut, text, End::Model, text);
        check(When::Cut, text, End::Stop, text);
    }
}
