//! Content, reasoning and refusal: exact code points, then which kind of difference it is.
//!
//! A difference has the most telling rule: text on the other side of the reasoning border, a leaked stop string,
//! replacement characters, whitespace only, and else plainly the field.

use super::{Difference, Equality, Kind, show};
use crate::fold::{Reply, reply::Text};

/// The shortest lost stretch, in characters, whose reappearance in another field counts as a move and not as chance.
const MOVED_MIN: usize = 4;
/// What a byte sequence that is no character becomes.
const REPLACEMENT: char = '\u{fffd}';

/// The texts of a reply that compare with each other.
struct Texts {
    content: Text,
    reasoning: Text,
    refusal: Text,
}

/// A text field: its path and its rules.
struct Field {
    path: &'static str,
    rule: &'static str,
    whitespace: &'static str,
}

const CONTENT: Field =
    Field { path: "content", rule: "parity/content", whitespace: "parity/content-whitespace" };
const REASONING: Field =
    Field { path: "reasoning", rule: "parity/reasoning", whitespace: "parity/reasoning-whitespace" };
const REFUSAL: Field = Field { path: "refusal", rule: "parity/refusal", whitespace: "parity/refusal" };

/// Compares content, reasoning and refusal.
pub(super) fn compare(left: &Reply, right: &Reply, equality: Equality<'_>, found: &mut Vec<Difference>) {
    let (a, b) = (Texts::of(left), Texts::of(right));
    if split_differs(&a, &b) {
        let mut difference = of_texts("parity/reasoning-split", "reasoning", &a.reasoning, &b.reasoning);
        difference.kind = Kind::Moved;
        found.push(difference);
    } else {
        let leaks = |shorter: &str, longer: &str| leaked_stop(shorter, longer, equality.stop, left, right);
        found.extend(differ(&CONTENT, &a, &b, |t| &t.content, leaks));
        found.extend(differ(&REASONING, &a, &b, |t| &t.reasoning, |_, _| false));
    }
    found.extend(differ(&REFUSAL, &a, &b, |t| &t.refusal, |_, _| false));
    found.extend(empty_answer(left, right));
}

/// A difference of two texts, its kind by [`classify`].
pub(super) fn of_texts(rule: &'static str, path: &str, left: &Text, right: &Text) -> Difference {
    let start = show::shared(&left.value, &right.value).start;
    Difference {
        rule,
        path: path.to_owned(),
        left: show::value(&left.value, start),
        right: show::value(&right.value, start),
        kind: classify(&left.value, &right.value),
        diff: show::diff(&left.value, &right.value),
        events: (left.event_at(start), right.event_at(start)),
    }
}

/// What kind of difference two unequal texts have, seen from the first.
pub fn classify(left: &str, right: &str) -> Kind {
    if same_but_blanks(left, right) {
        return Kind::Whitespace;
    }
    let shared = show::shared(left, right);
    let (a, b) = (show::parts(left, shared), show::parts(right, shared));
    if a.own.is_empty() && has_twice(&b) {
        Kind::Doubled
    } else if is_subsequence(b.own, a.own) {
        Kind::Lost
    } else if is_subsequence(a.own, b.own) {
        Kind::Added
    } else {
        Kind::Changed
    }
}

/// The characters of a text that are not blank.
pub fn without_blanks(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| !c.is_whitespace())
}

/// Whether two texts are equal once their blanks are removed.
pub fn same_but_blanks(left: &str, right: &str) -> bool {
    without_blanks(left).eq(without_blanks(right))
}

/// Whether U+FFFD stands in exactly one of two texts.
pub(super) fn replaced_in_one(left: &str, right: &str) -> bool {
    left.contains(REPLACEMENT) != right.contains(REPLACEMENT)
}

fn differ(
    field: &Field,
    left: &Texts,
    right: &Texts,
    pick: fn(&Texts) -> &Text,
    leaks: impl Fn(&str, &str) -> bool,
) -> Option<Difference> {
    let (a, b) = (pick(left), pick(right));
    if a.value == b.value {
        return None;
    }
    let mut difference = of_texts(field.rule, field.path, a, b);
    if difference.kind == Kind::Whitespace {
        difference.rule = field.whitespace;
    } else if leaks(&a.value, &b.value) || leaks(&b.value, &a.value) {
        difference.rule = "parity/stop-string-leak";
    } else if replaced_in_one(&a.value, &b.value) {
        difference.rule = "parity/unicode-replacement";
    } else if moved(field.path, a, b, right) {
        difference.kind = Kind::Moved;
    }
    Some(difference)
}

