//! The laws of reading, over texts that are written and texts that are made up.
//!
//! In: texts. Out: nothing, unless a way to cut a text changes the reply, something is taken back or lost, or too
//! much is held.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tfengine::read::{
    End, Finish, Fold, Folded, Format, Offer, Origin, Reader, ReplyEvent, Said, Thinking, Tool,
};

const ENDS: [End; 3] = [End::Model, End::Length, End::Stop];
const THINKING: [Thinking; 3] = [Thinking::Open, Thinking::Closed, Thinking::MayOpen];

/// Texts that between them come by every place of the grammars.
const TEXTS: [&str; 14] = [
    "<think>\nLet me see.\n</think>\n\nHi\n<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"q\": \"caf\\u00e9 \
     \\ud83d\\ude00\", \"n\": [1, {\"a\": null}], \"q\": 2}}\n</tool_call>\n bye\n",
    "a <tool_call>{\"args\": \"{\\\"q\\\": \\\"x\\\\n\\\", \\\"n\\\": -1.5e+3}\", \"id\": {\"a\": [\"}\"]}, \"name\": \
     \"LOOKUP\"}</TOOL_CALL> b <tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call> c",
    "<tool_call>lookup\n<arg_key>q</arg_key>\n<arg_value>say </tool_call> </arg_value> é</arg_value>\n<arg_key>n\
     </arg_key>\n<arg_value> 5 </arg_value>\n<arg_key>q</arg_key><arg_value>again</arg_value></tool_call> \n \
     <tool_call>lookup<arg_key>tags</arg_key><arg_value>[1, \"a\"]</arg_value><tool_call>get time</tool_call>.",
    "Plan\n<tool_call>\n<function=lookup>\n<parameter=q>\nlast </parameter> line\n\n<parameter=n>\n7\n</parameter>\n\
     </function>\n</tool_call>\n</think>\n\nDone <tool_call><function=other><parameter=q>\n</function>\n x\n\
     </parameter></function></tool_call> <function=lookup><parameter=q>\n\n</parameter></function>\n</tool_call>\n",
    "Use <tool_call> or <function=x> like <tool_call>{\"name\" so.</tool_call> <tool_call>\n\n<b>",
    "<tool_call>{\"name\": \"lookup\", \"arguments\": {\"q\": \"a\", \"n\": 12x}} lost?</tool_call> after",
    "<tool_call>{\"name\": \"lookup\", \"arguments\": null, \"x\": tru</tool_call><tool_call>lookup</tool_call>",
    "<tool_call>lookup<arg_key>a<b</arg_key> junk</tool_call>\n\n<tool_call>get time",
    "\n\n<think><think>x<tool_call>other</tool_call> \n</think>\n\n\n<think>y</think>",
    "<tool_call>{\"name\": \"lookup\", \"arguments\": {\"q\": \"\\x \\u12 \\ud800 \u{1}\", \"n\": NaN, \"o\": {\"k\": [",
    "<tool_call>lookup<arg_key>o</arg_key><arg_value>{\"a\": 1, \"a\": 2}</arg_value><arg_key>n</arg_key><arg_val",
    "<tool_call><function=lookup>\n<parameter=tags>\n[\"a\",\n\"b\"]\n</parameter>\n<parameter=q>\nopen\n</paramet",
    "<tool_call>lookup<arg_key>q</arg_key><arg_value>東京 </arg_value> \n ",
    " \t\n",
];

/// What a request asks, and how its reply ends.
#[derive(Debug, Clone)]
struct Case {
    format: Format,
    thinking: Thinking,
    offer: Arc<Offer>,
    end: End,
}

fn offer(one_call: bool) -> Arc<Offer> {
    let parameters = json!({"properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}, "tags": {"type": "array"}, "o": {"type": "object"},
    }});
    let tool = |name: &str| Tool { name: name.to_owned(), parameters: parameters.clone() };
    Arc::new(Offer { tools: vec![tool("lookup"), tool("get time")], one_call })
}

/// Every request and end there is.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for format in Format::ALL {
        for thinking in THINKING {
            for offer in [offer(false), offer(true), Arc::default()] {
                cases.extend(ENDS.map(|end| Case { format, thinking, offer: Arc::clone(&offer), end }));
            }
        }
    }
    cases
}

/// A request without a thinking block, in the format that reads most.
fn plain() -> Case {
    Case { format: Format::Qwen3Xml, thinking: Thinking::Closed, offer: offer(false), end: End::Model }
}

