//! Lines to whoever reads the output, written by a thread of their own.
//!
//! A pipe that nobody empties blocks its writer: then lines are lost, and told as a number, but no request waits.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};
use tokio::sync::oneshot;

/// Lines that may wait to be written.
const MAX_WAITING: usize = 4096;

/// The output.
#[derive(Debug, Clone)]
pub(super) struct Output {
    orders: SyncSender<Order>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Order {
    Line(String),
    /// All before it is written.
    Written(oneshot::Sender<()>),
}

// === impl Output ===

impl Output {
    /// Starts the thread.
    pub fn start(out: Box<dyn Write + Send>) -> io::Result<Self> {
        let (orders, inbox) = sync_channel(MAX_WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let losses = lost.clone();
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || write_all(out, &inbox, &losses))?;
        Ok(Self { orders, lost })
    }

    /// One line. Returns at once.
    pub fn say(&self, line: String) {
        if self.orders.try_send(Order::Line(line)).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Waits until all that was said is written, if somebody reads.
    pub async fn written(&self) {
        let (done, is_done) = oneshot::channel();
        if self.orders.try_send(Order::Written(done)).is_ok() {
            let _ = is_done.await;
        }
    }
}

fn write_all(mut out: Box<dyn Write + Send>, inbox: &Receiver<Order>, lost: &AtomicU64) {
    while let Ok(order) = inbox.recv() {
        let lost = lost.swap(0, Relaxed);
        if lost > 0 {
            write(&mut *out, &format!("{lost} lines lost: nobody read them"));
        }
        match order {
            Order::Line(line) => write(&mut *out, &line),
            Order::Written(done) => _ = done.send(()),
        }
    }
}

/// A reader that went away is no reason to stop.
fn write(out: &mut dyn Write, line: &str) {
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
