//! A run in, the printed lines out, whole.

use super::{
    Report,
    text::{BadShow, Printing, Show, Volume, print},
};
use crate::{
    compare::{Expected, Kind},
    decode::Span,
    finding::{Finding, Known, client, example},
    request::{Dialect, Mode},
    rules::Severity,
    run::{
        FailOn, Judged, Sent, Tokens, Verdict,
        event::{RunEvent, Upstream},
    },
};
use serde_json::json;

fn sent(mode: Mode, rounds: &str, finish: &str) -> Sent {
    let (rounds, finish) = (rounds.to_owned(), Some(finish.to_owned()));
    Sent { mode, rounds, status: 200, seconds: 0.01, events: 4, finish, tokens: Some(59) }
}

fn judged(id: &str, verdict: Verdict, findings: Vec<Finding>) -> Judged {
    Judged {
        id: id.to_owned(),
        case: id.split('~').next().unwrap().to_owned(),
        about: String::new(),
        dialect: Dialect::OpenaiChat,
        format: Some("hermes".to_owned()),
        says: Some(format!("<tool_call>{id}\u{1b}[2J</tool_call>")),
        verdict,
        reason: None,
        expected: Expected::None,
        exchanges: vec![
            sent(Mode::Whole, "-", "stop"),
            sent(Mode::Stream, "1", "tool_calls"),
            sent(Mode::Stream, "3", "tool_calls"),
        ],
        reply: json!({"content": "text", "reasoning": null, "tool_calls": [], "finish": "stop", "usage": {}}),
        findings,
        tokens: Tokens::EqualIds,
        other_policy: false,
        tags: Vec::new(),
        exercised: Vec::new(),
    }
}

fn lost_call() -> Vec<Finding> {
    let mut primary = example::finding("parity/tool-count", "tool_calls", &["1", "3"]);
    primary.whole = Some("no call: content \"<tool_call>...\"".to_owned());
    primary.stream = Some("one call: lookup {\"q\": \"a".to_owned());
    primary.kind = Some(Kind::Added);
    primary.event = Some(2);
    primary.span = Some(Span { start: 120, end: 180 });
    primary.at = Some(3_207);
    primary.repeat = "tfproxy --check --run hermes/closer".to_owned();
    primary.clients = client::affected("parity/tool-count");
    let mut consequence = example::finding("parity/finish-reason", "finish", &["1", "3"]);
    consequence.because_of = Some("parity/tool-count tool_calls".to_owned());
    vec![primary, consequence]
}

fn blank_lost() -> Vec<Finding> {
    let mut one = example::finding("parity/content-whitespace", "content", &["3"]);
    (one.whole, one.stream) = (Some("text\n".to_owned()), Some("text".to_owned()));
    (one.kind, one.diff) = (Some(Kind::Whitespace), Some("text[-⏎-]".to_owned()));
    one.severity = Severity::Warn;
    vec![one]
}

fn run(entries: Vec<Judged>) -> Vec<RunEvent> {
    let upstream = Upstream {
        url: "http://localhost:8000/v1".to_owned(),
        server: "vLLM".to_owned(),
        version: "0.32.0".to_owned(),
        model: "puppet".to_owned(),
        profile: "vllm".to_owned(),
    };
    let planned = entries.len();
    let mut events = vec![RunEvent::Started { upstream, planned }];
    events.extend(entries.into_iter().map(|e| RunEvent::Done(Box::new(e))));
    events.push(RunEvent::Finished { seconds: 41.4, exchanges: 9, retried: 0 });
    events
}

fn printed(report: &Report, volume: Volume, show: Option<Show>, exit: u8) -> String {
    let mut out = Vec::new();
    let printing = Printing {
        volume,
        show,
        folder: "reports/latest",
        folder_of: |id| id.replace('/', "-"),
        files: &["parity.json"],
        exit: (exit, None),
    };
    print(&mut out, report, &printing).unwrap();
    String::from_utf8(out).unwrap()
}

