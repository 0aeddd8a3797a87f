//! The chat template of a puppet, and how far its prompt's end is from the text to say.
//!
//! In: a format, or a family's own template. Out: the template, and the number of tokens that follow the window of text in a
//! rendered prompt, for each of the three states of thinking. It is found out by rendering; a template that changes the last
//! user message, or writes none, can not be used.

use crate::plan::tokens::Vocabulary;
use minijinja::{
    Environment, Error, ErrorKind, context,
    syntax::SyntaxConfig,
    value::{Kwargs, Serde, Value},
};

/// What a request says of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Nothing.
    Unsaid,
    /// On: the prompt opens a block.
    On,
    /// Off: the prompt closes a block.
    Off,
}

/// Why a template cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTemplate {
    /// It is no template, or does not render a plain conversation.
    #[error("the template does not render: {0:#}")]
    Render(#[from] Error),
    /// It changes the message, or leaves it out.
    #[error("the template does not print the last user message as it is, once, near its end")]
    NoWindow,
    /// What follows the message changes with the tools that are offered.
    #[error("the prompt's end changes with the tools that are offered: {without} and {with} tokens")]
    Unsteady {
        /// Tokens after the message without tools.
        without: usize,
        /// The same with tools.
        with: usize,
    },
}

/// A template that a puppet can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its text.
    pub text: String,
    /// Tokens after the window where the request says nothing of thinking.
    pub suffix: usize,
    /// States of thinking that the puppet answers in: those whose prompt ends at the same distance.
    pub answers: Vec<Thinking>,
}

/// The templates that come with the formats.
const BUILT_IN: [(&str, &str); 3] = [
    ("glm", include_str!("templates/glm.jinja")),
    ("hermes", include_str!("templates/hermes.jinja")),
    ("qwen3-xml", include_str!("templates/qwen3-xml.jinja")),
];

/// Stands for the text: nothing that a template writes itself.
const PROBE: &str = "tfproxy~window~probe";

/// The template of a format; empty for one that has none.
pub fn built_in(format: &str) -> &'static str {
    BUILT_IN.iter().find(|(name, _)| *name == format).map_or("", |(_, text)| text)
}

// === impl Thinking ===

impl Thinking {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Unsaid, Self::On, Self::Off];

    fn flag(self) -> Value {
        match self {
            Self::Unsaid => Value::UNDEFINED,
            Self::On => true.into(),
            Self::Off => false.into(),
        }
    }
}

// === impl Template ===

impl Template {
    /// A template, tried.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn new(text: &str, vocabulary: &Vocabulary) -> Result<Self, BadTemplate> {
        let text = text.to_owned();
        let own = suffix(&text, vocabulary, Thinking::Unsaid)?;
        let is_alike = |state: &Thinking| suffix(&text, vocabulary, *state).is_ok_and(|tokens| tokens == own);
        let answers = Thinking::ALL.into_iter().filter(is_alike).collect();
        Ok(Self { text, suffix: own, answers })
    }

    /// A prompt whose last user message is `says`.
    ///
    /// # Errors
    /// It does not render.
    pub fn render(&self, says: &str, tools: Value, thinking: Thinking) -> Result<String, Error> {
        render(&self.text, says, tools, thinking)
    }
}

/// The tokens after the message, which must be as many with tools as without.
fn suffix(text: &str, vocabulary: &Vocabulary, thinking: Thinking) -> Result<usize, BadTemplate> {
    let without = after(&render(text, PROBE, Value::UNDEFINED, thinking)?, vocabulary)?;
    let with = after(&render(text, PROBE, tools(), thinking)?, vocabulary)?;
    if without == with { Ok(with) } else { Err(BadTemplate::Unsteady { without, with }) }
}

fn after(prompt: &str, vocabulary: &Vocabulary) -> Result<usize, BadTemplate> {
    match prompt.split(PROBE).collect::<Vec<_>>()[..] {
        [_, rest] => Ok(vocabulary.encode(rest).len()),
        _ => Err(BadTemplate::NoWindow),
    }
}

/// A tool as servers hand it to templates.
fn tools() -> Value {
    let parameters = serde_json::json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let tool = serde_json::json!({"type": "function", "function": {
        "name": "lookup", "description": "Looks something up.", "parameters": parameters}});
    Value::from(Serde([tool]))
}

fn render(text: &str, says: &str, tools: Value, thinking: Thinking) -> Result<String, Error> {
    let environment = environment()?;
    let messages = Value::from(Serde([serde_json::json!({"role": "user", "content": says})]));
    environment.render_str(
        text,
        context! { messages, tools, add_generation_prompt => true, enable_thinking => thinking.flag() },
    )
}

/// What servers render templates in.
fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_function("raise_exception", |why: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, why))
    });
    environment.add_filter("tojson", |value: Value, words: Kwargs| to_json(&value, &words));
    // A date in the prompt stands before the window and changes nothing.
    environment.add_function("strftime_now", |_: String| "2000-01-01");
    Ok(environment)
}

