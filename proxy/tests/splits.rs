//! However the bytes of a stream are cut on their way, the same events and the same reply come out: through the public
//! door, over streams as servers send them.

use tfproxy::{
    decode::{self, AnomalyKind, Cut, Decoded, sse::Scanner},
    exchange::{End, Exchange, Head, Slice, Took},
    fold::{self, Lens, Reply},
    request::{Dialect, Mode, Request},
};

/// Streams of different servers' habits, each ending in its own way.
const STREAMS: &[&str] = &[
    // OpenAI's habits: role first, usage last.
    concat!(
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Héllo 漢字 😀\"},\"finish_reason\":null}]}\n\n",
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5,\"total_tokens\":8}}\n\n",
        "data: [DONE]\n\n",
    ),
    // CR-LF, comments, named events, reasoning, two calls.
    concat!(
        ": keep-alive\r\n\r\n",
        "event: message\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Let me\\nsee\"}}]}\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"look_up\",\"arguments\":\"\"}}]}}]}\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\": \\\"é\"}}]}}]}\r\n\r\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"}\"}},{\"index\":1,\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\r\n\r\n",
        "data: [DONE]\r\n\r\n",
    ),
    // Halves of a character in two events, NaN, a repeated key, bare CRs, no end.
    concat!(
        "\u{FEFF}data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ud83d\"}}]}\r\r",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\ude00\",\"x\":NaN,\"x\":1}}]}\r\r",
        "id: 4\rretry: soon\rdata: {\"error\":{\"message\":\"broke\",\"type\":\"server_error\"}}\r",
    ),
    // A field that is none, an event over two lines, an empty one.
    "error: {\"code\":500}\n\ndata: {\"choices\":\ndata: []}\n\ndata:\n\ndata: {}{}\n\n\n\n:\n",
    // What stands beside content: a legacy call, audio, annotations, a second key of reasoning, token ids and logprobs.
    concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"function_call\":{\"name\":\"f\",\"arguments\":\"{\\\"é\"}}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"function_call\":{\"arguments\":\"\\\":1}\"},\"audio\":{\"id\":\"a\",\"transcript\":\"Grü\"}}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"audio\":{\"transcript\":\"ße\"},\"annotations\":[{\"type\":\"url_citation\"}],\"reasoning\":\"漢\",\"reasoning_content\":\"字\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hé\"},\"token_ids\":[1,2],\"logprobs\":{\"content\":[{\"token\":\"h\",\"logprob\":-0.5,\"bytes\":[104]},{\"token\":\"é\",\"logprob\":-1,\"bytes\":[195,169]}]},\"stop_reason\":7,\"finish_reason\":\"stop\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\ndata: [DONE]\n\n",
    ),
];

fn exchange(slices: Vec<Slice>) -> Exchange {
    let request =
        Request { dialect: Dialect::OpenaiChat, path: String::new(), headers: Vec::new(), body: "{}".into() };
    let headers = vec![("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned())];
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

fn sliced(body: &[u8], sizes: impl Fn(usize) -> usize) -> Vec<Slice> {
    let (mut slices, mut rest) = (Vec::new(), body);
    while !rest.is_empty() {
        let (slice, tail) = rest.split_at(sizes(slices.len()).clamp(1, rest.len()));
        slices.push(Slice { at: 0, bytes: slice.to_vec().into() });
        rest = tail;
    }
    slices
}

/// A reading without what slices may change.
fn settled(mut decoded: Decoded) -> Decoded {
    decoded.anomalies.retain(|a| a.kind != AnomalyKind::SplitCharacter);
    decoded
}

fn folded(decoded: &Decoded) -> Reply {
    fold::fold(Dialect::OpenaiChat, Some(200), decoded, &Lens::STRICT)
}

#[test]
fn every_cut_of_every_stream_reads_the_same() {
    for stream in STREAMS {
        let body = stream.as_bytes();
        let once = settled(decode::decode(&exchange(sliced(body, |_| body.len()))));
        let reply = folded(&once);
        let check = |decoded: Decoded| {
            let decoded = settled(decoded);
            assert_eq!(decoded, once, "{stream}");
            assert_eq!(folded(&decoded), reply, "{stream}");
        };
        for at in 1..body.len() {
            check(decode::decode(&exchange(sliced(body, |n| if n == 0 { at } else { body.len() }))));
        }
        for cut in (0..20).map(Cut::Random).chain([1, 2, 3, 7, 64].map(Cut::Every)) {
            let decoded = decode::recut(body, cut);
            assert!(decode::same_events(&decoded, &once));
            check(decoded);
        }
    }
}

#[test]
fn two_borders_read_the_same() {
    let body = STREAMS[2].as_bytes();
    let once = settled(decode::recut(body, Cut::Every(body.len())));
    for first in (0..body.len()).step_by(3) {
        for second in (first..body.len()).step_by(5) {
            let mut scanner = Scanner::new();
            for slice in [&body[..first], &body[first..second], &body[second..]] {
                scanner.feed(slice, 0);
            }
            assert_eq!(settled(scanner.finish()), once, "{first} {second}");
        }
    }
}

#[test]
fn what_the_streams_say() {
    let read = |at: usize| folded(&decode::recut(STREAMS[at].as_bytes(), Cut::Every(7)));
    assert_eq!(read(0).content().value, "Héllo 漢字 😀");
    assert_eq!(
        read(1).calls().map(|c| c.arguments.value.clone()).collect::<Vec<_>>(),
        ["{\"q\": \"é\"}", "{}"]
    );
    assert_eq!(read(2).content().value, "😀");
    assert_eq!(read(2).error.map(|e| e.message).as_deref(), Some("broke"));
    assert_eq!(read(3), Reply::default());
    let beside = read(4).beside;
    let call = beside.function_call.unwrap();
    assert_eq!((call.name.as_str(), call.arguments.value.as_str()), ("f", "{\"é\":1}"));
    assert_eq!((beside.transcript.value.as_str(), beside.reasoning.value.as_str()), ("Grüße", "漢"));
    assert_eq!((beside.annotations.len(), read(4).reasoning().value.as_str()), (1, "字"));
    let (proof, logprobs) = (read(4).proof, read(4).logprobs.unwrap());
    assert_eq!((proof.token_ids.unwrap().list.as_str(), logprobs.tokens.value.as_str()), ("1,2", "hé"));
}

#[test]
fn the_second_reader_agrees_where_it_can_be_asked() {
    for stream in STREAMS {
        let decoded = decode::recut(stream.as_bytes(), Cut::Every(5));
        let second = decode::whatwg::second_reading(stream.as_bytes()).unwrap();
        assert_eq!(decode::whatwg::disagreement(&decoded, &second), None, "{stream}");
    }
}
