//! The JSON of a recording: a request and an index entry, to values and back.
//!
//! Pure. Reading names the key that is wrong; nothing is guessed.

use super::{name::hex_digits, redact};
use crate::{
    exchange::{End, Exchange, Head, Took},
    plan::Rounds,
    request::{Dialect, Mode, Request},
};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A key that is wrong, and how.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadKey {
    pub key: String,
    pub problem: String,
}

/// One entry of `exchanges.json`: all of an exchange but its bytes.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub file: String,
    pub mode: Mode,
    pub rounds: Option<Rounds>,
    pub head: Option<Head>,
    /// Start of each slice in the file, and its arrival.
    pub borders: Vec<(u64, u64)>,
    pub end: End,
    pub took: Took,
    /// Where it differs from the recording's own.
    pub request: Option<Request>,
}

pub(super) const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Whole => "whole",
        Mode::Stream => "stream",
    }
}

// === requests ===

/// A request as an object, secrets taken out.
pub(super) fn request_value(request: &Request) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("method".into(), "POST".into());
    object.insert("path".into(), redact::path(&request.path).into());
    object.insert("dialect".into(), request.dialect.name().into());
    object.insert("headers".into(), headers_value(&request.headers));
    let (key, body) = body_value(&request.body);
    object.insert(key.into(), body);
    object
}

/// JSON where that gives the same bytes back, else text, else hex digits.
fn body_value(body: &[u8]) -> (&'static str, Value) {
    if let Some(value @ (Value::Object(_) | Value::Array(_))) = crate::request::json(body)
        && serde_json::to_vec(&value).is_ok_and(|bytes| bytes == body)
    {
        return ("body", value);
    }
    match std::str::from_utf8(body) {
        Ok(text) => ("body", text.into()),
        Err(_) => ("body_hex", body.iter().flat_map(|byte| hex_digits(*byte)).collect::<String>().into()),
    }
}

pub(super) fn read_request(value: &Value, at: &str) -> Result<Request, BadKey> {
    let dialect = text(value, at, "dialect")?;
    let dialect = Dialect::from_name(&dialect)
        .ok_or_else(|| bad(at, "dialect", &format!("{dialect:?} is no dialect")))?;
    Ok(Request {
        dialect,
        path: text(value, at, "path")?,
        headers: read_headers(value, at)?,
        body: read_body(value, at)?,
    })
}

