//! Events that say the same share what they hold: a long reply repeats its tokens, and a flood is one event many times.
//!
//! In: the text of an event's data. Out: what an equal one turned out to be, as long as that had nothing odd about it.

use crate::decode::Payload;
use std::{collections::HashMap, sync::Arc};

/// The longest data that is looked up.
const MAX_DATA: usize = 4 << 10;

/// How many texts are known at once; after that all are forgotten, since those that come now are others.
const MAX_KNOWN: usize = 8_192;

/// What data turned out to be.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub data: Arc<str>,
    pub payload: Payload,
    /// What each further event of the kind takes, as estimated.
    pub later: usize,
}

/// Data that was read before.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<Arc<str>, Said>);

// === impl Known ===

impl Known {
    /// What these bytes are, if they were read before.
    pub fn find(&self, data: &[u8]) -> Option<Said> {
        if data.len() > MAX_DATA {
            return None;
        }
        self.0.get(std::str::from_utf8(data).ok()?).cloned()
    }

    /// Keeps what `data` turned out to be. Text that stands for bad bytes is none that could come again.
    pub fn keep(&mut self, data: &[u8], said: &Said) {
        if data.len() > MAX_DATA || data != said.data.as_bytes() {
            return;
        }
        if self.0.len() >= MAX_KNOWN {
            self.0.clear();
        }
        self.0.insert(Arc::clone(&said.data), said.clone());
    }
}
