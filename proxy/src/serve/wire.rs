//! A client's connection that knows when all that was written to it has left.
//!
//! An error of a body makes hyper drop its connection with all that is not written yet, the head of the answer among
//! it. So the error waits in [`Flushed`] until everything before it is on its way.

use hyper::rt::{Read, ReadBufCursor, Write};
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker, ready},
};

/// A connection that notes each time nothing is left to be written.
pub(super) struct Wire<T> {
    inner: T,
    flushed: Arc<Flushed>,
}

/// How often nothing was left to be written, and who waits for the next time.
#[derive(Default)]
pub(super) struct Flushed(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    times: u64,
    waiting: Option<Waker>,
}

/// A moment on a connection.
pub(super) struct Moment(u64);

// === impl Flushed ===

impl Flushed {
    /// Now.
    pub fn moment(&self) -> Moment {
        Moment(self.0.lock().unwrap_or_else(PoisonError::into_inner).times)
    }

    /// Waits until all that was handed over before that moment is written.
    pub fn poll_since(&self, moment: &Moment, context: &Context<'_>) -> Poll<()> {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.times > moment.0 {
            return Poll::Ready(());
        }
        progress.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    fn note(&self) {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.times += 1;
        if let Some(waiting) = progress.waiting.take() {
            waiting.wake();
        }
    }
}

// === impl Wire ===

impl<T> Wire<T> {
    pub fn new(inner: T, flushed: Arc<Flushed>) -> Self {
        Self { inner, flushed }
    }
}

impl<T: Read + Unpin> Read for Wire<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Wire<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    /// Hyper flushes once its own buffer is empty.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(context))?;
        self.flushed.note();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }
}
