//! The conversation: what the puppet is told to say, and how many tokens the messages have.

use serde_json::Value;

use super::fields::Fields;
use crate::{api::errors::Refusal, text::Tokenizer};

/// What the messages came to.
#[derive(Debug, Default)]
pub struct Conversation {
    /// The text of the last message whose role is user.
    pub says: Option<String>,
    /// Tokens of all message texts.
    pub tokens: u64,
}

// === impl Conversation ===

impl Conversation {
    /// Reads `messages`.
    pub fn read(body: &Fields<'_>, tokenizer: Tokenizer) -> Result<Self, Refusal> {
        let messages = body.list("messages")?.filter(|messages| !messages.is_empty());
        let messages = messages.ok_or_else(|| body.invalid("messages", "expected at least one message"))?;
        let mut conversation = Self::default();
        for (at, message) in messages.iter().enumerate() {
            let message = Fields::of(message, format!("messages[{at}]"))?;
            conversation.add(&message, tokenizer)?;
        }
        Ok(conversation)
    }

    fn add(&mut self, message: &Fields<'_>, tokenizer: Tokenizer) -> Result<(), Refusal> {
        let role = role(message)?;
        let text = content(message)?;
        if text.is_none() && role != "assistant" {
            return Err(message.invalid("content", "expected a string or a list of text parts"));
        }
        let text = text.unwrap_or_default();
        self.tokens += tokenizer.count(&text);
        if role == "user" {
            self.says = Some(text);
        }
        Ok(())
    }
}

fn role<'a>(message: &Fields<'a>) -> Result<&'a str, Refusal> {
    let role = message.required_text("role")?;
    match role {
        "system" | "developer" | "user" | "assistant" | "tool" => Ok(role),
        _ => Err(message.invalid("role", "expected system, developer, user, assistant or tool")),
    }
}

fn content(message: &Fields<'_>) -> Result<Option<String>, Refusal> {
    match message.get("content") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Array(parts)) => parts
            .iter()
            .enumerate()
            .map(|(at, part)| text_part(part, format!("{}[{at}]", message.place("content"))))
            .collect::<Result<String, Refusal>>()
            .map(Some),
        Some(_) => Err(message.invalid("content", "expected a string or a list of text parts")),
    }
}

fn text_part(part: &Value, place: String) -> Result<&str, Refusal> {
    let part = Fields::of(part, place)?;
    match part.required_text("type")? {
        "text" => part.required_text("text"),
        _ => Err(Refusal::unsupported(part.place("type"))),
    }
}
