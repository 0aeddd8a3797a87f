//! What proves that replies come from equal tokens, in one line.
//!
//! In: judged entries, and whose server it is. Out: the kind of evidence and how many cases show it, and how their streams were cut.

use crate::{
    request::Mode,
    run::{Judged, Tokens, event::Upstream},
};

/// Schedules that are named; more end in two dots.
const ROUNDS_MAX: usize = 7;

/// The server whose puppets say what they are told by construction: a difference there needs no proof to count.
const OURS: &str = "tfengine";

/// The line; empty where no case was answered in both modes.
pub fn line(entries: &[Judged], upstream: &Upstream) -> String {
    let count = |kind: Tokens| entries.iter().filter(|e| e.tokens == kind).count();
    let kinds = [
        (Tokens::EqualIds, "token ids"),
        (Tokens::EqualHash, "token_sha"),
        (Tokens::EqualBytes, "logprobs with bytes"),
        (Tokens::EqualCount, "token counts"),
        (Tokens::Handed, "the tokens handed over"),
    ];
    let kinds = kinds.map(|(kind, name)| (count(kind), name));
    let (different, silent) = (count(Tokens::Different), count(Tokens::NotGiven));
    let equal = kinds.iter().map(|(count, _)| count).sum::<usize>();
    let all = equal + different + silent;
    match (equal, all) {
        (_, 0) => String::new(),
        (0, _) if different == 0 && upstream.server == OURS => {
            "none in the replies: token ids were not given; our puppets say what they are told".to_owned()
        }
        (0, _) if different == 0 => "none: token ids were not given; a difference is suspect".to_owned(),
        (0, _) => format!("none: tokens differ between the replies of {different} of {all} cases"),
        _ => {
            let what: Vec<&str> =
                kinds.iter().filter(|(count, _)| *count > 0).map(|(_, name)| *name).collect();
            let what = what.join(" or ");
            let of = if equal == all { String::new() } else { format!(" of {all}") };
            let rest = [(different, "different in"), (silent, "not given in")];
            let rest = rest.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!(", {words} {n}"));
            let cases = if all == 1 { "case" } else { "cases" };
            format!(
                "{what} equal in both modes of {equal}{of} {cases}{}; {}",
                rest.collect::<String>(),
                cut(entries)
            )
        }
    }
}

/// Who cut the streams into deltas, and how.
fn cut(entries: &[Judged]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for sent in entries.iter().flat_map(|e| &e.exchanges).filter(|s| s.mode == Mode::Stream) {
        if sent.rounds != "-" && !names.contains(&sent.rounds.as_str()) {
            names.push(&sent.rounds);
        }
    }
    if names.is_empty() {
        return "deltas as the server cuts them".to_owned();
    }
    let more = if names.len() > ROUNDS_MAX { " .." } else { "" };
    let named = names.iter().take(ROUNDS_MAX).copied().collect::<Vec<_>>().join(" ");
    let cuts = if entries.iter().any(|e| e.tokens == Tokens::Handed) {
        "cut by us"
    } else {
        "deltas varied by the engine"
    };
    format!("{cuts} (rounds {named}{more})")
}
