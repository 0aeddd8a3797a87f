//! JSON written straight into a buffer: replies are built from prepared pieces and escaped strings, not from trees.

use serde::Serialize;

/// Appends a value as compact JSON.
pub fn push<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "writing text and numbers to memory cannot fail");
}

/// Appends text that is JSON already.
pub fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends bytes that are JSON already.
pub fn raw_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}
