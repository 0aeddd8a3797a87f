//! Every oddity of the grammar, one line each, cut at every byte.

use super::{
    AnomalyKind::{
        self, CarriageReturn, Comment, DataWithoutSpace, DuplicateKey, EmptyData, EventWithoutData,
        GluedJson, IdField, IdWithNul, InexactDone, InnerBom, InvalidUtf8, LeadingBom, LoneSurrogate,
        MixedLineEnds, More, MultilineData, NonFiniteNumber, NotJson, NulByte, OversizeEvent,
        RawLineSeparator, RetryField, RetryNotDigits, ShortenedList, SplitCharacter, TooDeep, TooManyEvents,
        UnknownField, UnterminatedEvent,
    },
    *,
};
use crate::{
    exchange::{End, Head, Slice, Took},
    request::{Dialect, Mode, Request},
};
use proptest::prelude::*;
use sse::Scanner;

/// Scans a body in two pieces cut at every byte, in slices of one byte, of seven, and of random sizes, and hands each
/// reading to `check`.
pub(crate) fn every_split(body: &[u8], mut check: impl FnMut(&Decoded)) {
    for at in 0..=body.len() {
        let mut scanner = Scanner::new();
        scanner.feed(&body[..at], 0);
        scanner.feed(&body[at..], 0);
        check(&scanner.finish());
    }
    for cut in [Cut::Every(1), Cut::Every(7), Cut::Random(1), Cut::Random(2)] {
        check(&recut(body, cut));
    }
}

/// An exchange that brought these slices, each a microsecond after the one before.
pub(crate) fn exchange(media_type: &str, slices: &[&[u8]]) -> Exchange {
    let slices = slices.iter().zip(1..).map(|(s, at)| Slice { at, bytes: s.to_vec().into() }).collect();
    let headers = vec![("content-type".to_owned(), media_type.to_owned())];
    let request =
        Request { dialect: Dialect::OpenaiChat, path: String::new(), headers: Vec::new(), body: "{}".into() };
    Exchange {
        mode: Mode::Stream,
        rounds: None,
        request,
        head: Some(Head { status: 200, headers }),
        slices,
        end: End::Complete,
        took: Took::default(),
    }
}

/// The anomalies that do not depend on slices.
fn told(decoded: &Decoded) -> Vec<(usize, usize, AnomalyKind)> {
    let lasting = decoded.anomalies.iter().filter(|a| a.kind != SplitCharacter);
    lasting.map(|a| (a.span.start, a.span.end, a.kind.clone())).collect()
}

type Expected<'a> = (usize, usize, Option<&'a str>, &'a str);

