//! The only place that names the bundled engine: starts it on a free loopback port. From then on there is a URL.
//!
//! Out: an address, and the engine's plants as plain data.

use crate::exchange::Root;
use std::net::{Ipv4Addr, SocketAddr};

/// What it is called in reports and recordings: its port changes with every start.
pub const BUNDLED: &str = "bundled";

/// An engine that runs in this process until it is dropped.
pub struct Engine {
    /// Where it answers.
    pub root: Root,
    /// Where it listens.
    pub address: SocketAddr,
    server: tfengine::Server,
}

/// Whether requests may switch on plants and decoys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plants {
    /// They may.
    Allowed,
    /// They are refused.
    Refused,
}

/// A deliberate fault or a legal oddity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plant {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Whether it has to be seen.
    pub kind: PlantKind,
    /// What it does.
    pub sentence: &'static str,
    /// The rules that catch it, the first before all.
    pub catchers: &'static [&'static str],
}

/// Whether it has to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantKind {
    /// A fault: it has to be caught.
    Plant,
    /// A legal oddity: it has to be met with silence.
    Decoy,
}

/// The engine does not start.
#[derive(Debug, thiserror::Error)]
#[error("the bundled engine does not start: {0}")]
pub struct NoEngine(String);

/// A free port of this machine.
pub fn anywhere() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// Starts the engine.
pub async fn start(listen: SocketAddr, plants: Plants) -> Result<Engine, NoEngine> {
    let plants = match plants {
        Plants::Allowed => tfengine::Switch::On,
        Plants::Refused => tfengine::Switch::Off,
    };
    let server = tfengine::serve(tfengine::Config { listen, plants }).await;
    let server = server.map_err(|error| NoEngine(chain(&error)))?;
    let address = server.addr;
    let root: Root = format!("http://{address}").parse().map_err(|error| NoEngine(format!("{error}")))?;
    Ok(Engine { root: root.called(BUNDLED), address, server })
}

/// Its plants and decoys, in its order.
pub fn plants() -> Vec<Plant> {
    let each = tfengine::plants().iter().map(|spec| Plant {
        name: spec.name,
        kind: match spec.kind {
            tfengine::PlantKind::Plant => PlantKind::Plant,
            tfengine::PlantKind::Decoy => PlantKind::Decoy,
        },
        sentence: spec.sentence,
        catchers: spec.catchers,
    });
    each.collect()
}

/// An error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |e| e.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

// === impl Engine ===

impl Engine {
    /// Lets replies under way end, and stops.
    pub async fn stop(self) {
        self.server.shutdown().await;
    }
}
