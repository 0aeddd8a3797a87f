//! The body of a request, read and checked. All that can be refused is refused here, before the first byte.
//!
//! In: the body's bytes, the headers. Out: the neutral request, the mode and how the reply is made to arrive. The checks
//! run in one order and look at `stream` only where it is itself the matter, so both modes are refused alike.

use hyper::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::{fields::Fields, messages::Conversation, refused, tools};
use crate::{
    api::{errors::Refusal, json, steering::Steering},
    chat::{Mode, Request, UsageChunk},
    model::Puppet,
    plant::Switch,
    read::Thinking,
    text::Tokenizer,
};

/// Sampling settings without effect on a puppet, which must be numbers all the same.
const SAMPLING: [&str; 4] = ["temperature", "top_p", "presence_penalty", "frequency_penalty"];

/// The most stop strings of a request.
const MAX_STOP_STRINGS: usize = 16;

/// The most JSON values of a body: each takes some hundred bytes of memory, whatever its text is.
const MAX_VALUES: usize = 1 << 19;

/// A request that will be answered.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub request: Request,
    /// How it is sent.
    pub mode: Mode,
    /// How it is made to arrive.
    pub steering: Steering,
}

/// Reads a request.
pub fn read(body: &[u8], headers: &HeaderMap, plants: Switch) -> Result<Asked, Refusal> {
    let object = object(body)?;
    let body = Fields::body(&object);
    let (puppet, steering) = Steering::read(body.required_text("model")?, headers, plants)?;
    refused::check(&body)?;
    let request = request(&body, puppet)?;
    Ok(Asked { request, mode: mode(&body)?, steering })
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let refuse = |message: String| Refusal::of_request(StatusCode::BAD_REQUEST, message);
    if json::values(body) > MAX_VALUES {
        return Err(refuse(format!("the body holds more than {MAX_VALUES} values")));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(refuse("the body is not a JSON object".to_owned())),
        Err(error) => Err(refuse(format!("the body is not JSON: {}", without_place(&error)))),
    }
}

/// The place of a mistake moves with `stream`, and both modes are to be refused in the same words.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}

fn request(body: &Fields<'_>, model: Puppet) -> Result<Request, Refusal> {
    let conversation = Conversation::read(body, model.tokenizer())?;
    let says = conversation.says.ok_or_else(|| {
        body.invalid("messages", "a puppet says what the last user message tells it, and there is none")
    })?;
    one_choice(body)?;
    sampling(body)?;
    Ok(Request {
        model,
        says,
        prompt_tokens: conversation.tokens + tool_tokens(body, model.tokenizer()),
        offer: tools::offer(body)?,
        thinking: thinking(body)?,
        max_tokens: max_tokens(body)?,
        stop: stop(body)?,
    })
}

/// Tools cost what their compact JSON costs, whether or not the choice lets them be called.
fn tool_tokens(body: &Fields<'_>, tokenizer: Tokenizer) -> u64 {
    let tools = body.get("tools").filter(|tools| tools.as_array().is_some_and(|list| !list.is_empty()));
    tools.map_or(0, |tools| tokenizer.count(&tools.to_string()))
}

fn one_choice(body: &Fields<'_>) -> Result<(), Refusal> {
    match body.positive("n")? {
        None | Some(1) => Ok(()),
        Some(_) => Err(Refusal::unsupported("n")),
    }
}

fn sampling(body: &Fields<'_>) -> Result<(), Refusal> {
    let wrong = SAMPLING.iter().find(|key| body.get(key).is_some_and(|value| !value.is_number()));
    wrong.map_or(Ok(()), |key| Err(body.invalid(key, "expected a number")))
}

fn thinking(body: &Fields<'_>) -> Result<Thinking, Refusal> {
    let kwargs = body.object("chat_template_kwargs")?;
    let enabled = kwargs.map(|kwargs| kwargs.flag("enable_thinking")).transpose()?.flatten();
    Ok(match enabled {
        Some(true) => Thinking::Open,
        Some(false) => Thinking::Closed,
        None => Thinking::MayOpen,
    })
}

/// `max_completion_tokens` wins over its older name.
fn max_tokens(body: &Fields<'_>) -> Result<Option<u64>, Refusal> {
    let older = body.positive("max_tokens")?;
    Ok(body.positive("max_completion_tokens")?.or(older))
}

fn stop(body: &Fields<'_>) -> Result<Vec<String>, Refusal> {
    let refuse = || body.invalid("stop", "expected a string that is not empty, or a list of them");
    let text =
        |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(refuse);
    match body.get("stop") {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() > MAX_STOP_STRINGS => {
            Err(body.invalid("stop", format!("expected at most {MAX_STOP_STRINGS} strings")))
        }
        Some(Value::Array(list)) => list.iter().map(text).collect(),
        Some(value) => Ok(vec![text(value)?]),
    }
}

fn mode(body: &Fields<'_>) -> Result<Mode, Refusal> {
    let stream = body.flag("stream")?.unwrap_or(false);
    let options = body.object("stream_options")?;
    match (stream, options) {
        (false, None) => Ok(Mode::Whole),
        (false, Some(_)) => Err(body.invalid("stream_options", "only allowed where stream is true")),
        (true, None) => Ok(Mode::Stream(UsageChunk::LeftOut)),
        (true, Some(options)) => stream_mode(&options),
    }
}

fn stream_mode(options: &Fields<'_>) -> Result<Mode, Refusal> {
    if options.flag("continuous_usage_stats")? == Some(true) {
        return Err(Refusal::unsupported(options.place("continuous_usage_stats")));
    }
    let included = options.flag("include_usage")?.unwrap_or(false);
    Ok(Mode::Stream(if included { UsageChunk::Included } else { UsageChunk::LeftOut }))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
