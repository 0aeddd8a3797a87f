//! Chat completions, whole and streamed, side by side.

use super::{
    beside::{self, At},
    calls::{self, Assembly},
    extras, failure, halves,
    hurdles::Reach,
    lens::{Counting, Crash, Does, Finish, Identity, Lens, Reasoning},
    logprobs,
    reply::{Failure, Part, Reply, Text},
    tokens::Tokens,
    usage, wire,
};
use crate::decode::{Decoded, Event, Payload};
use serde_json::Value;
use std::collections::BTreeSet;

/// A stream being folded.
struct Stream<'a> {
    lens: &'a Lens,
    reply: Reply,
    calls: Assembly<'a>,
    choices: BTreeSet<i64>,
    has_halves: bool,
    /// The part that reasoning went to last.
    reasoning: Option<usize>,
    tokens: Tokens,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reasoning,
    Text,
    Refusal,
}

/// Whether reading goes on after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Ends,
}

/// Folds a stream; also tells where the client raised, if it did.
pub(super) fn stream(decoded: &Decoded, lens: &Lens) -> (Reply, Option<Crash>) {
    let has_halves = halves::are_in(decoded);
    let mut stream = Stream {
        lens,
        reply: Reply::default(),
        calls: Assembly::new(lens, has_halves),
        choices: BTreeSet::new(),
        has_halves,
        reasoning: None,
        tokens: Tokens::default(),
    };
    let crash = stream.read(decoded).and_then(|()| stream.end()).err();
    stream.reply.choices = stream.choices.len();
    stream.tokens.settle(&mut stream.reply);
    (stream.reply, crash)
}

/// Folds a whole reply. Clients take it as it stands, so there is one reading.
pub(super) fn whole(decoded: &Decoded) -> Reply {
    let payload = decoded.events.first().map(|event| &event.payload);
    let Some(Payload::Json(body)) = payload else { return Reply::default() };
    let mut reply = Reply { terminated: true, ..Reply::default() };
    head(&mut reply, body);
    reply.error = failure::under_key(body).or_else(|| failure::flat(body));
    reply.usage = body.get("usage").and_then(|u| usage::read(u, 0));
    let choices = body.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    reply.choices = choices.len();
    if let Some(choice) = choices.iter().find(|c| choice_index(c) == 0).or_else(|| choices.first()) {
        whole_choice(&mut reply, choice);
    }
    reply
}

fn whole_choice(reply: &mut Reply, choice: &Value) {
    extras::note(&mut reply.extras, extras::Place::Choice, choice);
    reply.finish = wire::text(choice, "finish_reason").map(|reason| (reason.to_owned(), 0));
    logprobs::note(&mut reply.logprobs, choice, 0);
    reply.stop_detail = stop_detail(choice);
    let mut tokens = Tokens::default();
    tokens.push(choice);
    tokens.settle(reply);
    let Some(message) = choice.get("message").or_else(|| choice.get("delta")) else { return };
    message_head(reply, message, At { event: 0, has_halves: false });
    reply.content_presence = wire::presence(message, "content");
    if let Some((key, text)) = reasoning_of(message) {
        reply.reasoning_field = Some(key.to_owned());
        reply.parts.push(Part::Reasoning(one_piece(text)));
    }
    let filled = |key: &str| wire::content(message.get(key)?).filter(|text| !text.is_empty());
    reply.parts.extend(filled("content").map(|text| Part::Text(one_piece(&text))));
    reply.parts.extend(filled("refusal").map(|text| Part::Refusal(one_piece(&text))));
    let entries = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    reply.parts.extend(
        entries.iter().take(calls::MAX_CALLS).zip(0..).map(|(entry, at)| Part::Call(calls::whole(entry, at))),
    );
}

fn one_piece(piece: &str) -> Text {
    let mut text = Text::default();
    text.push(piece, 0);
    text
}

/// What stands at the head of every chunk and of a whole body.
fn head(reply: &mut Reply, body: &Value) {
    let first = |held: &mut Option<String>, value: Option<&str>| {
        if held.is_none() {
            *held = value.map(ToOwned::to_owned);
        }
    };
    first(&mut reply.id, wire::text(body, "id"));
    first(&mut reply.model, wire::text(body, "model"));
    first(&mut reply.fingerprint, wire::text(body, "system_fingerprint"));
    extras::note(&mut reply.extras, extras::Place::Body, body);
    if let Some(sha) = body.pointer("/tfengine/token_sha").and_then(Value::as_str) {
        reply.proof.token_sha = Some(sha.to_owned());
    }
}

