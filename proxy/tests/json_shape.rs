//! The shape of `parity.json`, declared once more and read strictly: a renamed, added or dropped field fails here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test dies of what it finds"
)]

use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use tfproxy::{
    compare::{Expected, Kind},
    finding::{Finding, Known, Side},
    report::{Report, json as parity},
    request::{Dialect, Mode},
    rules::Severity,
    run::{
        Judged, Sent, Verdict,
        event::{RunEvent, Upstream},
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    tool: Tool,
    upstream: From,
    totals: Totals,
    faults: Vec<Fault>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct From {
    url: String,
    server: String,
    version: String,
    model: String,
    profile: String,
    dropped: Vec<Dropped>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Dropped {
    field: String,
    #[serde(deserialize_with = "present")]
    instead: Option<String>,
    said: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Totals {
    cases: u64,
    exchanges: u64,
    passed: u64,
    failed: u64,
    suspect: u64,
    unstable: u64,
    inconclusive: u64,
    skipped: u64,
    errors: u64,
    findings: Counts,
    seconds: f64,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Counts {
    error: u64,
    warn: u64,
    info: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    rule: String,
    shape: String,
    cases: Vec<String>,
    smallest: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    dialect: String,
    verdict: String,
    #[serde(deserialize_with = "present")]
    reason: Option<String>,
    expected: String,
    exchanges: Vec<Exchange>,
    reply: Value,
    findings: Vec<Found>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    mode: String,
    rounds: String,
    status: u16,
    seconds: f64,
    events: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    rule: String,
    severity: String,
    rounds: Vec<String>,
    path: String,
    /// Only of findings against a right answer.
    right: Option<String>,
    #[serde(deserialize_with = "present")]
    whole: Option<String>,
    #[serde(deserialize_with = "present")]
    stream: Option<String>,
    #[serde(deserialize_with = "present")]
    known: Option<String>,
    #[serde(deserialize_with = "present")]
    because_of: Option<String>,
    #[serde(deserialize_with = "present")]
    event: Option<u64>,
    #[serde(deserialize_with = "present")]
    diff: Option<String>,
    repeat: String,
}

/// Null is a value, a missing key is not.
fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(from)
}

fn finding(rule: &str, because_of: Option<&str>) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity: Severity::Error,
        side: Side::Both,
        rounds: vec!["3".to_owned()],
        path: "tool_calls[0].arguments".to_owned(),
        whole: Some("{}".to_owned()),
        stream: None,
        kind: Some(Kind::Lost),
        because_of: because_of.map(ToOwned::to_owned),
        event: because_of.is_none().then_some(17),
        span: None,
        at: None,
        diff: Some("[-{}-]".to_owned()),
        repeat: "tfproxy --check --run glm/a".to_owned(),
        clients: Vec::new(),
        known: None,
    }
}

fn judged(verdict: Verdict, findings: Vec<Finding>) -> RunEvent {
    let sent = |mode, rounds: &str| Sent {
        mode,
        rounds: rounds.to_owned(),
        status: 200,
        seconds: 0.25,
        events: 4,
        finish: Some("stop".to_owned()),
        tokens: Some(7),
    };
    RunEvent::Done(Box::new(Judged {
        id: "glm/a".to_owned(),
        case: "glm/a".to_owned(),
        about: "a case".to_owned(),
        dialect: Dialect::OpenaiChat,
        format: Some("glm".to_owned()),
        says: Some("text".to_owned()),
        verdict,
        reason: (verdict == Verdict::Skipped).then(|| "not expressible".to_owned()),
        expected: Expected::Mismatch,
        exchanges: vec![sent(Mode::Whole, "-"), sent(Mode::Stream, "3")],
        reply: json!({"content": "text", "reasoning": null, "tool_calls": [], "finish": "stop", "usage": {"completion_tokens": 7}}),
        findings,
        tokens: tfproxy::run::Tokens::default(),
        other_policy: false,
        tags: Vec::new(),
        exercised: Vec::new(),
    }))
}

fn report(more: Vec<RunEvent>) -> Report {
    let upstream = Upstream {
        url: "bundled".to_owned(),
        server: "tfengine".to_owned(),
        version: "0.1.0".to_owned(),
        model: "puppet".to_owned(),
        profile: "tfengine".to_owned(),
    };
    let cause = "parity/tool-arguments tool_calls[0].arguments";
    let mut consequence = finding("parity/usage-completion", Some(cause));
    consequence.severity = Severity::Warn;
    let mut events = vec![
        RunEvent::Started { upstream, planned: 3 },
        judged(Verdict::Fail, vec![finding("parity/tool-arguments", None), consequence]),
        judged(Verdict::Skipped, Vec::new()),
    ];
    events.extend(more);
    Report::of(events, &Known::default())
}

fn written(report: &Report) -> Document {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("deep/reports");
    let path = parity::write(&at, report).unwrap();
    assert_eq!(path, at.join("parity.json"));
    let names: Vec<_> = fs::read_dir(&at).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["parity.json"], "nothing else is left behind");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_document_has_exactly_these_fields() {
    let document = written(&report(vec![RunEvent::Finished { seconds: 1.5, exchanges: 5, retried: 1 }]));
    assert_eq!(document.schema, "tfproxy.parity/1");
    assert_eq!(
        (document.tool.name.as_str(), document.tool.version.as_str()),
        ("tfproxy", env!("CARGO_PKG_VERSION"))
    );
    let from = &document.upstream;
    assert_eq!(from.dropped, []);
    let from = [&from.url, &from.server, &from.version, &from.model, &from.profile];
    assert_eq!(from, ["bundled", "tfengine", "0.1.0", "puppet", "tfengine"]);
    let totals = Totals {
        cases: 2,
        exchanges: 5,
        passed: 0,
        failed: 1,
        suspect: 0,
        unstable: 0,
        inconclusive: 0,
        skipped: 1,
        errors: 0,
        findings: Counts { error: 1, warn: 1, info: 0 },
        seconds: 1.5,
    };
    assert_eq!(document.totals, totals);
    let fault = &document.faults[0];
    assert_eq!(document.faults.len(), 1);
    assert_eq!(
        [&fault.rule, &fault.shape, &fault.smallest],
        ["parity/tool-arguments", "stream has no arguments", "glm/a"]
    );
    assert_eq!(fault.cases, ["glm/a"]);
    cases(&document.cases);
}

fn cases(cases: &[Case]) {
    let [failed, skipped] = cases else { panic!("two cases, not {}", cases.len()) };
    assert_eq!(
        [&failed.id, &failed.dialect, &failed.verdict, &failed.expected],
        ["glm/a", "openai-chat", "fail", "mismatch"]
    );
    assert_eq!((failed.reason.as_deref(), skipped.reason.as_deref()), (None, Some("not expressible")));
    assert_eq!(failed.reply["usage"]["completion_tokens"], 7);
    let told: Vec<_> = failed
        .exchanges
        .iter()
        .map(|e| (e.mode.as_str(), e.rounds.as_str(), e.status, e.events, (e.seconds * 1000.0).round()))
        .collect();
    assert_eq!(told, [("whole", "-", 200, 4, 250.0), ("stream", "3", 200, 4, 250.0)]);
    let [primary, consequence] = failed.findings.as_slice() else { panic!("two findings") };
    assert_eq!(
        [&primary.rule, &primary.severity, &primary.path],
        ["parity/tool-arguments", "error", "tool_calls[0].arguments"]
    );
    assert_eq!((primary.whole.as_deref(), primary.stream.as_deref()), (Some("{}"), None));
    assert_eq!(
        (primary.event, primary.diff.as_deref(), primary.rounds.join(" ")),
        (Some(17), Some("[-{}-]"), "3".to_owned())
    );
    assert_eq!((primary.right.as_deref(), primary.known.as_deref()), (None, None));
    assert_eq!(primary.repeat, "tfproxy --check --run glm/a");
    assert_eq!(consequence.because_of.as_deref(), Some("parity/tool-arguments tool_calls[0].arguments"));
}

#[test]
fn a_right_answer_stands_apart_from_what_the_modes_gave() {
    let mut whole = finding("expect/content", None);
    whole.stream = Some("said".to_owned());
    let (mut both, mut stream) = (whole.clone(), whole.clone());
    (whole.side, both.side, stream.side) = (Side::Whole, Side::Both, Side::Stream);
    both.known = Some("a reason".to_owned());
    let document = written(&report(vec![judged(Verdict::Fail, vec![whole, both, stream])]));
    let case = document.cases.last().unwrap();
    let values = |f: &Found| [&f.right, &f.whole, &f.stream].map(|value| value.clone().unwrap_or_default());
    let found: Vec<_> = case.findings.iter().map(values).collect();
    assert_eq!(found, [["{}", "said", ""], ["{}", "said", "said"], ["{}", "", "said"]]);
}

#[test]
fn what_was_dropped_stands_with_the_upstream() {
    let one = |field, instead, said: &str| tfproxy::run::Dropped { field, instead, said: said.to_owned() };
    let all = vec![one("seed", None, "no seed"), one("max_tokens", Some("max_completion_tokens"), "no")];
    let document = written(&report(vec![RunEvent::Dropped(all)]));
    let told: Vec<_> = document
        .upstream
        .dropped
        .iter()
        .map(|d| (d.field.as_str(), d.instead.as_deref(), d.said.as_str()))
        .collect();
    assert_eq!(told, [("seed", None, "no seed"), ("max_tokens", Some("max_completion_tokens"), "no")]);
}

#[test]
fn an_aborted_run_is_written_too() {
    let document = written(&report(vec![RunEvent::Aborted("five refusals in a row".to_owned())]));
    assert_eq!((document.totals.cases, document.totals.exchanges), (2, 4), "what was judged until then");
}

#[test]
fn an_earlier_report_is_replaced_and_a_failed_one_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (report(Vec::new()), report(vec![judged(Verdict::Pass, Vec::new())]));
    parity::write(folder.path(), &first).unwrap();
    let path = parity::write(folder.path(), &second).unwrap();
    let document: Document = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(document.cases.len(), 3);
    let blocked = tempfile::tempdir().unwrap();
    fs::create_dir(blocked.path().join("parity.json")).unwrap();
    assert!(parity::write(blocked.path(), &first).is_err());
    assert_eq!(fs::read_dir(blocked.path()).unwrap().count(), 1, "only what stood there");
}