fn read_body(value: &Value, at: &str) -> Result<Bytes, BadKey> {
    match (value.get("body"), value.get("body_hex")) {
        (Some(Value::String(text)), _) => Ok(text.clone().into()),
        (Some(json), _) => Ok(json.to_string().into()),
        (None, Some(Value::String(digits))) => {
            hex(digits).map(Into::into).ok_or_else(|| bad(at, "body_hex", "not pairs of hex digits"))
        }
        _ => Err(bad(at, "body", "missing")),
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |digit: &u8| char::from(*digit).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(nibble(high)? * 16 + nibble(low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

// === exchanges ===

/// An index entry as JSON on one line; `own` is the recording's request, repeated only where another was sent.
pub(super) fn entry_text(file: &str, exchange: &Exchange, own: &Request) -> String {
    let mut object = Map::new();
    object.insert("file".into(), file.into());
    object.insert("mode".into(), mode_name(exchange.mode).into());
    object.insert("rounds".into(), exchange.rounds.map(|r| r.to_string()).into());
    object.insert("status".into(), exchange.status().into());
    object.insert("headers".into(), headers_value(exchange.head.as_ref().map_or(&[], |h| &h.headers)));
    object.insert("end".into(), end_value(&exchange.end));
    object.insert("took".into(), json!({ "head": exchange.took.head, "end": exchange.took.end }));
    if exchange.request != *own {
        object.insert("request".into(), request_value(&exchange.request).into());
    }
    let mut text = Value::Object(object).to_string();
    // As values a hundred thousand borders would take a hundred times their text.
    text.truncate(text.len() - 1);
    text.push_str(",\"slices\":[");
    push_borders(exchange, &mut text);
    text.push_str("]}");
    text
}

fn push_borders(exchange: &Exchange, text: &mut String) {
    let (mut start, mut comma) = (0, "");
    for slice in &exchange.slices {
        // Writing to a string cannot fail.
        _ = write!(text, "{comma}[{start},{}]", slice.at);
        start += slice.bytes.len();
        comma = ",";
    }
}

pub(super) fn read_entry(value: &Value, at: &str) -> Result<Entry, BadKey> {
    let head = match value.get("status") {
        None | Some(Value::Null) => None,
        Some(_) => Some(Head { status: read_status(value, at)?, headers: read_headers(value, at)? }),
    };
    Ok(Entry {
        file: text(value, at, "file")?,
        mode: read_mode(value, at)?,
        rounds: read_rounds(value, at)?,
        head,
        borders: read_borders(value, at)?,
        end: read_end(value, at)?,
        took: Took { head: number(value, at, "/took/head")?, end: number(value, at, "/took/end")? },
        request: value.get("request").map(|r| read_request(r, &format!("{at}.request"))).transpose()?,
    })
}

fn read_status(value: &Value, at: &str) -> Result<u16, BadKey> {
    let status = number(value, at, "/status")?;
    u16::try_from(status).map_err(|_| bad(at, "status", &format!("{status} is no HTTP status")))
}

fn read_mode(value: &Value, at: &str) -> Result<Mode, BadKey> {
    match text(value, at, "mode")?.as_str() {
        "whole" => Ok(Mode::Whole),
        "stream" => Ok(Mode::Stream),
        other => Err(bad(at, "mode", &format!("{other:?} is neither whole nor stream"))),
    }
}

fn read_rounds(value: &Value, at: &str) -> Result<Option<Rounds>, BadKey> {
    match value.get("rounds") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            text.parse().map(Some).map_err(|error| bad(at, "rounds", &format!("{error}")))
        }
        Some(_) => Err(bad(at, "rounds", "not a string")),
    }
}

fn read_borders(value: &Value, at: &str) -> Result<Vec<(u64, u64)>, BadKey> {
    let list = value.get("slices").and_then(Value::as_array).ok_or_else(|| bad(at, "slices", "no list"))?;
    let border = |(index, pair): (usize, &Value)| {
        match pair.as_array().map(Vec::as_slice) {
            Some([start, arrival]) => start.as_u64().zip(arrival.as_u64()),
            _ => None,
        }
        .ok_or_else(|| bad(at, &format!("slices[{index}]"), "not [byte, microseconds]"))
    };
    list.iter().enumerate().map(border).collect()
}

fn end_value(end: &End) -> Value {
    match end {
        End::Complete => "complete".into(),
        End::CloseDelimited => "close-delimited".into(),
        End::TimedOut => "timed-out".into(),
        End::Cancelled => "cancelled".into(),
        End::TooLarge => "too-large".into(),
        End::Cut(why) => json!({ "cut": why }),
        End::Refused(why) => json!({ "refused": why }),
        End::Malformed(why) => json!({ "malformed": why }),
    }
}

fn read_end(value: &Value, at: &str) -> Result<End, BadKey> {
    let end = value.get("end").ok_or_else(|| bad(at, "end", "missing"))?;
    let why = |key: &str| end.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    let plain = match end.as_str() {
        Some("complete") => Some(End::Complete),
        Some("close-delimited") => Some(End::CloseDelimited),
        Some("timed-out") => Some(End::TimedOut),
        Some("cancelled") => Some(End::Cancelled),
        Some("too-large") => Some(End::TooLarge),
        _ => None,
    };
    plain
        .or_else(|| why("cut").map(End::Cut))
        .or_else(|| why("refused").map(End::Refused))
        .or_else(|| why("malformed").map(End::Malformed))
        .ok_or_else(|| bad(at, "end", "no known way to end"))
}

// === headers and plain fields ===

fn headers_value(headers: &[(String, String)]) -> Value {
    redact::headers(headers).into_iter().map(|(name, value)| json!([name, value])).collect()
}

fn read_headers(value: &Value, at: &str) -> Result<Vec<(String, String)>, BadKey> {
    let list = value.get("headers").and_then(Value::as_array).ok_or_else(|| bad(at, "headers", "no list"))?;
    let header = |(index, pair): (usize, &Value)| match pair.as_array().map(Vec::as_slice) {
        Some([Value::String(name), Value::String(value)]) => Ok((name.clone(), value.clone())),
        _ => Err(bad(at, &format!("headers[{index}]"), "not [name, value]")),
    };
    list.iter().enumerate().map(header).collect()
}

/// The string under `key`, or what is wrong with it.
pub(super) fn text(value: &Value, at: &str, key: &str) -> Result<String, BadKey> {
    match value.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(bad(at, key, "not a string")),
        None => Err(bad(at, key, "missing")),
    }
}

fn number(value: &Value, at: &str, pointer: &str) -> Result<u64, BadKey> {
    let key = pointer.trim_start_matches('/').replace('/', ".");
    value.pointer(pointer).and_then(Value::as_u64).ok_or_else(|| bad(at, &key, "no whole number"))
}

/// What is wrong with a key below `at`.
pub(super) fn bad(at: &str, key: &str, problem: &str) -> BadKey {
    let key = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    BadKey { key, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_back_byte_for_byte() {
        for body in [
            &b"{\"a\":1.50,\"b\":[1e5]}"[..],
            b"{\"a\": 1}",
            b"{\"a\":1,\"a\":2}",
            b"\"text\"",
            b"12",
            b"",
            b"not json",
            b"\xff\x00\xfe{",
            "{\"a\":\"\u{fc}\\u00fc\"}".as_bytes(),
        ] {
            let (key, value) = body_value(body);
            let object = json!({ key: value });
            assert_eq!(read_body(&object, "").as_deref(), Ok(body), "{object}");
        }
    }

    #[test]
    fn ends_come_back() {
        let why = || "peer closed".to_owned();
        for end in [
            End::Complete,
            End::CloseDelimited,
            End::TimedOut,
            End::Cancelled,
            End::TooLarge,
            End::Cut(why()),
            End::Refused(why()),
            End::Malformed(why()),
        ] {
            assert_eq!(read_end(&json!({ "end": end_value(&end) }), ""), Ok(end));
        }
    }

    #[test]
    fn odd_hex_is_refused() {
        for (digits, expect) in [("", Some(vec![])), ("00ff", Some(vec![0, 255])), ("0", None), ("0g", None)]
        {
            assert_eq!(hex(digits), expect);
        }
    }
}
