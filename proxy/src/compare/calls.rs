//! Tool calls: their number, their order, and then each pair's name and arguments.
//!
//! Calls are paired by order. Equal calls at both ends are paired first, so that a call lost in the middle is named as
//! lost and not as a chain of changed ones.

use super::{Difference, Equality, Kind, arguments, show, text};
use crate::fold::{
    Reply,
    reply::{Call, Text},
};

/// Calls that one value describes; more are counted only.
const DESCRIBED: usize = 4;
/// Calls without a partner that are looked for elsewhere: each is a search through all content.
const SEARCHED: usize = 8;
/// Characters of arguments or content in the description of a reply's calls.
const DESCRIBED_TEXT: usize = 60;

/// How the calls of two replies belong together.
#[derive(Debug, Default)]
struct Pairing {
    /// Positions left and right.
    pairs: Vec<(usize, usize)>,
    /// Positions of the longer side that have no partner.
    alone: Vec<usize>,
}

/// Compares the calls of two replies.
pub(super) fn compare(left: &Reply, right: &Reply, equality: Equality<'_>, found: &mut Vec<Difference>) {
    let (a, b): (Vec<&Call>, Vec<&Call>) = (left.calls().collect(), right.calls().collect());
    let (keys_a, keys_b) = (keys(&a), keys(&b));
    if let Some(moved) = order_differs(&keys_a, &keys_b, &a, &b) {
        found.push(moved);
        return compare_forms(&a, &b, found);
    }
    let pairing = pair(&a, &b, &keys_a, &keys_b);
    if a.len() != b.len() {
        found.push(count_differs(left, right, &a, &b, &pairing));
    }
    compare_names(&pairing, &a, &b, found);
    compare_ids(&pairing, &a, &b, found);
    for &(i, j) in &pairing.pairs {
        if let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            arguments::compare(&format!("tool_calls[{i}]"), x, y, equality, found);
        }
    }
}

/// A value that says how many calls there are and which: `no call`, `one call: f {}`, `2 calls: f {}, g {}`.
///
/// What stands before the colon is the number in words; reports build the shape of a fault from it.
pub(super) fn describe(calls: &[&Call], content: &Text) -> String {
    let shown: Vec<String> = calls
        .iter()
        .take(DESCRIBED)
        .map(|c| format!("{} {}", c.name, show::shorten(&c.arguments.value, DESCRIBED_TEXT)))
        .collect();
    let more = if calls.len() > DESCRIBED { ", …" } else { "" };
    match calls.len() {
        0 if content.value.is_empty() => "no call".to_owned(),
        0 => format!("no call: content {:?}", show::shorten(&content.value, DESCRIBED_TEXT)),
        1 => format!("one call: {}", shown.join("")),
        n => format!("{n} calls: {}{more}", shown.join(", ")),
    }
}

fn count_differs(left: &Reply, right: &Reply, a: &[&Call], b: &[&Call], pairing: &Pairing) -> Difference {
    let (content_a, content_b) = (left.content(), right.content());
    let lost = a.len() > b.len();
    let (longer, own, other) = if lost { (a, &content_a, &content_b) } else { (b, &content_b, &content_a) };
    let alone = pairing.alone.iter().take(SEARCHED);
    let alone: Vec<&Call> = alone.filter_map(|&at| longer.get(at).copied()).collect();
    let kind = match lost {
        _ if alone.iter().any(|call| is_told_in(call, own, other)) => Kind::Moved,
        true => Kind::Lost,
        false if alone.iter().all(|call| is_repeated(call, b)) => Kind::Doubled,
        false => Kind::Added,
    };
    let event = alone.first().map(|call| call.event);
    let names: Vec<&str> = alone.iter().take(DESCRIBED).map(|c| c.name.as_str()).collect();
    let sign = if lost { ("[-", "-]") } else { ("{+", "+}") };
    Difference {
        rule: "parity/tool-count",
        path: "tool_calls".to_owned(),
        left: describe(a, &content_a),
        right: describe(b, &content_b),
        kind,
        diff: format!("{}{}{}", sign.0, names.join(", "), sign.1),
        events: if lost { (event, None) } else { (None, event) },
    }
}

/// The call's text stands in the other reply's content: its name is there more often than beside the call itself.
fn is_told_in(call: &Call, own: &Text, other: &Text) -> bool {
    let told = |text: &Text| text.value.matches(call.name.as_str()).count();
    !call.name.is_empty() && told(other) > told(own)
}

fn is_repeated(call: &Call, all: &[&Call]) -> bool {
    let same = |c: &&&Call| c.name == call.name && c.arguments.value == call.arguments.value;
    all.iter().filter(same).nth(1).is_some()
}

