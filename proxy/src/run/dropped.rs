//! Fields that a server refuses and a request can do without: how it samples, what proves its tokens.
//!
//! In: a refusal that names such a field. Out: the same requests without it, for the rest of the run. Hosted servers refuse
//! what others require; the question stays the same, and that the field was dropped is told. Requests that are meant to be
//! refused never come here.

use crate::{
    decode::decode,
    exchange::Exchange,
    fold::{Lens, fold},
    plan::Planned,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::sync::{Mutex, PoisonError};

/// A field that is sent no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Its name.
    pub field: &'static str,
    /// The name under which the server takes it.
    pub instead: Option<&'static str>,
    /// What the server said.
    pub said: String,
}

/// The fields that a server refuses, as far as it has said so.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<Vec<Dropped>>);

/// Fields that say how tokens are chosen, told or cut, and never what is asked; each with those that mean nothing without it.
const SPARE: [(&str, &[&str]); 8] = [
    ("temperature", &[]),
    ("seed", &[]),
    ("top_p", &[]),
    ("logprobs", &["top_logprobs"]),
    ("top_logprobs", &[]),
    ("return_token_ids", &[]),
    ("stream_options", &[]),
    (INTERVAL, &[]),
];

/// Those of them that say how tokens are chosen.
const SAMPLING: [&str; 3] = ["temperature", "seed", "top_p"];

/// The field by which deltas are cut.
const INTERVAL: &str = "stream_interval";

/// Fields that some servers take under another name only.
const RENAMED: [(&str, &str); 1] = [("max_tokens", "max_completion_tokens")];

/// Statuses of a request that is wrong.
const WRONG: [u16; 2] = [400, 422];

/// The longest part of a server's words that is kept.
const MAX_SAID: usize = 200;

/// The field that an exchange was refused for, if the refusal names one that the request holds and can do without.
pub fn refused(exchange: &Exchange) -> Option<Dropped> {
    if !is_wrong(exchange) {
        return None;
    }
    let Some(Value::Object(body)) = exchange.request.json() else { return None };
    let error = fold(exchange.request.dialect, exchange.status(), &decode(exchange), &Lens::STRICT).error?;
    let param = error.param.as_deref().filter(|param| !param.is_empty());
    let at = |field: &str| match param {
        // The last part of a path: `body.temperature`, `/temperature`.
        Some(param) => (param.rsplit(['.', '/']).next() == Some(field)).then_some(0),
        None => named_at(&error.message, field),
    };
    let renamed = RENAMED.iter().filter(|(field, instead)| {
        body.contains_key(*field)
            && !body.contains_key(*instead)
            && named_at(&error.message, instead).is_some()
    });
    let renamed = renamed.filter_map(|(field, instead)| Some((at(field)?, *field, Some(*instead))));
    let spare = SPARE.iter().filter(|(field, _)| body.contains_key(*field));
    let spare = spare.filter_map(|(field, _)| Some((at(field)?, *field, None)));
    let (_, field, instead) = spare.chain(renamed).min_by_key(|(at, ..)| *at)?;
    let said = error.message.lines().next().unwrap_or_default().chars().take(MAX_SAID).collect();
    Some(Dropped { field, instead, said })
}

/// Whether an exchange was refused because its request is wrong.
pub fn is_wrong(exchange: &Exchange) -> bool {
    exchange.status().is_some_and(|status| WRONG.contains(&status))
}

/// Where a text names a field, as a word of its own.
fn named_at(text: &str, field: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(field).map(|(at, _)| at).find(|at| {
        let (before, after) = (text.get(..*at), text.get(at + field.len()..));
        !before.is_some_and(|text| text.ends_with(is_part))
            && !after.is_some_and(|text| text.starts_with(is_part))
    })
}

// === impl Dropped ===

impl Dropped {
    /// Whether it says no more than how tokens are chosen, and how many at most, so that a case without it is the same case.
    pub fn is_of_sampling(&self) -> bool {
        self.instead.is_some() || SAMPLING.contains(&self.field)
    }

    /// The same requests without the field, or with it under its other name.
    pub fn strip(&self, planned: &[Planned]) -> Vec<Planned> {
        planned.iter().map(|one| self.strip_one(one)).collect()
    }

    fn strip_one(&self, planned: &Planned) -> Planned {
        let Some(Value::Object(body)) = planned.request.json() else { return planned.clone() };
        if !body.contains_key(self.field) {
            return planned.clone();
        }
        let mut fewer = planned.clone();
        fewer.request.body = Bytes::from(Value::Object(self.strip_body(body)).to_string());
        if self.field == INTERVAL {
            // The server cuts as it likes.
            fewer.rounds = None;
        }
        fewer
    }

    fn strip_body(&self, body: Map<String, Value>) -> Map<String, Value> {
        let has_both = self.instead.is_some_and(|instead| body.contains_key(instead));
        let with = SPARE.iter().find(|(field, _)| *field == self.field).map_or(&[][..], |(_, with)| with);
        let kept = body.into_iter().filter_map(|(key, value)| match self.instead {
            Some(instead) if key == self.field => (!has_both).then(|| (instead.to_owned(), value)),
            None if key == self.field || with.contains(&key.as_str()) => None,
            _ => Some((key, value)),
        });
        kept.collect()
    }
}

// === impl Refusals ===