/// What stands beside the text in a message or delta.
fn message_head(reply: &mut Reply, message: &Value, at: At) {
    if reply.role.is_none() {
        reply.role = wire::text(message, "role").map(ToOwned::to_owned);
    }
    extras::note(&mut reply.extras, extras::Place::Message, message);
    beside::note(reply, message, at);
}

fn choice_index(choice: &Value) -> i64 {
    choice.get("index").and_then(Value::as_i64).unwrap_or(0)
}

/// What made the model stop: vLLM names the string or the token id, SGLang likewise.
fn stop_detail(choice: &Value) -> Option<String> {
    ["stop_reason", "matched_stop"].into_iter().find_map(|key| wire::word(choice.get(key)?))
}

/// Reasoning and the key it came in. Where a server sends it under both keys, it is taken once.
fn reasoning_of(delta: &Value) -> Option<(&'static str, &str)> {
    ["reasoning_content", "reasoning"].into_iter().find_map(|key| Some((key, wire::text(delta, key)?)))
}

// === impl Stream ===

impl Stream<'_> {
    fn read(&mut self, decoded: &Decoded) -> Result<(), Crash> {
        let reach = Reach::of(decoded, self.lens.bytes);
        for (at, event) in decoded.events.iter().enumerate().skip(reach.skipped) {
            if let Some(why) = reach.raises_before(event.span.end) {
                return Err(self.lens.crash(why, Some(at)));
            }
            if event.span.end > reach.end || self.event(at, event)? == Flow::Ends {
                return Ok(());
            }
        }
        reach.raises_before(usize::MAX).map_or(Ok(()), |why| Err(self.lens.crash(why, None)))
    }

    fn end(&mut self) -> Result<(), Crash> {
        if self.reply.error.is_some() && self.lens.error_ends {
            return Ok(());
        }
        if self.reply.finish.is_none() {
            self.lens.may_crash(self.lens.no_finish, "a stream without a finish reason", None)?;
        }
        self.calls.finish(&mut self.reply.parts)
    }

    fn event(&mut self, at: usize, event: &Event) -> Result<Flow, Crash> {
        match &event.payload {
            Payload::Done => {
                self.reply.terminated = true;
                Ok(Flow::Ends)
            }
            Payload::Json(chunk) if chunk.is_object() => {
                if self.failure(at, event, chunk)? == Flow::Ends {
                    return Ok(Flow::Ends);
                }
                self.chunk(at, chunk).map(|()| Flow::On)
            }
            Payload::Json(_) | Payload::Other => Ok(Flow::On),
        }
    }

    fn failure(&mut self, at: usize, event: &Event, chunk: &Value) -> Result<Flow, Crash> {
        if chunk.get("error").is_some_and(Value::is_null) {
            self.lens.may_crash(self.lens.null_error, "a null error key", Some(at))?;
        }
        let Some(failure) =
            failure::under_key(chunk).map_or_else(|| self.flat(at, event, chunk), |f| Ok(Some(f)))?
        else {
            return Ok(Flow::On);
        };
        self.reply.error.get_or_insert(Failure { event: Some(at), ..failure });
        Ok(if self.lens.error_ends { Flow::Ends } else { Flow::On })
    }

    /// An error that is not under its key: a flat object, or an event named `error`.
    fn flat(&self, at: usize, event: &Event, chunk: &Value) -> Result<Option<Failure>, Crash> {
        let named = event.name.as_deref() == Some("error") && chunk.get("choices").is_none();
        let failure = failure::flat(chunk).or_else(|| named.then(|| failure::flat_object(chunk)));
        if failure.is_some() {
            self.lens.may_crash(self.lens.flat_error, "an error without the key error", Some(at))?;
        }
        Ok(failure.filter(|_| self.lens.flat_error == Does::Reads))
    }

    fn chunk(&mut self, at: usize, chunk: &Value) -> Result<(), Crash> {
        let foreign = wire::given(chunk, "object").is_some_and(|o| o != "chat.completion.chunk");
        if foreign && self.lens.foreign_object.skips() || self.is_dropped(chunk) {
            return Ok(());
        }
        head(&mut self.reply, chunk);
        if self.lens.id == Identity::Last
            && let Some(id) = wire::text(chunk, "id")
        {
            self.reply.id = Some(id.to_owned());
        }
        self.count(at, chunk.get("usage"));
        let choices = chunk.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        choices.iter().try_for_each(|choice| self.choice(at, choice))
    }

    /// Whether the chunk is another response's to the client.
    fn is_dropped(&self, chunk: &Value) -> bool {
        let held = self.reply.id.as_deref();
        self.lens.id == Identity::OnlyFirst
            && held.is_some()
            && chunk.get("id").and_then(Value::as_str) != held
    }

    fn count(&mut self, at: usize, counts: Option<&Value>) {
        let now = counts.and_then(|counts| usage::read(counts, at));
        match (self.lens.usage, now) {
            (Counting::LastChunk, now) => self.reply.usage = now,
            (Counting::LastGiven, Some(now)) => self.reply.usage = Some(now),
            (Counting::Summed, Some(now)) => {
                self.reply.usage = Some(usage::add(self.reply.usage.take(), now));
            }
            (_, None) => {}
        }
    }

    fn choice(&mut self, at: usize, choice: &Value) -> Result<(), Crash> {
        let index = choice_index(choice);
        let known = i64::try_from(self.choices.len()).unwrap_or(i64::MAX);
        if self.choices.insert(index) && index > known {
            self.lens.may_crash(self.lens.late_choice, "a choice before those below it", Some(at))?;
        }
        if index != 0 {
            return Ok(());
        }
        extras::note(&mut self.reply.extras, extras::Place::Choice, choice);
        self.finish_reason(at, choice.get("finish_reason"));
        self.tokens.push(choice);
        logprobs::note(&mut self.reply.logprobs, choice, at);
        if let Some(detail) = stop_detail(choice) {
            self.reply.stop_detail = Some(detail);
        }
        let delta = wire::given(choice, "delta").or_else(|| wire::given(choice, "message"));
        delta.map_or(Ok(()), |delta| self.delta(at, delta))
    }

    fn finish_reason(&mut self, at: usize, reason: Option<&Value>) {
        match reason.and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            Some(reason) => self.reply.finish = Some((reason.to_owned(), at)),
            None if self.lens.finish == Finish::Last => self.reply.finish = None,
            None => {}
        }
    }

    fn delta(&mut self, at: usize, delta: &Value) -> Result<(), Crash> {
        message_head(&mut self.reply, delta, At { event: at, has_halves: self.has_halves });
        if let Some((key, text)) = reasoning_of(delta) {
            self.think(at, key, text);
        }
        let presence = wire::presence(delta, "content");
        self.reply.content_presence = wire::stronger(self.reply.content_presence, presence);
        self.say(Kind::Text, at, delta.get("content"));
        self.say(Kind::Refusal, at, delta.get("refusal"));
        let entries =
            delta.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        entries.iter().try_for_each(|entry| self.calls.push(&mut self.reply.parts, entry, at))
    }

    fn think(&mut self, at: usize, key: &'static str, text: &str) {
        if self.lens.reasoning == Reasoning::Ignored {
            return;
        }
        self.reply.reasoning_field.get_or_insert_with(|| key.to_owned());
        if self.lens.reasoning == Reasoning::LastDelta
            && let Some(Part::Reasoning(held)) =
                self.reasoning.and_then(|part| self.reply.parts.get_mut(part))
        {
            *held = Text::default();
            return held.push(text, at);
        }
        self.append(Kind::Reasoning, at, text);
        self.reasoning = Some(self.reply.parts.len() - 1);
    }

    fn say(&mut self, kind: Kind, at: usize, value: Option<&Value>) {
        let odd = value.is_some_and(|value| !value.is_string());
        if odd && self.lens.odd_content.skips() {
            return;
        }
        if let Some(text) = value.and_then(wire::content).filter(|text| !text.is_empty()) {
            self.append(kind, at, &text);
        }
    }

    /// Appends to the last part if it is of that kind, to a new one otherwise.
    fn append(&mut self, kind: Kind, at: usize, piece: &str) {
        let last = self.reply.parts.last_mut().and_then(|part| kind.text_of(part));
        if let Some(text) = last {
            return calls::append(text, piece, at, self.has_halves);
        }
        let mut text = Text::default();
        text.push(piece, at);
        self.reply.parts.push(kind.part(text));
    }
}

// === impl Kind ===

impl Kind {
    const fn part(self, text: Text) -> Part {
        match self {
            Self::Reasoning => Part::Reasoning(text),
            Self::Text => Part::Text(text),
            Self::Refusal => Part::Refusal(text),
        }
    }

    const fn text_of(self, part: &mut Part) -> Option<&mut Text> {
        match (self, part) {
            (Self::Reasoning, Part::Reasoning(text))
            | (Self::Text, Part::Text(text))
            | (Self::Refusal, Part::Refusal(text)) => Some(text),
            _ => None,
        }
    }
}
