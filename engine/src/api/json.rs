//! JSON written straight into a buffer: replies are built from prepared pieces and escaped strings, not from trees.

use memchr::{memchr, memchr2};
use serde::Serialize;

/// Appends a value as compact JSON.
pub fn push<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "writing text and numbers to memory cannot fail");
}

/// Appends text that is JSON already.
pub fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends bytes that are JSON already.
pub fn raw_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

/// How many values a JSON text holds, or a little more: each but the first stands behind one of `[{:,`.
pub fn values(text: &[u8]) -> usize {
    let openers = |text: &[u8]| text.iter().filter(|byte| b"[{:,".contains(byte)).count();
    let (mut count, mut rest) = (1, text);
    while let Some(quote) = memchr(b'"', rest) {
        let (before, string) = rest.split_at(quote);
        count += openers(before);
        rest = after_string(string);
    }
    count + openers(rest)
}

/// What follows a string that begins with its quote.
fn after_string(text: &[u8]) -> &[u8] {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if text.get(at) == Some(&b'"') {
            return text.get(at + 1..).unwrap_or_default();
        }
        at += 2;
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_strings() {
        for (text, expect) in
            [("", 1), ("[1,2]", 3), (r#"{"a":[{},"b,c"],"d\"e[":0}"#, 8), (r#"["\\",1]"#, 3), (r#"["[,"#, 2)]
        {
            assert_eq!(values(text.as_bytes()), expect, "{text}");
        }
    }
}
