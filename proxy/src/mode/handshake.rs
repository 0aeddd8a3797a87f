//! The handshake with a puppet in somebody's server: does it say what it is told, from how large a window, and does its server
//! bill the token that ends a turn?
//!
//! In: a sender, a model, its vocabulary. Out: [`Shaken`], or what the model said instead. A few whole requests without tools,
//! asked as cases are: plain text, characters of several bytes, markers. Of text with markers only the number of tokens is
//! looked at, since a parser may rightly take it apart.
//!
//! A gateway with our engine behind it is asked less: whether the puppets that it lists are ours, and whether it takes a
//! name with a schedule. What it makes of harder texts is for the cases to find out.

use crate::{
    exchange::Sender,
    plan::{Entry, Target, Unasked, exchanges, tokens::Vocabulary},
    request::{Dialect, Mode},
    rules::Profile,
    run::stages::{Known, Reading},
};

/// A puppet that says what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shaken {
    /// Tokens of its window.
    pub window: usize,
    /// How its server counts.
    pub bills: Bills,
    /// Whether a request that says nothing of thinking gets it.
    pub thinks: Unasked,
}

/// How a server counts the token that ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bills {
    /// It is one of the completion's tokens.
    WithEnd,
    /// It is not.
    WithoutEnd,
    /// It gives no count, or one that does not follow from the text.
    Unclear,
}

/// A model that is no puppet of this format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{model} does not say what it is told with a window of {windows} tokens: {said}; serve what tfproxy puppet {format} wrote"
)]
pub struct NoPuppet {
    model: String,
    format: &'static str,
    windows: String,
    said: String,
}

/// A gateway that lists a puppet and does not pass on what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{model} is listed, and {said}; a gateway passes every name that begins with puppet- on to tfproxy engine (any other model is asked by --model)"
)]
pub struct NotRelayed {
    model: String,
    said: String,
}

/// Windows that are tried where the model's name says none.
const WINDOWS: [usize; 3] = [256, 1024, 4096];

/// What it has to say, word for word.
const PLAIN: &str = "The puppet says what it is told.";
const MULTI_BYTE: &str = "Grüße, 漢字 and 🎉.\n- a second line";

/// Shakes hands. `target` says how a puppet of a window that thinks so is asked: as its cases will be.
///
/// # Errors
/// It says something else.
pub async fn shake(
    sender: &Sender,
    model: &str,
    vocabulary: &'static Vocabulary,
    target: impl Fn(usize, Unasked) -> Target,
) -> Result<Shaken, NoPuppet> {
    let windows = windows(model);
    let mut said = String::new();
    for window in &windows {
        let probe =
            |thinks| Probe { sender, model, vocabulary, window: *window, target: target(*window, thinks) };
        match probe(Unasked::Off).ask(PLAIN).await {
            Ok(answer) if answer.content == PLAIN => {
                return probe(Unasked::Off).confirmed(answer, Unasked::Off).await;
            }
            Ok(answer) if answer.reasoning == PLAIN => {
                return probe(Unasked::On).confirmed(answer, Unasked::On).await;
            }
            Ok(answer) => said = format!("it said {:?}", answer.reasoning + &answer.content),
            Err(why) => said = why,
        }
    }
    let windows = windows.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    Err(NoPuppet { model: model.to_owned(), format: vocabulary.format, windows, said })
}

/// Makes sure that a gateway passes on what the puppet of a format says, and answers at a schedule too. `target` says how it is
/// asked: as its cases will be.
///
/// # Errors
/// It says something else, or the gateway does not serve it.
pub async fn relays(sender: &Sender, format: &str, target: &Target) -> Result<(), NotRelayed> {
    let no = |said| NotRelayed { model: format!("puppet-{format}"), said };
    for text in [PLAIN, MULTI_BYTE] {
        said(text, ask(sender, target, format, (text, Mode::Whole)).await).map_err(no)?;
    }
    // Of the stream that it comes: what a gateway makes of its text is there to be found.
    let streamed = ask(sender, target, format, (PLAIN, Mode::Stream)).await;
    streamed.map(|_| ()).map_err(|said| no(format!("with +rounds-1 after its name {said}")))
}

/// Whether an answer is the text; else what it is.
fn said(text: &str, answer: Result<Answer, String>) -> Result<(), String> {
    let answer = answer?;
    let is_text = answer.content == text;
    is_text
        .then_some(())
        .ok_or_else(|| format!("told {text:?} it said {:?}", answer.reasoning + &answer.content))
}

