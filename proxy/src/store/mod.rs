//! Recordings on disk: one folder holds a request and every exchange that was made of it.
//!
//! ```text
//! ID/request.json     method, path, dialect, headers and body of the request; where it went
//! ID/whole.json       a body, byte for byte as received; whole-2.json, stream.sse, stream-3.sse, ...
//! ID/exchanges.json   per exchange: file, mode, rounds, status, headers, slice borders, end; written last
//! ID/case.json        what was expected, where something was
//! ID/curl.sh          the request again, with curl alone
//! ```
//!
//! A recording that replaces another is written to `.ID.new` first; `.ID.old` is the one that it replaces.
//!
//! Secrets are taken out before anything touches the disk. A recording that was cut short, by whatever, reads from the moment
//! its request is there; what was cut before is an empty folder, see [`is_unfinished`].

use crate::{exchange::Exchange, request::Request};
use serde_json::Value;
use std::{io, path::PathBuf};

mod curl;
mod form;
pub mod live;
mod name;
mod place;
pub mod read;
pub mod redact;
pub mod write;

pub use live::Live;
pub use name::{folder_name, short_hash};
pub use place::{is_leftover, is_there, is_unfinished};
pub use read::{is_recording, read, read_file};
pub use write::write;

use write::REQUEST;

/// The version of the folder's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format(pub &'static str);

/// The format that is written, and the only one that is read.
pub const FORMAT: Format = Format("tfproxy.recording/1");

/// No file of a recording larger than this is read into memory.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// One request and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The entry's id, or of a live exchange `live/<hash>-<n>`.
    pub id: String,
    /// Where it was sent: a URL, or `bundled`.
    pub upstream: Option<String>,
    /// The request as it came.
    pub request: Request,
    /// Every exchange, in the order sent.
    pub exchanges: Vec<Exchange>,
    /// What was expected, as its case file says it.
    pub case: Option<Value>,
}

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// Not JSON.
    #[error("{} line {line} column {column}: {reason}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// 1-based.
        column: usize,
        /// What the reader says.
        reason: String,
    },
    /// JSON, but a key is missing or holds something else.
    #[error("{} key {key}: {problem}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// `exchanges[0].status`.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A body is not as its index says.
    #[error("{} byte {byte}: {problem}", path.display())]
    Body {
        /// The file.
        path: PathBuf,
        /// Where.
        byte: u64,
        /// What is wrong there.
        problem: String,
    },
    /// Larger than [`MAX_FILE`].
    #[error("{}: more than the {MAX_FILE} bytes that are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A folder without a request: another folder, or whoever wrote it was stopped before the first file.
    #[error("{}: holds no recording, {REQUEST} is not there", path.display())]
    NoRecording {
        /// The folder.
        path: PathBuf,
    },
}
