//! Errors as answers: does the other mode say so too, by the same status, in the same wrapping, of the same type?
//!
//! Messages are compared last and only after ids and numbers in them are masked: those are minted per request.

use super::{Difference, Kind};
use crate::fold::{Reply, reply::Failure};

/// Shortest run of hexadecimal digits (with at least one decimal digit in it) that is taken for an id.
const ID_MIN: usize = 6;

/// Compares two replies of which at least one is an error.
pub(super) fn compare(left: &Reply, right: &Reply, found: &mut Vec<Difference>) {
    match (&left.error, &right.error) {
        (Some(a), Some(b)) => compare_errors(a, b, found),
        (a, b) => {
            let told = |error: &Option<Failure>| error.as_ref().map(describe);
            let event = |error: &Option<Failure>| error.as_ref().and_then(|e| e.event);
            let (x, y) = (told(a), told(b));
            let mut one =
                Difference::of_values("parity/error-swallowed", "error", x.as_deref(), y.as_deref());
            for side in [&mut one.left, &mut one.right] {
                if side == "none" {
                    "no error".clone_into(side);
                }
            }
            found.push(one.at(event(a), event(b)));
        }
    }
}

fn compare_errors(a: &Failure, b: &Failure, found: &mut Vec<Difference>) {
    if a.event.is_none() != b.event.is_none() {
        let late = |e: &Failure| if e.event.is_some() { "an event of a 200 stream" } else { "the status" };
        let mut one = difference(("parity/error-late", "error.status"), Some(late(a)), Some(late(b)), a, b);
        one.kind = Kind::Moved;
        found.push(one);
    } else if a.status != b.status {
        let (x, y) = (a.status.to_string(), b.status.to_string());
        found.push(difference(("parity/error-status", "error.status"), Some(&x), Some(&y), a, b));
    }
    if a.envelope != b.envelope {
        let place = ("parity/error-envelope", "error");
        found.push(difference(place, Some(a.envelope), Some(b.envelope), a, b));
    }
    let fields = [
        ("error.type", &a.kind, &b.kind),
        ("error.code", &a.code, &b.code),
        ("error.param", &a.param, &b.param),
    ];
    for (path, x, y) in fields {
        if x != y {
            found.push(difference(("parity/error-type", path), x.as_deref(), y.as_deref(), a, b));
        }
    }
    if masked(&a.message) != masked(&b.message) {
        let place = ("parity/error-message", "error.message");
        found.push(difference(place, Some(&a.message), Some(&b.message), a, b));
    }
}

fn difference(
    (rule, path): (&'static str, &str),
    left: Option<&str>,
    right: Option<&str>,
    a: &Failure,
    b: &Failure,
) -> Difference {
    Difference::of_values(rule, path, left, right).at(a.event, b.event)
}

fn describe(error: &Failure) -> String {
    format!("status {}, {}: {}", error.status, error.envelope, super::show::shorten(&error.message, 200))
}

/// The message with numbers and ids replaced by `#`.
fn masked(message: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in message.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            word.push(c);
        } else {
            out.push_str(if is_id(&word) { "#" } else { &word });
            word.clear();
            out.push(c);
        }
    }
    out
}

/// A number, or a word with a digit in it that is long enough to be minted: `42`, `chatcmpl-9f8e7d`, `550e8400-e29b-..`.
fn is_id(word: &str) -> bool {
    let digit = word.chars().any(|c| c.is_ascii_digit());
    let number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    number || (digit && word.len() >= ID_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_numbers_are_masked() {
        let check = |left: &str, right: &str, expect: bool| assert_eq!(masked(left) == masked(right), expect);
        check("prompt of 41 tokens, request req_8f2a11", "prompt of 7 tokens, request req_0bc1de", true);
        check("id 550e8400-e29b-41d4-a716-446655440000", "id 6ba7b810-9dad-11d1-80b4-00c04fd430c8", true);
        check("unknown model", "unknown tool", false);
        check("", "empty", false);
        check("n must be 1", "n must be one", false);
    }
}
