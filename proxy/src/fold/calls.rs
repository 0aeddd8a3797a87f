//! Fragments of tool calls to tool calls, as a lens says.

use super::{
    halves,
    lens::{Crash, Does, Gap, Lens, Merge, ObjectArguments, Place},
    reply::{ArgumentsKind, Call, Part, Text},
    wire,
};
use serde_json::Value;
use std::{borrow::Cow, collections::HashMap};

/// The index up to which a lens fills gaps with empty calls; a client would try for ever.
const MAX_PADDING: i64 = 128;

/// The calls from which on a reply is not read further: it is too large to be judged.
pub const MAX_CALLS: usize = 4_096;

/// The calls of a stream so far; they stand among the other parts of the reply.
pub(super) struct Assembly<'a> {
    lens: &'a Lens,
    /// Whether halves of characters may have to be joined.
    has_halves: bool,
    /// The part of the latest call with an index.
    by_index: HashMap<i64, usize>,
    by_id: HashMap<String, usize>,
    /// The part of the call that was opened last.
    last: Option<usize>,
    count: i64,
}

/// One entry of a delta's `tool_calls`.
struct Fragment<'a> {
    index: Option<i64>,
    id: Option<&'a str>,
    kind: Option<&'a str>,
    name: Option<&'a str>,
    function: Option<&'a Value>,
    event: usize,
}

// === impl Assembly ===

impl<'a> Assembly<'a> {
    pub fn new(lens: &'a Lens, has_halves: bool) -> Self {
        let (by_index, by_id) = (HashMap::new(), HashMap::new());
        Self { lens, has_halves, by_index, by_id, last: None, count: 0 }
    }

    /// Takes one fragment.
    pub fn push(&mut self, parts: &mut Vec<Part>, entry: &Value, event: usize) -> Result<(), Crash> {
        if usize::try_from(self.count).is_ok_and(|count| count >= MAX_CALLS) {
            return Ok(());
        }
        let fragment = Fragment::of(entry, event);
        let known = self.count;
        let Some(part) = self.target(parts, &fragment)? else { return Ok(()) };
        let is_later = self.count == known;
        if is_later && fragment.function.is_some_and(Value::is_null) {
            let does = self.lens.calls.null_function;
            self.lens.may_crash(does, "a null function on a later fragment", Some(event))?;
        }
        if let Some(id) = fragment.id {
            self.by_id.insert(id.to_owned(), part);
        }
        if let Some(Part::Call(call)) = parts.get_mut(part) {
            self.merge(call, &fragment);
        }
        Ok(())
    }

    /// The end: what a client only sees then.
    pub fn finish(&self, parts: &mut [Part]) -> Result<(), Crash> {
        let mut calls: Vec<&mut Call> = parts.iter_mut().filter_map(as_call).collect();
        if calls.iter().any(|c| c.kind.is_none()) {
            self.lens.may_crash(self.lens.calls.no_kind, "a tool call without a type", None)?;
        }
        sort(&mut calls);
        let gap = calls.iter().zip(0..).any(|(call, at)| call.index != Some(at));
        if self.lens.calls.gap == Gap::CrashesAtEnd && gap {
            return Err(self.lens.crash("a gap in the tool call indexes", None));
        }
        Ok(())
    }

    /// The part that a fragment belongs to; `None` where the client loses it.
    fn target(&mut self, parts: &mut Vec<Part>, fragment: &Fragment<'_>) -> Result<Option<usize>, Crash> {
        let calls = &self.lens.calls;
        match fragment.index {
            None => self.place(calls.no_index, "a tool call without an index", parts, fragment),
            Some(..0) => self.place(calls.negative, "a negative tool call index", parts, fragment),
            Some(index) => self.at(index, parts, fragment).map(Some),
        }
    }

