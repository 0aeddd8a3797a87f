//! Cases in, entries and exchanges out.

use super::*;
use crate::request::case::read_cases;

fn case(text: &str) -> Arc<Case> {
    let (mut cases, mistakes) = read_cases("t.json", text);
    assert_eq!(mistakes, []);
    Arc::new(cases.remove(0))
}

fn ids(text: &str, depth: Depth, selection: &Selection) -> Vec<String> {
    plan(&[case(text)], &Dialect::ALL, depth, selection).into_iter().map(|e| e.id).collect()
}

const TWO: &str = r#"{"id": "glm/a", "format": "glm", "says": "abcdef",
    "request": {"tools": [{"type": "function"}], "messages": [{"role": "system", "content": "s"}]}, "needs": ["text"], "expect": {"content": "abcdef"}}"#;

fn puppets(cadence: Cadence) -> Target {
    Target {
        model: Model::Puppets(vec!["hermes".to_owned(), "glm".to_owned()]),
        cadence,
        plant: None,
        fields: Vec::new(),
        repeat: 1,
    }
}

#[test]
fn a_puppet_case_gives_itself_the_one_call_variant_and_four_cuts() {
    let all = plan(&[case(TWO)], &Dialect::ALL, Depth::Seeded, &Selection::default());
    let cuts: Vec<u64> =
        all.iter().filter_map(|e| if let Variant::Cut(at) = e.variant { Some(at) } else { None }).collect();
    assert_eq!((all.len(), cuts.len()), (6, 4));
    assert!(cuts.is_sorted() && cuts.iter().all(|at| (1..=6).contains(at)), "{cuts:?}");
    assert_eq!(
        all.iter().map(|e| e.expect.is_some()).collect::<Vec<_>>(),
        [true, false, false, false, false, false]
    );
    assert_eq!(all[1].id, "glm/a~one-call");
    assert_eq!((all[0].tokens, all[1].tokens, all[2].tokens), (Some(7), Some(7), Some(cuts[0])));
    assert_eq!(all, plan(&[case(TWO)], &Dialect::ALL, Depth::Seeded, &Selection::default()));
}

#[test]
fn deep_cuts_everywhere() {
    let all = ids(TWO, Depth::Deep, &Selection::default());
    assert_eq!(
        all[2..],
        ["glm/a~cut-1", "glm/a~cut-2", "glm/a~cut-3", "glm/a~cut-4", "glm/a~cut-5", "glm/a~cut-6"]
    );
}

