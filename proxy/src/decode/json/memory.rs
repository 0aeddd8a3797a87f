//! What a document takes in memory once read, estimated as it is read: a small text can become large values.
//!
//! The figures are those of `serde_json` values with some spare room, since lists and tables grow by doubling.

use super::{MAX_LISTS, MAX_MEMORY};
use serde_json::Value;

/// What an allocation takes beside its bytes.
const ALLOCATION: usize = 16;

/// An allocation is not shorter.
const SHORTEST: usize = 16;

/// The members that an object has room for from its first one on.
const ROOM: usize = 3;

/// An object's table with that room.
const TABLE: usize = 96 + ROOM * MEMBER;

/// A value's place in a list.
const ITEM: usize = size_of::<Value>() * 5 / 4;

/// A member's place in an object: key, value and hash.
const MEMBER: usize = size_of::<Value>() + size_of::<String>() + 8;

/// What later stages keep of a choice or of a fragment of a call.
const ENTRY: usize = 152;

/// The lists whose items are choices and fragments.
const ENTRIES: [&[u8]; 2] = [b"choices", b"tool_calls"];

/// From this length on a text counts for its copies too; shorter ones are within what an entry takes.
const LONG: usize = 64;

/// How often a text is held at once by later stages: by the reply, the rules, a comparison, the clients' views.
const COPIES: usize = 6;

/// Memory in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// By the values so far.
    pub taken: usize,
    /// By what later stages make of them.
    pub later: usize,
    /// What both may take.
    most: usize,
}

// === impl Memory ===

impl Memory {
    /// None taken, and so much at most.
    pub fn within(most: usize) -> Self {
        Self { taken: 0, later: 0, most: most.min(MAX_MEMORY) }
    }

    /// Whether no further value may be held.
    pub const fn is_full(self) -> bool {
        self.taken + self.later > self.most
    }

    /// Whether long lists may keep no further items.
    pub fn shortens_lists(self) -> bool {
        self.taken + self.later > MAX_LISTS.min(self.most)
    }

    /// An item of a list that is a member of that key.
    pub fn add_item(&mut self, key: &[u8]) {
        self.taken += ITEM;
        if ENTRIES.contains(&key) {
            self.later += ENTRY;
        }
    }

    /// An object that is not empty, its members aside.
    pub const fn add_object(&mut self) {
        self.taken += TABLE;
    }

    /// The member after `members` others.
    pub fn add_member(&mut self, key: &str, members: usize) {
        if members >= ROOM {
            // The room doubles each time it is used up.
            self.taken += MEMBER * 3 / 2;
        }
        self.add_text(key.len());
    }

    /// What a text takes beside its place; a number too is held digit for digit.
    pub fn add_text(&mut self, len: usize) {
        if len > 0 {
            self.taken += ALLOCATION + len.max(SHORTEST);
        }
    }

    /// A string.
    pub fn add_string(&mut self, len: usize) {
        self.add_text(len);
        if len >= LONG {
            self.later += len * COPIES;
        }
    }
}