    fn place(
        &mut self,
        place: Place,
        why: &'static str,
        parts: &mut Vec<Part>,
        fragment: &Fragment<'_>,
    ) -> Result<Option<usize>, Crash> {
        match place {
            Place::Guess => Ok(Some(self.guess(parts, fragment))),
            Place::Last if self.last.is_some() => Ok(self.last),
            Place::Zero => self.at(0, parts, fragment).map(Some),
            Place::Nowhere => Ok(None),
            Place::Last | Place::Crash => Err(self.lens.crash(why, Some(fragment.event))),
        }
    }

    fn guess(&mut self, parts: &mut Vec<Part>, fragment: &Fragment<'_>) -> usize {
        let by_id = fragment.id.and_then(|id| self.by_id.get(id).copied());
        let last = self.last.filter(|_| fragment.name.is_none());
        by_id.or(last).unwrap_or_else(|| self.open(parts, fragment.index, fragment.event))
    }

    fn at(&mut self, index: i64, parts: &mut Vec<Part>, fragment: &Fragment<'_>) -> Result<usize, Crash> {
        let known = self.by_index.get(&index).copied();
        if let Some(part) = known.filter(|part| !self.splits(parts, *part, fragment)) {
            return Ok(part);
        }
        match self.lens.calls.gap {
            Gap::Crashes if index > self.count => {
                return Err(self.lens.crash("a gap in the tool call indexes", Some(fragment.event)));
            }
            Gap::Pads => {
                for missing in self.count..index.min(MAX_PADDING) {
                    self.open(parts, Some(missing), fragment.event);
                }
            }
            _ => {}
        }
        Ok(self.open(parts, Some(index), fragment.event))
    }

    fn splits(&self, parts: &[Part], part: usize, fragment: &Fragment<'_>) -> bool {
        self.lens.calls.splits && opens_another(parts, part, fragment)
    }

    fn open(&mut self, parts: &mut Vec<Part>, index: Option<i64>, event: usize) -> usize {
        let part = parts.len();
        parts.push(Part::Call(Call { index, event, ..Call::default() }));
        if let Some(index) = index {
            self.by_index.insert(index, part);
        }
        self.last = Some(part);
        self.count += 1;
        part
    }

    fn merge(&self, call: &mut Call, fragment: &Fragment<'_>) {
        let repeats = fragment.id.is_some() && fragment.id == call.id.as_deref();
        if let Some(name) = fragment.name {
            let once = self.lens.calls.name == Merge::Once;
            if !(once && repeats && call.name == name) {
                merge_text(&mut call.name, name, self.lens.calls.name);
            }
        }
        if let Some(id) = fragment.id {
            let first = call.id.is_none();
            let held = call.id.get_or_insert_default();
            if first || self.lens.calls.id != Merge::Once {
                merge_text(held, id, self.lens.calls.id);
            }
        }
        if call.kind.is_none() {
            call.kind = fragment.kind.map(ToOwned::to_owned);
        }
        self.merge_arguments(call, fragment);
    }

    fn merge_arguments(&self, call: &mut Call, fragment: &Fragment<'_>) {
        let Some(function) = fragment.function else { return };
        merge_given(call, function, self.lens.calls.object, (fragment.event, self.has_halves));
    }
}

/// Takes the arguments of a fragment of a function call, as strictly as there is.
pub(super) fn merge_arguments(call: &mut Call, function: &Value, event: usize, has_halves: bool) {
    merge_given(call, function, Lens::STRICT.calls.object, (event, has_halves));
}

fn merge_given(
    call: &mut Call,
    function: &Value,
    object: ObjectArguments,
    (event, has_halves): (usize, bool),
) {
    // What a custom tool is given is called its input.
    let Some(arguments) = function.get("arguments").or_else(|| function.get("input")) else { return };
    let (text, kind) = arguments_text(arguments, object);
    call.arguments_kind = stronger(call.arguments_kind, kind);
    if text.is_empty() {
        return;
    }
    call.deltas += 1;
    append(&mut call.arguments, &text, event, has_halves);
}

