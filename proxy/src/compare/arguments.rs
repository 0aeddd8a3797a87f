//! Tool arguments: JSON values first, text second.
//!
//! Numbers are equal by decimal value (`1.0` is `1`, `1e2` is `100`, and big integers keep every digit), the order of keys does
//! not count, and for a call without parameters nothing, `""`, `null` and `{}` are one. Text that is not JSON on both
//! sides (a call that was cut) is compared as text.

use super::{Difference, Equality, Kind, show, text};
use crate::fold::reply::{ArgumentsKind, Call};
use serde_json::{Number, Value};
use std::fmt::Write as _;

/// Compares the arguments of two calls that belong together.
pub(super) fn compare(
    path: &str,
    left: &Call,
    right: &Call,
    equality: Equality<'_>,
    found: &mut Vec<Difference>,
) {
    let path = format!("{path}.arguments");
    found.extend(kinds_differ(&path, left, right));
    if left.arguments.value == right.arguments.value {
        return;
    }
    match (canonical_text(&left.arguments.value), canonical_text(&right.arguments.value)) {
        (Some(a), Some(b)) if a == b => {
            let empty = a == "{}";
            if equality.arguments_text && !empty {
                found.push(text_differs(&path, left, right));
            }
        }
        (Some(a), Some(b)) => found.push(values_differ(&path, left, right, text::classify(&a, &b))),
        _ => {
            let kind = text::classify(&left.arguments.value, &right.arguments.value);
            found.push(values_differ(&path, left, right, kind));
        }
    }
}

/// Whether two arguments are equal, as JSON values where both are JSON and else as text.
pub fn equal(left: &str, right: &str) -> bool {
    left == right || canonical_text(left).is_some_and(|a| canonical_text(right) == Some(a))
}

/// One spelling for all equal JSON texts; `None` where the text is no JSON. Nothing at all and `null` are `{}`.
pub fn canonical_text(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("{}".to_owned());
    }
    let value: Value = serde_json::from_str(text).ok()?;
    Some(if value.is_null() { "{}".to_owned() } else { canonical(&value) })
}

/// One spelling for all equal JSON values: keys sorted, numbers in one form, no blanks.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    push_canonical(value, &mut out);
    out
}

/// The depth is bounded: the parser refuses what is nested deeper than its own limit of 128.
fn push_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => out.push_str(&decimal(number)),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(at, out);
                push_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                separate(at, out);
                push_text(key, out);
                out.push(':');
                push_canonical(item, out);
            }
            out.push('}');
        }
        Value::String(text) => push_text(text, out),
        Value::Null | Value::Bool(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

fn separate(at: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
}

/// The text as JSON writes it, so that no content can be mistaken for structure.
fn push_text(text: &str, out: &mut String) {
    let _ = write!(out, "{}", Value::from(text));
}

/// A number as `sign digits e exponent`, with neither leading nor trailing zeros in the digits: equal exactly for equal values.
fn decimal(number: &Number) -> String {
    let text = number.to_string();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    // An exponent beyond 128 bits is no number anybody computes with: its own text is then as good a form as any.
    let Ok(exponent) = exponent.parse::<i128>() else { return text };
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let shift = i128::try_from(trailing).unwrap_or(0) - i128::try_from(fraction.len()).unwrap_or(0);
    format!("{sign}{significant}e{}", exponent.saturating_add(shift))
}

fn kinds_differ(path: &str, left: &Call, right: &Call) -> Option<Difference> {
    let kind = |call: &Call| match call.arguments_kind {
        ArgumentsKind::Text => Some("string"),
        ArgumentsKind::Object => Some("object"),
        ArgumentsKind::Other => Some("other"),
        ArgumentsKind::Absent | ArgumentsKind::Null => None,
    };
    let (a, b) = (kind(left)?, kind(right)?);
    (a != b).then(|| {
        Difference::of_values("parity/tool-arguments-kind", path, Some(a), Some(b))
            .at(Some(left.event), Some(right.event))
    })
}

fn values_differ(path: &str, left: &Call, right: &Call, kind: Kind) -> Difference {
    let (a, b) = (&left.arguments.value, &right.arguments.value);
    let rule =
        if text::replaced_in_one(a, b) { "parity/unicode-replacement" } else { "parity/tool-arguments" };
    let mut difference = text::of_texts(rule, path, &left.arguments, &right.arguments);
    difference.kind = kind;
    // Where one side has no arguments at all there is no piece to ask: the call's own event stands for it.
    let (a, b) = difference.events;
    difference.events = (a.or(Some(left.event)), b.or(Some(right.event)));
    difference
}

fn text_differs(path: &str, left: &Call, right: &Call) -> Difference {
    let rule = "parity/tool-arguments-text";
    let mut difference = text::of_texts(rule, path, &left.arguments, &right.arguments);
    difference.diff = show::diff(&left.arguments.value, &right.arguments.value);
    difference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_values_are_equal_whatever_their_spelling() {
        let check =
            |left: &str, right: &str, expect: bool| assert_eq!(equal(left, right), expect, "{left} {right}");
        check(r#"{"a":1,"b":[true,null]}"#, "{ \"b\": [true, null],\n\"a\": 1.0 }", true);
        check(r#"{"a":"\u00e9"}"#, r#"{"a":"é"}"#, true);
        check(r#"{"a":1e2}"#, r#"{"a":100}"#, true);
        check(r#"{"a":0.10}"#, r#"{"a":1E-1}"#, true);
        check(r#"{"a":-0.0}"#, r#"{"a":0}"#, true);
        check(r#"{"a":12345678901234567890123}"#, r#"{"a":12345678901234567890124}"#, false);
        check(r#"{"a":12345678901234567890123}"#, r#"{"a":1.2345678901234567890123e22}"#, true);
        check(r#"{"a":1e999999999999999999999999999999999999999999}"#, r#"{"a":1}"#, false);
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, false);
        check(r#"{"a":1}"#, r#"{"a":-1}"#, false);
        check(r#"{"a":10}"#, r#"{"a":1}"#, false);
        check(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false);
        check(r#"{"a":"x,\"b\":1"}"#, r#"{"a":"x","b":1}"#, false);
        check("", "{}", true);
        check("null", " {} ", true);
        check("", r#"{"a":1}"#, false);
        check(r#"{"a":"#, r#"{"a":"#, true);
        check(r#"{"a":"#, r#"{"a": "#, false);
        check(r#"{"a":""#, r#"{"a":""}"#, false);
    }

    #[test]
    fn nesting_beyond_the_parser_is_text() {
        let deep = "[".repeat(100_000);
        assert_eq!(canonical_text(&deep), None);
        assert!(equal(&deep, &deep));
    }
}
