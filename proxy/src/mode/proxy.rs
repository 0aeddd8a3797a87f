//! Serving: the proxy in front of another server, or of the bundled engine where none is named.
//!
//! In: [`Options`] and a [`Wiring`]. Out: lines, recordings, and what failed, until it is told to stop.

use super::bundled::BUNDLED;
use crate::{
    exchange::{Credentials, Root},
    run::FailOn,
    serve::{Clock, Desk, Judge, Sender, ServeError, Settings, Shadow, TwinOf, serve},
};
use futures_util::future::BoxFuture;
use std::{
    any::Any,
    fmt, io,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::net::TcpListener;

/// How a proxy is started.
#[derive(Debug)]
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The server in front of which it stands; the bundled engine where absent.
    pub upstream: Option<Root>,
    /// Whether twins go to an upstream that is not ours.
    pub twins: Twins,
    /// The folder of the report; failing exchanges land in its `failed/`.
    pub report: PathBuf,
    /// The folder that every exchange is kept in, if they are.
    pub record: Option<PathBuf>,
    /// How long the head of an answer may take.
    pub head_timeout: Duration,
    /// Headers sent where the client sends none of that name; the caller has checked that they may go there.
    pub credentials: Credentials,
    /// What makes an exchange a failing one.
    pub fail_on: FailOn,
}

/// Whether twins go to an upstream that is not ours: each is billed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twins {
    /// They do.
    Everywhere,
    /// To the bundled engine only.
    BundledOnly,
}

/// Makes a sender for an upstream, or says why there is none.
pub type Connect = Arc<dyn Fn(&Root) -> Result<Sender, String> + Send + Sync>;

/// Starts the bundled engine, plants allowed, or says why not.
pub type Start = Arc<dyn Fn() -> BoxFuture<'static, Result<Running, String>> + Send + Sync>;

/// What the modes need of the rest of the program.
#[derive(Clone)]
pub struct Wiring {
    /// Judges.
    pub judge: Judge,
    /// Makes twins.
    pub twin: TwinOf,
    /// Tells the time.
    pub clock: Clock,
    /// Makes senders.
    pub connect: Connect,
    /// Starts the bundled engine.
    pub bundled: Start,
}

/// A bundled engine at work; it stops when this is dropped.
pub struct Running {
    /// Where it listens.
    pub root: Root,
    /// Whatever keeps it running.
    pub keep: Box<dyn Any + Send>,
}

/// Why there is no proxy.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// The bundled engine did not start.
    #[error("the bundled engine did not start: {0}")]
    Bundled(String),
    /// No way to send twins.
    #[error("no way to send to {0}: {1}")]
    Connect(String, String),
    /// Nobody would learn the address.
    #[error("cannot print: {0}")]
    Print(#[source] io::Error),
    /// Serving did not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves until `stop` is done.
pub async fn proxy(
    options: Options,
    wiring: Wiring,
    mut out: Box<dyn Write + Send>,
    stop: impl Future<Output = ()>,
) -> Result<(), ProxyError> {
    let listener = TcpListener::bind(options.listen).await;
    let listener = listener.map_err(|error| ProxyError::Listen(options.listen, error))?;
    let (upstream, engine) = upstream(options.upstream, &wiring.bundled).await?;
    let shadow = match (&engine, options.twins) {
        (Some(_), _) => Shadow::Schedules,
        (None, Twins::Everywhere) => Shadow::Twin,
        (None, Twins::BundledOnly) => Shadow::Off,
    };
    let sender = (wiring.connect)(&upstream);
    let sender = sender.map_err(|why| ProxyError::Connect(upstream.to_string(), why))?;
    let desk = Desk { judge: wiring.judge, sender, twin: wiring.twin, clock: wiring.clock };
    let address = listener.local_addr().map_err(ServeError::Listen)?;
    let greeting = greeting(address, &upstream, shadow, &options.report);
    writeln!(out, "{greeting}").and_then(|()| out.flush()).map_err(ProxyError::Print)?;
    let settings = Settings {
        upstream,
        shadow,
        failed: options.report.join("failed"),
        record: options.record,
        head_timeout: options.head_timeout,
        credentials: options.credentials,
        fail_on: options.fail_on,
    };
    let server = serve(listener, settings, desk, out)?;
    stop.await;
    server.stop().await;
    Ok(())
}

async fn upstream(named: Option<Root>, start: &Start) -> Result<(Root, Option<Running>), ProxyError> {
    if let Some(upstream) = named {
        return Ok((upstream, None));
    }
    let running = start().await.map_err(ProxyError::Bundled)?;
    Ok((running.root.clone(), Some(running)))
}

fn greeting(address: SocketAddr, upstream: &Root, shadow: Shadow, report: &Path) -> String {
    let name = match upstream.to_string() {
        name if name == BUNDLED => "the bundled engine".to_owned(),
        address => address,
    };
    let twins = match shadow {
        Shadow::Off => "no twins (--shadow sends them)",
        Shadow::Twin => "a twin of each request",
        Shadow::Schedules => "twins at every rounds schedule",
    };
    let open = if upstream.is_private() {
        ""
    } else {
        "\nwarning: clients' keys go over plain http to another machine"
    };
    let report = report.join("failed");
    format!(
        "http://{address}/v1 in front of {name}; {twins}; what fails is kept in {}; status at /tfproxy/status{open}",
        report.display()
    )
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("root", &self.root).finish_non_exhaustive()
    }
}
