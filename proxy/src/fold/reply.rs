//! The dialect-neutral answer, and where each piece of it came from.

use serde_json::Value;

/// What a client understood. The same shape for every dialect and both modes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// Response id.
    pub id: Option<String>,
    /// The model's name as the server gave it.
    pub model: Option<String>,
    /// `system_fingerprint`, if there was one.
    pub fingerprint: Option<String>,
    /// `role`, as it first came.
    pub role: Option<String>,
    /// Ordered parts. In openai-chat the order of content and calls is known of a stream only.
    pub parts: Vec<Part>,
    /// Whether `content` was absent, null or a string.
    pub content_presence: Presence,
    /// The key that reasoning came in (`reasoning_content`, `reasoning`), if any did.
    pub reasoning_field: Option<String>,
    /// Finish reason, and the event that brought it.
    pub finish: Option<(String, usize)>,
    /// Usage, if it came.
    pub usage: Option<Usage>,
    /// The error, if the answer is one, or if one came in the stream.
    pub error: Option<Failure>,
    /// Evidence of which tokens were generated.
    pub proof: Proof,
    /// The tokens and how likely each was, if the server said so.
    pub logprobs: Option<Logprobs>,
    /// What made it stop, beside the finish reason: a stop string or a token (`stop_reason`, `matched_stop`).
    pub stop_detail: Option<String>,
    /// Whether the dialect's terminal event came (a whole reply: whether the document was complete).
    pub terminated: bool,
    /// Number of choices that were seen; comparing looks at choice 0.
    pub choices: usize,
    /// What the message brought beside content, reasoning and calls.
    pub beside: Beside,
    /// Paths of members that no document knows, in the order in which they first came.
    pub extras: Vec<String>,
}

/// What documents let a message bring, beside what the parts of a reply hold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Beside {
    /// The legacy `function_call`.
    pub function_call: Option<Call>,
    /// Reasoning under a second key, where both come: one key's is the reply's own.
    pub reasoning: Text,
    /// Whether there is audio.
    pub has_audio: bool,
    /// What it says.
    pub transcript: Text,
    /// The entries of `annotations`.
    pub annotations: Vec<Value>,
}

/// One part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Thinking.
    Reasoning(Text),
    /// Content.
    Text(Text),
    /// A refusal.
    Refusal(Text),
    /// A tool call.
    Call(Call),
}

/// Text, and which event brought which stretch of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// All of it.
    pub value: String,
    /// In order; each starts at a byte offset of `value`.
    pub pieces: Vec<Piece>,
}

/// One stretch of a [`Text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Byte offset in the text at which it starts.
    pub start: usize,
    /// Index of the event that brought it.
    pub event: usize,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Call {
    /// The server's id for it.
    pub id: Option<String>,
    /// `type`, normally `function`.
    pub kind: Option<String>,
    /// Its index on the wire (streams), or its position (whole).
    pub index: Option<i64>,
    /// The function's name.
    pub name: String,
    /// Arguments as text; where the server sent an object, its compact JSON.
    pub arguments: Text,
    /// Whether the server sent arguments as a string, an object, null or not at all.
    pub arguments_kind: ArgumentsKind,
    /// Number of deltas that carried a piece of the arguments.
    pub deltas: usize,
    /// The event that opened it.
    pub event: usize,
}

/// What kind of JSON value carried the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArgumentsKind {
    /// None came.
    #[default]
    Absent,
    /// A string, as OpenAI's documents say.
    Text,
    /// An object.
    Object,
    /// null.
    Null,
    /// Something else.
    Other,
}

/// Whether a field was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// No such key.
    #[default]
    Absent,
    /// null.
    Null,
    /// The empty string.
    Empty,
    /// A non-empty string.
    Text,
}

/// Token counts; units are tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Prompt tokens.
    pub prompt: Option<u64>,
    /// Generated tokens.
    pub completion: Option<u64>,
    /// Their sum, as the server gave it.
    pub total: Option<u64>,
    /// Prompt tokens served from a cache.
    pub cached: Option<u64>,
    /// Generated tokens that were reasoning.
    pub reasoning: Option<u64>,
    /// The object as received.
    pub raw: Value,
    /// The event that brought it.
    pub event: usize,
}

/// An error as an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// HTTP status; 200 for an error inside a stream.
    pub status: u16,
    /// `error.code`, a string or a number, as text.
    pub code: Option<String>,
    /// `error.type`.
    pub kind: Option<String>,
    /// `error.param`.
    pub param: Option<String>,
    /// `error.message`, or the body's text where it is no error object.
    pub message: String,
    /// How it was wrapped: `error object`, `flat`, `text`, `html`, `empty`.
    pub envelope: &'static str,
    /// The event of a stream that brought it; `None` where the HTTP status said so.
    pub event: Option<usize>,
}

