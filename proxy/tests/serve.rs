//! The proxy in the path: bytes in, the same bytes out, at once; whoever goes away takes the other side along.
//!
//! The upstream is a socket that plays literal bytes with pauses; the client is a socket too, so that nothing
//! between them tidies up.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its stage fails, and says where"
)]

#[path = "serve/stage.rs"]
mod stage;

use serde_json::{Value, json};
use stage::*;
use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tfproxy::{
    exchange::{Credentials, End, Root},
    mode::proxy::{Options, Running, Twins, Wiring},
    request::{Dialect, Mode},
    run::FailOn,
    serve::{Ask, Settings, Shadow, serve},
    store,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

// === byte for byte ===

#[tokio::test]
async fn response_bodies_pass_byte_for_byte() {
    let all: Vec<u8> = (0..=255).collect();
    let big = vec![b'x'; 3_000_000];
    let bodies: [&[&[u8]]; 6] = [
        &[b"data: 1\r\n\r\n", b"data: [DONE]\r\n\r\n"],
        &[b"d", b"a", b"ta: \xff\xfe", b"\xe2\x82", b"\xac\n\n"],
        &[b"\xef\xbb\xbfdata: 1\n\n", b": comment\r", b"\n\r\n"],
        &[&all],
        &[&big, b"\0"],
        &[],
    ];
    for slices in bodies {
        let mut bytes = sse_head();
        bytes.extend(chunked(slices));
        bytes.extend_from_slice(b"0\r\n\r\n");
        let stage = stage(vec![Play::Bytes(bytes)]).await;
        let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
        let (_, body, complete) = parsed(&proxy.ask(&chat(true)).await);
        assert!(complete && body == slices.concat());
        proxy.idle().await;
        let judged = proxy.judged.lock().unwrap();
        assert_eq!((judged[0][0].body(), &judged[0][0].end), (slices.concat().into(), &End::Complete));
    }
}

#[tokio::test]
async fn request_bodies_pass_byte_for_byte() {
    let all: Vec<u8> = (0..=255).collect();
    for body in [&b"{\"model\": \"m\",  \"a\":1,\"a\":2}"[..], b"", b"not json", &all, &vec![b'y'; 2_000_000]]
    {
        let mut stage = stage(answer(b"{}")).await;
        let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
        proxy.ask(&post("/v1/chat/completions", "", body)).await;
        let (head, got, _) = parsed(&soon(stage.requests.recv()).await.unwrap());
        assert!(got == body && head.contains(&format!("content-length: {}", body.len())), "{head}");
        proxy.idle().await;
        assert_eq!(proxy.judged.lock().unwrap()[0][0].request.body, body);
    }
}

#[tokio::test]
async fn a_request_streams_on_before_all_of_it_came() {
    let mut stage = stage(answer(b"{}")).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let mut client = proxy.connect().await;
    let head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: me\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    client.write_all(head).await.unwrap();
    let slice = vec![b'z'; 100_000];
    for _ in 0..50 {
        client.write_all(&chunked(&[&slice])).await.unwrap();
    }
    client.write_all(b"0\r\n\r\n").await.unwrap();
    let (head, got, complete) = parsed(&soon(stage.requests.recv()).await.unwrap());
    assert!(complete && got == slice.repeat(50) && head.contains("transfer-encoding: chunked"), "{head}");
    assert!(read_until(&mut client, b"{}").await.starts_with(b"HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn other_paths_methods_and_statuses_pass_as_they_are() {
    for (method, path, expect) in [
        ("GET", "/v1/models?a=%20b&c", "get /v1/models?a=%20b&c http/1.1"),
        ("DELETE", "/x%2Fy", "delete /x%2fy http/1.1"),
        ("PUT", "/", "put / http/1.1"),
    ] {
        let script = b"HTTP/1.1 418 Teapot\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nno".to_vec();
        let mut stage = stage(vec![Play::Bytes(script)]).await;
        let proxy = proxy(&format!("{}/v1", stage.url), Shadow::Off, Record::Everything).await;
        let request = format!("{method} {path} HTTP/1.1\r\nhost: me\r\nconnection: close\r\n\r\n");
        let (head, body, _) = parsed(&proxy.ask(request.as_bytes()).await);
        assert!(head.starts_with("http/1.1 418") && head.contains("x-a: 1\r\nx-a: 2"), "{head}");
        assert_eq!(body, b"no");
        let (sent, _, _) = parsed(&soon(stage.requests.recv()).await.unwrap());
        assert!(sent.starts_with(expect), "{sent}");
        proxy.idle().await;
        assert!(proxy.lines.text().contains(&format!("{method} {} 418", path.split('?').next().unwrap())));
        assert!(proxy.judged.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn headers_of_one_connection_stay_on_it() {
    let script = b"HTTP/1.1 200 OK\r\nconnection: keep-alive, x-hop\r\nkeep-alive: timeout=5\r\nx-hop: 1\r\n\
        x-end: 1\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 2\r\n\r\n{}";
    let mut stage = stage(vec![Play::Bytes(script.to_vec())]).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let mine = "te: trailers\r\nkeep-alive: 1\r\nproxy-authorization: x\r\nupgrade: h2c\r\nx-mine: 1\r\n\
        accept-encoding: gzip\r\nx-end: \u{e9}\r\n";
    let (head, _, _) = parsed(&proxy.ask(&post("/v1/chat/completions", mine, b"{}")).await);
    assert!(head.contains("x-end: 1") && head.contains("set-cookie: a=1\r\nset-cookie: b=2"), "{head}");
    assert!(!head.contains("x-hop") && !head.contains("keep-alive"), "{head}");
    let (sent, _, _) = parsed(&soon(stage.requests.recv()).await.unwrap());
    for gone in
        ["te:", "keep-alive:", "proxy-authorization", "upgrade", "transfer-encoding", "accept-encoding"]
    {
        assert!(!sent.contains(&format!("\r\n{gone}")), "{gone} in {sent}");
    }
    let host = stage.url.trim_start_matches("http://");
    assert!(sent.contains("\r\nx-mine: 1") && sent.contains("\r\nx-end: \u{e9}"), "{sent}");
    assert!(sent.contains(&format!("\r\nhost: {host}")) && sent.matches("\r\nhost:").count() == 1, "{sent}");
}

#[tokio::test]
async fn configured_headers_are_added_where_the_client_has_none() {
    let mut credentials = Credentials::default();
    credentials.add_key("from-settings").unwrap();
    credentials.add("x-team: ours").unwrap();
    for (own, expect) in [("", "bearer from-settings"), ("authorization: Bearer mine\r\n", "bearer mine")] {
        let mut stage = stage(answer(b"{}")).await;
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            upstream: stage.url.parse().unwrap(),
            shadow: Shadow::Off,
            failed: folder.path().join("failed"),
            record: None,
            head_timeout: Duration::from_secs(2),
            credentials: credentials.clone(),
            fail_on: FailOn::Error,
        };
        let proxy = start(settings, folder, Lines::default(), Arc::default(), Arc::default()).await;
        proxy.ask(&post("/v1/chat/completions", own, b"{}")).await;
        let (sent, _, _) = parsed(&soon(stage.requests.recv()).await.unwrap());
        assert_eq!(sent.matches("authorization:").count(), 1);
        assert!(
            sent.contains(&format!("authorization: {expect}")) && sent.contains("x-team: ours"),
            "{sent}"
        );
    }
}

// === at once ===

#[tokio::test]
async fn slices_arrive_before_the_upstream_has_finished() {
    let script = vec![
        Play::Bytes(sse_head()),
        Play::Bytes(chunked(&[b"data: 1\n\n"])),
        Play::Cue,
        Play::Bytes(chunked(&[b"dat"])),
        Play::Cue,
        Play::Bytes(chunked(&[b"a: 2\n\n"])),
        Play::Bytes(b"0\r\n\r\n".to_vec()),
    ];
    let stage = stage(script).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let mut client = proxy.connect().await;
    client.write_all(&chat(true)).await.unwrap();
    read_until(&mut client, b"data: 1\n\n").await;
    stage.cue.send(()).unwrap();
    read_until(&mut client, b"3\r\ndat\r\n").await;
    stage.cue.send(()).unwrap();
    read_until(&mut client, b"a: 2\n\n\r\n0\r\n\r\n").await;
    proxy.idle().await;
    let judged = proxy.judged.lock().unwrap();
    let slices: Vec<_> = judged[0][0].slices.iter().map(|s| s.bytes.clone()).collect();
    assert_eq!(slices, ["data: 1\n\n", "dat", "a: 2\n\n"]);
    let times: Vec<_> = judged[0][0].slices.iter().map(|s| s.at).collect();
    assert!(times.is_sorted() && judged[0][0].took.head <= times[0], "{times:?}");
}

// === whoever goes away ===

#[tokio::test]
async fn a_client_that_leaves_takes_the_upstream_request_along() {
    let script = vec![Play::Bytes(sse_head()), Play::Bytes(chunked(&[b"data: 1\n\n"])), Play::AwaitClose];
    let mut stage = stage(script).await;
    let proxy = proxy(&stage.url, Shadow::Schedules, Record::Everything).await;
    let mut client = proxy.connect().await;
    client.write_all(&chat(true)).await.unwrap();
    read_until(&mut client, b"data: 1\n\n").await;
    drop(client);
    soon(stage.closed.recv()).await.unwrap();
    proxy.idle().await;
    assert!(proxy.lines.text().contains("cut by the client after"), "{}", proxy.lines.text());
    assert!(proxy.judged.lock().unwrap().is_empty() && proxy.asks.lock().unwrap().is_empty());
    assert_eq!(proxy.server.status()["cancelled"], 1);
}

/// Clients stop at the sentinel; many close without waiting for the last chunk.
#[tokio::test]
async fn a_client_that_leaves_after_the_last_event_has_seen_all_of_it() {
    for (events, is_all) in [
        (&[&b"data: {}\n\n"[..], b"data: [DONE]\n\n"][..], true),
        (&[b"data: {}\n\ndata: [DO", b"NE]\n\n"], true),
        (&[b"data: {}\n\n"], false),
    ] {
        let script = vec![Play::Bytes(sse_head()), Play::Bytes(chunked(events)), Play::AwaitClose];
        let mut stage = stage(script).await;
        let proxy = proxy(&stage.url, Shadow::Twin, Record::Everything).await;
        let mut client = proxy.connect().await;
        client.write_all(&chat(true)).await.unwrap();
        read_until(&mut client, events.last().unwrap()).await;
        drop(client);
        soon(stage.closed.recv()).await.unwrap();
        proxy.idle().await;
        let text = proxy.lines.text();
        assert_eq!(text.contains("cut by the client"), !is_all, "{text}");
        let judged = proxy.judged.lock().unwrap();
        assert_eq!((judged.len(), proxy.asks.lock().unwrap().len()), (is_all.into(), is_all.into()));
        assert!(judged.iter().all(|e| e[1].end == End::Complete && e[1].body() == events.concat()));
        let status = proxy.server.status();
        assert_eq!((&status["cancelled"], &status["not_recorded"]), (&u64::from(!is_all).into(), &0.into()));
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_head_takes_the_upstream_request_along() {
    let mut stage = stage(vec![Play::AwaitClose]).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let mut client = proxy.connect().await;
    client.write_all(&chat(false)).await.unwrap();
    soon(stage.requests.recv()).await.unwrap();
    drop(client);
    soon(stage.closed.recv()).await.unwrap();
    proxy.idle().await;
    assert!(proxy.lines.text().contains("cut by the client before it answered"), "{}", proxy.lines.text());
}

#[tokio::test]
async fn an_upstream_that_dies_is_no_clean_end_for_the_client() {
    let fixed = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"half".to_vec();
    let mut open = sse_head();
    open.extend(chunked(&[b"data: 1\n\n"]));
    let mut broken = open.clone();
    broken.extend_from_slice(b"nonsense\r\n");
    for (script, is_cut) in [(fixed, true), (open, true), (broken, false)] {
        let stage = stage(vec![Play::Bytes(script)]).await;
        let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
        let answer = proxy.ask(&chat(true)).await;
        let (head, body, complete) = parsed(&answer);
        assert!(!body.is_empty());
        assert!(!complete || head.contains("content-length: 100"), "{head}");
        proxy.idle().await;
        let judged = proxy.judged.lock().unwrap();
        assert_eq!(matches!(judged[0][0].end, End::Cut(_)), is_cut, "{:?}", judged[0][0].end);
        assert_eq!(matches!(judged[0][0].end, End::Malformed(_)), !is_cut, "{:?}", judged[0][0].end);
    }
}

/// The head and what came of the body reach the client before the break does, however fast it follows.
#[tokio::test]
async fn a_body_that_breaks_at_once_costs_nothing_of_what_came_before() {
    let head = b"HTTP/1.1 206 Odd\r\nx-a: b\r\ntransfer-encoding: chunked\r\n\r\n";
    let fixed = b"HTTP/1.1 206 Odd\r\nx-a: b\r\ncontent-length: 3000000\r\n\r\n";
    let (event, big) = (b"data: 1\n\n".to_vec(), vec![b'x'; 2_000_000]);
    for (head, sent, body) in [
        (&head[..], b"zz\r\n".to_vec(), &b""[..]),
        (head, b"".to_vec(), b""),
        (head, [chunked(&[&event]), b"zz\r\n".to_vec()].concat(), &event),
        (head, [chunked(&[&big]), b"zz\r\n".to_vec()].concat(), &big),
        (fixed, b"".to_vec(), b""),
        (fixed, big.clone(), &big),
    ] {
        let stage = stage(vec![Play::Bytes([head, &sent].concat())]).await;
        let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
        for _ in 0..20 {
            let (head, got, complete) = parsed(&proxy.ask(&chat(true)).await);
            assert!(head.starts_with("http/1.1 206") && head.contains("x-a: b"), "{head}");
            assert!(got == body, "{} of {} bytes", got.len(), body.len());
            assert!(!complete || head.contains("content-length: 3000000"), "{head}");
        }
        proxy.idle().await;
        assert!(proxy.judged.lock().unwrap().iter().all(|e| !e[0].end.is_clean()));
    }
}

#[tokio::test]
async fn the_end_of_the_connection_is_the_end_where_nothing_else_is() {
    let stage = stage(vec![Play::Bytes(b"HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n".to_vec())]).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let (_, body, complete) = parsed(&proxy.ask(&chat(true)).await);
    assert!(complete && body == b"data: 1\n\n");
    proxy.idle().await;
    assert_eq!(proxy.judged.lock().unwrap()[0][0].end, End::CloseDelimited);
}

#[tokio::test]
async fn no_upstream_is_a_502_that_names_it_and_silence_a_504() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let silent = stage(vec![Play::AwaitClose]).await;
    let closing = stage(vec![]).await;
    for (url, status, code, line) in [
        (format!("http://{address}/v1"), "502", "upstream_unreachable", "the upstream is unreachable"),
        (silent.url.clone(), "504", "upstream_timeout", "did not answer in time"),
        (closing.url.clone(), "502", "upstream_broken", "cut by the upstream before it answered"),
    ] {
        let proxy = proxy(&url, Shadow::Schedules, Record::Failing).await;
        let (head, body, _) = parsed(&proxy.ask(&chat(false)).await);
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        let error: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(error["error"]["code"], code);
        let message = error["error"]["message"].as_str().unwrap();
        let host = url.rsplit(['/', '@']).find(|part| part.contains(':')).unwrap();
        assert!(message.contains(host), "{message}");
        proxy.idle().await;
        assert!(proxy.lines.text().contains(line), "{}", proxy.lines.text());
        assert!(proxy.asks.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_names_no_path_is_answered_here_and_blames_nobody() {
    let mut stage = stage(answer(b"{}")).await;
    let proxy = proxy(&format!("{}/v1", stage.url), Shadow::Off, Record::Failing).await;
    for (target, says) in [
        ("CONNECT example.com:443", "tfproxy opens no tunnels"),
        ("OPTIONS *", "tfproxy forwards paths only"),
    ] {
        let request = format!("{target} HTTP/1.1\r\nhost: me\r\nconnection: close\r\n\r\n");
        let (head, body, _) = parsed(&proxy.ask(request.as_bytes()).await);
        assert!(head.starts_with("http/1.1 501"), "{target}: {head}");
        let error: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(error["error"]["code"], "not_forwarded");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(says) && !message.contains(&stage.url), "{message}");
    }
    proxy.idle().await;
    let lines = proxy.lines.text();
    assert!(
        lines.contains("CONNECT example.com:443 501  0 bytes  not judged: it is not forwarded\n"),
        "{lines}"
    );
    assert!(lines.contains("OPTIONS * 501 "), "{lines}");
    assert!(stage.requests.try_recv().is_err());
}

/// A server that closes a connection when a second request comes on it: whether it had closed before, or read the request
/// and broke, looks alike from outside.
#[tokio::test]
async fn no_request_meets_the_close_of_an_older_connection_and_none_is_sent_twice() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counter = counter.clone();
            tokio::spawn(async move {
                if !read_message(&mut stream).await.is_empty() {
                    counter.fetch_add(1, SeqCst);
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
                }
                if !read_message(&mut stream).await.is_empty() {
                    counter.fetch_add(1, SeqCst);
                }
            });
        }
    });
    let proxy = proxy(&url, Shadow::Off, Record::Failing).await;
    for _ in 0..20 {
        let (head, body, _) = parsed(&proxy.ask(&chat(false)).await);
        assert!(head.starts_with("http/1.1 200") && body == b"{}", "{head}");
    }
    assert_eq!(heard.load(SeqCst), 20);
}

// === what is made of it ===

#[tokio::test]
async fn twins_are_sent_with_the_clients_credentials_and_judged_together() {
    for (shadow, stream, twins, wholes) in [
        (Shadow::Schedules, false, 11, 1),
        (Shadow::Schedules, true, 12, 1),
        (Shadow::Twin, false, 1, 1),
        (Shadow::Twin, true, 1, 1),
        (Shadow::Off, true, 0, 0),
    ] {
        let stage = stage(answer(b"{}")).await;
        let proxy = proxy(&stage.url, shadow, Record::Failing).await;
        proxy.ask(&chat(stream)).await;
        proxy.idle().await;
        let asks = proxy.asks.lock().unwrap();
        assert_eq!(asks.len(), twins);
        for ask in &*asks {
            let rounds = ask.request.headers.iter().find(|(name, _)| name == "x-tfproxy-rounds");
            assert_eq!(rounds.map(|(_, value)| value.clone()), ask.rounds.map(|r| r.to_string()));
            assert_eq!(ask.credentials, [("authorization".to_owned(), format!("Bearer {SECRET}"))]);
            assert!(ask.request.headers.iter().all(|(_, value)| !value.contains(SECRET)));
        }
        let judged = proxy.judged.lock().unwrap();
        assert_eq!((judged.len(), judged[0].len()), (1, twins + 1));
        assert_eq!(judged[0].iter().filter(|e| e.mode == Mode::Whole).count(), wholes);
        assert!(judged[0].is_sorted_by_key(|e| e.mode != Mode::Whole));
    }
}

#[tokio::test]
async fn a_failing_exchange_leaves_a_folder_that_reads() {
    let stage = stage(answer(b"wrong")).await;
    let proxy = proxy(&stage.url, Shadow::Twin, Record::Failing).await;
    proxy.ask(&chat(false)).await;
    proxy.ask(&chat(false)).await;
    proxy.idle().await;
    let status = proxy.server.status();
    let ids: Vec<&str> = status["failed"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let stem = ids[0].strip_suffix("-1").unwrap();
    assert_eq!(ids, [format!("{stem}-1"), format!("{stem}-2")]);
    assert_eq!((&status["findings"]["error"], &status["exchanges"]), (&json!(2), &json!(2)));
    for id in &ids {
        let recording =
            store::read(&proxy.folder.path().join("failed").join(store::folder_name(id))).unwrap();
        assert_eq!((recording.id.as_str(), recording.exchanges.len()), (*id, 2));
        assert_eq!(recording.upstream.as_deref(), Some(stage.url.as_str()));
        assert_eq!(recording.exchanges[0].body(), "wrong");
    }
    let text = proxy.lines.text();
    let folder = store::folder_name(ids[0]);
    assert!(text.contains("1 error  parity/content content: whole a\\u{1b}[31m, stream b"), "{text}");
    assert!(text.contains(&format!("failed/{folder}")) && !text.contains('\x1b'), "{text}");
    assert_eq!(text.lines().count(), 2);
}

#[tokio::test]
async fn what_has_no_usable_answer_is_kept_though_no_finding_says_so() {
    let stage = stage(answer(b"useless")).await;
    let proxy = proxy(&stage.url, Shadow::Twin, Record::Failing).await;
    proxy.ask(&chat(false)).await;
    proxy.idle().await;
    let status = proxy.server.status();
    let id = status["failed"][0].as_str().unwrap();
    assert!(proxy.folder.path().join("failed").join(store::folder_name(id)).is_dir(), "{status}");
    assert_eq!(status["findings"]["error"], 0);
}

#[tokio::test]
async fn a_recorded_exchange_keeps_no_secret() {
    let script = format!("HTTP/1.1 200 OK\r\nset-cookie: {SECRET}\r\ncontent-length: 5\r\n\r\nwrong");
    let stage = stage(vec![Play::Bytes(script.into_bytes())]).await;
    let proxy = proxy(&stage.url, Shadow::Twin, Record::Everything).await;
    let headers =
        format!("Authorization: Bearer {SECRET}\r\nX-Api-Key: {SECRET}\r\ncookie: {SECRET}\r\nx-a: b\r\n");
    let path = format!("/v1/chat/completions?api-key={SECRET}");
    proxy.ask(&post(&path, &headers, b"{\"model\":\"m\"}")).await;
    proxy.idle().await;
    let Proxy { server, lines, folder, .. } = proxy;
    server.stop().await;
    let mut files = 0;
    each_file(folder.path(), &mut |path, bytes| {
        files += 1;
        assert!(find(bytes, SECRET.as_bytes()).is_none(), "{}", path.display());
    });
    assert_eq!(files, 10, "two folders of request, index, script and two bodies");
    assert!(!lines.text().contains(SECRET), "{}", lines.text());
    let recorded = std::fs::read_dir(folder.path().join("recorded")).unwrap().next().unwrap().unwrap();
    let recording = store::read(&recorded.path()).unwrap();
    assert!(recording.request.headers.contains(&("x-a".to_owned(), "b".to_owned())));
    assert_eq!(recording.exchanges.len(), 2);
}

/// The proxy's own key is as secret as a client's, in what is written while an exchange passes too, wherever it is cut.
#[tokio::test]
async fn the_proxys_own_key_is_kept_nowhere_and_its_harmless_headers_are() {
    let script = vec![
        Play::Bytes(sse_head()),
        Play::Bytes(chunked(&[b"data: wrong s3cr3t-01"])),
        Play::Cue,
        Play::Bytes(chunked(&[b"23456789\n\ndata: s3cr3t\\u002d0123456789\n\n"])),
        Play::Cue,
    ];
    let stage = stage(script).await;
    let folder = tempfile::tempdir().unwrap();
    let mut credentials = Credentials::default();
    credentials.add_key(SECRET).unwrap();
    credentials.add("x-team: ours").unwrap();
    let settings = Settings {
        upstream: stage.url.parse().unwrap(),
        shadow: Shadow::Off,
        failed: folder.path().join("failed"),
        record: Some(folder.path().join("recorded")),
        head_timeout: WAIT,
        credentials,
        fail_on: FailOn::Error,
    };
    let proxy = start(settings, folder, Lines::default(), Arc::default(), Arc::default()).await;
    let mut client = proxy.connect().await;
    client.write_all(&post("/v1/chat/completions", "", b"{\"stream\":true}")).await.unwrap();
    read_until(&mut client, b"s3cr3t-01").await;
    stage.cue.send(()).unwrap();
    read_until(&mut client, b"s3cr3t\\u002d0123456789\n\n").await;
    let recorded = proxy.folder.path().join("recorded");
    let own = std::fs::read_dir(&recorded).unwrap().next().unwrap().unwrap().path();
    let written = soon(async {
        loop {
            let body = std::fs::read_to_string(own.join("stream.sse")).unwrap_or_default();
            if body.ends_with("\n\ndata: **********************\n\n") {
                break body;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(written, "data: wrong *****************\n\ndata: **********************\n\n");
    stage.cue.send(()).unwrap();
    proxy.idle().await;
    let Proxy { server, lines, folder, .. } = proxy;
    server.stop().await;
    each_file(folder.path(), &mut |path, bytes| {
        assert!(find(bytes, b"0123456789").is_none(), "{}", path.display());
    });
    assert!(!lines.text().contains("0123456789"), "{}", lines.text());
    let kept = store::read(&own).unwrap().request.headers;
    for (name, value) in [("x-team", "ours"), ("authorization", "[redacted]")] {
        assert!(kept.contains(&(name.to_owned(), value.to_owned())), "{kept:?}");
    }
}

fn each_file(folder: &Path, check: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { each_file(&path, check) } else { check(&path, &std::fs::read(&path).unwrap()) }
    }
}

#[tokio::test]
async fn a_recording_is_on_disk_while_its_exchange_goes_on() {
    let script = vec![Play::Bytes(sse_head()), Play::Bytes(chunked(&[b"data: 1\n\n"])), Play::Cue];
    let stage = stage(script).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Everything).await;
    let mut client = proxy.connect().await;
    client.write_all(&chat(true)).await.unwrap();
    read_until(&mut client, b"data: 1\n\n").await;
    let recorded = proxy.folder.path().join("recorded");
    soon(async {
        loop {
            let folder = std::fs::read_dir(&recorded).unwrap().next().unwrap().unwrap().path();
            let body = store::read(&folder).ok().and_then(|r| Some(r.exchanges.first()?.body()));
            if body.is_some_and(|body| body == "data: 1\n\n") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_status_is_not_forwarded() {
    let mut stage = stage(answer(b"{}")).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let (_, body, _) =
        parsed(&proxy.ask(b"GET /tfproxy/status HTTP/1.1\r\nhost: me\r\nconnection: close\r\n\r\n").await);
    let status: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&status["schema"], &status["exchanges"]), (&json!("tfproxy.status/1"), &json!(0)));
    assert!(stage.requests.try_recv().is_err());
}

#[tokio::test]
async fn compressed_answers_pass_and_are_not_judged() {
    let script =
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x8b\x08".to_vec();
    let stage = stage(vec![Play::Bytes(script)]).await;
    let proxy = proxy(&stage.url, Shadow::Twin, Record::Failing).await;
    let (head, body, _) = parsed(&proxy.ask(&chat(false)).await);
    assert!(head.contains("content-encoding: gzip") && body == b"\x1f\x8b\x08", "{head}");
    proxy.idle().await;
    assert!(proxy.lines.text().contains("not judged: content-encoding gzip"), "{}", proxy.lines.text());
    assert!(proxy.judged.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_too_large_to_record_passes_all_the_same() {
    let slice = vec![b'x'; 1 << 20];
    let mut script = vec![Play::Bytes(sse_head())];
    script.extend((0..40).map(|_| Play::Bytes(chunked(&[&slice]))));
    script.push(Play::Bytes(b"0\r\n\r\n".to_vec()));
    let stage = stage(script).await;
    let proxy = proxy(&stage.url, Shadow::Schedules, Record::Failing).await;
    let (_, body, complete) = parsed(&proxy.ask(&chat(true)).await);
    assert!(complete && body.len() == 40 << 20);
    proxy.idle().await;
    assert!(proxy.lines.text().contains("not judged: too large to be recorded"), "{}", proxy.lines.text());
    assert!(proxy.judged.lock().unwrap().is_empty());
}

/// Four answers of 10 MiB at once: three fit, and are judged; the fourth says what it was that had no room.
#[tokio::test]
async fn of_many_large_answers_at_once_as_many_are_judged_as_fit() {
    let half = vec![b'x'; 5 << 20];
    let script = [Play::Bytes(sse_head()), Play::Bytes(chunked(&[&half])), Play::Cue];
    let script =
        script.into_iter().chain([Play::Bytes(chunked(&[&half])), Play::Bytes(b"0\r\n\r\n".to_vec())]);
    let stage = stage(script.collect()).await;
    let proxy = proxy(&stage.url, Shadow::Off, Record::Failing).await;
    let request = chat(true);
    let cues = async {
        for _ in 0..4 {
            stage.cue.send(()).unwrap();
        }
    };
    let asked = futures_util::future::join_all((0..4).map(|_| proxy.ask(&request)));
    let (answers, ()) = futures_util::future::join(asked, cues).await;
    for answer in answers {
        let (_, body, complete) = parsed(&answer);
        assert!(complete && body.len() == 10 << 20);
    }
    proxy.idle().await;
    let lines = proxy.lines.text();
    let why = "not judged: no room to record it: answers under way together hold 32 MiB";
    assert_eq!(lines.matches(why).count(), 4 - proxy.judged.lock().unwrap().len(), "{lines}");
    assert!(proxy.judged.lock().unwrap().len() >= 3, "{lines}");
}

#[tokio::test]
async fn many_exchanges_at_once_do_not_mix() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                loop {
                    let request = read_message(&mut stream).await;
                    if request.is_empty() {
                        return;
                    }
                    let (_, body, _) = parsed(&request);
                    let mut answer = sse_head();
                    answer.extend(chunked(&body.chunks(3).collect::<Vec<_>>()));
                    answer.extend_from_slice(b"0\r\n\r\n");
                    stream.write_all(&answer).await.unwrap();
                }
            });
        }
    });
    let proxy = Arc::new(proxy(&url, Shadow::Twin, Record::Everything).await);
    let asked: Vec<_> = (0..200)
        .map(|number| {
            let proxy = proxy.clone();
            tokio::spawn(async move {
                let body = json!({ "model": "m", "stream": true, "number": number }).to_string();
                let answer = proxy.ask(&post("/v1/chat/completions", "", body.as_bytes())).await;
                assert_eq!(parsed(&answer).1, body.as_bytes());
            })
        })
        .collect();
    for asked in asked {
        asked.await.unwrap();
    }
    proxy.idle().await;
    assert_eq!(proxy.judged.lock().unwrap().len(), 200);
    assert_eq!(proxy.lines.text().lines().count(), 200);
    for exchanges in &*proxy.judged.lock().unwrap() {
        let own = exchanges.iter().find(|e| e.mode == Mode::Stream).unwrap();
        assert_eq!((own.body(), own.request.dialect), (own.request.body.clone(), Dialect::OpenaiChat));
    }
}

// === the mode ===

/// The engine of this test is a stage; what matters is that it is started, used with every schedule, and named.
#[tokio::test]
async fn without_an_upstream_the_bundled_engine_is_started_and_gets_every_twin() {
    let stage = stage(answer(b"wrong")).await;
    let (folder, lines) = (tempfile::tempdir().unwrap(), Lines::default());
    let (judged, asks): (Arc<Mutex<Vec<_>>>, Arc<Mutex<Vec<Ask>>>) = (Arc::default(), Arc::default());
    let desk = desk(judged.clone(), asks.clone());
    let root = stage.url.parse::<Root>().unwrap().called("bundled");
    let wiring = Wiring {
        judge: desk.judge,
        twin: desk.twin,
        clock: desk.clock,
        connect: Arc::new(move |_| Ok(desk.sender.clone())),
        bundled: Arc::new(move || {
            let running = Running { root: root.clone(), keep: Box::new(()) };
            Box::pin(async { Ok(running) })
        }),
    };
    let options = Options {
        listen: "127.0.0.1:0".parse().unwrap(),
        upstream: None,
        twins: Twins::BundledOnly,
        report: folder.path().to_owned(),
        record: None,
        head_timeout: Duration::from_secs(2),
        credentials: Credentials::default(),
        fail_on: FailOn::Error,
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running =
        tokio::spawn(tfproxy::mode::proxy::proxy(options, wiring, Box::new(lines.clone()), async {
            let _ = stopped.await;
        }));
    let address = soon(async {
        loop {
            let text = lines.text();
            match text.split_once("/v1 in front of the bundled engine") {
                Some((url, _)) => break url.trim_start_matches("http://").to_owned(),
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(&chat(false)).await.unwrap();
    read_until(&mut client, b"wrong").await;
    drop(client);
    stop.send(()).unwrap();
    soon(running).await.unwrap().unwrap();
    assert_eq!(asks.lock().unwrap().len(), 11);
    let failed = std::fs::read_dir(folder.path().join("failed")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(store::read(&failed).unwrap().upstream.as_deref(), Some("bundled"));
}

/// An output that takes nothing, as a pipe that nobody empties.
struct Stuck;

impl std::io::Write for Stuck {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        loop {
            std::thread::park();
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn an_output_that_nobody_reads_holds_up_no_client() {
    let stage = stage(answer(b"{}")).await;
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        upstream: stage.url.parse().unwrap(),
        shadow: Shadow::Off,
        failed: folder.path().join("failed"),
        record: None,
        head_timeout: WAIT,
        credentials: Credentials::default(),
        fail_on: FailOn::Error,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let desk = desk(Arc::default(), Arc::default());
    let server = serve(listener, settings, desk, Box::new(Stuck)).unwrap();
    let proxy =
        Proxy { server, lines: Lines::default(), folder, judged: Arc::default(), asks: Arc::default() };
    for _ in 0..20 {
        assert_eq!(parsed(&proxy.ask(&chat(false)).await).1, b"{}");
    }
}
