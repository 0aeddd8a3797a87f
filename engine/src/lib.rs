//! tfengine: the engine tfproxy brings along. Its whole and streamed replies agree by construction.

#![deny(unsafe_code)]

pub mod read;
