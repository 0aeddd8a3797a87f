//! Every example of every rule, through the public door: decoded, folded, checked.

use tfproxy::{
    decode::decode,
    exchange::{Exchange, Slice},
    fold::{Lens, fold},
    request::Dialect,
    rules::{Breach, Example, Facts, Profile, catalogue, check},
};

fn breaches(exchange: &Exchange) -> Vec<Breach> {
    let (asked, decoded) = (exchange.request.asked(), decode(exchange));
    let reply = fold(Dialect::OpenaiChat, exchange.status(), &decoded, &Lens::STRICT);
    check(
        &Facts { exchange, asked: &asked, decoded: &decoded, reply: &reply, expect: None },
        &Profile::STRICT,
    )
}

fn breaks(example: &Example, rule: &str) -> bool {
    breaches(&example.exchange()).iter().any(|breach| breach.rule == rule)
}

#[test]
fn good_examples_keep_their_rule() {
    let broken = catalogue::all().flat_map(|rule| {
        let broken = rule.good.iter().enumerate().filter(|(_, example)| breaks(example, rule.id));
        broken.map(|(at, _)| format!("{} example {at}", rule.id))
    });
    assert_eq!(broken.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn bad_examples_break_their_rule() {
    let kept = catalogue::all().flat_map(|rule| {
        let kept = rule.bad.iter().enumerate().filter(|(_, example)| !breaks(example, rule.id));
        kept.map(|(at, _)| format!("{} example {at}", rule.id))
    });
    assert_eq!(kept.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn examples_cut_at_every_byte_break_the_same_rules() {
    // A cut inside a character is what this one reports.
    let told = |exchange: &Exchange| {
        let told = breaches(exchange).into_iter().filter(|breach| breach.rule != "sse/utf8-boundary");
        told.map(|breach| (breach.rule, breach.path, breach.found)).collect::<Vec<_>>()
    };
    for example in catalogue::all().flat_map(|rule| rule.bad).filter(|example| example.slices.is_empty()) {
        let whole = example.exchange();
        let mut cut = whole.clone();
        cut.slices = whole.slices.iter().flat_map(bytewise).collect();
        assert_eq!(told(&cut), told(&whole), "{}", String::from_utf8_lossy(example.body));
    }
}

fn bytewise(slice: &Slice) -> Vec<Slice> {
    let bytes = (0..slice.bytes.len()).map(|at| slice.bytes.slice(at..=at));
    bytes.map(|bytes| Slice { at: slice.at, bytes }).collect()
}
