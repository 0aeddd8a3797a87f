//! The listening side: every request goes on to the upstream and its answer back, byte for byte; what passes is
//! watched, judged, and said in one line an exchange.
//!
//! In: a listener, [`Settings`], a [`Desk`] (how to judge, how to send twins, what time it is). Out: a [`Server`].
//! Nothing of ours stands on the client's path but a copy into memory: judging, twins and disks come after.

use crate::{
    exchange::{Credentials, Root},
    run::FailOn,
};
use std::{io, io::Write, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

mod after;
mod desk;
mod forward;
mod headers;
pub mod line;
mod listen;
mod output;
mod shadow;
mod shelf;
mod state;
mod status;
mod tap;
mod wire;
mod witness;

pub use desk::{Ask, Clock, Desk, Judge, Sender, TwinOf};
pub use shadow::Shadow;

use state::State;

/// A response is recorded up to this many bytes; forwarding goes on.
pub const MAX_RECORDED_RESPONSE: usize = 16 * 1024 * 1024;

/// A request is recorded up to this many bytes; forwarding goes on.
pub const MAX_RECORDED_REQUEST: usize = 16 * 1024 * 1024;

/// All exchanges that are being recorded or judged together hold at most this many bytes: where that is too little, the
/// youngest are not judged. Forwarding goes on.
pub const MAX_RECORDED_TOGETHER: usize = 32 * 1024 * 1024;

/// The suite of what belongs to no case: the ids of exchanges that passed begin with it.
pub const LIVE: &str = "live";

/// A run keeps at most this many failing exchanges on disk; further ones are counted.
pub const MAX_FAILED: usize = 1000;

/// How long the head of an answer may take, unless told otherwise: a long whole reply is generated before it comes.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(600);

/// How long what is under way may take after the word to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How a proxy behaves.
#[derive(Debug)]
pub struct Settings {
    /// Where requests go.
    pub upstream: Root,
    /// Which twins are sent.
    pub shadow: Shadow,
    /// The folder that failing exchanges are kept in.
    pub failed: PathBuf,
    /// The folder that every exchange is kept in, if they are.
    pub record: Option<PathBuf>,
    /// How long the head of an answer may take.
    pub head_timeout: Duration,
    /// Headers sent where the client sends none of that name; the caller has checked that they may go there.
    pub credentials: Credentials,
    /// What makes an exchange a failing one.
    pub fail_on: FailOn,
}

/// A proxy at work.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    state: Arc<State>,
    stop: oneshot::Sender<()>,
    listening: JoinHandle<()>,
}

/// Why a proxy cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No address of its own.
    #[error("cannot listen: {0}")]
    Listen(#[source] io::Error),
    /// No client for the upstream.
    #[error("cannot speak to the upstream: {0}")]
    Client(#[source] reqwest::Error),
    /// No thread that writes lines or recordings.
    #[error("cannot start a thread: {0}")]
    Record(#[source] io::Error),
}

/// Starts a proxy on `listener`; its lines go to `out`.
pub fn serve(
    listener: TcpListener,
    settings: Settings,
    desk: Desk,
    out: Box<dyn Write + Send>,
) -> Result<Server, ServeError> {
    let addr = listener.local_addr().map_err(ServeError::Listen)?;
    let state = Arc::new(State::new(settings, desk, out)?);
    let (stop, stopped) = oneshot::channel();
    let listening = tokio::spawn(listen::listen(listener, state.clone(), stopped));
    Ok(Server { addr, state, stop, listening })
}

// === impl Server ===

impl Server {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The counters, as `/tfproxy/status` gives them.
    pub fn status(&self) -> serde_json::Value {
        self.state.status.value(&self.state.settings.upstream)
    }

    /// Waits until every exchange that has ended is judged, and its line written.
    pub async fn idle(&self) {
        self.state.pending.idle().await;
        self.state.output.written().await;
    }

    /// Takes no more connections, lets what is under way end (for a while), and judges it.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.listening.await;
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.state.pending.idle()).await;
        let left = self.state.pending.count();
        if left > 0 {
            let what = if left == 1 { "1 exchange" } else { &format!("{left} exchanges") };
            self.state.say(format!("{what} not judged: told to stop"));
        }
        self.state.say_lost();
        let _ = tokio::time::timeout(STOP_TIMEOUT, self.state.output.written()).await;
    }
}