/// How likely the tokens of a reply were.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logprobs {
    /// All tokens joined, one piece for each.
    pub tokens: Text,
    /// The logprob of each; `None` where there is no number.
    pub values: Vec<Option<f64>>,
}

/// Evidence of which tokens were generated: two replies with equal evidence come from equal tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// `tfengine.token_sha`.
    pub token_sha: Option<String>,
    /// Token ids, where the server gives those of all tokens.
    pub token_ids: Option<TokenIds>,
    /// Number and hash of the bytes of all generated tokens, from logprobs that leave none of them out.
    pub token_bytes: Option<String>,
}

/// The ids of the generated tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenIds {
    /// Joined by commas.
    pub list: String,
    /// How many.
    pub count: u64,
    /// How that stands to what is billed.
    pub billed: Billed,
}

/// How the number of listed tokens stands to the number that is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billed {
    /// They are equal.
    All,
    /// One more is billed: the end of the turn, which many servers do not list.
    OneMore,
    /// There is no usage: whether these are all, the other reply has to say.
    Unknown,
}

// === impl Reply ===

impl Reply {
    /// All content joined.
    pub fn content(&self) -> Text {
        self.joined(|part| if let Part::Text(text) = part { Some(text) } else { None })
    }

    /// All reasoning joined.
    pub fn reasoning(&self) -> Text {
        self.joined(|part| if let Part::Reasoning(text) = part { Some(text) } else { None })
    }

    /// All refusal text joined.
    pub fn refusal(&self) -> Text {
        self.joined(|part| if let Part::Refusal(text) = part { Some(text) } else { None })
    }

    /// The calls in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
    }

    /// The finish reason's text.
    pub fn finish_reason(&self) -> Option<&str> {
        self.finish.as_ref().map(|(reason, _)| reason.as_str())
    }

    fn joined(&self, pick: fn(&Part) -> Option<&Text>) -> Text {
        let mut all = Text::default();
        for text in self.parts.iter().filter_map(pick) {
            let base = all.value.len();
            all.value.push_str(&text.value);
            all.pieces.extend(text.pieces.iter().map(|p| Piece { start: base + p.start, event: p.event }));
        }
        all
    }
}

// === impl Text ===

impl Text {
    /// Appends what an event brought.
    pub fn push(&mut self, piece: &str, event: usize) {
        self.pieces.push(Piece { start: self.value.len(), event });
        self.value.push_str(piece);
    }

    /// The event that brought the byte at `offset`; the last one for an offset at or past the end.
    pub fn event_at(&self, offset: usize) -> Option<usize> {
        let next = self.pieces.partition_point(|p| p.start <= offset);
        self.pieces.get(next.saturating_sub(1)).map(|p| p.event)
    }
}

// === impl Proof ===

impl Proof {
    /// Where the evidence of `token_ids` stands in a reply.
    pub const IDS: &str = "token_ids";
    /// Where that of `token_sha` stands.
    pub const SHA: &str = "tfengine.token_sha";
    /// Where that of `token_bytes` stands.
    pub const LOGPROBS: &str = "logprobs";

    /// `Some(true)` if both hold the same kind of evidence and it is equal, `Some(false)` if it differs, `None` if
    /// they share no kind.
    pub fn same_tokens(&self, other: &Self) -> Option<bool> {
        self.shared(other).map(|(_, a, b)| a == b)
    }

    /// The strongest kind of evidence that both hold, and both values. Ids say more than what is made of them, and logprobs
    /// are the likeliest to be wrong themselves.
    pub fn shared<'a>(&'a self, other: &'a Self) -> Option<(&'static str, &'a str, &'a str)> {
        let ids = || {
            let (a, b) = (self.token_ids.as_ref()?, other.token_ids.as_ref()?);
            a.compares_with(b).then_some((Self::IDS, a.list.as_str(), b.list.as_str()))
        };
        let kinds = [
            (Self::SHA, &self.token_sha, &other.token_sha),
            (Self::LOGPROBS, &self.token_bytes, &other.token_bytes),
        ];
        ids()
            .or_else(|| kinds.into_iter().find_map(|(path, a, b)| Some((path, a.as_deref()?, b.as_deref()?))))
    }
}

// === impl TokenIds ===

impl TokenIds {
    /// Whether both lists are of the same extent, so that they are equal exactly if the tokens are. One that holds the end of
    /// the turn and one that does not are not; nor are two of which no usage says that they are whole.
    fn compares_with(&self, other: &Self) -> bool {
        match (self.billed, other.billed) {
            (Billed::Unknown, Billed::Unknown) => false,
            (one, two) => self.count == other.count || one == two,
        }
    }
}
