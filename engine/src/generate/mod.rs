//! Generation: rounds of tokens in, reply events out, in one pass.
//!
//! A generation does nothing by itself: each call of [`Generation::round`] commits one round, so whoever stops calling
//! has stopped it. The same rounds run for a whole reply and for a stream.

mod rounds;
mod sha;
mod stop;

pub use rounds::Rounds;

use rounds::Schedule;
use sha::TokenSha;
use stop::{Match, StopStrings};

use crate::{
    chat::{Ended, Request, Usage},
    plant::Seams,
    read::{End, Finish, Reader, ReplyEvent},
    text::{Detokenizer, TokenId, Tokenizer},
};

/// A reply being generated.
pub struct Generation {
    tokenizer: Tokenizer,
    script: Vec<TokenId>,
    at: usize,
    limit: usize,
    schedule: Schedule,
    stop: StopStrings,
    stop_texts: Vec<String>,
    text: Detokenizer,
    reader: Option<Reader>,
    sha: TokenSha,
    prompt_tokens: u64,
    ids: Vec<TokenId>,
    piece: String,
}

/// What a round came to.
#[derive(Debug)]
pub enum Step {
    /// There is more to come.
    More,
    /// It was the last one.
    Last(Ended),
}

/// Why no round follows.
enum Over {
    Model,
    Length,
    Stop(Match),
}

// === impl Generation ===

impl Generation {
    /// A generation that has not begun.
    pub fn new(request: Request, rounds: Rounds) -> Self {
        let script = request.model.script(&request.says);
        Self {
            tokenizer: request.model.tokenizer(),
            at: 0,
            limit: request
                .max_tokens
                .map_or(script.len(), |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            script,
            schedule: Schedule::new(rounds),
            stop: StopStrings::new(&request.stop),
            stop_texts: request.stop,
            text: Detokenizer::default(),
            reader: Some(Reader::new(request.model.format, request.offer, request.thinking)),
            sha: TokenSha::default(),
            prompt_tokens: request.prompt_tokens,
            ids: Vec::new(),
            piece: String::new(),
        }
    }

    /// Commits one round and adds what it says to `events`.
    pub fn round(&mut self, seams: &mut Seams, events: &mut Vec<ReplyEvent>) -> Step {
        let over = self.commit();
        self.sha.push(&self.ids);
        seams.tokens(&mut self.ids);
        self.say(over.as_ref(), events);
        match over {
            None => {
                seams.events(events);
                Step::More
            }
            Some(over) => Step::Last(self.end(&over, seams, events)),
        }
    }

    /// Takes the tokens of the next round into `ids`, up to the one that ends the reply.
    fn commit(&mut self) -> Option<Over> {
        self.ids.clear();
        let to_come = self.script.get(self.at..self.limit.min(self.script.len())).unwrap_or_default();
        let planned = self.schedule.next(to_come);
        for id in to_come.iter().take(planned) {
            self.ids.push(*id);
            self.at += 1;
            if *id == self.tokenizer.end() {
                return Some(Over::Model);
            }
            if let Some(found) = self.stop.push(self.tokenizer.bytes(*id)) {
                return Some(Over::Stop(found));
            }
        }
        (self.at >= self.limit).then_some(Over::Length)
    }

    /// Hands the text of the round to the reader, but for what a stop string may still take back.
    fn say(&mut self, over: Option<&Over>, events: &mut Vec<ReplyEvent>) {
        for id in &self.ids {
            self.text.push(self.tokenizer.bytes(*id));
        }
        if let Some(Over::Stop(found)) = over {
            self.text.take_back(found.take_back);
        }
        self.piece.clear();
        self.text.release(if over.is_some() { 0 } else { self.stop.held() }, &mut self.piece);
        if let Some(reader) = self.reader.as_mut().filter(|_| !self.piece.is_empty()) {
            reader.feed(&self.piece, events);
        }
    }

    fn end(&mut self, over: &Over, seams: &mut Seams, events: &mut Vec<ReplyEvent>) -> Ended {
        let (end, stop) = match over {
            Over::Model => (End::Model, None),
            Over::Length => (End::Length, None),
            Over::Stop(found) => (End::Stop, self.stop_texts.get(found.which).cloned()),
        };
        let mut ended = Ended {
            end,
            stop,
            finish: self.reader.take().map_or(Finish::Stop, |reader| reader.finish(end, events)),
            usage: Usage { prompt: self.prompt_tokens, completion: self.at as u64 },
            token_sha: self.sha.end(),
        };
        seams.last_events(events, &mut ended);
        ended
    }
}

#[cfg(test)]
mod tests;
