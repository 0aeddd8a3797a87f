//! Recorded outputs of models, read whole and in pieces, held against what they are known to say.
//!
//! In: the folder of JSON Lines that `TFPROXY_MODEL_OUTPUTS` names; without it nothing is read. Out: nothing, unless
//! a cut changes a reply, or the lines that do not say what is expected are not exactly those listed here.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tfengine::read::{End, Folded, Format, Offer, Reader, Thinking, Tool};

/// The files that hold formats which are read.
const FILES: [(&str, Format); 3] =
    [("qwen3-hermes", Format::Hermes), ("glm", Format::Glm), ("qwen3-xml", Format::Qwen3Xml)];

const CUT: &str = "a cut call is kept as a call with a prefix of its arguments";

/// Lines whose expected answer is not ours (yet), each with the reason.
const OTHERWISE: [(&str, &str); 6] = [
    ("qwen3-hermes/truncated-mid-arguments-no-thinking", CUT),
    ("qwen3-hermes/truncated-mid-arguments-thinking", CUT),
    ("qwen3-hermes/truncated-second-parallel-call", CUT),
    ("glm/glm47-truncated-inside-arg-value", CUT),
    ("qwen3-xml/q35-python-literals", "Python spellings are not read yet"),
    ("qwen3-xml/coder-next-json-literals", "unions with null are not read yet"),
];

/// A recorded output.
#[derive(Debug, Deserialize)]
struct Line {
    id: String,
    raw_output: String,
    tools: Option<Vec<Value>>,
    expected: Option<Expected>,
    expected_error: Option<ExpectedError>,
    generation_prompt: Option<String>,
    thinking: Option<bool>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Expected {
    content: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Vec<ExpectedCall>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct ExpectedCall {
    name: String,
    arguments: Value,
}

#[derive(Debug, Deserialize)]
struct ExpectedError {
    accept: Vec<String>,
}

// === impl Line ===

impl Line {
    fn offer(&self) -> Arc<Offer> {
        let tool = |tool: &Value| {
            let function = tool.get("function").unwrap_or(tool);
            Tool {
                name: function["name"].as_str().unwrap_or_default().to_owned(),
                parameters: function["parameters"].clone(),
            }
        };
        let tools = self.tools.iter().flatten().map(tool).collect();
        Arc::new(Offer { tools, one_call: false })
    }

    fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|other| other == tag)
    }

    fn thinking(&self) -> Thinking {
        let prompt = self.generation_prompt.as_deref();
        let opens =
            prompt.map_or(self.thinking == Some(true), |prompt| prompt.trim_end().ends_with("<think>"));
        let closed = prompt.is_some_and(|prompt| prompt.contains("</think>")) || self.thinking == Some(false);
        match (opens || self.has_tag("x-think-no-open-tag"), closed) {
            (true, _) => Thinking::Open,
            (false, true) => Thinking::Closed,
            (false, false) => Thinking::MayOpen,
        }
    }

    fn read<'t>(&self, format: Format, pieces: impl IntoIterator<Item = &'t str>) -> Folded {
        let (mut reader, mut events) = (Reader::new(format, self.offer(), self.thinking()), Vec::new());
        for piece in pieces {
            reader.feed(piece, &mut events);
        }
        reader.finish(if self.has_tag("truncated") { End::Length } else { End::Model }, &mut events);
        Folded::of(&events)
    }

    fn cuts_change_nothing(&self, format: Format, whole: &Folded) {
        let text = self.raw_output.as_str();
        for (at, _) in text.char_indices() {
            assert_eq!(
                &self.read(format, <[&str; 2]>::from(text.split_at(at))),
                whole,
                "{} at {at}",
                self.id
            );
        }
        for characters in [1, 2, 3, 7] {
            let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).step_by(characters).collect();
            let ends = borders.iter().copied().skip(1).chain([text.len()]);
            let pieces =
                borders.iter().zip(ends).map(|(start, end)| text.get(*start..end).unwrap_or_default());
            assert_eq!(&self.read(format, pieces), whole, "{} by {characters}", self.id);
        }
    }

    fn says(&self, reply: &Folded) -> bool {
        if let Some(expected) = &self.expected {
            return expected.equals(reply);
        }
        let accepted = |way: &str| {
            self.expected_error.as_ref().is_some_and(|error| error.accept.iter().any(|a| a == way))
        };
        (accepted("no_tool_calls") && reply.calls.is_empty())
            || (accepted("content_passthrough") && reply.content.as_deref() == Some(&self.raw_output))
    }
}

impl Expected {
    fn equals(&self, reply: &Folded) -> bool {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let calls = reply.calls.iter().map(|call| ExpectedCall {
            name: call.name.clone(),
            arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
        });
        text(&self.content) == text(&reply.content)
            && text(&self.reasoning_content) == text(&reply.reasoning)
            && calls.eq(self
                .tool_calls
                .iter()
                .map(|call| ExpectedCall { name: call.name.clone(), arguments: call.arguments.clone() }))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the recordings are no part of this project; a variable says where they are"
)]
fn folder() -> Option<PathBuf> {
    std::env::var("TFPROXY_MODEL_OUTPUTS").ok().map(PathBuf::from)
}

fn lines(folder: &Path, name: &str) -> Result<Vec<Line>, Box<dyn Error>> {
    let text = fs::read_to_string(folder.join(name).with_extension("jsonl"))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[test]
fn recorded_outputs_are_read() -> Result<(), Box<dyn Error>> {
    let Some(folder) = folder() else {
        println!("TFPROXY_MODEL_OUTPUTS names no folder: recorded outputs are not read");
        return Ok(());
    };
    for (name, format) in FILES {
        let lines = lines(&folder, name)?;
        let mut as_expected = 0;
        for line in &lines {
            let whole = line.read(format, [line.raw_output.as_str()]);
            line.cuts_change_nothing(format, &whole);
            let otherwise = OTHERWISE.iter().find(|(id, _)| *id == line.id);
            as_expected += usize::from(line.says(&whole));
            assert_eq!(
                line.says(&whole),
                otherwise.is_none(),
                "{}: {whole:?}, expected {:?}",
                line.id,
                line.expected
            );
            if let Some((id, reason)) = otherwise {
                println!("{id} says otherwise: {reason}");
            }
        }
        println!("{name}: {as_expected} of {} say what is expected", lines.len());
    }
    Ok(())
}