/// Appends a piece to a text.
pub(super) fn append(text: &mut Text, piece: &str, event: usize, has_halves: bool) {
    if has_halves { halves::push(text, piece, event) } else { text.push(piece, event) }
}

/// A call of a whole reply.
pub(super) fn whole(entry: &Value, position: i64) -> Call {
    let mut call = Call { index: Some(position), ..Call::default() };
    Assembly::new(&Lens::STRICT, false).merge(&mut call, &Fragment::of(entry, 0));
    call
}

/// Whether a fragment that points at the call in `part` means another: it has a name, and either another id or
/// comes after arguments.
fn opens_another(parts: &[Part], part: usize, fragment: &Fragment<'_>) -> bool {
    let Some(Part::Call(call)) = parts.get(part) else { return true };
    let has_arguments = !call.arguments.value.is_empty();
    fragment.name.is_some()
        && match (fragment.id, call.id.as_deref()) {
            (Some(new), Some(old)) => new != old,
            _ => has_arguments,
        }
}

fn merge_text(held: &mut String, piece: &str, merge: Merge) {
    if merge == Merge::Last {
        held.clear();
    }
    held.push_str(piece);
}

fn arguments_text(arguments: &Value, object: ObjectArguments) -> (Cow<'_, str>, ArgumentsKind) {
    match (arguments, object) {
        (Value::String(text), _) => (Cow::Borrowed(text), ArgumentsKind::Text),
        (Value::Null, _) => (Cow::Borrowed(""), ArgumentsKind::Null),
        (_, ObjectArguments::Lost) => (Cow::Borrowed(""), ArgumentsKind::Absent),
        (Value::Object(_), ObjectArguments::Named) => (Cow::Borrowed("[object Object]"), ArgumentsKind::Text),
        (Value::Object(_), _) => (Cow::Owned(arguments.to_string()), ArgumentsKind::Object),
        (other, _) => (Cow::Owned(other.to_string()), ArgumentsKind::Other),
    }
}

const fn stronger(one: ArgumentsKind, other: ArgumentsKind) -> ArgumentsKind {
    const fn rank(kind: ArgumentsKind) -> u8 {
        match kind {
            ArgumentsKind::Absent => 0,
            ArgumentsKind::Null => 1,
            ArgumentsKind::Text => 2,
            ArgumentsKind::Object => 3,
            ArgumentsKind::Other => 4,
        }
    }
    if rank(one) < rank(other) { other } else { one }
}

fn as_call(part: &mut Part) -> Option<&mut Call> {
    if let Part::Call(call) = part { Some(call) } else { None }
}

/// Puts calls in the order of their indexes, where each has one of its own.
fn sort(calls: &mut [&mut Call]) {
    let mut order: Vec<(i64, usize)> =
        calls.iter().zip(0..).filter_map(|(c, at)| Some((c.index?, at))).collect();
    order.sort_unstable();
    let distinct = order.windows(2).all(|pair| matches!(pair, [a, b] if a.0 != b.0));
    if order.len() < calls.len() || !distinct || order.is_sorted_by_key(|(_, at)| *at) {
        return;
    }
    let mut sorted: Vec<Call> = calls.iter_mut().map(|call| std::mem::take(*call)).collect();
    for (place, (_, from)) in calls.iter_mut().zip(order) {
        if let Some(call) = sorted.get_mut(from) {
            **place = std::mem::take(call);
        }
    }
}

// === impl Fragment ===

impl<'a> Fragment<'a> {
    fn of(entry: &'a Value, event: usize) -> Self {
        let function = entry.get("function").or_else(|| entry.get("custom"));
        Self {
            index: entry.get("index").and_then(index),
            id: wire::text(entry, "id"),
            kind: wire::text(entry, "type"),
            name: function.and_then(|f| wire::text(f, "name")),
            function,
            event,
        }
    }
}

/// An index, also where it was sent as a string.
fn index(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

// === impl Does ===

impl Does {
    /// Whether it is passed over.
    pub(super) const fn skips(self) -> bool {
        matches!(self, Self::Skips)
    }
}