fn failing() -> Report {
    let mut skipped = judged("hermes/other", Verdict::Skipped, Vec::new());
    skipped.reason = Some("the server would not say it".to_owned());
    let mut hanging = judged("hermes/hang", Verdict::Error, Vec::new());
    hanging.reason = Some("nothing came for 30 s".to_owned());
    let mut policy = judged("hermes/policy", Verdict::Pass, Vec::new());
    policy.other_policy = true;
    Report::of(
        run(vec![
            judged("hermes/closer", Verdict::Fail, lost_call()),
            judged("hermes/closer~one-call", Verdict::Pass, Vec::new()),
            judged("hermes/longer-closer", Verdict::Fail, lost_call()),
            judged("hermes/blank", Verdict::Fail, blank_lost()),
            skipped,
            hanging,
            policy,
        ]),
        &Known::default(),
    )
}

#[test]
fn a_failing_run() {
    let expect = r#"tfproxy VERSION  http://localhost:8000/v1  vLLM 0.32.0  model puppet  profile vllm
proof   token ids equal in both modes of 7 cases; deltas varied by the engine (rounds 1 3)
sent    7 cases, openai-chat: 7 whole, 14 streamed, 0 retried, 41 s

FAIL    2 faults in 3 of 7 cases, no usable answer in 1  (5 findings, 2 of them consequences)
1 error parity/tool-count  hermes: whole has no call, stream has one                2 cases
  when      every rounds; not with one call at most
  smallest  hermes/closer  says <tool_call>hermes/closer\u{1b}[2J</tool_call>
  whole     no call: content "<tool_call>..."                 finish stop         59 tokens
  stream    one call: lookup {"q": "a                         finish tool_calls   59 tokens
  clients   openai-python, openai-node: run a call that the other mode does not make, or miss one
  repeat    tfproxy --check --run hermes/closer
  bytes     reports/latest/failed/hermes-closer/  event 2, bytes 120..180, 3.207 ms
2 warn parity/content-whitespace  hermes: content differs in whitespace             1 case
  when      rounds 3 only
  smallest  hermes/blank  says <tool_call>hermes/blank\u{1b}[2J</tool_call>
  whole     content "text\n"                                  finish stop         59 tokens
  stream    content "text"                                    finish tool_calls   59 tokens
  diff      text[-⏎-]
  bytes     reports/latest/failed/hermes-blank/
no usable answer                                                                    1 case
  hermes/hang  nothing came for 30 s
not judged     1 skipped, 0 suspect, 0 unstable        (--show skipped)
not counted    1 reply follows another policy than ours, alike in both modes  (--show policy)
not exercised  a call, several calls, reasoning, length, length inside a call, stop strings, n > 1, text beyond ASCII, errors
reports/latest/  parity.json                                                        exit 1
"#;
    let expect = expect.replace("VERSION", env!("CARGO_PKG_VERSION"));
    assert_eq!(printed(&failing(), Volume::Full, None, 1), expect);
}

#[test]
fn quiet_is_the_verdict_and_the_last_line() {
    let expect = "\
FAIL    2 faults in 3 of 7 cases, no usable answer in 1  (5 findings, 2 of them consequences)
reports/latest/  parity.json                                                        exit 1
";
    assert_eq!(printed(&failing(), Volume::Quiet, None, 1), expect);
}

/// The reply of every entry here, as `--show policy` prints it.
const POLICY: &str = r#"{"content":"text","reasoning":null,"tool_calls":[],"finish":"stop","usage":{}}"#;

#[test]
fn details_on_demand() {
    let tail = |show| {
        let all = printed(&failing(), Volume::Full, Some(show), 1);
        all.split_inclusive('\n').skip(5).collect::<String>()
    };
    let end = "reports/latest/  parity.json                                                        exit 1\n";
    assert_eq!(
        tail(Show::Of(Verdict::Skipped)),
        format!("  hermes/other  the server would not say it\n{end}")
    );
    assert_eq!(tail(Show::Policy), format!("  hermes/policy  {POLICY}\n{end}"));
    assert_eq!(tail(Show::Of(Verdict::Suspect)), format!("suspect: none\n{end}"));
    assert_eq!(tail(Show::Known), format!("known: none\n{end}"));
    assert_eq!(tail(Show::Of(Verdict::Error)), format!("  hermes/hang  nothing came for 30 s\n{end}"));
    assert_eq!(tail(Show::Fault(9)), format!("there is no fault 9; there are 2\n{end}"));
    let fault = tail(Show::Fault(1));
    assert!(fault.contains("  case      hermes/closer\n  case      hermes/longer-closer\n"), "{fault}");
    let consequence = "  finding   error parity/finish-reason  finish  rounds 1 3  because of parity/tool-count tool_calls\n";
    assert!(fault.contains(consequence), "{fault}");
}

#[test]
fn a_passing_run() {
    let report = Report::of(run(vec![judged("hermes/a", Verdict::Pass, Vec::new())]), &Known::default());
    let lines = printed(&report, Volume::Quiet, None, 0);
    assert_eq!(lines.lines().next(), Some("PASS    1 of 1 case  (no finding)"));
    assert!(!report.fails(FailOn::Warn) && !report.is_hollow());
}

#[test]
fn known_failures_do_not_fail_and_go_stale() {
    let known = Known::read("hermes/closer # looked at\nhermes/gone # was\nhermes/hang # slow\n").unwrap();
    let hanging = judged("hermes/hang", Verdict::Error, Vec::new());
    let entries = vec![
        judged("hermes/closer", Verdict::Fail, lost_call()),
        judged("hermes/gone", Verdict::Pass, Vec::new()),
        hanging,
    ];
    let report = Report::of(run(entries), &known);
    assert!(!report.fails(FailOn::Warn));
    assert_eq!(report.faults, []);
    assert_eq!(report.stale, ["line 2: hermes/gone"]);
    let lines = printed(&report, Volume::Full, None, 5);
    assert!(lines.contains("PASS    1 of 3 cases  (no finding, 3 known findings)\n"), "{lines}");
    assert!(lines.contains("stale          line 2: hermes/gone: nothing fails there any more\n"), "{lines}");
}

#[test]
fn what_is_suspect_is_no_fault() {
    let report = Report::of(run(vec![judged("hermes/a", Verdict::Suspect, lost_call())]), &Known::default());
    assert_eq!(report.faults, []);
    assert_eq!(FailOn::ALL.map(|fail_on| report.fails(fail_on)), [false, false, true]);
    let lines = printed(&report, Volume::Full, None, 4);
    assert!(lines.contains("NOTHING judged to the end in 1 case  (1 suspect)\n"), "{lines}");
    assert!(
        lines.contains("not judged     0 skipped, 1 suspect, 0 unstable        (--show suspect)\n"),
        "{lines}"
    );
}

#[test]
fn an_aborted_run_says_so() {
    let mut events = run(vec![judged("hermes/a", Verdict::Error, Vec::new())]);
    events.insert(2, RunEvent::Aborted("five refusals in a row: \u{1b}[2J".to_owned()));
    let report = Report::of(events, &Known::default());
    let lines = printed(&report, Volume::Quiet, None, 3);
    let expect = "ABORTED five refusals in a row: \\u{1b}[2J  (1 of 1 cases were judged)";
    assert_eq!(lines.lines().next(), Some(expect));
}

#[test]
fn five_faults_are_printed_and_the_rest_counted() {
    let one = |n: usize| {
        let rule = format!("openai-chat/rule-{n}");
        judged("hermes/a", Verdict::Fail, vec![example::finding(&rule, "choices", &["1"])])
    };
    let report = Report::of(run((0..7).map(one).collect()), &Known::default());
    let lines = printed(&report, Volume::Full, None, 1);
    assert_eq!(lines.matches("openai-chat/rule-").count(), 5);
    assert!(lines.contains("2 faults more, the first of them by --show 6\n"), "{lines}");
}

#[test]
fn show_is_read_from_the_command_line() {
    let check = |text: &str, expect: Result<Show, BadShow>| assert_eq!(text.parse::<Show>(), expect);
    check("3", Ok(Show::Fault(3)));
    check("skipped", Ok(Show::Of(Verdict::Skipped)));
    check("policy", Ok(Show::Policy));
    check("error", Ok(Show::Of(Verdict::Error)));
    check("known", Ok(Show::Known));
    check("suspect", Ok(Show::Of(Verdict::Suspect)));
    check("0", Err(BadShow));
    check("all", Err(BadShow));
}

#[test]
fn an_entry_without_an_answer_says_why_also_where_something_was_found() {
    let mut hanging =
        judged("hermes/hang", Verdict::Error, vec![example::finding("exchange/timeout", "", &["1"])]);
    hanging.reason = Some("hangs: nothing more came after 7 bytes".to_owned());
    let passing = judged("hermes/a", Verdict::Pass, Vec::new());
    let report = Report::of(run(vec![hanging.clone(), passing.clone()]), &Known::default());
    let lines = printed(&report, Volume::Full, None, 1);
    assert!(
        lines.contains("FAIL    1 fault in 1 of 2 cases, no usable answer in 1  (1 finding)\n"),
        "{lines}"
    );
    assert!(lines.contains("\n  hermes/hang  hangs: nothing more came after 7 bytes\n"), "{lines}");
    hanging.findings[0].severity = Severity::Info;
    let report = Report::of(run(vec![hanging, passing]), &Known::default());
    assert!(report.fails(FailOn::Error), "an info beside it makes no answer of it");
    assert!(
        printed(&report, Volume::Quiet, None, 1).starts_with("FAIL    no usable answer in 1 of 2 cases\n")
    );
}

#[test]
fn proof_is_what_the_replies_say() {
    let check = |tokens: &[Tokens], expect: &str| {
        let entry =
            |tokens: &Tokens| Judged { tokens: *tokens, ..judged("hermes/a", Verdict::Pass, Vec::new()) };
        let report = Report::of(run(tokens.iter().map(entry).collect()), &Known::default());
        assert_eq!(report.proof, expect);
    };
    let varied = "; deltas varied by the engine (rounds 1 3)";
    let (hash, ids) = (Tokens::EqualHash, Tokens::EqualIds);
    let (silent, nothing, different) = (Tokens::NotGiven, Tokens::NotAnswered, Tokens::Different);
    check(&[nothing], "");
    check(&[hash, nothing], &format!("token_sha equal in both modes of 1 case{varied}"));
    check(&[ids, ids], &format!("token ids equal in both modes of 2 cases{varied}"));
    check(
        &[Tokens::EqualBytes, ids],
        &format!("token ids or logprobs with bytes equal in both modes of 2 cases{varied}"),
    );
    check(
        &[hash, silent, different],
        &format!("token_sha equal in both modes of 1 of 3 cases, different in 1, not given in 1{varied}"),
    );
    check(&[silent, nothing], "none: token ids were not given; a difference is suspect");
    check(&[different, silent], "none: tokens differ between the replies of 1 of 2 cases");
}

#[test]
fn what_was_not_judged_is_told_in_one_line_too() {
    let of =
        |verdict: Verdict, count: usize| (0..count).map(move |_| judged("hermes/a", verdict, Vec::new()));
    let check = |entries: Vec<Judged>, expect: &str| {
        let report = Report::of(run(entries), &Known::default());
        assert_eq!(printed(&report, Volume::Quiet, None, 0).lines().next(), Some(expect));
    };
    check(
        of(Verdict::Pass, 8).chain(of(Verdict::Unstable, 1)).collect(),
        "PASS    8 of 9 cases  (no finding, 1 unstable)",
    );
    check(
        of(Verdict::Pass, 2).chain(of(Verdict::Skipped, 1)).collect(),
        "SKIPPED 1 of 3 cases, more than a fifth  (2 of the others pass)",
    );
}
