//! The JSON reader by example: values, and what is odd about them.

use super::*;
use AnomalyKind::{
    DuplicateKey, GluedJson, LoneSurrogate, NonFiniteNumber, NotJson, RawLineSeparator, TooDeep,
};
use proptest::prelude::*;

fn kinds(text: &[u8]) -> (Option<String>, Vec<(usize, usize, AnomalyKind)>) {
    let reading = read(text);
    let anomalies = reading.anomalies.into_iter().map(|a| (a.span.start, a.span.end, a.kind)).collect();
    (reading.value.map(|v| v.to_string()), anomalies)
}

fn check(text: &str, expect: &str, anomalies: &[(usize, usize, AnomalyKind)]) {
    assert_eq!(kinds(text.as_bytes()), (Some(expect.to_owned()), anomalies.to_vec()), "{text}");
}

fn refuses(text: &[u8], why: &str) {
    let (value, anomalies) = kinds(text);
    assert_eq!(value, None, "{}", utf8(text));
    assert!(
        anomalies.iter().any(|(_, _, k)| matches!(k, NotJson(reason) if reason == why)),
        "{}: {anomalies:?}",
        utf8(text)
    );
}

fn utf8(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[test]
fn plain_json_is_read_without_a_word() {
    for text in [
        "{}",
        "[]",
        "null",
        r#"{"b":1,"a":[true,false,null,{"c":"d"}]}"#,
        r#""\"\\\n\t\r\b\fé漢😀""#,
        "12345678901234567890123.4500e-7",
        "[1.0,1,-0,0.10]",
    ] {
        check(text, text, &[]);
    }
    check(" \r\n\t[ 1 , 2 ]\n ", "[1,2]", &[]);
    check(r#""\u00e9\ud83d\ude00\/""#, "\"é😀/\"", &[]);
}

#[test]
fn numbers_keep_their_digits() {
    for text in ["1e5", "1E5", "1E+5", "1.50", "-0.0", "100000000000000000000000"] {
        let value = read(text.as_bytes()).value.unwrap();
        assert_eq!(value.to_string().to_lowercase().replace('+', ""), text.to_lowercase().replace('+', ""));
        assert_eq!(Some(&value), serde_json::from_str(text).ok().as_ref());
    }
}

#[test]
fn what_some_clients_choke_on_is_read_and_told() {
    check(
        "[NaN,-Infinity,Infinity]",
        r#"["NaN","-Infinity","Infinity"]"#,
        &[(1, 4, NonFiniteNumber), (5, 14, NonFiniteNumber), (15, 23, NonFiniteNumber)],
    );
    check(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#, &[(13, 16, DuplicateKey("/a".into()))]);
    check(
        r#"[0,{"x/":[{"k":1,"k":2}]}]"#,
        r#"[0,{"x/":[{"k":2}]}]"#,
        &[(17, 20, DuplicateKey("/1/x~1/0/k".into()))],
    );
    check(
        "\"a\u{2028}b\u{85}\"",
        "\"a\u{2028}b\u{85}\"",
        &[(2, 5, RawLineSeparator), (6, 8, RawLineSeparator)],
    );
    check("{\"a\":1}\n{\"b\":2}", r#"{"a":1}"#, &[(8, 15, GluedJson)]);
    check("{} {} {}", "{}", &[(3, 8, GluedJson)]);
    check("{}]", "{}", &[(2, 3, NotJson("text after the document at byte 2".into()))]);
}

#[test]
fn lone_halves_become_stand_ins_that_can_be_joined() {
    let reading = read(br#"["a\ud83d","\ude00b","\ud83d\ud83d\ude00"]"#);
    let told: Vec<_> = reading.anomalies.iter().map(|a| (a.span.start, a.span.end, a.kind.clone())).collect();
    assert_eq!(told, [(3, 9, LoneSurrogate), (12, 18, LoneSurrogate), (22, 28, LoneSurrogate)]);
    let value = reading.value.unwrap();
    let high = value[0].as_str().unwrap().chars().last().and_then(surrogate::half).unwrap();
    let low = value[1].as_str().unwrap().chars().next().and_then(surrogate::half).unwrap();
    assert_eq!(surrogate::join(high, low), Some('😀'));
    assert_eq!(surrogate::settle(value[2].as_str().unwrap()), "\u{FFFD}😀");
    assert_eq!(surrogate::join(low, high), None);
}

#[test]
fn what_is_no_json_says_why_and_where() {
    refuses(b"", "expected a value at byte 0");
    refuses(b"{\"a\":", "expected a value at byte 5");
    refuses(b"{\"a\" 1}", "expected a colon at byte 5");
    refuses(b"{a:1}", "expected a key at byte 1");
    refuses(b"[1 2]", "expected a comma or a closing bracket at byte 3");
    refuses(b"{\"a\":1 \"b\":2}", "expected a comma or a closing brace at byte 7");
    refuses(b"[1,]", "expected a value at byte 3");
    refuses(b"\"abc", "expected a closing quote at byte 4");
    refuses(b"\"a\nb\"", "expected an escape instead of a control character at byte 2");
    refuses(br#""\x""#, "expected an escape at byte 2");
    refuses(br#""\u12g4""#, "expected four hexadecimal digits at byte 3");
    refuses(b"-", "expected a digit at byte 1");
    refuses(b"1.", "expected a digit at byte 2");
    refuses(b"nul", "expected null at byte 0");
    refuses(b"\xEF\xBB\xBF{}", "expected a value at byte 0");
}

#[test]
fn bad_bytes_in_a_string_are_replaced() {
    assert_eq!(kinds(b"\"a\xffb\"").0.as_deref(), Some("\"a\u{FFFD}b\""));
}

#[test]
fn depth_has_a_cap_and_costs_no_stack() {
    let nested = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
    assert_eq!(kinds(&nested(MAX_DEPTH)).1, []);
    assert_eq!(kinds(&nested(MAX_DEPTH + 1)), (None, vec![(MAX_DEPTH, 2 * MAX_DEPTH + 2, TooDeep)]));
    assert_eq!(kinds(&vec![b'['; 1_000_000]).1.len(), 1);
    assert_eq!(kinds(&b"{\"a\":".repeat(200_000)).1.len(), 1);
}

/// So many items that they cannot all be held.
fn many(one: &str) -> String {
    [one; 20].join(",") + &format!(",{one}").repeat(MAX_LISTS / size_of::<Value>())
}

#[test]
fn long_lists_keep_their_first_items_and_the_document_is_read_to_its_end() {
    for one in ["1", "[]", "{\"a\":1}", "null"] {
        let reading = read(format!("{{\"a\":[{}],\"b\":[{{\"c\":2}}]}}", many(one)).as_bytes());
        let value = reading.value.unwrap();
        assert_eq!(value["b"].to_string(), r#"[{"c":2}]"#, "{one}");
        let list = value["a"].as_array().unwrap();
        assert_eq!(list.last().unwrap().to_string(), one);
        let [shortened] = reading.anomalies.as_slice() else { panic!("{one} {:?}", reading.anomalies) };
        assert_eq!(shortened.kind, AnomalyKind::ShortenedList);
        let kept = (one.len() + 1) * list.len() + 6;
        assert_eq!(shortened.span.start, kept, "what follows the last item that is kept");
    }
}

#[test]
fn what_would_take_too_much_memory_all_the_same_is_refused() {
    let keys = (0..MAX_MEMORY / 100).map(|n| format!("\"{n}\":[],")).collect::<Vec<_>>().concat();
    let (value, anomalies) = kinds(format!("{{{keys}\"z\":1}}").as_bytes());
    assert_eq!(value, None);
    assert!(matches!(anomalies.as_slice(), [(_, _, AnomalyKind::OversizeEvent)]), "{anomalies:?}");
}

#[test]
fn all_alternatives_of_many_tokens_are_read() {
    let one = r#"{"token":" toke","logprob":-12.345678,"bytes":[32,116,111,107]}"#;
    let top = [one; 20].join(",");
    let token = format!(r#"{{"token":" token","logprob":-0.0012,"bytes":[32,116],"top_logprobs":[{top}]}}"#);
    let reply =
        |tokens| format!(r#"{{"logprobs":{{"content":[{}]}}}}"#, vec![token.clone(); tokens].join(","));
    assert_eq!(read(reply(1_000).as_bytes()).anomalies, []);
    let long = read(reply(5_000).as_bytes());
    assert!(matches!(long.anomalies.as_slice(), [Anomaly { kind: AnomalyKind::ShortenedList, .. }]));
    let first = long.value.unwrap()["logprobs"]["content"][64].to_string();
    assert_eq!(first, token);
}

#[test]
fn a_flood_of_anomalies_is_counted() {
    let flood = format!("[{}0]", "NaN,".repeat(5_000));
    let anomalies = read(flood.as_bytes()).anomalies;
    assert_eq!(anomalies.len(), crate::decode::MAX_ANOMALIES + 1);
    let more = AnomalyKind::More { kind: Box::new(NonFiniteNumber), count: 4_000 };
    assert_eq!(anomalies.last().map(|a| &a.kind), Some(&more));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn what_serde_reads_we_read_alike(text in "[\\[\\]{}\",:0-9a-c\\\\ue.+ tfn-]{0,24}") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let reading = read(text.as_bytes());
            prop_assert_eq!(reading.value, Some(value), "{}", text);
        }
    }

    #[test]
    fn what_we_read_without_a_word_serde_reads_alike(text in "[\\[\\]{}\",:0-9a-c\\\\ue.+ tfn-]{0,24}") {
        let reading = read(text.as_bytes());
        if reading.anomalies.is_empty() {
            prop_assert_eq!(reading.value, serde_json::from_str::<Value>(&text).ok(), "{}", text);
        }
    }
}
