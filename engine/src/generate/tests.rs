//! A script in, what is said round by round out.

use super::*;
use crate::{
    model::Puppet,
    plant::{Seams, Setting},
    read::{Offer, Said, Thinking},
};

fn request(says: &str, max_tokens: Option<u64>, stop: &[&str]) -> Request {
    Request {
        model: Puppet::named("puppet-hermes").unwrap(),
        says: says.to_owned(),
        prompt_tokens: 7,
        offer: Offer { tools: Vec::new(), one_call: false },
        thinking: Thinking::Closed,
        max_tokens,
        stop: stop.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// The content of each round that said something, and how the reply ended.
fn generate(request: Request, rounds: &str) -> (Vec<String>, Ended) {
    let mut seams = Seams::new(None, Setting::of(&request, crate::chat::Mode::Whole));
    let mut generation = Generation::new(request, rounds.parse().unwrap());
    let mut said = Vec::new();
    loop {
        let mut events = Vec::new();
        let step = generation.round(&mut seams, &mut events);
        let text: String = events
            .into_iter()
            .filter_map(|event| if let Said::Content(text) = event.said { Some(text) } else { None })
            .collect();
        said.extend(Some(text).filter(|text| !text.is_empty()));
        if let Step::Last(ended) = step {
            return (said, ended);
        }
    }
}

fn check(request: Request, rounds: &str, said: &[&str], end: End, completion: u64) {
    let (got, ended) = generate(request, rounds);
    assert_eq!(got, said);
    assert_eq!((ended.end, ended.usage), (end, Usage { prompt: 7, completion }));
}

#[test]
fn rounds_cut_the_text_and_the_end_token_counts() {
    check(request("abc", None, &[]), "1", &["a", "b", "c"], End::Model, 4);
    check(request("abc", None, &[]), "2", &["ab", "c"], End::Model, 4);
    check(request("abc", None, &[]), "whole", &["abc"], End::Model, 4);
    check(request("abc", Some(9), &[]), "special", &["abc"], End::Model, 4);
    check(request("", None, &[]), "1", &[], End::Model, 1);
    check(request("a<|im_end|>b", None, &[]), "7", &["a"], End::Model, 2);
}

#[test]
fn a_limit_cuts_inside_a_round() {
    check(request("abc", Some(2), &[]), "7", &["ab"], End::Length, 2);
    check(request("abc", Some(3), &[]), "1", &["a", "b", "c"], End::Length, 3);
    check(request("abc", Some(4), &[]), "1", &["a", "b", "c"], End::Model, 4);
}

#[test]
fn characters_come_whole_or_not_at_all() {
    check(request("\u{e9}\u{1f600}", None, &[]), "1", &["\u{e9}", "\u{1f600}"], End::Model, 7);
    check(request("a\u{1f600}", Some(4), &[]), "3", &["a"], End::Length, 4);
}

#[test]
fn a_stop_string_ends_the_reply_and_is_not_part_of_it() {
    check(request("one STOP two", None, &["STOP"]), "1", &["o", "n", "e", " "], End::Stop, 8);
    check(request("one STOP two", None, &["STOP"]), "whole", &["one "], End::Stop, 8);
    check(request("a SSTO", None, &["STOP"]), "1", &["a", " ", "S", "STO"], End::Model, 7);
    check(request("a STO", Some(5), &["STOP"]), "1", &["a", " ", "STO"], End::Length, 5);
    check(request("STOP", Some(4), &["STOP"]), "1", &[], End::Stop, 4);
    check(request("a<think>b", None, &["<th"]), "1", &["a"], End::Stop, 2);
    check(request("\u{e9}x", None, &["\u{e9}"]), "1", &[], End::Stop, 2);
}

#[test]
fn equal_tokens_have_equal_shas_however_they_came() {
    let sha = |request, rounds: &str| generate(request, rounds).1.token_sha;
    let whole = sha(request("a<think>b", None, &[]), "whole");
    for rounds in ["1", "2", "special", "rand:1:8"] {
        assert_eq!(sha(request("a<think>b", None, &[]), rounds), whole);
    }
    assert_ne!(sha(request("a<think>b", Some(3), &[]), "1"), whole);
    assert_eq!(sha(request("Hi", None, &[]), "1"), super::sha::tests::HI);
}