// === impl Case ===

impl Case {
    fn reader(&self) -> Reader {
        Reader::new(self.format, Arc::clone(&self.offer), self.thinking)
    }

    fn read<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> (Vec<ReplyEvent>, Finish) {
        let (mut reader, mut events) = (self.reader(), Vec::new());
        for piece in pieces {
            reader.feed(piece, &mut events);
        }
        let finish = reader.finish(self.end, &mut events);
        (events, finish)
    }

    fn fold<'t>(&self, pieces: impl IntoIterator<Item = &'t str>) -> (Folded, Finish) {
        let (events, finish) = self.read(pieces);
        (Folded::of(&events), finish)
    }

    /// All that holds of one way to cut a text.
    fn hold(&self, text: &str, pieces: &[&str]) {
        let (events, finish) = self.read(pieces.iter().copied());
        let folded = Folded::of(&events);
        assert_eq!((folded.clone(), finish), self.fold([text]), "{self:?} cut as {pieces:?}");
        spans_account_for(&events, text);
        calls_are_json(&folded);
        self.nothing_is_taken_back(pieces, &folded);
    }

    fn nothing_is_taken_back(&self, pieces: &[&str], whole: &Folded) {
        let (mut reader, mut fold) = (self.reader(), Fold::default());
        for piece in pieces {
            let mut events = Vec::new();
            reader.feed(piece, &mut events);
            for event in &events {
                fold.event(event);
            }
            let begun = fold.clone().done();
            assert!(begins(&begun, whole), "{begun:?} begins {whole:?}");
        }
    }
}

/// Whether a reply is the beginning of another.
fn begins(begun: &Folded, whole: &Folded) -> bool {
    let text = |begun: &Option<String>, whole: &Option<String>| {
        whole.as_deref().unwrap_or_default().starts_with(begun.as_deref().unwrap_or_default())
    };
    let mut calls = begun.calls.iter().zip(&whole.calls);
    text(&begun.content, &whole.content)
        && text(&begun.reasoning, &whole.reasoning)
        && begun.calls.len() <= whole.calls.len()
        && calls.all(|(begun, whole)| {
            begun.name == whole.name
                && whole.arguments.starts_with(&begun.arguments)
                && (!begun.complete || begun == whole)
        })
}

/// Every byte has one event, in order within what is said, and text that is said is said as written.
fn spans_account_for(events: &[ReplyEvent], text: &str) {
    let mut spans: Vec<_> =
        events.iter().map(|event| event.span.clone()).filter(|span| !span.is_empty()).collect();
    spans.sort_by_key(|span| span.start);
    let end = spans.iter().fold(0, |end, span| {
        assert_eq!(span.start, end, "{text:?}: {events:#?}");
        span.end
    });
    assert_eq!(end, text.len(), "{text:?}: {events:#?}");
    let (mut reasoning, mut content, mut arguments) = (0, 0, 0);
    for event in events {
        let (last, said) = match &event.said {
            Said::Reasoning(said) => (&mut reasoning, Some(said)),
            Said::Content(said) => (&mut content, Some(said)),
            Said::Arguments { .. } => (&mut arguments, None),
            Said::CallStart { .. } | Said::CallEnd { .. } | Said::Nothing => continue,
        };
        if let Some(said) = said {
            assert_eq!(text.get(event.span.clone()), Some(said.as_str()));
        }
        assert!(*last <= event.span.start, "{text:?}: {events:#?}");
        *last = event.span.end;
    }
}

/// A complete call has an object for arguments, any other one has none.
fn calls_are_json(reply: &Folded) {
    for call in &reply.calls {
        let parsed = serde_json::from_str::<Value>(&call.arguments);
        let is_object = parsed.as_ref().is_ok_and(Value::is_object);
        assert_eq!(is_object, call.complete, "{call:?} {parsed:?}");
        if let Ok(value) = parsed {
            assert_eq!(value.to_string(), call.arguments, "compact, no key twice");
        }
    }
}

/// The text cut at these places.
fn pieces<'t>(text: &'t str, places: &[usize]) -> Vec<&'t str> {
    let ends = places.iter().copied().chain([text.len()]);
    let mut start = 0;
    ends.map(|end| text.get(std::mem::replace(&mut start, end)..end).unwrap_or_default()).collect()
}

fn borders(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).collect()
}