/// JSON, with the words that templates in use add to it. Only tools are written so, which stand before the window: how they are
/// spaced and escaped changes nothing.
fn to_json(value: &Value, words: &Kwargs) -> Result<String, Error> {
    for word in ["ensure_ascii", "indent", "separators", "sort_keys"] {
        words.get::<Option<Value>>(word)?;
    }
    words.assert_all_used()?;
    let unfit = |why: serde_json::Error| Error::new(ErrorKind::BadSerialization, why.to_string());
    serde_json::to_string(value).map_err(unfit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tokens::formats;

    fn hermes() -> &'static Vocabulary {
        Vocabulary::of("hermes").unwrap()
    }

    #[test]
    fn built_in_templates_answer_in_every_state_of_thinking() {
        for format in formats() {
            let template = Template::new(built_in(format), Vocabulary::of(format).unwrap()).unwrap();
            assert_eq!(template.answers, Thinking::ALL, "{format}");
        }
    }

    #[test]
    fn a_prompt_opens_or_closes_a_block_as_asked() {
        let ends = |format: &str, thinking| {
            let template = Template::new(built_in(format), Vocabulary::of(format).unwrap()).unwrap();
            let prompt = template.render("x", Value::UNDEFINED, thinking).unwrap();
            prompt.split_once("assistant").unwrap().1.to_owned()
        };
        assert_eq!(ends("hermes", Thinking::Unsaid), "\n");
        assert_eq!(ends("hermes", Thinking::On), "\n<think>\n");
        assert_eq!(ends("qwen3-xml", Thinking::Off), "\n<think>\n\n</think>\n\n");
        assert_eq!(ends("glm", Thinking::Unsaid), "|>");
        assert_eq!(ends("glm", Thinking::On), "|><think>");
        assert_eq!(ends("glm", Thinking::Off), "|></think>");
    }

    #[test]
    fn the_words_of_json_that_templates_in_use_say_are_understood() {
        let of = |words: &str| {
            let tools = format!("{{% for tool in tools %}}{{{{ tool | tojson{words} }}}}{{% endfor %}}");
            Template::new(&format!("{tools}{{{{ messages[0].content }}}}<|im_end|>"), hermes())
        };
        for words in ["", "(ensure_ascii=False)", "(indent=4)", "(separators=(',', ':'), sort_keys=true)"] {
            assert_eq!(of(words).unwrap().suffix, 1, "{words}");
        }
        assert!(matches!(of("(spelling='odd')"), Err(BadTemplate::Render(_))));
    }

    /// Servers render twice and take what the invitation adds for the start of the reply.
    #[test]
    fn an_invitation_adds_the_opening_of_a_turn_and_nothing_before_it() {
        let messages = Value::from(Serde([serde_json::json!({"role": "user", "content": "x"})]));
        for format in formats() {
            for thinking in Thinking::ALL {
                let render = |invite: bool| {
                    let context = context! { messages => messages.clone(), enable_thinking => thinking.flag(),
                    add_generation_prompt => invite };
                    environment().unwrap().render_str(built_in(format), context).unwrap()
                };
                let invited = render(true);
                let added = invited.strip_prefix(&render(false)).unwrap();
                assert!(added.starts_with("<|"), "{format} {thinking:?}: {added:?}");
            }
        }
    }

    #[test]
    fn tools_and_a_whole_conversation_are_written() {
        let call = serde_json::json!({"id": "c", "type": "function",
            "function": {"name": "lookup", "arguments": {"q": "x", "n": [1]}}});
        let messages = serde_json::json!([
            {"role": "system", "content": "Be short."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "found"}, {"role": "user", "content": "Bye"}]);
        for format in formats() {
            let context = context! { messages => Value::from(Serde(&messages)), tools => tools(), add_generation_prompt => true };
            let prompt = environment().unwrap().render_str(built_in(format), context).unwrap();
            for part in
                ["Be short.", "Hi", "hm", "<tool_call>", "lookup", "found", "Bye", "Looks something up."]
            {
                assert!(prompt.contains(part), "{format}: {part} in {prompt}");
            }
        }
    }

    #[test]
    fn a_template_that_cannot_be_used_says_why() {
        let bad = |text: &str| Template::new(text, hermes()).unwrap_err().to_string();
        assert!(bad("{% for %}").contains("does not render"));
        assert!(bad("{{ raise_exception('no') }}").contains("no"));
        assert!(bad("nothing").contains("does not print the last user message"));
        assert!(bad("{{ messages[-1].content }}{{ messages[-1].content }}").contains("once"));
        assert!(bad("{{ messages[-1].content }}{% if tools %}x{% endif %}").contains("0 and 1 tokens"));
        assert_eq!(
            Template::new("{{ messages[-1].content.strip() }}<|im_end|>ab", hermes()).unwrap().suffix,
            3
        );
    }

    #[test]
    fn a_template_whose_end_moves_answers_in_fewer_states() {
        let text = "{{ messages[-1].content }}{% if enable_thinking is defined and not enable_thinking %}x{% endif %}";
        let template = Template::new(text, hermes()).unwrap();
        assert_eq!(template.answers, [Thinking::Unsaid, Thinking::On]);
    }
}
