//! A server that plays bytes, and what the sender makes of them.

use super::*;
use crate::request::{Dialect, Request};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// What a server does after it read a request.
enum Play {
    Bytes(&'static [u8]),
    Wait(u64),
    /// A mebibyte of `x`, that many times.
    Mebibytes(usize),
}
use Play::{Bytes as Say, Mebibytes, Wait};

async fn against(script: Vec<Play>, mode: Mode) -> Exchange {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let root = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let read = socket.read(&mut request).await.unwrap();
        for play in script {
            match play {
                Say(bytes) => {
                    // A client that waits no longer has seen enough.
                    if socket.write_all(bytes).await.is_err() {
                        break;
                    }
                }
                Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                Mebibytes(count) => {
                    for _ in 0..count {
                        if socket.write_all(&vec![b'x'; 1 << 20]).await.is_err() {
                            break;
                        }
                    }
                }
            }
        }
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let exchange = sender(&root).exchange(&planned(mode)).await;
    let request = server.await.unwrap();
    assert!(request.contains("authorization: Bearer k") && request.ends_with("{}"), "{request}");
    exchange
}

fn sender(root: &str) -> Sender {
    let mut credentials = Credentials::default();
    credentials.add_key("k").unwrap();
    let limits = Limits { idle: Duration::from_millis(300), total: Duration::from_millis(900) };
    Sender::new(root.parse().unwrap(), credentials, limits).unwrap()
}

fn planned(mode: Mode) -> Planned {
    let request = Request {
        dialect: Dialect::OpenaiChat,
        path: "/v1/x".to_owned(),
        headers: Vec::new(),
        body: "{}".into(),
    };
    Planned { mode, rounds: None, request }
}

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n";

#[tokio::test]
async fn slices_keep_their_borders_and_times() {
    let script = vec![Say(CHUNKED), Say(b"3\r\nabc\r\n"), Wait(60), Say(b"2\r\nde\r\n0\r\n\r\n")];
    let exchange = against(script, Mode::Stream).await;
    assert_eq!((exchange.end.clone(), exchange.body()), (End::Complete, "abcde".into()));
    assert_eq!(exchange.head.as_ref().unwrap().media_type(), "text/event-stream");
    assert_eq!(exchange.slices.len(), 2);
    assert!(exchange.slices[1].at >= exchange.slices[0].at + 50_000);
    assert!(exchange.took.end >= exchange.slices[1].at);
    assert!(!format!("{:?}", exchange.request).contains("Bearer"));
}

type Check<'a> = (Vec<Play>, &'a dyn Fn(&End) -> bool);

#[tokio::test]
async fn every_end_has_its_name() {
    let cut = |end: &End| matches!(end, End::Cut(_));
    let malformed = |end: &End| matches!(end, End::Malformed(_));
    let checks: Vec<Check<'_>> = vec![
        (vec![Say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab")], &|end| *end == End::Complete),
        (vec![Say(b"HTTP/1.1 200 OK\r\n\r\nab")], &|end| *end == End::CloseDelimited),
        (vec![Say(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab")], &cut),
        (vec![Say(CHUNKED), Say(b"9\r\nab")], &cut),
        (vec![Say(CHUNKED), Say(b"2\r\nab\r\n")], &cut),
        (vec![], &cut),
        (vec![Say(b"HTTP/1.1 200")], &cut),
        (vec![Say(CHUNKED), Say(b"zz\r\nab")], &malformed),
        (vec![Say(b"hello\r\n\r\n")], &malformed),
        (vec![Wait(1_000)], &|end| *end == End::TimedOut),
        (vec![Say(CHUNKED), Wait(1_000)], &|end| *end == End::TimedOut),
    ];
    for (index, (script, is_right)) in checks.into_iter().enumerate() {
        let end = against(script, Mode::Stream).await.end;
        assert!(is_right(&end), "script {index}: {end:?}");
    }
}

#[tokio::test]
async fn nobody_there_is_refused() {
    let end = sender("http://127.0.0.1:1").exchange(&planned(Mode::Whole)).await.end;
    assert!(matches!(end, End::Refused(_)), "{end:?}");
}

#[tokio::test]
async fn of_a_body_without_end_the_start_is_kept() {
    let script = vec![Say(b"HTTP/1.1 200 OK\r\n\r\n"), Mebibytes(40)];
    let exchange = against(script, Mode::Stream).await;
    assert_eq!(exchange.end, End::TooLarge);
    assert_eq!(exchange.slices.iter().map(|s| s.bytes.len()).sum::<usize>(), MAX_KEPT);
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let script = vec![Say(b"HTTP/1.1 307 T\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")];
    let exchange = against(script, Mode::Whole).await;
    assert_eq!((exchange.status(), exchange.end), (Some(307), End::Complete));
}

#[tokio::test]
async fn a_reply_that_trickles_is_told_apart_from_one_that_hangs() {
    let hangs = against(vec![Say(CHUNKED), Say(b"1\r\na\r\n"), Wait(1_500)], Mode::Stream).await;
    assert_eq!((hangs.end.clone(), hangs.trickled()), (End::TimedOut, false));
    let drops = (0..40).flat_map(|_| [Say(b"1\r\na\r\n"), Wait(50)]);
    let trickles = against([Say(CHUNKED)].into_iter().chain(drops).collect(), Mode::Stream).await;
    assert_eq!((trickles.end.clone(), trickles.trickled()), (End::TimedOut, true));
}

#[tokio::test]
async fn a_connection_that_the_server_had_closed_blames_no_exchange() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let sender = sender(&format!("http://{}", listener.local_addr().unwrap()));
    let server = tokio::spawn(async move {
        let (mut kept, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(kept.read(&mut request).await.unwrap() > 0);
        kept.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na").await.unwrap();
        // The second request meets the close.
        assert!(kept.read(&mut request).await.unwrap() > 0);
        drop(kept);
        let (mut fresh, _) = listener.accept().await.unwrap();
        assert!(fresh.read(&mut request).await.unwrap() > 0);
        fresh.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nb").await.unwrap();
        // No request is sent a third time.
        fresh.read(&mut request).await.unwrap()
    });
    let bodies = [sender.exchange(&planned(Mode::Whole)).await, sender.exchange(&planned(Mode::Whole)).await];
    assert_eq!(
        bodies.map(|e| (e.end.clone(), e.body())),
        [(End::Complete, "a".into()), (End::Complete, "b".into())]
    );
    assert_eq!(server.await.unwrap(), 0);
}

#[tokio::test]
async fn a_header_beyond_ascii_is_sent_and_one_that_cannot_be_is_left_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let sender = sender(&format!("http://{}", listener.local_addr().unwrap()));
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let read = socket.read(&mut request).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let mut planned = planned(Mode::Whole);
    let headers = [("x-user", "J\u{fc}rgen"), ("no name", "1"), ("x-lines", "a\nb")];
    planned.request.headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    assert_eq!(sender.exchange(&planned).await.end, End::Complete);
    let request = server.await.unwrap();
    assert!(request.contains("x-user: J\u{fc}rgen\r\n"), "{request}");
    assert!(!request.contains("no name") && !request.contains("x-lines"), "{request}");
}
