//! What a document takes in memory once read, estimated as it is read: a small text can become large values.
//!
//! The figures are those of `serde_json` values with some spare room, since lists and tables grow by doubling.

use super::{MAX_LISTS, MAX_MEMORY};
use serde_json::Value;

/// What an allocation takes beside its bytes.
const ALLOCATION: usize = 16;

/// The members that an object has room for from its first one on.
const ROOM: usize = 3;

/// An object's table with that room.
const TABLE: usize = 96 + ROOM * MEMBER;

/// A value's place in a list.
const ITEM: usize = size_of::<Value>() * 5 / 4;

/// A member's place in an object: key, value and hash.
const MEMBER: usize = size_of::<Value>() + size_of::<String>() + 8;

/// Memory taken so far, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    taken: usize,
}

// === impl Memory ===

impl Memory {
    /// All of it.
    pub const fn taken(self) -> usize {
        self.taken
    }

    /// Whether no further value may be held.
    pub const fn is_full(self) -> bool {
        self.taken > MAX_MEMORY
    }

    /// Whether long lists may keep no further items.
    pub const fn shortens_lists(self) -> bool {
        self.taken > MAX_LISTS
    }

    pub const fn add_item(&mut self) {
        self.taken += ITEM;
    }

    /// An object that is not empty, its members aside.
    pub const fn add_object(&mut self) {
        self.taken += TABLE;
    }

    /// The member after `members` others.
    pub const fn add_member(&mut self, key: &str, members: usize) {
        if members >= ROOM {
            // The room doubles each time it is used up.
            self.taken += MEMBER * 3 / 2;
        }
        self.add_text(key.len());
    }

    /// What a string takes beside its place, or a number, which is held digit for digit.
    pub const fn add_text(&mut self, len: usize) {
        if len > 0 {
            self.taken += ALLOCATION + len;
        }
    }
}
