//! Strings: runs without escapes are taken as they are, escapes are read one by one.

use super::{Stop, reader::Reader, surrogate};
use crate::decode::{AnomalyKind, utf8};
use memchr::memchr2;

// === impl Reader ===

impl<'a> Reader<'a> {
    /// A string; the next byte is its opening quote.
    pub(super) fn string(&mut self) -> Result<String, Stop> {
        self.at += 1;
        let mut text = utf8::lossy(self.run()?);
        while !self.take(b'"') {
            self.escape(&mut text)?;
            text.push_str(&String::from_utf8_lossy(self.run()?));
        }
        Ok(text)
    }

    /// Bytes up to a quote or a backslash.
    fn run(&mut self) -> Result<&'a [u8], Stop> {
        let bytes: &'a [u8] = self.bytes;
        let rest = bytes.get(self.at..).unwrap_or_default();
        let Some(len) = memchr2(b'"', b'\\', rest) else {
            return Err(Stop::Expected(self.bytes.len(), "a closing quote"));
        };
        let run = rest.get(..len).unwrap_or_default();
        // The least byte, not a search: without an early exit the compiler can look at many bytes at once.
        if run.iter().min().is_some_and(|least| *least < 0x20) {
            let at = run.iter().position(|b| *b < 0x20).unwrap_or_default();
            return Err(Stop::Expected(self.at + at, "an escape instead of a control character"));
        }
        self.at += len;
        Ok(run)
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Stop> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => return self.unicode(start, text),
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        text.push(plain);
        Ok(())
    }

    /// `\uXXXX`, or two of them that make one character; the next byte is the `u`.
    fn unicode(&mut self, start: usize, text: &mut String) -> Result<(), Stop> {
        self.at += 1;
        let unit = self.hex()?;
        if let Some(c) = char::from_u32(u32::from(unit)) {
            text.push(c);
            return Ok(());
        }
        if let Some(c) = self.low_half().and_then(|low| surrogate::join(unit, low)) {
            self.at += 6;
            text.push(c);
            return Ok(());
        }
        self.note(start, self.at, AnomalyKind::LoneSurrogate);
        text.push(surrogate::stand_in(unit));
        Ok(())
    }

    fn hex(&mut self) -> Result<u16, Stop> {
        let unit = self.hex_at(self.at).ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }

    /// The unit of the `\uXXXX` that comes next, if one does.
    fn low_half(&self) -> Option<u16> {
        let escape = self.bytes.get(self.at..self.at + 2)?;
        if escape == b"\\u" { self.hex_at(self.at + 2) } else { None }
    }

    fn hex_at(&self, at: usize) -> Option<u16> {
        let digits = self.bytes.get(at..at + 4)?;
        digits.iter().try_fold(0u16, |unit, digit| {
            let value = u16::try_from(char::from(*digit).to_digit(16)?).ok()?;
            Some(unit << 4 | value)
        })
    }
}
