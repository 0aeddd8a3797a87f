//! A reply in openai-chat terms, as reports show it, whatever dialect it came in.

use crate::fold::{Reply, reply::Failure};
use serde_json::{Map, Value, json};

/// Content, reasoning, calls (arguments as received), finish and usage; for an error the error.
pub fn shown(reply: &Reply) -> Value {
    let mut shown = Map::new();
    shown.insert("content".to_owned(), text_or_null(reply.content().value));
    shown.insert("reasoning".to_owned(), text_or_null(reply.reasoning().value));
    let refusal = reply.refusal().value;
    if !refusal.is_empty() {
        shown.insert("refusal".to_owned(), refusal.into());
    }
    let calls = reply.calls().map(|c| json!({ "name": c.name, "arguments": c.arguments.value }));
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

fn text_or_null(text: String) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
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
    fn an_error_is_shown_beside_what_came() {
        let error = Failure { status: 400, message: "no".to_owned(), ..Failure::default() };
        let reply = Reply { error: Some(error), ..Reply::default() };
        assert_eq!(shown(&reply)["error"]["status"], 400);
    }
}
