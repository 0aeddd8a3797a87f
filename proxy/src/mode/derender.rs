//! What it takes to hand a server the tokens of a reply: how its template ends a prompt, and how its tokenizer writes a text.
//!
//! In: a sender, a model, a format, cases. Out: a [`Reader`], or why the server reads no tokens. Some requests to vLLM's
//! endpoints for prompts and texts: `/v1/chat/completions/render` and `/tokenize`.

use crate::{
    exchange::Sender,
    plan::{
        Planned, Reader,
        derender::{Prompts, text},
        tokens::Vocabulary,
    },
    request::{Dialect, Mode, Request, case::Case},
    run::ask::patiently,
    settings::BUSY_RETRIES,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// A server that reads no tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--via derender: {path}: {why}")]
pub struct NoDerender {
    path: &'static str,
    why: String,
}

/// What gives a server these endpoints.
const HOW: &str = "vLLM has it when started with --enable-scale-out, or as `vllm launch render`";

const RENDER: &str = "/v1/chat/completions/render";
const TOKENIZE: &str = "/tokenize";

/// Prepares all texts of a format.
///
/// # Errors
/// An endpoint is not there, or answers something else.
pub async fn prepare(
    sender: &Sender,
    model: &str,
    vocabulary: &'static Vocabulary,
    cases: &[Arc<Case>],
) -> Result<Reader, NoDerender> {
    let server = Server { sender, model };
    let mut reader =
        Reader { model: model.to_owned(), format: vocabulary.format.to_owned(), ..Reader::default() };
    reader.prompts = Prompts {
        unasked: server.prompt(None).await?,
        on: server.prompt(Some(true)).await?,
        off: server.prompt(Some(false)).await?,
    };
    for marker in vocabulary.special {
        if let [only] = server.tokens(marker).await?.as_slice() {
            reader.special.push(*only);
        }
    }
    let of_format = |case: &&Arc<Case>| case.format.as_deref() == Some(vocabulary.format);
    let says = cases.iter().filter(of_format).filter_map(|case| case.says.as_deref());
    let texts: BTreeSet<&str> = says.map(|says| text(vocabulary.format, says)).collect();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        reader.texts.insert(text.to_owned(), server.tokens(text).await?);
    }
    Ok(reader)
}

struct Server<'a> {
    sender: &'a Sender,
    model: &'a str,
}

// === impl Server ===

impl Server<'_> {
    async fn prompt(&self, thinks: Option<bool>) -> Result<Vec<u32>, NoDerender> {
        let words = thinks.map_or_else(|| json!({}), |thinks| json!({ "enable_thinking": thinks }));
        let messages = json!([{ "role": "user", "content": "x" }]);
        let body = json!({ "model": self.model, "messages": messages, "chat_template_kwargs": words });
        let ids = self.ids(RENDER, &body, "token_ids").await?;
        if ids.is_empty() {
            return Err(NoDerender { path: RENDER, why: "a prompt without tokens".to_owned() });
        }
        Ok(ids)
    }

    async fn tokens(&self, text: &str) -> Result<Vec<u32>, NoDerender> {
        let body = json!({ "model": self.model, "prompt": text, "add_special_tokens": false });
        let tokens = self.ids(TOKENIZE, &body, "tokens").await?;
        if tokens.len() > text.len() {
            let why = format!("{} tokens for a text of {} bytes", tokens.len(), text.len());
            return Err(NoDerender { path: TOKENIZE, why });
        }
        Ok(tokens)
    }

    /// The list of ids that an answer holds under a key.
    async fn ids(&self, path: &'static str, body: &Value, key: &str) -> Result<Vec<u32>, NoDerender> {
        let no = |why: String| NoDerender { path, why };
        let request = Request {
            dialect: Dialect::OpenaiChat,
            path: path.to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_string().into(),
        };
        let planned = Planned { mode: Mode::Whole, rounds: None, request };
        let answer = patiently(self.sender, &planned, BUSY_RETRIES, &mut 0).await;
        match answer.status() {
            Some(200) => {}
            Some(status @ (403..=405 | 501)) => return Err(no(format!("status {status} ({HOW})"))),
            Some(status) => return Err(no(format!("status {status}"))),
            None => return Err(no("no answer".to_owned())),
        }
        let said: Value = serde_json::from_slice(&answer.body()).unwrap_or_default();
        let ids = said.get(key).and_then(Value::as_array);
        let ids = ids.map(|ids| ids.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect());
        ids.flatten().ok_or_else(|| no(format!("its answer has no list of ids as {key}")))
    }
}