fn check(body: impl AsRef<[u8]>, events: &[Expected<'_>], anomalies: &[(usize, usize, AnomalyKind)]) {
    let body = body.as_ref();
    let mut anomalies = anomalies.to_vec();
    anomalies.sort();
    every_split(body, |decoded| {
        let seen: Vec<_> =
            decoded.events.iter().map(|e| (e.span.start, e.span.end, e.name.as_deref(), &*e.data)).collect();
        assert_eq!(seen, events, "{:?}", utf8::lossy(body));
        assert_eq!(told(decoded), anomalies, "{:?}", utf8::lossy(body));
    });
}

#[test]
fn plain_streams_give_events_and_no_word() {
    check("", &[], &[]);
    check("data: 1\n\ndata: [DONE]\n\n", &[(0, 9, None, "1"), (9, 23, None, "[DONE]")], &[]);
    check("data: 1\r\n\r\ndata: 2\r\n\r\n", &[(0, 11, None, "1"), (11, 22, None, "2")], &[]);
    check("event: a\ndata: 1\n\n", &[(0, 18, Some("a"), "1")], &[]);
    check("event: a\nevent: b\ndata: 1\n\n", &[(0, 27, Some("b"), "1")], &[]);
    check("event\ndata: 1\n\n", &[(0, 15, Some(""), "1")], &[]);
    check("event: a\n\n\n\ndata: 1\n\n", &[(12, 21, None, "1")], &[(0, 10, EventWithoutData)]);
    check("\n\n\ndata:  \"a:b \"\n\n\n", &[(3, 18, None, " \"a:b \"")], &[]);
    check("data: \"\u{FEFF}é漢😀\"\n\n", &[(0, 22, None, "\"\u{FEFF}é漢😀\"")], &[]);
}

#[test]
fn byte_order_marks() {
    check("\u{FEFF}data: 1\n\n", &[(3, 12, None, "1")], &[(0, 3, LeadingBom)]);
    check("\u{FEFF}\n\ndata: 1\n\n", &[(5, 14, None, "1")], &[(0, 3, LeadingBom)]);
    check("\u{FEFF}\u{FEFF}data: 1\n\n", &[], &[(0, 3, LeadingBom), (3, 6, InnerBom)]);
    check("data: 1\n\n\u{FEFF}data: 2\n\n", &[(0, 9, None, "1")], &[(9, 12, InnerBom)]);
    check(b"\xEF\xBBdata: 1\n\n", &[], &[(0, 2, InvalidUtf8), (0, 10, UnknownField("\u{FFFD}data".into()))]);
    check(b"\xEF\xBB", &[], &[(0, 2, UnterminatedEvent), (0, 2, InvalidUtf8)]);
    check("\u{FEFF}", &[], &[(0, 3, LeadingBom)]);
}

#[test]
fn line_ends() {
    check(
        "data: 1\r\rdata: 2\r\r",
        &[(0, 9, None, "1"), (9, 18, None, "2")],
        &[(7, 8, CarriageReturn), (8, 9, CarriageReturn), (16, 17, CarriageReturn), (17, 18, CarriageReturn)],
    );
    check("data: 1\n\r\ndata: 2\n\n", &[(0, 10, None, "1"), (10, 19, None, "2")], &[(8, 10, MixedLineEnds)]);
    check("data: 1\n\r", &[(0, 9, None, "1")], &[(8, 9, CarriageReturn), (8, 9, MixedLineEnds)]);
    check("data: 1\r\n\n", &[(0, 10, None, "1")], &[(9, 10, MixedLineEnds)]);
    check(
        "data: \u{2028}\n\n",
        &[(0, 11, None, "\u{2028}")],
        &[(6, 9, NotJson("expected a value at byte 0".into()))],
    );
}

#[test]
fn what_the_end_cuts_off_is_kept_and_told() {
    check("data: 1\n", &[(0, 8, None, "1")], &[(0, 8, UnterminatedEvent)]);
    check("data: 1", &[(0, 7, None, "1")], &[(0, 7, UnterminatedEvent)]);
    check("data: 1\r\n", &[(0, 9, None, "1")], &[(0, 9, UnterminatedEvent)]);
    check("data: 1\r", &[(0, 8, None, "1")], &[(0, 8, UnterminatedEvent), (7, 8, CarriageReturn)]);
    check("data: 1\n\ndat", &[(0, 9, None, "1")], &[(9, 12, UnterminatedEvent)]);
    check("data: 1\n\ndata:", &[(0, 9, None, "1")], &[(9, 14, UnterminatedEvent)]);
    check("data: 1\n\nevent: x\n", &[(0, 9, None, "1")], &[(9, 18, UnterminatedEvent)]);
    check("data: 1\n\n: bye", &[(0, 9, None, "1")], &[(9, 14, Comment)]);
    check("data: 1\n\n: bye\n", &[(0, 9, None, "1")], &[(9, 15, Comment)]);
    check(
        "data: {\"a\":",
        &[(0, 11, None, "{\"a\":")],
        &[(0, 11, UnterminatedEvent), (6, 11, NotJson("expected a value at byte 5".into()))],
    );
}

#[test]
fn fields() {
    check("data:1\n\n", &[(0, 8, None, "1")], &[(0, 7, DataWithoutSpace)]);
    check("data: 1\nerror: x\n\n", &[(0, 18, None, "1")], &[(8, 17, UnknownField("error".into()))]);
    check("Data: 1\n\n", &[], &[(0, 8, UnknownField("Data".into()))]);
    check(" data: 1\n\n", &[], &[(0, 9, UnknownField(" data".into()))]);
    check("{\"error\":1}\n\n", &[], &[(0, 12, UnknownField("{\"error\"".into()))]);
    check("x".repeat(70) + "\n\n", &[], &[(0, 71, UnknownField("x".repeat(64) + "..."))]);
    check("id: 7\ndata: 1\n\n", &[(0, 15, None, "1")], &[(0, 6, IdField)]);
    check("id: \0\ndata: 1\n\n", &[(0, 15, None, "1")], &[(0, 6, IdWithNul), (4, 5, NulByte)]);
    check("retry: 10\ndata: 1\n\n", &[(0, 19, None, "1")], &[(0, 10, RetryField)]);
    check("retry: 1s\n\n", &[], &[(0, 10, RetryField), (0, 10, RetryNotDigits), (0, 11, EventWithoutData)]);
    check("retry\ndata: 1\n\n", &[(0, 15, None, "1")], &[(0, 6, RetryField), (0, 6, RetryNotDigits)]);
    check("event: ping\n\ndata: 1\n\n", &[(13, 22, None, "1")], &[(0, 13, EventWithoutData)]);
    check(
        ": hi\n:\n\ndata: 1\n: ho\n\n",
        &[(8, 22, None, "1")],
        &[(0, 5, Comment), (5, 7, Comment), (16, 21, Comment)],
    );
}

#[test]
fn data() {
    check("data: [1,\ndata: 2]\n\n", &[(0, 20, None, "[1,\n2]")], &[(0, 20, MultilineData)]);
    check(
        "data: {}\ndata: {}\n\n",
        &[(0, 19, None, "{}\n{}")],
        &[(0, 19, MultilineData), (15, 17, GluedJson)],
    );
    check(
        "data: [1,\r\ndata:  NaN]\r\n\r\n",
        &[(0, 26, None, "[1,\n NaN]")],
        &[(0, 26, MultilineData), (18, 21, NonFiniteNumber)],
    );
    check("data:\n\n", &[(0, 7, None, "")], &[(0, 7, EmptyData)]);
    check("data: \n\n", &[(0, 8, None, "")], &[(0, 8, EmptyData)]);
    check("data\n\n", &[(0, 6, None, "")], &[(0, 6, EmptyData)]);
    check(
        "data: \"\0\"\n\n",
        &[(0, 11, None, "\"\0\"")],
        &[
            (7, 8, NulByte),
            (7, 9, NotJson("expected an escape instead of a control character at byte 1".into())),
        ],
    );
    check(b"data: \"\xff\"\n\n", &[(0, 11, None, "\"\u{FFFD}\"")], &[(7, 8, InvalidUtf8)]);
    check(
        b"data: 1\xe2\x82\n\n",
        &[(0, 11, None, "1\u{FFFD}")],
        &[(7, 9, InvalidUtf8), (7, 9, NotJson("text after the document at byte 1".into()))],
    );
    for done in ["[DONE] ", " [DONE]", "[done]", "\"[DONE]\"", "DONE"] {
        let end = 8 + done.len();
        check(format!("data: {done}\n\n"), &[(0, end, None, done)], &[(0, end, InexactDone)]);
    }
}

#[test]
fn json_anomalies_have_offsets_in_the_body() {
    check(
        "data: 1\n\ndata: {\"a\":1,\"a\":\"\\ud800\"}\n\n",
        &[(0, 9, None, "1"), (9, 37, None, "{\"a\":1,\"a\":\"\\ud800\"}")],
        &[(22, 25, DuplicateKey("/a".into())), (27, 33, LoneSurrogate)],
    );
    check("data: \"\u{2028}\"\n\n", &[(0, 13, None, "\"\u{2028}\"")], &[(7, 10, RawLineSeparator)]);
    let deep = "[".repeat(200);
    check(format!("data: {deep}\n\n"), &[(0, 208, None, &deep)], &[(134, 206, TooDeep)]);
}

#[test]
fn anomalies_know_their_event() {
    let decoded = recut(b": a\n\ndata: 1\n\n: b\ndata:2\n\nid: 1\n\n", Cut::Every(3));
    let events: Vec<_> = decoded.anomalies.iter().map(|a| (a.kind.clone(), a.event)).collect();
    assert_eq!(
        events,
        [
            (Comment, None),
            (Comment, Some(1)),
            (DataWithoutSpace, Some(1)),
            (IdField, None),
            (EventWithoutData, None),
        ]
    );
}

#[test]
fn borders_inside_characters_are_counted() {
    let body = "data: \"é😀\"\n\n".as_bytes();
    let count = |cut| recut(body, cut).anomalies.iter().filter(|a| a.kind == SplitCharacter).count();
    assert_eq!([count(Cut::Every(1)), count(Cut::Every(8)), count(Cut::Every(100))], [4, 1, 0]);
}

#[test]
fn an_event_arrives_with_the_slice_that_completes_it() {
    let arrivals = |slices: &[&str]| -> Vec<u64> {
        let bytes: Vec<&[u8]> = slices.iter().map(|s| s.as_bytes()).collect();
        decode(&exchange("text/event-stream", &bytes)).events.iter().map(|e| e.arrived).collect()
    };
    assert_eq!(arrivals(&["data: 1\n", "\nda", "ta: 2\n\ndata: 3\n\n"]), [2, 3, 3]);
    assert_eq!(arrivals(&["data: 1\r\n\r", "\n"]), [2]);
    assert_eq!(arrivals(&["data: 1\r\r", "data: 2\r\r"]), [1, 2]);
    assert_eq!(arrivals(&["data: 1", ": 2"]), [2]);
}

#[test]
fn a_body_is_what_its_bytes_say() {
    let decoded = decode(&exchange("application/json", &[b"{\"a\"", b":1} \n"]));
    assert_eq!((decoded.framing, decoded.events.len()), (Framing::Json, 1));
    assert_eq!(decoded.events[0].payload, Payload::Json(serde_json::json!({"a": 1}).into()));
    assert_eq!((decoded.events[0].span, decoded.events[0].arrived), (Span { start: 0, end: 9 }, 2));
    let decoded = decode(&exchange("application/json", &[b"\xEF\xBB\xBF{\"a\":NaN,"]));
    assert_eq!(
        told(&decoded),
        [(0, 3, LeadingBom), (3, 12, NotJson("expected a key at byte 9".into())), (8, 11, NonFiniteNumber),]
    );
    let decoded = decode(&exchange("text/event-stream", &[b"<html>\xff"]));
    assert_eq!((decoded.framing, decoded.events.len()), (Framing::Other, 0));
    assert_eq!((decoded.text.as_str(), told(&decoded)), ("<html>\u{FFFD}", vec![(6, 7, InvalidUtf8)]));
}

#[test]
fn an_event_over_the_cap_is_kept_up_to_it() {
    let long = format!("data: \"{}é\"\n\ndata: 1\n\n", "a".repeat(MAX_EVENT - 2));
    for size in [1 << 20, 1 << 24] {
        let decoded = recut(long.as_bytes(), Cut::Every(size));
        assert_eq!(decoded.events.iter().map(|e| e.data.len()).collect::<Vec<_>>(), [MAX_EVENT - 1, 1]);
        assert_eq!(decoded.events[0].payload, Payload::Other);
        let start = MAX_EVENT + 6;
        assert_eq!(told(&decoded), [(start, start + 4, OversizeEvent)]);
    }
    let whole = decode(&exchange("application/json", &[&long.as_bytes()[6..], b" "]));
    assert!(whole.events[0].data.len() <= MAX_EVENT && told(&whole)[0].2 == OversizeEvent);
}

#[test]
fn a_flood_of_small_events_is_scanned_but_not_held() {
    let one = b"data:[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]\n\n";
    let mut scanner = Scanner::holding(1 << 20);
    scanner.feed(&one.repeat(8_000), 0);
    let decoded = scanner.finish();
    assert!(decoded.is_shortened());
    assert!(decoded.events.len() < 8_000, "{}", decoded.events.len());
    assert_eq!(decoded.anomalies.iter().filter(|a| a.kind == TooManyEvents).count(), 1);
    let more = decoded
        .anomalies
        .iter()
        .find_map(|a| if let More { kind, count } = &a.kind { Some((kind, count)) } else { None });
    assert_eq!(more, Some((&Box::new(DataWithoutSpace), &7_000)));
}

/// A reply of so many deltas, as an engine sends it token by token.
fn deltas(count: usize, content: impl Fn(usize) -> String) -> String {
    let head = r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":""#;
    let end = "\"},\"finish_reason\":null}]}\n\n";
    (0..count).flat_map(|at| [head.to_owned(), content(at), end.to_owned()]).collect()
}

#[test]
fn equal_events_share_what_they_hold() {
    let stream = deltas(6, |at| (at % 2).to_string());
    let decoded = recut(stream.as_bytes(), Cut::Every(50));
    let value = |at: usize| match &decoded.events[at].payload {
        Payload::Json(value) => Arc::as_ptr(value),
        other => panic!("{other:?}"),
    };
    assert!(value(0) == value(2) && value(1) == value(5) && value(0) != value(1));
    let spans: Vec<_> = decoded.events.iter().map(|event| event.span.start).collect();
    assert_eq!(spans, (0..6).map(|at| at * stream.len() / 6).collect::<Vec<_>>());
    // What is odd about an event is told each time.
    check(
        "data: [NaN]\n\ndata: [NaN]\n\n",
        &[(0, 13, None, "[NaN]"), (13, 26, None, "[NaN]")],
        &[(7, 10, NonFiniteNumber), (20, 23, NonFiniteNumber)],
    );
    check(
        "data:\n\ndata:\n\n",
        &[(0, 7, None, ""), (7, 14, None, "")],
        &[(0, 7, EmptyData), (7, 14, EmptyData)],
    );
    check(
        "event: a\ndata: 1\n\nevent: b\ndata: 1\n\ndata: 1\n\n",
        &[(0, 18, Some("a"), "1"), (18, 36, Some("b"), "1"), (36, 45, None, "1")],
        &[],
    );
}

#[test]
fn long_replies_are_held() {
    let counted = |stream: &str| {
        let decoded = recut(stream.as_bytes(), Cut::Every(1 << 16));
        (decoded.events.len(), decoded.is_partial())
    };
    assert_eq!(counted(&deltas(150_000, |at| (at % 26).to_string())), (150_000, false));
    assert_eq!(counted(&deltas(20_000, |at| at.to_string())), (20_000, false));
    assert!(counted(&deltas(80_000, |at| at.to_string())).1);
}

#[test]
fn events_that_are_large_once_read_are_told_as_too_large() {
    let one = format!("data: [{}0]\n\n", "0,".repeat(1_000_000));
    let decoded = recut(one.repeat(4).as_bytes(), Cut::Every(1 << 16));
    assert!(decoded.is_partial());
    assert!(decoded.anomalies.iter().any(|a| a.kind == ShortenedList));
}

fn streamlike() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&[u8]; 17] = [
        b"data: ",
        b"data:",
        b"event: x",
        b"id: 1",
        b"retry: 2",
        b":",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\xEF\xBB\xBF",
        b"{\"a\":1}",
        b"\"\xC3\xA9\\ud83d\"",
        b"[DONE]",
        b"\xF0\x9F",
        b"\0",
        b" ",
    ];
    let piece = prop::sample::select(PIECES.as_slice());
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn any_slicing_is_the_same(body: &[u8]) -> Result<(), TestCaseError> {
    let once = recut(body, Cut::Every(usize::MAX));
    for cut in [Cut::Every(1), Cut::Every(2), Cut::Every(3), Cut::Random(7)] {
        let again = recut(body, cut);
        prop_assert!(same_events(&once, &again));
        prop_assert_eq!(&once.events, &again.events);
        prop_assert_eq!(told(&once), told(&again));
        prop_assert_eq!(first_difference([body], cut, &once), None);
    }
    Ok(())
}