impl Refusals {
    /// Requests without all that is refused.
    pub fn without(&self, planned: &[Planned]) -> Vec<Planned> {
        self.all().iter().fold(planned.to_vec(), |planned, dropped| dropped.strip(&planned))
    }

    /// From here on the field is sent no more.
    pub fn note(&self, dropped: Dropped) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|known| known.field == dropped.field) {
            all.push(dropped);
        }
    }

    /// All that is refused, in the order in which it was said.
    pub fn all(&self) -> Vec<Dropped> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        exchange::{End, Head, Slice, Took},
        plan::Rounds,
        request::{Dialect, Mode, Request},
    };

    fn planned(body: &str) -> Planned {
        let (dialect, path) = (Dialect::OpenaiChat, String::new());
        let request = Request { dialect, path, headers: Vec::new(), body: body.to_owned().into() };
        Planned { mode: Mode::Whole, rounds: Some(Rounds::Every(3)), request }
    }

    fn exchange(body: &str, status: u16, answer: &str) -> Exchange {
        Exchange {
            mode: Mode::Whole,
            rounds: None,
            request: planned(body).request,
            head: Some(Head {
                status,
                headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            }),
            slices: vec![Slice { at: 0, bytes: answer.to_owned().into() }],
            end: End::Complete,
            took: Took::default(),
        }
    }

    const BODY: &str = r#"{"temperature":0,"logprobs":true,"top_logprobs":2,"max_tokens":9,"stream_interval":3,"messages":[]}"#;

    /// The body once all that a refusal names is dropped.
    fn left(body: &str, status: u16, answer: &str) -> Option<String> {
        let dropped = refused(&exchange(body, status, answer))?;
        Some(String::from_utf8(dropped.strip(&[planned(body)])[0].request.body.to_vec()).unwrap())
    }

    #[test]
    fn a_field_that_a_refusal_names_is_dropped() {
        let error = |message: &str, param: &str| {
            format!(r#"{{"error":{{"message":"{message}","type":"x","param":{param},"code":null}}}}"#)
        };
        for (answer, gone) in [
            (
                error("Unsupported value: 'temperature' does not support 0.", "\"temperature\""),
                vec!["\"temperature\":0,"],
            ),
            (error("no", "\"body.temperature\""), vec!["\"temperature\":0,"]),
            (error("temperature is not supported", "null"), vec!["\"temperature\":0,"]),
            (error("unknown field `top_logprobs`", "null"), vec!["\"top_logprobs\":2,"]),
            (
                error("logprobs: not with this model", "\"\""),
                vec!["\"logprobs\":true,", "\"top_logprobs\":2,"],
            ),
            (error("stream_interval, then temperature", "null"), vec!["\"stream_interval\":3,"]),
            (
                r#"{"detail":[{"loc":["body","temperature"],"msg":"extra"}]}"#.to_owned(),
                vec!["\"temperature\":0,"],
            ),
        ] {
            let expect = gone.iter().fold(BODY.to_owned(), |body, part| body.replace(part, ""));
            assert_eq!(left(BODY, 400, &answer), Some(expect.clone()), "{answer}");
            assert_eq!(left(BODY, 422, &answer), Some(expect), "{answer}");
            for status in [200, 401, 404, 429, 500] {
                assert_eq!(left(BODY, status, &answer), None, "{status} {answer}");
            }
        }
    }

    #[test]
    fn what_names_nothing_that_can_be_spared_stands() {
        for answer in [
            r#"{"error":{"message":"no such model","param":"model"}}"#,
            // The parameter is surer than what else the message speaks of.
            r#"{"error":{"message":"messages do not fit temperature","param":"messages"}}"#,
            r#"{"error":{"message":"my_temperature, temperatures, logprobs2"}}"#,
            r#"{"error":{"message":"max_tokens is too large","param":"max_tokens"}}"#,
            r#"{"error":{"message":"seed is not supported","param":"seed"}}"#,
            "no",
            "",
        ] {
            assert_eq!(left(BODY, 400, answer), None, "{answer}");
        }
        assert_eq!(left("[]", 400, r#"{"error":{"message":"temperature"}}"#), None);
    }

    #[test]
    fn a_limit_goes_by_its_other_name_where_the_server_says_so() {
        let answer = r#"{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.","param":"max_tokens"}}"#;
        assert_eq!(left(BODY, 400, answer), Some(BODY.replace("max_tokens", "max_completion_tokens")));
        assert_eq!(left(r#"{"max_tokens":1,"max_completion_tokens":1}"#, 400, answer), None);
    }

    #[test]
    fn a_refusal_is_remembered_once_and_spares_what_has_no_such_field() {
        let refusals = Refusals::default();
        let dropped = |field, said: &str| Dropped { field, instead: None, said: said.to_owned() };
        for one in [dropped("temperature", "a"), dropped(INTERVAL, "b"), dropped("temperature", "c")] {
            refusals.note(one);
        }
        assert_eq!(refusals.all().iter().map(|d| d.said.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let other = planned(r#"{ "messages" : [] }"#);
        let all =
            refusals.without(&[planned(r#"{"temperature":0,"stream_interval":3,"n":1}"#), other.clone()]);
        assert_eq!((all[0].request.body.as_ref(), all[0].rounds), (br#"{"n":1}"#.as_slice(), None));
        assert_eq!(all[1], other, "byte for byte");
    }
}
