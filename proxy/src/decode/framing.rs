//! What a body is, by its first bytes, and by its content type where they leave it open.

use super::Framing;
use crate::exchange::Slice;
use memchr::memchr3;

/// Enough to see a field name.
const LOOK: usize = 16;

/// Decides. Bias: content speaks louder than the content type, so that a wrong type hides nothing.
pub fn of(media_type: &str, slices: &[Slice]) -> Framing {
    let first = first_bytes(slices);
    match first.first() {
        Some(b'{' | b'[') => Framing::Json,
        Some(b'<') => Framing::Other,
        _ if media_type == "text/event-stream" || starts_like_events(&first) => Framing::Sse,
        Some(_) if is_json(media_type) && first.first().is_some_and(|b| starts_value(*b)) => Framing::Json,
        _ => Framing::Other,
    }
}

/// The first bytes after a byte order mark and white space.
fn first_bytes(slices: &[Slice]) -> Vec<u8> {
    let all = || slices.iter().flat_map(|s| s.bytes.iter().copied());
    let mark = if all().take(3).eq(*b"\xEF\xBB\xBF") { 3 } else { 0 };
    all().skip(mark).skip_while(u8::is_ascii_whitespace).take(LOOK).collect()
}

fn starts_like_events(first: &[u8]) -> bool {
    let end = memchr3(b':', b'\r', b'\n', first).unwrap_or(first.len());
    let name = first.get(..end).unwrap_or_default();
    (end < first.len() && [&b""[..], b"data", b"event", b"id", b"retry"].contains(&name))
        || (end == first.len() && name == b"data")
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}

const fn starts_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(media_type: &str, body: &str, expect: Framing) {
        for size in 1..=body.len().max(1) {
            let slices: Vec<Slice> =
                body.as_bytes().chunks(size).map(|c| Slice { at: 0, bytes: c.to_vec().into() }).collect();
            assert_eq!(of(media_type, &slices), expect, "{media_type} {body:?} in slices of {size}");
        }
    }

    #[test]
    fn content_speaks_louder_than_the_content_type() {
        check("text/event-stream", "data: {}\n\n", Framing::Sse);
        check("application/json", "data: {}\n\n", Framing::Sse);
        check("", "\u{FEFF}data:{}\n\n", Framing::Sse);
        check("text/plain", "\n\n: hello\n\n", Framing::Sse);
        check("", "event: ping\r\n", Framing::Sse);
        check("", "data", Framing::Sse);
        check("text/event-stream", "", Framing::Sse);
        check("text/event-stream", "error: {}", Framing::Sse);
        check("text/event-stream", "{\"error\":1}", Framing::Json);
        check("text/event-stream", "<html>", Framing::Other);
        check("text/plain", " [1]", Framing::Json);
        check("application/json", "nothing", Framing::Json);
        check("application/json; charset=utf-8", "Internal", Framing::Other);
        check("application/json", "", Framing::Other);
        check("text/html", "<!doctype html>", Framing::Other);
        check("", "database down: sorry", Framing::Other);
    }
}