fn order_differs(keys_a: &[String], keys_b: &[String], a: &[&Call], b: &[&Call]) -> Option<Difference> {
    let first = keys_a.iter().zip(keys_b).position(|(x, y)| x != y)?;
    let sorted = |keys: &[String]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys
    };
    (keys_a.len() == keys_b.len() && sorted(keys_a) == sorted(keys_b)).then(|| {
        let none = Text::default();
        Difference {
            rule: "parity/tool-order",
            path: "tool_calls".to_owned(),
            left: describe(a, &none),
            right: describe(b, &none),
            kind: Kind::Moved,
            diff: show::diff(&names(a), &names(b)),
            events: (a.get(first).map(|c| c.event), b.get(first).map(|c| c.event)),
        }
    })
}

fn compare_names(pairing: &Pairing, a: &[&Call], b: &[&Call], found: &mut Vec<Difference>) {
    for &(i, j) in &pairing.pairs {
        let (Some(x), Some(y)) = (a.get(i), b.get(j)) else { continue };
        if x.name != y.name {
            let path = format!("tool_calls[{i}].name");
            let mut difference =
                Difference::of_values("parity/tool-name", &path, Some(&x.name), Some(&y.name))
                    .at(Some(x.event), Some(y.event));
            difference.kind = text::classify(&x.name, &y.name);
            difference.diff = show::diff(&x.name, &y.name);
            found.push(difference);
        }
    }
}

/// The first pair of calls whose ids are not of one form. The ids themselves differ from reply to reply.
fn compare_ids(pairing: &Pairing, a: &[&Call], b: &[&Call], found: &mut Vec<Difference>) {
    let first = pairing.pairs.iter().find_map(|&(i, j)| {
        let (x, y) = (a.get(i)?, b.get(j)?);
        let (one, other) = (x.id.as_deref(), y.id.as_deref());
        let path = format!("tool_calls[{i}].id");
        (!is_one_form(one, other)).then(|| {
            Difference::of_values("parity/tool-id-form", &path, one, other).at(Some(x.event), Some(y.event))
        })
    });
    found.extend(first);
}

/// Whether ids start with the same word and are equally long; ids that count may grow.
fn is_one_form(left: Option<&str>, right: Option<&str>) -> bool {
    fn parts(id: &str) -> (&str, &str) {
        let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
        id.split_once(['_', '-', '.', ':']).filter(|(word, _)| is_word(word)).unwrap_or(("", id))
    }
    let counts = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match (left.map(parts), right.map(parts)) {
        (Some((word, rest)), Some((other, others))) => {
            word == other && (rest.len() == others.len() || (counts(rest) && counts(others)))
        }
        (None, None) => true,
        _ => false,
    }
}

/// After a change of order only the kind of the arguments' JSON can still be compared, and any pair shows it.
fn compare_forms(a: &[&Call], b: &[&Call], found: &mut Vec<Difference>) {
    let (Some(x), Some(y)) = (a.first(), b.first()) else { return };
    let mut all = Vec::new();
    arguments::compare("tool_calls[0]", x, y, Equality::default(), &mut all);
    found.extend(all.into_iter().filter(|d| d.rule == "parity/tool-arguments-kind"));
}

/// Name and arguments in one comparable text.
fn keys(calls: &[&Call]) -> Vec<String> {
    let key = |call: &&Call| {
        let text = &call.arguments.value;
        let arguments = arguments::canonical_text(text).unwrap_or_else(|| text.clone());
        format!("{}\0{arguments}", call.name)
    };
    calls.iter().map(key).collect()
}

fn names(calls: &[&Call]) -> String {
    calls.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn pair(a: &[&Call], b: &[&Call], keys_a: &[String], keys_b: &[String]) -> Pairing {
    let equal = |(x, y): &(&String, &String)| x == y;
    let start = keys_a.iter().zip(keys_b).take_while(equal).count();
    let most = a.len().min(b.len()) - start;
    let end = keys_a.iter().rev().zip(keys_b.iter().rev()).take(most).take_while(equal).count();
    let mut pairing = Pairing::default();
    pairing.pairs.extend((0..start).map(|at| (at, at)));
    pairing.pair_middle(a, b, start, end);
    pairing.pairs.extend((0..end).rev().map(|at| (a.len() - 1 - at, b.len() - 1 - at)));
    pairing
}

// === impl Pairing ===

impl Pairing {
    /// Pairs what is left between equal starts and ends, skipping in the longer side what has another name.
    fn pair_middle(&mut self, a: &[&Call], b: &[&Call], start: usize, end: usize) {
        let (end_a, end_b) = (a.len() - end, b.len() - end);
        let left_is_longer = a.len() > b.len();
        let mut surplus = a.len().abs_diff(b.len());
        let (mut i, mut j) = (start, start);
        while i < end_a && j < end_b {
            let same = a.get(i).map(|c| &c.name) == b.get(j).map(|c| &c.name);
            if same || surplus == 0 {
                self.pairs.push((i, j));
                (i, j) = (i + 1, j + 1);
            } else {
                surplus -= 1;
                self.alone.push(if left_is_longer { i } else { j });
                if left_is_longer { i += 1 } else { j += 1 }
            }
        }
        self.alone.extend(if left_is_longer { i..end_a } else { j..end_b });
    }
}
