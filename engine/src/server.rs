//! The listening side: connections in, each with its caps, and a way to stop.
//!
//! In: a [`Config`]. Out: a [`Server`] that runs until it is shut down or dropped. There is one task a connection and
//! none a request: a reply is generated while its body is sent, so a client that goes away ends it.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

use crate::{api::Service, plant::Switch};

/// How long the head of a request may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long replies under way may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// The wait after a connection could not be taken, for instance for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How the engine is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Where it listens; port 0 is any free one.
    pub listen: SocketAddr,
    /// Whether plants and decoys may be asked for.
    pub plants: Switch,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// A server that runs. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub addr: SocketAddr,
    rounds: Arc<AtomicU64>,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), plants: Switch::Off }
    }
}

// === impl Server ===

impl Server {
    /// How many rounds have been generated since the start.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Takes no more connections, lets replies under way end, and returns when all is closed.
    pub async fn shutdown(self) {
        let Self { stop, accepting, .. } = self;
        drop(stop);
        joined(accepting).await;
    }

    /// Runs until the task ends by itself, which it does not.
    pub async fn join(self) {
        let Self { stop, accepting, .. } = self;
        joined(accepting).await;
        drop(stop);
    }
}

/// Starts the engine.
pub async fn serve(config: Config) -> Result<Server, ServeError> {
    let bind_error = |cause| ServeError::Bind { addr: config.listen, cause };
    let listener = TcpListener::bind(config.listen).await.map_err(bind_error)?;
    let addr = listener.local_addr().map_err(bind_error)?;
    let service = Arc::new(Service::new(config.plants));
    let rounds = Arc::clone(&service.rounds);
    let (stop, stopped) = oneshot::channel();
    let accepting = tokio::spawn(accept(listener, service, stopped));
    Ok(Server { addr, rounds, stop, accepting })
}

async fn joined(accepting: JoinHandle<()>) {
    // A task that was aborted with its runtime has nothing left to wait for.
    let _ = accepting.await;
}

async fn accept(listener: TcpListener, service: Arc<Service>, mut stopped: oneshot::Receiver<()>) {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&service), graceful.watcher()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    // What is still open after the grace is cut with the set of connections.
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

async fn connection(stream: TcpStream, service: Arc<Service>, watcher: Watcher) {
    // Without it a small chunk waits for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(service.respond(request).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that broke off is no fault of ours, and there is nobody left to tell.
    let _ = watcher.watch(serving).await;
}
