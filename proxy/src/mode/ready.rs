//! What a run stands on: an upstream that is known, and a sender to it.
//!
//! In: how to reach it. Out: [`Ready`], with the bundled engine started where no other server is named.

use super::bundled::{self, Engine, NoEngine, Plants};
use crate::{
    exchange::{Sender, send::NoClient},
    plan::{Cadence, Model, Rounds, Target},
    rules::Profile,
    run::{
        judge::Terms,
        upstream::{Found, Kind, Unreachable, find_out},
    },
    settings::Access,
};

/// An upstream that is known.
pub struct Ready {
    /// Who it is.
    pub found: Found,
    /// The way to it.
    pub sender: Sender,
    /// The profile it is judged by.
    pub profile: &'static Profile,
    /// The engine, if it is the bundled one.
    pub engine: Option<Engine>,
}

/// Why there is nothing to ask.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// No engine.
    #[error(transparent)]
    Engine(#[from] NoEngine),
    /// No client.
    #[error(transparent)]
    Client(#[from] NoClient),
    /// No upstream.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// No such profile.
    #[error("--profile {name:?}: write one of {known}")]
    NoProfile {
        /// The one that was named.
        name: String,
        /// Those that there are.
        known: String,
    },
}

fn profile(name: &str) -> Result<&'static Profile, NotReady> {
    Profile::find(name).ok_or_else(|| NotReady::NoProfile {
        name: name.to_owned(),
        known: Profile::ALL.map(|profile| profile.name).join(", "),
    })
}

// === impl Ready ===

impl Ready {
    /// Starts or finds the upstream.
    pub async fn new(
        access: &Access,
        plants: Plants,
        model: Option<&str>,
        profile_name: Option<&str>,
    ) -> Result<Self, NotReady> {
        let wanted = profile_name.map(profile).transpose()?;
        let (root, engine) = if let Some(root) = &access.root {
            (root.clone(), None)
        } else {
            let engine = bundled::start(bundled::anywhere(), plants).await?;
            (engine.root.clone(), Some(engine))
        };
        let sender = Sender::new(root, access.credentials.clone(), access.limits)?;
        let mut found = find_out(&sender, model).await?;
        let profile = wanted.or_else(|| Profile::find(&found.upstream.profile)).unwrap_or(&Profile::OPENAI);
        profile.name.clone_into(&mut found.upstream.profile);
        Ok(Self { found, sender, profile, engine })
    }

    /// What the plan has to know. A model that the user names is asked instead of the puppets.
    pub fn target(&self, rounds: &[Rounds], repeat: usize, named: Option<&str>) -> Target {
        let has_puppets = !self.found.puppets.is_empty() && named.is_none();
        let rounds = rounds.to_vec();
        Target {
            model: if has_puppets {
                Model::Puppets(self.found.puppets.clone())
            } else {
                Model::Named(self.found.upstream.model.clone())
            },
            cadence: match (has_puppets, self.found.kind) {
                (true, Kind::Ours) => Cadence::Header(rounds),
                (true, Kind::Foreign) => Cadence::ModelName(rounds),
                (false, _) => Cadence::Server,
            },
            plant: None,
            repeat,
        }
    }

    /// How everything is judged. `repeat` is what a user types to run it again.
    pub fn terms(&self, repeat: String) -> Terms {
        Terms { profile: self.profile, kind: self.found.kind, repeat }
    }

    /// Entries under way at once, where the user does not say. A server that is not ours is asked one thing at a time,
    /// so that what it batches together changes nothing.
    pub fn jobs(&self, wanted: Option<usize>) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        wanted.unwrap_or(if self.found.kind == Kind::Ours { cores * 2 } else { 1 })
    }

    /// Stops what was started.
    pub async fn end(self) {
        if let Some(engine) = self.engine {
            engine.stop().await;
        }
    }
}
