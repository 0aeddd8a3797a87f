//! Accepts connections and serves each in a task of its own, until told to stop.

use super::{
    STOP_TIMEOUT, forward,
    state::State,
    wire::{Flushed, Wire},
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

/// Pause after an accept that failed: it fails again at once while file descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn listen(listener: TcpListener, state: Arc<State>, mut stopped: oneshot::Receiver<()>) {
    let connections = GracefulShutdown::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connection(stream, &state, &connections),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            _ = &mut stopped => break,
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(STOP_TIMEOUT, connections.shutdown()).await;
}

fn connection(stream: TcpStream, state: &Arc<State>, connections: &GracefulShutdown) {
    let _ = stream.set_nodelay(true); // an event must not wait for the next one
    let state = state.clone();
    let flushed = Arc::new(Flushed::default());
    let wire = Wire::new(TokioIo::new(stream), flushed.clone());
    let service = service_fn(move |request| forward::answer(state.clone(), flushed.clone(), request));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).auto_date_header(false);
    let connection = connections.watch(http.serve_connection(wire, service));
    // A connection ends in an error whenever either side goes away in the middle; the line of the exchange says so.
    tokio::spawn(async move { drop(connection.await) });
}
