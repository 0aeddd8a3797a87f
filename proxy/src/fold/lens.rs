//! The choices real clients make when they fold a stream, as data.
//!
//! In: what releases of the official clients were seen to do with hand-made streams (openai-python 3.57, openai-node
//! 6.49) or do by their source (openai-go). Out: a [`Lens`], which the fold obeys. A lens says what a client *holds*
//! at the end; where a client raises, the fold stops with a [`Crash`].

/// How a client folds. [`Lens::STRICT`] is ours; the others are official clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lens {
    /// The client's name, `openai-python`.
    pub name: &'static str,
    /// How bytes become events.
    pub bytes: Bytes,
    /// How fragments become tool calls.
    pub calls: Calls,
    /// Reasoning deltas.
    pub reasoning: Reasoning,
    /// The finish reason.
    pub finish: Finish,
    /// A stream without any finish reason.
    pub no_finish: Does,
    /// Usage.
    pub usage: Counting,
    /// The response's id where chunks disagree.
    pub id: Identity,
    /// A choice other than 0 that comes before those below it.
    pub late_choice: Does,
    /// Content that is no string.
    pub odd_content: Does,
    /// `"error": null` on a chunk.
    pub null_error: Does,
    /// An error that is not under the key `error`.
    pub flat_error: Does,
    /// A chunk whose `object` is not `chat.completion.chunk`.
    pub foreign_object: Does,
    /// Whether an error inside the stream ends the reading.
    pub error_ends: bool,
}

/// What a client does with something it may not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Takes it as it is meant.
    Reads,
    /// Passes over it without a word.
    Skips,
    /// Raises; the answer is lost.
    Crashes,
}

/// How a client's reader of events takes oddities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// A byte order mark at the start: `Skips` loses the first event.
    pub mark: Does,
    /// A bare CR as line end: `Skips` loses all from there on.
    pub bare_cr: Does,
    /// A last block without its blank line.
    pub unterminated: Does,
    /// Bytes that are not UTF-8.
    pub invalid_utf8: Does,
    /// `NaN` and `Infinity`.
    pub non_finite: Does,
    /// Data that is no JSON, empty or two documents.
    pub not_json: Does,
    /// A block without data.
    pub bare_block: Does,
    /// A block without data that has a `retry` field.
    pub bare_retry: Does,
}

/// How a client makes tool calls of fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// A fragment without an index.
    pub no_index: Place,
    /// A negative index.
    pub negative: Place,
    /// An index above the next one.
    pub gap: Gap,
    /// Whether a known index with another id and a name opens another call, or is glued to the one there.
    pub splits: bool,
    /// Ids of several fragments.
    pub id: Merge,
    /// Names of several fragments.
    pub name: Merge,
    /// Arguments sent as an object.
    pub object: ObjectArguments,
    /// A call that never had a type.
    pub no_kind: Does,
    /// `"function": null` on a fragment that is not the first.
    pub null_function: Does,
}

/// Where a fragment goes whose index says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// To the call with its id, else to a new one if it has a name, else to the last one.
    Guess,
    /// To the last call.
    Last,
    /// To index 0.
    Zero,
    /// Nowhere.
    Nowhere,
    /// The client raises.
    Crash,
}

/// What a gap in the indexes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Nothing.
    Keeps,
    /// Empty calls fill it.
    Pads,
    /// The client raises at once.
    Crashes,
    /// The client raises at the end, if the gap is still there.
    CrashesAtEnd,
}

/// What becomes of a text that comes in several fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// Joined, a plain repetition taken once.
    Once,
    /// Joined, whatever it is.
    Joined,
    /// The last one stays.
    Last,
}

/// What becomes of arguments that are an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectArguments {
    /// Kept as an object.
    Kept,
    /// A string that says `[object Object]`.
    Named,
    /// Lost.
    Lost,
}

/// What becomes of `reasoning_content`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    /// Joined.
    Joined,
    /// Only the last delta stays.
    LastDelta,
    /// Not known to the client.
    Ignored,
}

/// Which finish reason stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The last that is a string.
    LastGiven,
    /// The last, even null.
    Last,
}

/// Which usage stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// The last that came.
    LastGiven,
    /// That of the last chunk, even none.
    LastChunk,
    /// The sum of all.
    Summed,
}

/// Which response id stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The first.
    First,
    /// The last.
    Last,
    /// The first; chunks with another are dropped.
    OnlyFirst,
}

/// A client raised while reading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{client} raises on {why}")]
pub struct Crash {
    /// The client.
    pub client: &'static str,
    /// On what, in one fragment that fits after "raises on".
    pub why: &'static str,
    /// The event at which it raised; `None` at the end.
    pub event: Option<usize>,
}

