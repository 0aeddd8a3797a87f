//! Every id of the catalogue, shown: each has what keeps it and what breaks it, run through the public door.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

#[path = "rules/pairs.rs"]
mod pairs;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tfproxy::{
    decode::{MAX_EVENT, Payload, decode, json::MAX_DEPTH},
    exchange::{Exchange, Slice},
    fold::{Lens, fold},
    request::Dialect,
    rules::{Breach, Example, Facts, Profile, catalogue, check},
    run::reread,
};

/// Rules whose bad examples are larger than what can be written down: the id, a small body that keeps it, and one that
/// breaks it.
type Big = (&'static str, fn(usize) -> String, usize, usize);

/// Both ids say that our own reading depends on how it is done: a reading is spoilt to show them.
const REREAD: [&str; 2] = ["sse/recut", "sse/second-reading"];

const BIG: [Big; 3] = [
    ("sse/event-size", |size| format!("{:?}", "a".repeat(size)), 8, MAX_EVENT),
    ("sse/json-too-deep", |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth)), 8, 2 * MAX_DEPTH),
    ("sse/json-list-size", |size| format!("[{}0]", "0,".repeat(size)), 8, 1 << 20),
];

fn breaches(exchange: &Exchange) -> Vec<Breach> {
    let (asked, decoded) = (exchange.request.asked(), decode(exchange));
    let reply = fold(Dialect::OpenaiChat, exchange.status(), &decoded, &Lens::STRICT);
    check(
        &Facts { exchange, asked: &asked, decoded: &decoded, reply: &reply, expect: None, whole: None },
        Profile::strict(),
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

#[test]
fn pairs_that_keep_an_id_show_nothing_and_pairs_that_break_it_show_it() {
    let mut wrong = Vec::new();
    for pair in pairs::all() {
        let good = pair.found(&pair.good);
        let mut expected: Vec<&str> = pair.also.iter().copied().chain([pair.id]).collect();
        expected.sort_unstable();
        let bad = pair.found(&pair.bad);
        if !good.is_empty() || bad != expected {
            wrong.push(format!("{}: good {good:?}, bad {bad:?} for {expected:?}", pair.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A catalogue that lists what no code says promises a check that does not exist.
#[test]
fn every_id_of_the_catalogue_is_shown_by_an_example() {
    let shown: Vec<&str> = catalogue::all()
        .filter(|rule| !rule.bad.is_empty())
        .map(|rule| rule.id)
        .chain(pairs::all().iter().map(|pair| pair.id))
        .chain(BIG.iter().map(|(id, ..)| *id))
        .chain(REREAD)
        .collect();
    let not_shown: Vec<&str> =
        catalogue::ids().map(|named| named.id).filter(|id| !shown.contains(id)).collect();
    assert_eq!(not_shown, Vec::<&str>::new());
    let unknown: Vec<&&str> = shown.iter().filter(|id| catalogue::describe(id).is_none()).collect();
    assert_eq!(unknown, Vec::<&&str>::new());
}

#[test]
fn what_is_too_big_is_told() {
    let example = catalogue::find("sse/no-events").unwrap().good[0];
    let of = |body: String| {
        let mut exchange = example.exchange();
        let event = format!("data: {{\"choices\":[],\"vendor\":{body}}}\n\n");
        exchange.slices = vec![Slice { at: 1, bytes: event.into() }];
        breaches(&exchange)
    };
    for (id, body, small, large) in BIG {
        let is_told = |size| of(body(size)).iter().any(|breach| breach.rule == id);
        assert!(!is_told(small) && is_told(large), "{id}");
    }
}

#[test]
fn a_reading_that_depends_on_how_it_is_done_is_told() {
    let exchange = catalogue::find("sse/no-events").unwrap().good[0].exchange();
    let right = decode(&exchange);
    let mut spoilt = right.clone();
    spoilt.events[0].payload = Payload::Other;
    spoilt.events[0].data = "".into();
    let told = |decoded| -> Vec<&str> {
        reread::check(&exchange, decoded, Profile::openai()).iter().map(|breach| breach.rule).collect()
    };
    assert_eq!(told(&right), [""; 0]);
    assert_eq!(told(&spoilt), REREAD);
}

/// The ids that the source writes down: a misspelt one would be found by nobody.
#[test]
fn the_source_writes_down_no_id_that_is_not_listed() {
    let families: BTreeSet<&str> =
        catalogue::ids().map(|named| named.id.split('/').next().unwrap_or_default()).collect();
    let mut seen = 0;
    let mut unknown = Vec::new();
    for (path, text) in sources() {
        // Inside quotes is every second piece, as long as no quote is escaped: good enough for ids, which hold none.
        for word in text.split('"').filter(|word| is_id(word, &families)) {
            seen += 1;
            if catalogue::describe(word).is_none() {
                unknown.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
    assert!(seen > catalogue::ids().count(), "{seen} ids in all of the source");
}

fn is_id(word: &str, families: &BTreeSet<&str>) -> bool {
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let parts = word.split_once('/');
    // `parity/tool-` is the start of many.
    parts.is_some_and(|(family, name)| {
        families.contains(family) && plain(name) && !name.is_empty() && !name.ends_with('-')
    })
}

/// Every file of the proxy up to its tests.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_stem().is_some_and(|stem| stem != "tests") {
                let text = fs::read_to_string(&path).unwrap();
                let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
                found.push((path, text.get(..end).unwrap_or_default().to_owned()));
            }
        }
    }
    found
}
