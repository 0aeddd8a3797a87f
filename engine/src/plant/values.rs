//! Plants and decoys at the second seam that change how arguments are written.

use serde_json::Value;

use super::Filter;
use crate::{
    chat::Ended,
    read::{Origin, ReplyEvent, Said},
};

/// How many characters of a string value are lost.
const TAIL: usize = 3;

/// Sends numbers and literals as strings.
pub struct NumbersAsStrings;

/// Writes a blank after each comma and colon from a depth on.
pub struct Respaced {
    from_depth: usize,
    depth: usize,
    place: Place,
}

/// Where in JSON text a character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    InString,
    Escaped,
}

/// Loses the end of each string value.
#[derive(Default)]
pub struct ValueTailLost {
    held: String,
}

// === impl NumbersAsStrings ===

impl Filter for NumbersAsStrings {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            if let (Origin::TypedValue, Said::Arguments { piece, .. }) = (event.origin, &mut event.said)
                && let Ok(Value::Number(_) | Value::Bool(_)) = serde_json::from_str(piece)
            {
                *piece = format!("\"{}\"", piece.trim());
            }
        }
    }
}

// === impl Respaced ===

impl Respaced {
    /// Writes blanks from that depth on; the arguments themselves are depth 1.
    pub fn from_depth(from_depth: usize) -> Self {
        Self { from_depth, depth: 0, place: Place::Outside }
    }

    fn respace(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len() + 8);
        for c in piece.chars() {
            out.push(c);
            if self.wants_blank(c) {
                out.push(' ');
            }
            self.step(c);
        }
        out
    }

    fn wants_blank(&self, c: char) -> bool {
        self.place == Place::Outside && self.depth >= self.from_depth && matches!(c, ',' | ':')
    }

    fn step(&mut self, c: char) {
        self.place = match (self.place, c) {
            (Place::InString, '\\') => Place::Escaped,
            (Place::InString, '"') => Place::Outside,
            (Place::Escaped, _) | (Place::Outside, '"') => Place::InString,
            (place, _) => place,
        };
        match c {
            '{' | '[' if self.place == Place::Outside => self.depth += 1,
            '}' | ']' if self.place == Place::Outside => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl Filter for Respaced {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            match &mut event.said {
                Said::CallStart { .. } => *self = Self::from_depth(self.from_depth),
                Said::Arguments { piece, .. } => *piece = self.respace(piece),
                _ => {}
            }
        }
    }
}

// === impl ValueTailLost ===

impl Filter for ValueTailLost {
    fn events(&mut self, events: &mut Vec<ReplyEvent>, _: Option<&mut Ended>) {
        for event in events {
            match (event.origin, &mut event.said) {
                (Origin::StringValue, Said::Arguments { piece, .. }) => {
                    self.held.push_str(piece);
                    let tail = self.held.split_off(tail_start(&self.held));
                    *piece = std::mem::replace(&mut self.held, tail);
                }
                (_, Said::Arguments { .. } | Said::CallStart { .. } | Said::CallEnd { .. }) => {
                    self.held.clear();
                }
                _ => {}
            }
        }
    }
}

/// Where the last characters of JSON string text start, escapes whole.
fn tail_start(text: &str) -> usize {
    let mut starts = [0; TAIL];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if c == '\\' { escape_length(rest) } else { c.len_utf8() };
        starts.rotate_left(1);
        if let Some(last) = starts.last_mut() {
            *last = text.len() - rest.len();
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    starts.first().copied().unwrap_or_default()
}

fn escape_length(text: &str) -> usize {
    let length = match text.as_bytes().get(1) {
        Some(b'u') => 6,
        _ => 2,
    };
    length.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of one call's arguments, each with its origin, and what they are joined.
    fn check(mut plant: impl Filter, pieces: &[(Origin, &str)], expect: &str) {
        let mut said = String::new();
        let event = |origin, said| ReplyEvent { span: 0..0, origin, said };
        plant
            .events(&mut vec![event(Origin::Syntax, Said::CallStart { call: 0, name: String::new() })], None);
        for (origin, piece) in pieces {
            let mut events = vec![event(*origin, Said::Arguments { call: 0, piece: (*piece).to_owned() })];
            plant.events(&mut events, None);
            for event in events {
                let Said::Arguments { piece, .. } = event.said else { panic!("{event:?}") };
                said += &piece;
            }
        }
        assert_eq!(said, expect);
    }

    #[test]
    fn blanks_are_written_outside_strings_from_their_depth_on() {
        let json = r#"{"a,b":[1,{"c":"\"d:,","e":{}}],"f":2}"#;
        let each: Vec<String> = json.chars().map(String::from).collect();
        let pieces: Vec<_> = each.iter().map(|c| (Origin::Syntax, c.as_str())).collect();
        let all = r#"{"a,b": [1, {"c": "\"d:,", "e": {}}], "f": 2}"#;
        let inner = r#"{"a,b":[1, {"c": "\"d:,", "e": {}}],"f":2}"#;
        check(Respaced::from_depth(1), &pieces, all);
        check(Respaced::from_depth(1), &[(Origin::Syntax, json)], all);
        check(Respaced::from_depth(2), &pieces, inner);
    }

    #[test]
    fn a_value_loses_its_last_characters_escapes_whole() {
        let (syntax, string) = (Origin::Syntax, Origin::StringValue);
        check(ValueTailLost::default(), &[(syntax, "\""), (string, "abcdef"), (syntax, "\"")], "\"abc\"");
        check(
            ValueTailLost::default(),
            &[(string, "a"), (string, "b"), (string, "cd"), (syntax, "\"")],
            "a\"",
        );
        check(ValueTailLost::default(), &[(string, r#"ab\n\u00e9\""#), (syntax, "\"")], "ab\"");
        check(
            ValueTailLost::default(),
            &[(string, "ab"), (syntax, "\""), (string, "cdef"), (syntax, "\"")],
            "\"c\"",
        );
        check(ValueTailLost::default(), &[(string, "a\u{e9}\u{1f600}bc"), (syntax, "\"")], "a\u{e9}\"");
    }

    #[test]
    fn only_numbers_and_literals_become_strings() {
        let typed = Origin::TypedValue;
        check(
            NumbersAsStrings,
            &[(typed, "12"), (typed, "-1.50"), (typed, "true")],
            "\"12\"\"-1.50\"\"true\"",
        );
        check(NumbersAsStrings, &[(typed, "null"), (typed, "[1]"), (Origin::Syntax, "12")], "null[1]12");
    }
}
