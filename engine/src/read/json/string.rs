//! Strings of JSON, decoded character by character, and text encoded as one.
//!
//! In: the characters after an opening quote. Out: the text they stand for. Only an unfinished escape is held.
//! What is no escape, and a surrogate without its partner, stands for itself, character by character.

/// A string while it is read.
#[derive(Debug, Default)]
pub(in crate::read) struct Decoder {
    place: Place,
    /// The escape at hand, as written.
    written: String,
    /// A first surrogate, and the escape that it was written as.
    first: Option<(u32, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Plain,
    /// After a backslash.
    Escape,
    /// After `\u` and that many digits.
    Digits(u8, u32),
}

/// Whether the string goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum StringStep {
    Open,
    Closed,
}

/// Appends text as it stands between the quotes of a JSON string.
pub(in crate::read) fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => {
                out.push_str("\\u00");
                out.extend(
                    [u32::from(c) >> 4, u32::from(c) & 15].iter().filter_map(|d| char::from_digit(*d, 16)),
                );
            }
            _ => out.push(c),
        }
    }
}

// === impl Decoder ===

impl Decoder {
    /// Whether nothing is held.
    pub(in crate::read) fn is_idle(&self) -> bool {
        self.place == Place::Plain && self.first.is_none()
    }

    /// Takes the next character and appends what is decided to `out`.
    pub(in crate::read) fn step(&mut self, c: char, out: &mut String) -> StringStep {
        match self.place {
            Place::Plain => self.plain(c, out),
            Place::Escape => self.escape(c, out),
            Place::Digits(count, value) => self.digit(c, count, value, out),
        }
    }

    fn plain(&mut self, c: char, out: &mut String) -> StringStep {
        if c == '\\' {
            self.written.push(c);
            self.place = Place::Escape;
            return StringStep::Open;
        }
        self.release_first(out);
        if c == '"' {
            return StringStep::Closed;
        }
        out.push(c);
        StringStep::Open
    }

    fn escape(&mut self, c: char, out: &mut String) -> StringStep {
        let decoded = match c {
            'u' => {
                self.written.push(c);
                self.place = Place::Digits(0, 0);
                return StringStep::Open;
            }
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            _ => return self.no_escape(c, out),
        };
        self.release_first(out);
        self.finish(decoded, out);
        StringStep::Open
    }

    fn digit(&mut self, c: char, count: u8, value: u32, out: &mut String) -> StringStep {
        let Some(digit) = c.to_digit(16) else { return self.no_escape(c, out) };
        self.written.push(c);
        let value = value * 16 + digit;
        if count < 3 {
            self.place = Place::Digits(count + 1, value);
        } else {
            self.unit(value, out);
        }
        StringStep::Open
    }

    /// A complete `\uXXXX`.
    fn unit(&mut self, unit: u32, out: &mut String) {
        if let Some((first, _)) = &self.first
            && (0xDC00..0xE000).contains(&unit)
        {
            let pair = 0x1_0000 + ((first - 0xD800) << 10) + (unit - 0xDC00);
            self.first = None;
            self.finish(char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER), out);
            return;
        }
        self.release_first(out);
        self.place = Place::Plain;
        let written = std::mem::take(&mut self.written);
        if (0xD800..0xDC00).contains(&unit) {
            self.first = Some((unit, written));
        } else {
            match char::from_u32(unit) {
                Some(decoded) => out.push(decoded),
                None => out.push_str(&written),
            }
        }
    }

    fn finish(&mut self, decoded: char, out: &mut String) {
        self.place = Place::Plain;
        self.written.clear();
        out.push(decoded);
    }

    /// What looked like an escape is none: it stands for itself.
    fn no_escape(&mut self, c: char, out: &mut String) -> StringStep {
        self.release_first(out);
        self.place = Place::Plain;
        out.push_str(&self.written);
        self.written.clear();
        self.plain(c, out)
    }

    fn release_first(&mut self, out: &mut String) {
        if let Some((_, written)) = self.first.take() {
            out.push_str(&written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, StringStep, encode};

    fn check(written: &str, expected: &str) {
        let (mut decoder, mut out) = (Decoder::default(), String::new());
        let mut end = StringStep::Open;
        for c in written.chars().chain(['"']) {
            assert_eq!(end, StringStep::Open, "{written:?} closes early");
            end = decoder.step(c, &mut out);
        }
        assert_eq!((end, out.as_str()), (StringStep::Closed, expected), "{written:?}");
        assert!(decoder.is_idle());
    }

    #[test]
    fn escapes_are_decoded() {
        check("plain é", "plain é");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"caf\u00e9 \u0000", "café \0");
        check(r"\ud83d\uDE00!", "😀!");
    }

    #[test]
    fn what_is_no_escape_stands_for_itself() {
        check(r"\x \'", r"\x \'");
        check(r"\u12g", r"\u12g");
        check(r"\u", r"\u");
        check(r"\u12\n", "\\u12\n");
        check(r"\ud83d", r"\ud83d");
        check(r"\ud83dx", r"\ud83dx");
        check(r"\ud83d\n", "\\ud83d\n");
        check(r"\ud83d\q", r"\ud83d\q");
        check(r"\ud83d\ud83d\ude00", "\\ud83d😀");
        check(r"\ude00", r"\ude00");
        check(r"\uD83D\u0041", r"\uD83DA");
    }

    #[test]
    fn control_characters_are_encoded() {
        let mut out = String::new();
        encode("a\"\\\n\r\t\u{8}\u{c}\0\u{1f}\u{7f}é", &mut out);
        assert_eq!(out, "a\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001f\u{7f}é");
    }
}
