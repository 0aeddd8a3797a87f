//! Lines as a reader of the terminal sees them.

use super::*;

fn said() -> Said {
    Said {
        mode: Some(Mode::Stream),
        status: Some(200),
        model: "puppet-glm".to_owned(),
        end: Some(End::Complete),
        ..Said::default()
    }
}

fn check(said: &Said, remark: Option<Remark>, expect: &str) {
    assert_eq!(
        line("POST", "/v1/chat/completions?key=s3cret", said, remark),
        format!("POST /v1/chat/completions {expect}")
    );
}

#[test]
fn what_was_said() {
    let calls = |names: &[&str]| Said {
        calls: names.iter().map(|n| (*n).to_owned()).collect(),
        finish: Some("tool_calls".to_owned()),
        tokens: Some(57),
        ..said()
    };
    check(
        &calls(&["lookup", "lookup"]),
        None,
        "stream 200 puppet-glm  2 calls lookup, lookup  finish tool_calls  57 tokens",
    );
    check(
        &calls(&["a\x1b[2J\u{202e}b"]),
        None,
        "stream 200 puppet-glm  1 call a\\u{1b}[2J\\u{202e}b  finish tool_calls  57 tokens",
    );
    check(
        &calls(&["a", "b", "c", "d", "e", "f", "g"]),
        None,
        "stream 200 puppet-glm  7 calls a, b, c, d, e +2  finish tool_calls  57 tokens",
    );
    check(
        &Said { mode: Some(Mode::Whole), content: 1, reasoning: 20, ..said() },
        None,
        "whole 200 puppet-glm  reasoning 20 characters  content 1 character",
    );
    check(
        &Said { tokens: Some(41), finish: Some("stop".to_owned()), ..said() },
        None,
        "stream 200 puppet-glm  stream empty, 41 tokens billed  finish stop",
    );
    check(
        &Said { status: Some(400), error: Some("bad\nthing".to_owned()), ..said() },
        None,
        "stream 400 puppet-glm  error bad\\nthing",
    );
}

fn judged(verdict: Verdict, findings: &[(&str, Severity)]) -> Judged {
    let finding = |(rule, severity): &(&str, Severity)| Finding {
        rule: (*rule).to_owned(),
        severity: *severity,
        rounds: Vec::new(),
        path: "content".to_owned(),
        whole: None,
        stream: Some("x".repeat(50)),
        kind: None,
        because_of: (*rule == "parity/usage").then(|| "parity/content content".to_owned()),
        event: None,
        span: None,
        at: None,
        diff: None,
        repeat: String::new(),
        side: crate::finding::Side::Stream,
        clients: Vec::new(),
        known: None,
    };
    Judged {
        id: String::new(),
        case: String::new(),
        about: String::new(),
        dialect: crate::request::Dialect::OpenaiChat,
        format: None,
        says: None,
        verdict,
        reason: Some("why".to_owned()),
        expected: crate::run::Expected::None,
        exchanges: Vec::new(),
        reply: serde_json::Value::Null,
        findings: findings.iter().map(finding).collect(),
        tokens: crate::run::Tokens::default(),
        other_policy: false,
        tags: Vec::new(),
        exercised: Vec::new(),
    }
}

#[test]
fn what_is_wrong() {
    let check = |status: u16, twins: usize, judged: Judged, expect: &str| {
        let remark = Remark::Judged { judged: Box::new(judged), twins, was_dropped: false, folder: None };
        let said = Said { status: Some(status), content: 1, ..said() };
        let expect = format!("stream {status} puppet-glm  content 1 character  {expect}");
        self::check(&said, Some(remark), expect.trim_end());
    };
    let (error, warn, info) = (Severity::Error, Severity::Warn, Severity::Info);
    check(200, 0, judged(Verdict::Skipped, &[]), "ok");
    check(200, 1, judged(Verdict::Pass, &[("a/b", info)]), "ok, as its twin");
    check(200, 12, judged(Verdict::Pass, &[]), "ok, as its 12 twins");
    check(400, 0, judged(Verdict::Error, &[]), "");
    check(400, 1, judged(Verdict::Error, &[]), "not compared why");
    check(200, 1, judged(Verdict::Suspect, &[]), "suspect why");
    let cut = format!("{}...", "x".repeat(40));
    check(
        200,
        1,
        judged(Verdict::Fail, &[("parity/usage", error), ("a/b", warn), ("a/c", info)]),
        &format!("1 error, 1 warning  a/b content: {cut}, parity/usage content: {cut}"),
    );
    check(
        200,
        1,
        judged(Verdict::Suspect, &[("a/b", error); 5]),
        &format!("5 errors, suspect why  {}, +2", vec![format!("a/b content: {cut}"); 3].join(", ")),
    );
}

#[test]
fn how_it_ended() {
    let ended = |end: End| Said { events: 12, end: Some(end), ..said() };
    check(
        &ended(End::Cancelled),
        Some(Remark::None),
        "stream 200 puppet-glm  cut by the client after 12 events",
    );
    check(
        &ended(End::Cut("reset".into())),
        None,
        "stream 200 puppet-glm  cut by the upstream after 12 events: reset",
    );
    let early = Said { status: None, ..ended(End::Cancelled) };
    check(&early, None, "stream - puppet-glm  cut by the client before it answered");
    let refused = Said { status: None, ..ended(End::Refused("no route".into())) };
    check(&refused, None, "stream - puppet-glm  the upstream is unreachable: no route");
    let other = Said { mode: None, model: String::new(), bytes: 7, ..said() };
    check(&other, None, "200  7 bytes");
}