// === impl Lens ===

impl Lens {
    /// Our own reading: as the documents say, losing nothing.
    pub const STRICT: Self = Self {
        name: "strict",
        bytes: Bytes {
            mark: Does::Reads,
            bare_cr: Does::Reads,
            unterminated: Does::Reads,
            invalid_utf8: Does::Reads,
            non_finite: Does::Reads,
            not_json: Does::Skips,
            bare_block: Does::Skips,
            bare_retry: Does::Skips,
        },
        calls: Calls {
            no_index: Place::Guess,
            negative: Place::Guess,
            gap: Gap::Keeps,
            splits: true,
            id: Merge::Once,
            name: Merge::Once,
            object: ObjectArguments::Kept,
            no_kind: Does::Reads,
            null_function: Does::Skips,
        },
        reasoning: Reasoning::Joined,
        finish: Finish::LastGiven,
        no_finish: Does::Skips,
        usage: Counting::LastGiven,
        id: Identity::First,
        late_choice: Does::Reads,
        odd_content: Does::Reads,
        null_error: Does::Skips,
        flat_error: Does::Reads,
        foreign_object: Does::Reads,
        error_ends: false,
    };

    /// The official client for Python, with its accumulating helper.
    pub const OPENAI_PYTHON: Self = Self {
        name: "openai-python",
        bytes: Bytes {
            mark: Does::Skips,
            bare_cr: Does::Reads,
            unterminated: Does::Skips,
            invalid_utf8: Does::Crashes,
            non_finite: Does::Reads,
            not_json: Does::Crashes,
            bare_block: Does::Crashes,
            bare_retry: Does::Crashes,
        },
        calls: Calls {
            no_index: Place::Crash,
            negative: Place::Last,
            gap: Gap::Crashes,
            splits: false,
            id: Merge::Joined,
            name: Merge::Joined,
            object: ObjectArguments::Kept,
            no_kind: Does::Skips,
            null_function: Does::Crashes,
        },
        usage: Counting::LastChunk,
        late_choice: Does::Crashes,
        odd_content: Does::Skips,
        flat_error: Does::Skips,
        foreign_object: Does::Skips,
        error_ends: true,
        ..Self::STRICT
    };

    /// The official client for JavaScript, with its accumulating helper.
    pub const OPENAI_NODE: Self = Self {
        name: "openai-node",
        bytes: Bytes {
            unterminated: Does::Skips,
            non_finite: Does::Crashes,
            not_json: Does::Crashes,
            bare_block: Does::Crashes,
            ..Self::STRICT.bytes
        },
        calls: Calls {
            no_index: Place::Nowhere,
            negative: Place::Crash,
            gap: Gap::CrashesAtEnd,
            splits: false,
            id: Merge::Last,
            name: Merge::Last,
            object: ObjectArguments::Named,
            no_kind: Does::Crashes,
            null_function: Does::Skips,
        },
        reasoning: Reasoning::LastDelta,
        no_finish: Does::Crashes,
        id: Identity::Last,
        flat_error: Does::Crashes,
        error_ends: true,
        ..Self::STRICT
    };

    /// The official client for Go, with its accumulator.
    pub const OPENAI_GO: Self = Self {
        name: "openai-go",
        bytes: Bytes {
            mark: Does::Skips,
            bare_cr: Does::Skips,
            unterminated: Does::Skips,
            non_finite: Does::Crashes,
            not_json: Does::Crashes,
            ..Self::STRICT.bytes
        },
        calls: Calls {
            no_index: Place::Zero,
            negative: Place::Zero,
            gap: Gap::Pads,
            splits: false,
            id: Merge::Last,
            name: Merge::Joined,
            object: ObjectArguments::Lost,
            no_kind: Does::Skips,
            null_function: Does::Skips,
        },
        reasoning: Reasoning::Ignored,
        finish: Finish::Last,
        usage: Counting::Summed,
        id: Identity::OnlyFirst,
        null_error: Does::Crashes,
        flat_error: Does::Skips,
        error_ends: true,
        ..Self::STRICT
    };

    /// The official clients.
    pub const CLIENTS: &'static [Self] = &[Self::OPENAI_PYTHON, Self::OPENAI_NODE, Self::OPENAI_GO];

    /// The end of reading, on something.
    pub(super) const fn crash(&self, why: &'static str, event: Option<usize>) -> Crash {
        Crash { client: self.name, why, event }
    }

    /// The end of reading, if that is what the client does.
    pub(super) const fn may_crash(
        &self,
        does: Does,
        why: &'static str,
        event: Option<usize>,
    ) -> Result<(), Crash> {
        if matches!(does, Does::Crashes) { Err(self.crash(why, event)) } else { Ok(()) }
    }
}