#[test]
fn only_what_the_model_ends_is_cut_and_only_offers_are_narrowed() {
    for (text, expect) in [
        (r#"{"id": "glm/a", "format": "glm", "says": "ab", "ends": "length"}"#, 1),
        (r#"{"id": "glm/a", "format": "glm", "says": "ab", "ends": {"stop": ["b"]}}"#, 1),
        (r#"{"id": "glm/a", "format": "glm", "says": "ab", "request": {"max_tokens": 1}}"#, 1),
        (r#"{"id": "glm/a", "format": "glm", "says": "ab"}"#, 3),
        (r#"{"id": "glm/a", "format": "glm", "says": "ab", "expect": {"error": {"status": 400}}}"#, 1),
        (r#"{"id": "glm/a", "format": "dsml", "says": "ab"}"#, 1),
        (r#"{"id": "glm/a", "request": {"tools": [{}]}}"#, 1),
        (
            r#"{"id": "glm/a", "format": "dsml", "says": "ab", "request": {"tools": [{}], "parallel_tool_calls": true}}"#,
            1,
        ),
    ] {
        assert_eq!(ids(text, Depth::Seeded, &Selection::default()).len(), expect, "{text}");
    }
}

#[test]
fn a_variant_can_be_selected_alone() {
    let selection = Selection {
        run: vec![crate::request::select::Pattern::new("glm/a~one-call")],
        ..Selection::default()
    };
    assert_eq!(ids(TWO, Depth::Seeded, &selection), ["glm/a~one-call"]);
}

fn bodies(text: &str, target: &Target) -> Vec<String> {
    let entry = plan(&[case(text)], &Dialect::ALL, Depth::Seeded, &Selection::default()).remove(0);
    let planned = exchanges(&entry, target).unwrap();
    planned.iter().map(|p| String::from_utf8(p.request.body.to_vec()).unwrap()).collect()
}

#[test]
fn a_puppet_is_told_its_text_by_the_last_message() {
    let all = bodies(TWO, &puppets(Cadence::Header(vec![Rounds::Every(3)])));
    assert_eq!(
        all,
        [
            r#"{"model":"puppet-glm","tools":[{"type":"function"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"abcdef"}]}"#,
            r#"{"model":"puppet-glm","tools":[{"type":"function"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"abcdef"}],"stream":true,"stream_options":{"include_usage":true}}"#,
        ]
    );
}

#[test]
fn a_length_and_a_stop_are_asked_for() {
    let target = puppets(Cadence::Header(Vec::new()));
    let cut = bodies(r#"{"id": "glm/a", "format": "glm", "says": "<think>ab", "ends": "length"}"#, &target);
    assert!(cut[0].ends_with(r#""max_tokens":3}"#), "{}", cut[0]);
    let stopped =
        bodies(r#"{"id": "glm/a", "format": "glm", "says": "ab", "ends": {"stop": ["b"]}}"#, &target);
    assert!(stopped[0].ends_with(r#""stop":["b"]}"#), "{}", stopped[0]);
}

fn asked(target: &Target) -> Vec<(Mode, Option<Rounds>, Vec<String>)> {
    let entry = plan(&[case(TWO)], &Dialect::ALL, Depth::Seeded, &Selection::default()).remove(0);
    let planned = exchanges(&entry, target).unwrap();
    let headers = |p: &Planned| p.request.headers[1..].iter().map(|(n, v)| format!("{n}: {v}")).collect();
    planned.iter().map(|p| (p.mode, p.rounds, headers(p))).collect()
}

#[test]
fn a_schedule_goes_by_header_or_by_name_and_only_with_streams() {
    let mut target = puppets(Cadence::Header(vec![Rounds::Whole, Rounds::Every(2)]));
    target.plant = Some("late".to_owned());
    let plant = "x-tfproxy-plant: late".to_owned();
    assert_eq!(
        asked(&target),
        [
            (Mode::Whole, None, vec![plant.clone()]),
            (Mode::Stream, Some(Rounds::Whole), vec!["x-tfproxy-rounds: whole".to_owned(), plant.clone()]),
            (Mode::Stream, Some(Rounds::Every(2)), vec!["x-tfproxy-rounds: 2".to_owned(), plant]),
        ]
    );
    let mut target = puppets(Cadence::ModelName(vec![Rounds::Rand { seed: 1, max: 8 }]));
    let named = bodies(TWO, &target);
    assert!(named[0].starts_with(r#"{"model":"puppet-glm","#));
    assert!(named[1].starts_with(r#"{"model":"puppet-glm+rounds-rand:1:8","#));
    target.plant = Some("late".to_owned());
    let named = bodies(TWO, &target);
    assert!(named[0].starts_with(r#"{"model":"puppet-glm+plant-late","#));
    assert!(named[1].starts_with(r#"{"model":"puppet-glm+rounds-rand:1:8+plant-late","#));
    assert!(asked(&target).iter().all(|(_, _, headers)| headers.is_empty()), "a gateway drops headers");
}

/// The tokens of `ab` and the end, and whether the end is one of them.
#[test]
fn what_is_billed_is_what_a_limit_leaves() {
    let check = |request: &str, tokens: u64, has_end: bool| {
        let text = format!(r#"{{"id": "glm/a", "format": "glm", "says": "ab", "request": {request}}}"#);
        let entry = plan(&[case(&text)], &Dialect::ALL, Depth::Seeded, &Selection::default()).remove(0);
        assert_eq!((entry.tokens, entry.bills_end()), (Some(tokens), has_end), "{request}");
    };
    check("{}", 3, true);
    check(r#"{"max_tokens": 3}"#, 3, true);
    check(r#"{"max_tokens": 2}"#, 2, false);
    check(r#"{"max_completion_tokens": 1, "max_tokens": 9}"#, 1, false);
    check(r#"{"max_tokens": null}"#, 3, true);
}

#[test]
fn a_server_with_its_own_cadence_is_asked_in_both_orders() {
    let modes = |target: &Target| asked(target).into_iter().map(|(mode, ..)| mode).collect::<Vec<_>>();
    let mut target = puppets(Cadence::Server);
    assert_eq!(modes(&target), [Mode::Whole, Mode::Stream, Mode::Stream, Mode::Whole]);
    target.repeat = 2;
    assert_eq!(modes(&target).len(), 8);
    let error = r#"{"id": "x/a", "request": {}, "needs": ["error"], "expect": {"error": {"status": 400}}}"#;
    assert_eq!(bodies(error, &puppets(Cadence::Server)).len(), 2, "an error is no matter of chance");
}

#[test]
fn a_format_nobody_speaks_cannot_be_asked() {
    let entry = |text| plan(&[case(text)], &Dialect::ALL, Depth::Seeded, &Selection::default()).remove(0);
    let dsml = entry(r#"{"id": "x/a", "format": "dsml", "says": "ab"}"#);
    let named = Target { model: Model::Named("m".to_owned()), ..puppets(Cadence::Server) };
    assert_eq!(exchanges(&dsml, &puppets(Cadence::Server)), Err("no puppet here speaks dsml".to_owned()));
    assert!(exchanges(&entry(TWO), &named).is_err());
    let prompt = entry(r#"{"id": "x/a", "request": {"messages": []}}"#);
    assert_eq!(exchanges(&prompt, &named).unwrap()[0].request.body, r#"{"model":"m","messages":[]}"#);
    assert_eq!(
        exchanges(&prompt, &puppets(Cadence::Server)).unwrap()[0].request.body,
        r#"{"model":"puppet-hermes","messages":[]}"#
    );
}

#[test]
fn a_native_body_is_sent_as_it_is() {
    let own = r#"{"id": "x/a", "body": {"messages": []}, "dialect": "openai-chat"}"#;
    assert_eq!(bodies(own, &puppets(Cadence::Header(Vec::new()))), [r#"{"messages":[]}"#]);
    let named = r#"{"id": "x/a", "body": {"model": "m+rounds-0"}, "dialect": "openai-chat"}"#;
    let all = bodies(named, &puppets(Cadence::Header(vec![Rounds::Whole])));
    assert_eq!((all.len(), all[0].as_str()), (4, r#"{"model":"m+rounds-0"}"#));
}

fn along(key: &str, value: Value, unless: &[&str]) -> Along {
    let fields = [(key.to_owned(), value)].into_iter().collect();
    Along { fields, unless: unless.iter().map(|key| (*key).to_owned()).collect() }
}

#[test]
fn what_proves_tokens_goes_along_where_the_server_takes_it() {
    let fields = vec![along("ids", json!(true), &[]), along("logprobs", json!(true), &["tools", "x"])];
    let target = Target { model: Model::Named("m".to_owned()), fields, ..puppets(Cadence::Server) };
    for (request, expect) in [
        (r#""request": {"a": 1}"#, r#"{"model":"m","a":1,"ids":true,"logprobs":true}"#),
        (r#""request": {"ids": false, "tools": []}"#, r#"{"model":"m","ids":false,"tools":[]}"#),
        (r#""body": {"a": 1}, "dialect": "openai-chat""#, r#"{"a":1}"#),
        (
            r#""request": {"a": 1}, "needs": ["error"], "expect": {"error": {"status": 400}}"#,
            r#"{"model":"m","a":1}"#,
        ),
    ] {
        assert_eq!(bodies(&format!(r#"{{"id": "x/a", {request}}}"#), &target)[0], expect);
    }
}

fn checkpoint(thinks: Unasked, cadence: Cadence) -> Target {
    let (name, format) = ("puppet-glm-64".to_owned(), "glm".to_owned());
    let fields = vec![along("temperature", json!(0), &[])];
    Target { model: Model::Checkpoint { name, format, window: 64, thinks }, fields, ..puppets(cadence) }
}

/// The bodies that ask the first entry of a case.
fn told(text: &str, target: &Target) -> Result<Vec<Value>, String> {
    let entry = plan(&[case(text)], &Dialect::ALL, Depth::Seeded, &Selection::default()).remove(0);
    let planned = exchanges(&entry, target)?;
    Ok(planned.iter().map(|p| serde_json::from_slice(&p.request.body).unwrap()).collect())
}

#[test]
fn a_checkpoint_is_told_its_text_in_a_window() {
    let all = told(TWO, &checkpoint(Unasked::Off, Cadence::Server)).unwrap();
    assert_eq!(all.len(), 4);
    let text = all[0]["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    assert_eq!(text, format!("abcdef<|user|>{}", "<|endoftext|>".repeat(57)));
    assert_eq!((&all[0]["model"], &all[0]["temperature"]), (&json!("puppet-glm-64"), &json!(0)));
    assert_eq!(all[0]["messages"][0]["content"], "s", "what comes before stays");
    assert_eq!(all[0].get("chat_template_kwargs"), None);
    assert_eq!(all[0]["max_tokens"], json!(6 + 32), "junk ends");
    let own = r#"{"id": "glm/a", "format": "glm", "says": "abc", "request": {"max_completion_tokens": 2}}"#;
    let all = told(own, &checkpoint(Unasked::Off, Cadence::Server)).unwrap();
    assert_eq!((all[0].get("max_tokens"), &all[0]["max_completion_tokens"]), (None, &json!(2)));
}

#[test]
fn what_a_checkpoint_cannot_be_told_is_skipped_with_its_reason() {
    let target = checkpoint(Unasked::Off, Cadence::Server);
    let long = format!(r#"{{"id": "glm/a", "format": "glm", "says": "{}"}}"#, "x".repeat(64));
    assert_eq!(told(&long, &target).unwrap_err(), "its text has 65 tokens, the puppet's window 64");
    let fits = format!(r#"{{"id": "glm/a", "format": "glm", "says": "{}"}}"#, "x".repeat(63));
    assert!(told(&fits, &target).is_ok());
    let other = r#"{"id": "hermes/a", "format": "hermes", "says": "x"}"#;
    assert_eq!(told(other, &target).unwrap_err(), "no puppet here speaks hermes");
    let prompt = r#"{"id": "p/a", "request": {"messages": []}}"#;
    assert_eq!(told(prompt, &target).unwrap_err(), "a puppet of glm says texts only");
}

#[test]
fn a_server_that_thinks_by_itself_is_told_not_to_where_the_text_has_no_block() {
    let off = |text: &str| {
        let all = told(text, &checkpoint(Unasked::On, Cadence::Server)).unwrap();
        all[0].pointer("/chat_template_kwargs/enable_thinking").cloned()
    };
    assert_eq!(off(TWO), Some(json!(false)));
    assert_eq!(off(r#"{"id": "glm/a", "format": "glm", "says": "<think>a</think>b"}"#), None);
    let asked = r#"{"id": "glm/a", "format": "glm", "says": "a", "request": {"chat_template_kwargs": {"enable_thinking": true}}}"#;
    assert_eq!(off(asked), Some(json!(true)), "what a case says stands");
}

#[test]
fn a_server_that_takes_wishes_is_asked_at_several_intervals() {
    let all = told(TWO, &checkpoint(Unasked::Off, Cadence::Interval(vec![1, 7]))).unwrap();
    let asked: Vec<_> =
        all.iter().map(|b| (b.get("stream").is_some(), b.get("stream_interval").cloned())).collect();
    let streamed = |n: u64| (true, Some(json!(n)));
    assert_eq!(asked, [(false, None), streamed(1), streamed(7), (false, None)]);
}