#[test]
fn a_scan_finds_the_first_event_that_is_another() {
    let body = b"data: 1\n\nevent: x\ndata: \xff\n\n\ndata: 3\n\n";
    let once = recut(body, Cut::Every(9));
    let check = |change: fn(&mut Decoded), expect| {
        let mut other = once.clone();
        change(&mut other);
        assert_eq!(first_difference([&body[..]], Cut::Every(1), &other), expect);
    };
    check(|_| {}, None);
    check(|d| d.events[0].data = "12".into(), Some(0));
    check(|d| d.events[1].name = None, Some(1));
    check(|d| d.events[1].data = "x".into(), Some(1));
    check(|d| d.events[2].span.end += 1, Some(2));
    check(|d| _ = d.events.pop(), Some(2));
    check(|d| d.events.push(d.events[2].clone()), Some(3));
    check(|d| d.events.clear(), Some(0));
    check(
        |d| {
            d.events.clear();
            d.anomalies.push(Anomaly { span: Span::default(), event: None, kind: TooManyEvents });
        },
        None,
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_read_the_same_in_any_slices(body in prop::collection::vec(any::<u8>(), 0..300)) {
        any_slicing_is_the_same(&body)?;
    }

    #[test]
    fn likely_bytes_read_the_same_in_any_slices(body in streamlike()) {
        any_slicing_is_the_same(&body)?;
    }

    #[test]
    fn the_second_reader_agrees(body in streamlike()) {
        if let Ok(second) = whatwg::second_reading(&body) {
            let decoded = recut(&body, Cut::Every(5));
            prop_assert_eq!(whatwg::disagreement(&decoded, &second), None);
        }
    }

    #[test]
    fn the_second_reader_agrees_on_text(body in "(data: ?[a-zé😀:]{0,9}|event:[a-z]{0,3}|:[a-z]*|[a-z]{1,3}|\n|\r\n|\n\n){0,20}") {
        let second = whatwg::second_reading(body.as_bytes()).unwrap();
        prop_assert_eq!(whatwg::disagreement(&recut(body.as_bytes(), Cut::Every(4)), &second), None);
    }
}

#[test]
fn the_second_reader_is_guarded() {
    use whatwg::{NotAsked, disagreement, second_reading};
    let refused = |body: &[u8]| second_reading(body).unwrap_err();
    assert_eq!(refused("\u{FEFF}\u{FEFF}data: 1\n\n".as_bytes()), NotAsked::SecondMark);
    assert_eq!(refused(b"data: \xff\n\n"), NotAsked::InvalidUtf8);
    assert_eq!(refused(&b"data: ".repeat(60_000)), NotAsked::LongLine);
    let marked = second_reading("\u{FEFF}data: 1\n\nevent: b\ndata: 2\n\n".as_bytes()).unwrap();
    assert_eq!(marked, [(None, "1".to_owned()), (Some("b".to_owned()), "2".to_owned())]);
    let decoded = recut(b"data: 1\n\nevent: b\ndata: 3\n\n", Cut::Every(9));
    let says = disagreement(&decoded, &marked);
    let expect = r#"event 1 reads differently: Some((Some("b"), "3")) against Some((Some("b"), "2"))"#;
    assert_eq!(says.as_deref(), Some(expect));
    assert_eq!(disagreement(&decoded, &marked[..1]).as_deref(), Some("2 events against 1"));
    let long = format!("data: {}\n\n", "a".repeat(9_000)).repeat(50);
    let decoded = recut(long.as_bytes(), Cut::Every(1_000));
    assert_eq!(disagreement(&decoded, &second_reading(long.as_bytes()).unwrap()), None);
}
