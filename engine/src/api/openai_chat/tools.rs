//! Tools and which of them may be called.
//!
//! In: `tools`, `tool_choice`, `parallel_tool_calls`. Out: the offer. `required` reads as `auto`: the puppet says what it is
//! told, so nothing can make it call.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::fields::Fields;
use crate::{
    api::errors::{Refusal, shown},
    read::{Offer, Tool},
};

enum Choice<'a> {
    Any,
    None,
    Required,
    Named(&'a str),
}

/// Reads the offer of a request.
pub fn offer(body: &Fields<'_>) -> Result<Offer, Refusal> {
    let tools = tools(body)?;
    let one_call = !body.flag("parallel_tool_calls")?.unwrap_or(true);
    Ok(Offer { tools: chosen(body, tools)?, one_call })
}

fn tools(body: &Fields<'_>) -> Result<Vec<Tool>, Refusal> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut names = HashSet::new();
    for (at, value) in body.list("tools")?.unwrap_or_default().iter().enumerate() {
        let fields = Fields::of(value, format!("tools[{at}]"))?;
        let (tool, function) = tool(&fields)?;
        if !names.insert(tool.name.clone()) {
            return Err(function.invalid("name", format!("the name '{}' is used twice", shown(&tool.name))));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn tool<'a>(fields: &Fields<'a>) -> Result<(Tool, Fields<'a>), Refusal> {
    if fields.required_text("type")? != "function" {
        return Err(Refusal::unsupported(fields.place("type")));
    }
    let function =
        fields.object("function")?.ok_or_else(|| fields.invalid("function", "expected an object"))?;
    let name = function.required_text("name")?;
    if name.trim().is_empty() {
        return Err(function.invalid("name", "expected a name that is not blank"));
    }
    let parameters = match function.get("parameters") {
        None => Value::Object(Map::new()),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => return Err(function.invalid("parameters", "expected a JSON schema, an object")),
    };
    Ok((Tool { name: name.to_owned(), parameters }, function))
}

fn chosen(body: &Fields<'_>, mut tools: Vec<Tool>) -> Result<Vec<Tool>, Refusal> {
    match choice(body)? {
        Choice::Required if tools.is_empty() => {
            return Err(body.invalid("tool_choice", "a call is required, and no tools are offered"));
        }
        Choice::Any | Choice::Required => {}
        Choice::None => tools.clear(),
        Choice::Named(name) => {
            tools.retain(|tool| tool.name == name);
            if tools.is_empty() {
                let message = format!("no tool of the name '{}' is offered", shown(name));
                return Err(body.invalid("tool_choice.function.name", message));
            }
        }
    }
    Ok(tools)
}

fn choice<'a>(body: &Fields<'a>) -> Result<Choice<'a>, Refusal> {
    match body.get("tool_choice") {
        None => Ok(Choice::Any),
        Some(Value::String(word)) => match word.as_str() {
            "auto" => Ok(Choice::Any),
            "none" => Ok(Choice::None),
            "required" => Ok(Choice::Required),
            _ => Err(body.invalid("tool_choice", "expected auto, none, required or a named function")),
        },
        Some(value) => named(&Fields::of(value, body.place("tool_choice"))?),
    }
}

fn named<'a>(choice: &Fields<'a>) -> Result<Choice<'a>, Refusal> {
    if choice.required_text("type")? != "function" {
        return Err(Refusal::unsupported(choice.place("type")));
    }
    let function =
        choice.object("function")?.ok_or_else(|| choice.invalid("function", "expected an object"))?;
    function.required_text("name").map(Choice::Named)
}
