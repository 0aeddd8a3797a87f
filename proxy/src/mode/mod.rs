//! What the program does, one file a mode. The only modules that may see everything.

use crate::{exit::Exit, settings::Task};
use std::io::{self, Write};

pub mod bundled;
pub mod check;
pub mod derender;
pub mod engine;
pub mod handshake;
mod keep;
pub mod plants;
pub mod proxy;
pub mod puppet;
pub mod ready;
pub mod rejudge;
pub mod replay;
pub mod rules;
pub mod sources;
mod wiring;

/// Does what was asked for.
pub async fn run(task: Task) -> Exit {
    match task {
        Task::Check(settings) => check::run(*settings).await,
        Task::Plants(args) => plants::run(&args).await,
        Task::Rules(id) => rules::run(id.as_deref()),
        Task::Puppet(args) => puppet::run(&args),
        Task::Engine(args) => engine::run(&args).await,
        Task::Serve(settings) => wiring::serve(settings).await,
        Task::Replay(settings) => wiring::replay(settings).await,
        Task::Rejudge(args) => wiring::rejudge(args),
    }
}

/// Says something to whoever reads the error stream. If nobody does, the exit status still tells.
pub fn complain(what: impl std::fmt::Display) {
    _ = writeln!(io::stderr(), "tfproxy: {what}");
}

/// The standard output. A reader that went away has seen enough: what would be written after that is nobody's loss, and no
/// failure. Every other failure is one.
#[derive(Debug)]
pub struct Output(io::Stdout);

/// The standard output.
pub fn output() -> Output {
    Output(io::stdout())
}

/// Writes to the output; where that fails, says so and gives the exit status.
pub fn tell(what: &str) -> Result<(), Exit> {
    let mut out = output();
    out.write_all(what.as_bytes()).and_then(|()| out.flush()).map_err(|error| not_printed(&error))
}

/// What cannot be printed is told on the error stream, and is no success.
pub fn not_printed(error: &io::Error) -> Exit {
    complain(format_args!("cannot print: {error}"));
    Exit::NotRun
}

// === impl Output ===

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_gone(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_gone(self.0.flush(), ())
    }
}

/// What was done, or `all` where nobody reads any more.
fn unless_gone<T>(done: io::Result<T>, all: T) -> io::Result<T> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(all),
        done => done,
    }
}

/// Until the process is told to end, by Ctrl-C or by whoever runs it. Counts from this call on, not from the first time
/// that somebody waits: one who was told an address may be gone again before that.
#[cfg(unix)]
pub fn interrupted() -> impl Future<Output = ()> {
    use futures_util::future::{pending, select};
    use tokio::signal::unix::{SignalKind, signal};
    // Without a handler the system ends us anyway.
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| {
        let heard = signal(kind);
        Box::pin(async {
            match heard {
                Ok(mut heard) => _ = heard.recv().await,
                Err(_) => pending().await,
            }
        })
    });
    async { _ = select(interrupt, terminate).await }
}

/// Until the user presses Ctrl-C.
#[cfg(not(unix))]
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler the system ends us anyway.
        std::future::pending::<()>().await;
    }
}
