//! The whole twin and the streamed twin of a request: what is added, what is dropped.
