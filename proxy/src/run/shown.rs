//! A reply in openai-chat terms, as reports show it, whatever dialect it came in.

use crate::fold::{Reply, reply::Failure};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The most bytes of a text that are shown: a report holds the replies of all cases.
const MAX_TEXT: usize = 64 << 10;

/// Content, reasoning, calls (arguments as received), finish and usage; for an error the error.
pub fn shown(reply: &Reply) -> Value {
    let mut shown = Map::new();
    shown.insert("content".to_owned(), text_or_null(&reply.content().value));
    shown.insert("reasoning".to_owned(), text_or_null(&reply.reasoning().value));
    let refusal = reply.refusal().value;
    if !refusal.is_empty() {
        shown.insert("refusal".to_owned(), start(&refusal).into());
    }
    let calls = reply.calls().map(|c| json!({ "name": c.name, "arguments": start(&c.arguments.value) }));
    shown.insert("tool_calls".to_owned(), calls.collect());
    shown.insert("finish".to_owned(), reply.finish_reason().into());
    shown.insert("usage".to_owned(), reply.usage.as_ref().map_or(Value::Null, |u| u.raw.clone()));
    if let Some(error) = &reply.error {
        shown.insert("error".to_owned(), failure(error));
    }
    Value::Object(shown)
}

fn failure(error: &Failure) -> Value {
    json!({
        "status": error.status, "code": error.code, "type": error.kind, "param": error.param, "message": error.message,
    })
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { start(text).into() }
}

/// As much of a text as is shown, and how long it is where that is not all.
fn start(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let start = text.get(..end).unwrap_or_default();
    Cow::Owned(format!("{start}... ({} bytes in all)", text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::reply::{Call, Part, Text};

    fn text(value: &str) -> Text {
        let mut text = Text::default();
        text.push(value, 0);
        text
    }

    #[test]
    fn arguments_stand_as_received_and_nothing_said_is_null() {
        let call = Call { name: "f".to_owned(), arguments: text("{ \"a\":1.0}"), ..Call::default() };
        let reply = Reply {
            parts: vec![Part::Reasoning(text("r")), Part::Call(call)],
            finish: Some(("tool_calls".to_owned(), 3)),
            ..Reply::default()
        };
        assert_eq!(
            shown(&reply).to_string(),
            r#"{"content":null,"reasoning":"r","tool_calls":[{"name":"f","arguments":"{ \"a\":1.0}"}],"finish":"tool_calls","usage":null}"#
        );
    }

    #[test]
    fn a_text_too_long_for_a_report_is_cut_and_says_so() {
        let long = format!("a{}", "é".repeat(MAX_TEXT));
        let call = Call { arguments: text(&long), ..Call::default() };
        let shown =
            shown(&Reply { parts: vec![Part::Text(text(&long)), Part::Call(call)], ..Reply::default() });
        let expect = format!("a{}... ({} bytes in all)", "é".repeat(MAX_TEXT / 2 - 1), long.len());
        assert_eq!(shown["content"], expect.as_str());
        assert_eq!(shown["tool_calls"][0]["arguments"], expect.as_str());
    }

    #[test]
    fn an_error_is_shown_beside_what_came() {
        let error = Failure { status: 400, message: "no".to_owned(), ..Failure::default() };
        let reply = Reply { error: Some(error), ..Reply::default() };
        assert_eq!(shown(&reply)["error"]["status"], 400);
    }
}
