//! The list of plants and decoys: names, sentences, and the rules that must catch a plant.

use super::{
    Filter, PlantKind, PlantSpec, Seam, Setting, Touches, calls, decoys, prose,
    rejected::{self, When},
    shape::{self, EachChunk, Keep, WholeBody},
    tokens, values,
};
use crate::plant::frames::Frame;

type Build = fn(Setting) -> Box<dyn Filter>;

const TOKENS: &[Seam] = &[Seam::Tokens];
const EVENTS: &[Seam] = &[Seam::Events];
const WIRE: &[Seam] = &[Seam::Wire];

/// All of them, in the order in which they are listed.
pub const ALL: &[PlantSpec] = &[
    // What a reader loses of prose.
    plant(
        "rejected-lost",
        "a one-call stream loses rejected envelopes, whatever their spelling",
        &["parity/content"],
        Touches::OneCallStream,
        EVENTS,
        |_| Box::new(rejected::RejectedLost::new(When::Always)),
    ),
    plant(
        "rejected-lost-cut",
        "a one-call stream that is cut by its length loses rejected envelopes",
        &["parity/content"],
        Touches::OneCallStream,
        EVENTS,
        |_| Box::new(rejected::RejectedLost::new(When::Cut)),
    ),
    plant(
        "newline-lost-cut",
        "a stream that is cut by its length loses the newlines at the end of its prose",
        &["parity/content-whitespace"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::NewlineLost::default()),
    ),
    plant(
        "prose-beside-call-lost",
        "a whole reply with calls has null content, whatever prose there was",
        &["parity/content"],
        Touches::Whole,
        WIRE,
        |_| Box::new(WholeBody(shape::prose_beside_call_lost)),
    ),
    plant(
        "content-dropped",
        "a stream loses prose that comes in the same round as a piece of a call",
        &["parity/content"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::ProseInCallRoundLost),
    ),
    plant(
        "text-after-call-lost",
        "a stream loses prose that follows a call",
        &["parity/content"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::ProseAfterCallLost::default()),
    ),
    plant(
        "content-after-thinking-lost",
        "a stream loses prose that comes in the same round as a piece of reasoning",
        &["parity/content"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::ProseInThinkingRoundLost),
    ),
    plant(
        "content-trimmed",
        "a stream loses blanks at the start of its prose",
        &["parity/content-whitespace"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::StartTrimmed::default()),
    ),
    plant(
        "reasoning-as-content",
        "a stream sends reasoning as content",
        &["parity/reasoning-split"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::ReasoningAsContent),
    ),
    plant(
        "reasoning-lost",
        "a stream loses reasoning",
        &["parity/reasoning"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::ReasoningLost),
    ),
    plant(
        "stop-leak",
        "a stream ends with the stop string that ended it",
        &["parity/stop-string-leak"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::StopLeak),
    ),
    plant(
        "utf8-split",
        "a stream decodes each round by itself, so that a character split between two becomes U+FFFD",
        &["parity/unicode-replacement"],
        Touches::Stream,
        TOKENS,
        |_| Box::new(tokens::SplitCharacters::default()),
    ),
    // What happens to calls.
    plant(
        "arguments-in-one-piece",
        "a stream sends the arguments of a call in one delta at its end",
        &["expect/argument-deltas"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::ArgumentsInOnePiece::default()),
    ),
    plant(
        "arguments-object",
        "a stream sends arguments as a JSON object, not as text",
        &["openai-chat/tool-arguments-type"],
        Touches::Stream,
        &[Seam::Events, Seam::Wire],
        |_| Box::new(calls::ArgumentsAsObject::default()),
    ),
    plant(
        "arguments-resent",
        "a stream sends all arguments of a call a second time at its end",
        &["parity/tool-arguments"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::ArgumentsResent::default()),
    ),
    plant(
        "calls-after-rejected-lost",
        "a stream loses all calls after an envelope was rejected that itself came after a call",
        &["parity/tool-count"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::CallsAfterRejectedLost::default()),
    ),
    plant(
        "typed-not-compact",
        "a stream writes objects and lists inside the arguments with blanks after commas and colons",
        &["parity/tool-arguments-text"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(values::Respaced::from_depth(2)),
    ),
    plant(
        "value-tail-lost",
        "a stream loses the last three characters of each string value",
        &["parity/tool-arguments"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(values::ValueTailLost::default()),
    ),
    plant(
        "numbers-as-strings",
        "a stream sends numbers, true and false inside the arguments as strings",
        &["parity/tool-arguments"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(values::NumbersAsStrings),
    ),
    plant(
        "cut-call-completed",
        "a stream closes the arguments of a call that was cut",
        &["parity/tool-arguments"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::CutCallCompleted),
    ),
    plant(
        "closer-in-arguments",
        "a stream sends the closer of a call as the end of its arguments",
        &["parity/tool-arguments"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::CloserInArguments),
    ),
    plant(
        "empty-arguments-lost",
        "a stream sends nothing where the arguments are an empty object",
        &["parity/tool-arguments"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::EmptyArgumentsLost::default()),
    ),
    plant(
        "name-damaged",
        "a stream loses the first character of a call's name",
        &["parity/tool-name"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::NameDamaged),
    ),
    plant(
        "markup-leak",
        "a stream sends calls as text of the content",
        &["parity/tool-count"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::MarkupLeak::default()),
    ),
    plant(
        "call-dropped",
        "a stream loses calls, says stop, and bills their tokens",
        &["parity/tool-count"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(calls::CallLost),
    ),
    // How a reply ends, and what it cost.
    plant(
        "finish-stop",
        "a stream says stop where it is tool_calls",
        &["parity/finish-reason"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::finish_stop)),
    ),
    plant(
        "length-hidden",
        "a stream that is cut by its length says it ended by itself",
        &["parity/finish-reason"],
        Touches::Stream,
        EVENTS,
        |_| Box::new(prose::LengthHidden::default()),
    ),
    plant(
        "finish-missing",
        "a stream has no finish reason",
        &["openai-chat/finish-reason-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::finish_missing)),
    ),
    plant(
        "finish-every-chunk",
        "a stream has a finish reason on each chunk",
        &["openai-chat/finish-reason-once"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::finish_everywhere)),
    ),
    plant(
        "usage-missing",
        "a stream has no usage, though it was asked for",
        &["openai-chat/usage-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(shape::UsageMissing),
    ),
    plant(
        "usage-differs",
        "a stream bills one token more than were generated",
        &["parity/usage-completion"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::usage_differs)),
    ),
    plant(
        "done-missing",
        "a stream ends without [DONE]",
        &["openai-chat/done-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(Keep(|frame| *frame != Frame::Done)),
    ),
    plant(
        "truncated-clean",
        "a stream ends after half of its events, without a finish, and closes as if it were complete",
        &["openai-chat/done-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(shape::TruncatedClean::default()),
    ),
    // The shape of chunks.
    plant(
        "tool-id-repeated",
        "a stream repeats id and name of a call on each of its fragments",
        &["openai-chat/tool-id-repeated"],
        Touches::Stream,
        WIRE,
        |_| Box::new(shape::HeaderRepeated::default()),
    ),
    plant(
        "index-zero",
        "a stream gives each call the index 0",
        &["openai-chat/tool-index-reused"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::index_zero)),
    ),
    plant(
        "index-missing",
        "a stream gives no call an index",
        &["openai-chat/tool-index-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::index_missing)),
    ),
    plant(
        "role-repeated",
        "a stream says the role on each chunk",
        &["openai-chat/role-repeated"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::role_repeated)),
    ),
    plant(
        "id-per-chunk",
        "a stream gives each chunk an id of its own",
        &["openai-chat/id-constant"],
        Touches::Stream,
        WIRE,
        |_| Box::new(shape::IdPerChunk::default()),
    ),
    plant(
        "created-per-chunk",
        "a stream gives each chunk a time of its own",
        &["openai-chat/created-constant"],
        Touches::Stream,
        WIRE,
        |_| Box::new(shape::CreatedPerChunk::default()),
    ),
    plant(
        "type-missing",
        "a stream gives no call a type",
        &["openai-chat/tool-type-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::type_missing)),
    ),
    plant(
        "tool-id-missing",
        "a stream gives no call an id",
        &["openai-chat/tool-id-missing"],
        Touches::Stream,
        WIRE,
        |_| Box::new(EachChunk(shape::tool_id_missing)),
    ),
    // What servers are free to do.
    decoy("usage-on-finish", "usage stands on the finish chunk, not in a chunk of its own", WIRE, |_| {
        Box::new(decoys::UsageOnFinish)
    }),
    decoy("null-for-absent", "fields that are absent are there, and null", WIRE, |_| {
        Box::new(decoys::NullForAbsent)
    }),
    decoy("comments", "a keep-alive comment stands before each event", WIRE, |_| Box::new(decoys::Comments)),
    decoy("crlf", "lines of a stream end in CR and LF", WIRE, |_| Box::new(decoys::Crlf)),
    decoy("other-ids", "ids of replies and calls have another form", WIRE, |_| Box::new(decoys::OtherIds)),
    decoy("cached-tokens", "cached tokens are counted, and differ between the modes", WIRE, |_| {
        Box::new(decoys::CachedTokens)
    }),
    decoy("respaced-arguments", "arguments are written with blanks, alike in both modes", EVENTS, |_| {
        Box::new(values::Respaced::from_depth(1))
    }),
    decoy("one-huge-delta", "all that is said comes at the end, in as few chunks as can be", EVENTS, |_| {
        Box::new(calls::AllAtOnce::default())
    }),
    decoy("empty-deltas", "deltas that say nothing stand between the others", WIRE, |_| {
        Box::new(decoys::EmptyDeltas)
    }),
];

const fn plant(
    name: &'static str,
    sentence: &'static str,
    catchers: &'static [&'static str],
    touches: Touches,
    seams: &'static [Seam],
    build: Build,
) -> PlantSpec {
    PlantSpec { name, kind: PlantKind::Plant, sentence, catchers, seams, touches, build }
}

const fn decoy(
    name: &'static str,
    sentence: &'static str,
    seams: &'static [Seam],
    build: Build,
) -> PlantSpec {
    PlantSpec { name, kind: PlantKind::Decoy, sentence, catchers: &[], seams, touches: Touches::Both, build }
}