/// Places that a seed chooses, one in so many.
fn random_places(borders: &[usize], seed: u64, one_in: u64) -> Vec<usize> {
    let mut state = seed;
    let mut chosen = |_: &usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(one_in)
    };
    borders.iter().copied().filter(|at| chosen(at)).collect()
}

#[test]
fn one_cut_changes_nothing() {
    for case in cases() {
        for text in TEXTS {
            let borders = borders(text);
            case.hold(text, &pieces(text, &borders));
            let whole = case.fold([text]);
            for at in borders {
                assert_eq!(case.fold(pieces(text, &[at])), whole, "{case:?} cut at {at} of {text:?}");
            }
        }
    }
}

#[test]
fn two_cuts_change_nothing() {
    let short = |text: &&str| text.len() < 300;
    for (case, text) in cases().into_iter().step_by(5).zip(TEXTS.into_iter().filter(short).cycle()) {
        let (borders, whole) = (borders(text), case.fold([text]));
        for (number, first) in borders.iter().enumerate() {
            for second in borders.iter().skip(number).step_by(2) {
                assert_eq!(case.fold(pieces(text, &[*first, *second])), whole, "{case:?} {text:?}");
            }
        }
    }
}

#[test]
fn random_pieces_change_nothing() {
    for (case, seed) in cases().into_iter().zip(1..) {
        for text in TEXTS {
            for one_in in [2, 3, 7] {
                case.hold(text, &pieces(text, &random_places(&borders(text), seed, one_in)));
            }
        }
    }
}

#[test]
fn every_beginning_of_a_text_is_read() {
    for case in cases() {
        for text in TEXTS {
            for at in borders(text) {
                let (begun, _) = text.split_at(at);
                let (events, _) = case.read([begun]);
                spans_account_for(&events, begun);
                calls_are_json(&Folded::of(&events));
            }
        }
    }
}

/// In one-call mode the later calls are missing, and nothing else.
#[test]
fn one_call_mode_differs_in_calls_only() {
    for case in cases() {
        let (many, one) = (Case { offer: offer(false), ..case.clone() }, Case { offer: offer(true), ..case });
        for text in TEXTS {
            let (mut many, one) = (many.fold([text]).0, one.fold([text]).0);
            many.calls.truncate(1);
            assert_eq!(one, many, "{text:?}");
        }
    }
}

/// An argument of 2,000 characters, three bytes at a time, in each of the grammars.
#[test]
fn a_string_argument_flows() {
    let value = "a line of text, 1 < 2 and so on. ".repeat(61);
    let value = value.get(..2000).unwrap();
    for text in [
        format!("<tool_call>{{\"name\": \"lookup\", \"arguments\": {{\"q\": \"{value}\"}}}}</tool_call>"),
        format!("<tool_call>lookup<arg_key>q</arg_key><arg_value>{value}</arg_value></tool_call>"),
        format!("<function=lookup>\n<parameter=q>\n{value}\n</parameter>\n</function>"),
    ] {
        let places: Vec<usize> = (3..text.len()).step_by(3).collect();
        let (events, _) = plain().read(pieces(&text, &places));
        let count = |is: fn(&Said) -> bool| events.iter().filter(|event| is(&event.said)).count();
        assert_eq!(count(|said| matches!(said, Said::CallStart { .. })), 1);
        assert!(count(|said| matches!(said, Said::Arguments { .. })) >= 600);
        assert_eq!(Folded::of(&events).calls[0].arguments, format!("{{\"q\":\"{value}\"}}"));
    }
}

/// How much is held at most is told by what may still come, whatever was read before.
#[test]
fn little_is_held() {
    for (text, bound) in [
        ("prose and < more <b> prose, ".repeat(40), 2),
        (format!("<tool_call> tag for that. {}", "words and more ".repeat(40)), "<tool_call> t".len()),
        (
            format!(
                "<tool_call>{{\"name\": \"lookup\", \"arguments\": {{\"q\": \"{}",
                "a\\u0041 ".repeat(40)
            ),
            "<tool_call>{\"name\": \"lookup\", \"arguments\": ".len(),
        ),
        (
            format!("<tool_call>lookup<arg_key>q</arg_key><arg_value>{}", "a </arg_value> b ".repeat(40)),
            "<arg_key>q</arg_key><arg_value".len(),
        ),
        (
            format!("<function=lookup><parameter=q>\n{}", "a\n</parameter> b\n".repeat(40)),
            "<function=lookup><parameter".len(),
        ),
        (
            format!("<tool_call>{{\"name\": \"other\", \"arguments\": {{\"q\": \"{}", "a\\u0041 ".repeat(40)),
            "<tool_call>{\"name\": \"".len(),
        ),
    ] {
        let (mut reader, mut events, mut read) = (plain().reader(), Vec::new(), 0);
        for piece in pieces(&text, &borders(&text)) {
            reader.feed(piece, &mut events);
            read += piece.len();
            let told = events.iter().map(|event| event.span.end).max().unwrap_or(0);
            assert!(read - told <= bound, "{} held of {:?}", read - told, text.get(..read));
        }
    }
}