/// What a puppet says to a text; or why it says nothing.
async fn ask(
    sender: &Sender,
    target: &Target,
    format: &str,
    (text, mode): (&str, Mode),
) -> Result<Answer, String> {
    let entry = Entry::of_text("handshake", Dialect::OpenaiChat, format, text);
    let planned = exchanges(&entry, target)?;
    let planned = planned.iter().find(|planned| planned.mode == mode).ok_or("nothing to ask")?;
    let exchange = sender.exchange(planned).await;
    let reading = Reading::of(&exchange, Known::default(), Profile::openai());
    match &reading.reply.error {
        Some(failure) => Err(format!("it answered {}", failure.message)),
        None if !reading.is_answer() => Err("it did not answer".to_owned()),
        None => Ok(Answer {
            reasoning: reading.reply.reasoning().value.clone(),
            content: reading.reply.content().value.clone(),
            tokens: reading.tokens(),
        }),
    }
}

/// The window that the name ends in, as puppets are called; else those that are usual.
fn windows(model: &str) -> Vec<usize> {
    let named = model.rsplit('-').next().and_then(|word| word.split('.').next()?.parse().ok());
    let is_sane = |window: &usize| (super::puppet::WINDOW_MIN..=super::puppet::WINDOW_MAX).contains(window);
    named.filter(is_sane).map_or_else(|| WINDOWS.to_vec(), |window| vec![window])
}

fn bills(vocabulary: &Vocabulary, text: &str, counted: Option<u64>) -> Bills {
    let told = vocabulary.encode(text).len() as u64;
    match counted {
        Some(n) if n == told + 1 => Bills::WithEnd,
        Some(n) if n == told => Bills::WithoutEnd,
        _ => Bills::Unclear,
    }
}

/// One model, asked with one window.
struct Probe<'a> {
    sender: &'a Sender,
    model: &'a str,
    vocabulary: &'static Vocabulary,
    window: usize,
    target: Target,
}

/// What it said.
struct Answer {
    reasoning: String,
    content: String,
    tokens: Option<u64>,
}

// === impl Probe ===

impl Probe<'_> {
    /// What it says to a text; or why it says nothing.
    async fn ask(&self, text: &str) -> Result<Answer, String> {
        ask(self.sender, &self.target, self.vocabulary.format, (text, Mode::Whole)).await
    }

    /// The window is right; whether what is harder comes out as well.
    async fn confirmed(&self, plain: Answer, thinks: Unasked) -> Result<Shaken, NoPuppet> {
        let no = |said: String| NoPuppet {
            model: self.model.to_owned(),
            format: self.vocabulary.format,
            windows: self.window.to_string(),
            said,
        };
        let harder = self.ask(MULTI_BYTE).await.map_err(no)?;
        if harder.content != MULTI_BYTE {
            return Err(no(format!("told {MULTI_BYTE:?} it said {:?}", harder.reasoning + &harder.content)));
        }
        let markers = self.vocabulary.special.concat();
        let marked = self.ask(&markers).await.ok().map(|answer| (markers.as_str(), answer.tokens));
        let counted = [(PLAIN, plain.tokens), (MULTI_BYTE, harder.tokens)].into_iter().chain(marked);
        let mut bills = counted.map(|(text, tokens)| bills(self.vocabulary, text, tokens));
        let first = bills.next().unwrap_or(Bills::Unclear);
        let bills = if bills.all(|other| other == first) { first } else { Bills::Unclear };
        Ok(Shaken { window: self.window, bills, thinks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_window_if_it_is_one() {
        assert_eq!(windows("puppet-glm-2048"), [2048]);
        assert_eq!(windows("puppet-hermes-512.gguf"), [512]);
        for name in ["puppet", "model-7", "llama-3.1-99999999", "/models/puppet", ""] {
            assert_eq!(windows(name), WINDOWS, "{name}");
        }
    }

    #[test]
    fn the_end_of_a_turn_is_billed_or_not() {
        let glm = Vocabulary::of("glm").unwrap();
        for (counted, expect) in [
            (Some(4), Bills::WithEnd),
            (Some(3), Bills::WithoutEnd),
            (Some(5), Bills::Unclear),
            (Some(2), Bills::Unclear),
            (None, Bills::Unclear),
        ] {
            assert_eq!(bills(glm, "a<arg_key>b", counted), expect, "{counted:?}");
        }
    }
}