/// Reasoning and content are the same text together, cut at another place. Blanks at the border are separators.
fn split_differs(left: &Texts, right: &Texts) -> bool {
    let joined = |t: &Texts| format!("{}{}", t.reasoning.value, t.content.value);
    let content_differs = !same_but_blanks(&left.content.value, &right.content.value);
    content_differs && same_but_blanks(&joined(left), &joined(right))
}

/// `longer` is `shorter` and a stop string, or, where no token limit cut the reply, the start of one.
fn leaked_stop(shorter: &str, longer: &str, stop: &[String], left: &Reply, right: &Reply) -> bool {
    let cut = [left, right].iter().any(|r| r.finish_reason() == Some("length"));
    let Some(rest) = longer.strip_prefix(shorter).filter(|rest| !rest.is_empty()) else { return false };
    stop.iter()
        .filter(|s| !s.is_empty())
        .any(|s| rest.starts_with(s.as_str()) || (!cut && s.starts_with(rest)))
}

/// What the second lacks in this field stands in another of its fields.
fn moved(path: &str, left: &Text, right: &Text, other: &Texts) -> bool {
    let shared = show::shared(&left.value, &right.value);
    let lost = show::parts(&left.value, shared).own.trim();
    let elsewhere =
        [("content", &other.content), ("reasoning", &other.reasoning), ("refusal", &other.refusal)];
    lost.chars().count() >= MOVED_MIN
        && elsewhere.iter().any(|(name, text)| *name != path && text.value.contains(lost))
}

/// One reply says nothing at all and the other does.
fn empty_answer(left: &Reply, right: &Reply) -> Option<Difference> {
    let empty = |reply: &Reply| {
        let blank = |t: Text| t.value.is_empty();
        let texts = blank(reply.content()) && blank(reply.reasoning()) && blank(reply.refusal());
        texts && reply.calls().next().is_none() && reply.beside.function_call.is_none()
    };
    let said = |reply: &Reply| if empty(reply) { None } else { Some("an answer") };
    (empty(left) != empty(right))
        .then(|| Difference::of_values("parity/empty-answer", "", said(left), said(right)))
}

/// The stretch that only the second has repeats what stands right before or after it.
fn has_twice(parts: &show::Parts<'_>) -> bool {
    !parts.own.is_empty() && (parts.before.ends_with(parts.own) || parts.after.starts_with(parts.own))
}

fn is_subsequence(short: &str, long: &str) -> bool {
    let mut rest = long.chars();
    short.chars().all(|wanted| rest.any(|c| c == wanted))
}

// === impl Texts ===

impl Texts {
    fn of(reply: &Reply) -> Self {
        Self { content: reply.content(), reasoning: reply.reasoning(), refusal: reply.refusal() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        let check = |left: &str, right: &str, expect: Kind| {
            assert_eq!(classify(left, right), expect, "{left:?} {right:?}");
        };
        check("text\n", "text", Kind::Whitespace);
        check("a b", "ab\n", Kind::Whitespace);
        check("abcdef", "abc", Kind::Lost);
        check("abcdef", "def", Kind::Lost);
        check("abcdef", "abef", Kind::Lost);
        check("one two three", "one three", Kind::Lost);
        check("a1b2c3", "abc", Kind::Lost);
        check("abc", "abcdef", Kind::Added);
        check("", "abc", Kind::Added);
        check("Hello.", "Hello.Hello.", Kind::Doubled);
        check("one two three", "one two two three", Kind::Doubled);
        check("get", "getget", Kind::Doubled);
        check("getget", "get", Kind::Lost);
        check("yes", "no", Kind::Changed);
        check("caf\u{e9}", "cafe\u{301}", Kind::Changed);
    }

    #[test]
    fn a_long_text_is_classified_in_linear_time() {
        let left = "ab".repeat(500_000);
        let right = "ba".repeat(500_000);
        assert_eq!(classify(&left, &right), Kind::Changed);
    }
}