#[test]
fn events_tell_where_text_came_from() {
    let text = "Hi <tool_call>lookup<arg_key>q</arg_key><arg_value>a</arg_value><arg_key>n</arg_key><arg_value> 5\
                </arg_value></tool_call> <tool_call>other</tool_call>";
    let (events, _) = Case { format: Format::Glm, ..plain() }.read([text]);
    let told: Vec<(&str, Origin)> =
        events.iter().map(|event| (text.get(event.span.clone()).unwrap(), event.origin)).collect();
    let expected = [
        ("Hi", Origin::Prose),
        ("<tool_call>lookup", Origin::Syntax),
        ("<arg_key>q</arg_key><arg_value>", Origin::Syntax),
        ("a", Origin::StringValue),
        ("", Origin::Syntax),
        ("</arg_value><arg_key>", Origin::Markup),
        ("n</arg_key><arg_value>", Origin::Syntax),
        (" 5", Origin::TypedValue),
        ("</arg_value>", Origin::Markup),
        ("</tool_call>", Origin::Syntax),
        ("", Origin::Syntax),
        (" ", Origin::Separator),
        (" ", Origin::Separator),
        ("<tool_call>other</tool_call>", Origin::Rejected),
    ];
    assert_eq!(told, expected);
}

/// Pieces of texts that come close to the grammars.
#[rustfmt::skip]
const FRAGMENTS: [&str; 62] = [
    "<tool_call>", "</tool_call>", "<TOOL_CALL>", "</Tool_Call>", "<think>", "</think>", "<arg_key>", "</arg_key>",
    "<arg_value>", "</arg_value>", "<function=", "<function=lookup>", "</function>", "<parameter=", "</parameter>",
    "<parameter=q>", "<parameter=n>", "<tool_call>lookup<arg_key>q</arg_key><arg_value>", "<", "</", ">", "<tool_",
    "</tool_c", "</arg_", "</par", "<foo:tool_call>", "lookup", "LookUp", "other", "get time", "name", "arguments",
    "{\"name\": \"lookup\", \"arguments\": ", "\"name\": \"lookup\"", "\"args\": \"{\\\"q\\\": ", "\"q\"", "{", "}",
    "[", "]", ":", ",", "\"", "\\", "\\\"", "\\u00", "\\ud83d", "\\ude00", "null", "true", "NaN", "-1.5e+3", "12",
    " ", "\n", "\n\n", "\u{3000}", "é", "😀", "\u{1}", "some words", "q",
];

fn a_case() -> impl Strategy<Value = Case> {
    let offers = select(vec![offer(false), offer(true), Arc::default()]);
    (select(&Format::ALL[..]), select(&THINKING[..]), offers, select(&ENDS[..]))
        .prop_map(|(format, thinking, offer, end)| Case { format, thinking, offer, end })
}

/// Fragments, alone or put into the middle of one of the texts.
fn a_text() -> impl Strategy<Value = String> {
    let fragments = proptest::collection::vec(select(&FRAGMENTS[..]), 0..24).prop_map(|parts| parts.concat());
    let around = proptest::option::of((select(&TEXTS[..]), any::<Index>()));
    (fragments, around).prop_map(|(middle, around)| match around {
        None => middle,
        Some((text, index)) => {
            let borders = borders(text);
            let (before, after) = text.split_at(*index.get(&borders));
            [before, &middle, after].concat()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_of_any_text(case in a_case(), text in a_text(), seed in any::<u64>()) {
        let borders = borders(&text);
        case.hold(&text, &pieces(&text, &borders));
        case.hold(&text, &pieces(&text, &random_places(&borders, seed, 4)));
    }

    #[test]
    fn noise_is_read(case in a_case(), text in "\\PC{0,40}") {
        case.hold(&text, &pieces(&text, &borders(&text)));
    }
}
