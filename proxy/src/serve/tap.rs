//! Bodies that are watched while they pass: what comes out is what went in, frame by frame, at once.
//!
//! A body that breaks off breaks off on the other side too: the error is passed on, so that no clean end is
//! written where there was none, and not before the client has the head and all that came. Only to a client of
//! HTTP/1.0, which knows no end but that of the connection, a break looks like one.

use super::{
    MAX_RECORDED_REQUEST,
    wire::{Flushed, Moment},
    witness::Witness,
};
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::{
    error::Error,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

/// Any error of a body.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// A request's body on its way to the upstream.
pub(super) struct Upload {
    inner: Incoming,
    copy: Arc<Passed>,
}

/// What has passed of a request's body.
#[derive(Default)]
pub(super) struct Passed(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    bytes: BytesMut,
    state: Passing,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Passing {
    #[default]
    UnderWay,
    Complete,
    TooLarge,
}

/// A response's body on its way to the client.
pub(super) struct Download {
    inner: reqwest::Body,
    witness: Witness,
    flushed: Arc<Flushed>,
    broken: Option<Broken>,
}

/// A body that broke off while what came before it was still to be written.
struct Broken {
    error: BoxError,
    at: Moment,
}

// === impl Upload ===

impl Upload {
    pub fn new(inner: Incoming, copy: Arc<Passed>) -> Self {
        Self { inner, copy }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => frame.data_ref().into_iter().for_each(|data| self.copy.pass(data)),
            Some(Err(_)) => {}
            None => self.copy.complete(),
        }
        if self.inner.is_end_stream() {
            self.copy.complete(); // with a known length nobody asks for the end
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

// === impl Passed ===

impl Passed {
    fn pass(&self, data: &Bytes) {
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.bytes.len() + data.len() > MAX_RECORDED_REQUEST {
            passed.state = Passing::TooLarge;
            passed.bytes = BytesMut::new();
        }
        if passed.state == Passing::UnderWay {
            passed.bytes.extend_from_slice(data);
        }
    }

    /// Notes that all of it has passed.
    pub fn complete(&self) {
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.state == Passing::UnderWay {
            passed.state = Passing::Complete;
        }
    }

    /// All of the body; `None` while some is missing, or where it was too large.
    pub fn body(&self) -> Option<Bytes> {
        let passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (passed.state == Passing::Complete).then(|| passed.bytes.clone().freeze())
    }
}

// === impl Download ===

impl Download {
    pub fn new(inner: reqwest::Body, witness: Witness, flushed: Arc<Flushed>) -> Self {
        Self { inner, witness, flushed, broken: None }
    }

    fn poll_broken(&mut self, broken: Broken, context: &Context<'_>) -> Poll<BoxError> {
        match self.flushed.poll_since(&broken.at, context) {
            Poll::Ready(()) => Poll::Ready(broken.error),
            Poll::Pending => {
                self.broken = Some(broken);
                Poll::Pending
            }
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(broken) = self.broken.take() {
            return self.poll_broken(broken, context).map(|error| Some(Err(error)));
        }
        match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
            Some(Ok(frame)) => {
                frame.data_ref().into_iter().for_each(|data| self.witness.slice(data));
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                self.witness.broke_off(&error);
                let broken = Broken { error: error.without_url().into(), at: self.flushed.moment() };
                self.poll_broken(broken, context).map(|error| Some(Err(error)))
            }
            None => {
                self.witness.ended();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        if self.inner.is_end_stream() {
            self.witness.ended(); // with a known length nobody asks for the end
        }
    }
}
