//! What a run stands on: an upstream that is known, and a sender to it.
//!
//! In: how to reach it. Out: [`Ready`], with the bundled engine started where no other server is named.

use super::{
    bundled::{self, Engine, NoEngine, Plants},
    derender::{self, NoDerender},
    handshake::{Bills, NoPuppet, NotRelayed, Shaken, relays, shake},
};
use crate::{
    exchange::{Sender, send::NoClient},
    plan::{Along, Cadence, Entry, Model, Reader, Rounds, Target, Unasked, tokens::Vocabulary},
    request::case::Case,
    rules::{Profile, profile::Proof},
    run::{
        judge::{Puppet, Terms},
        upstream::{Found, Kind, Unreachable, find_out},
    },
    settings::Access,
};
use std::sync::Arc;

/// An upstream that is known.
pub struct Ready {
    /// Who it is.
    pub found: Found,
    /// The way to it.
    pub sender: Sender,
    /// The profile it is judged by.
    pub profile: &'static Profile,
    /// The profile that knows how its server is asked: the same, save where that is about rules alone.
    server: &'static Profile,
    /// The engine, if it is the bundled one.
    pub engine: Option<Engine>,
    /// The puppet in somebody's server, and the format it speaks.
    pub puppet: Option<(&'static Vocabulary, Shaken)>,
    /// How somebody's server is handed tokens.
    pub reader: Option<Arc<Reader>>,
    /// Whether a gateway passes on what our engine's puppets say.
    is_relayed: bool,
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
    /// No puppet.
    #[error(transparent)]
    Puppet(#[from] NoPuppet),
    /// Nobody reads tokens.
    #[error(transparent)]
    Derender(#[from] NoDerender),
    /// No puppet behind the gateway.
    #[error(transparent)]
    Relay(#[from] NotRelayed),
    /// No such format.
    #[error("--puppet {0:?}: no puppet speaks it")]
    NoFormat(String),
    /// No such profile.
    #[error("--profile {name:?}: write one of {known}")]
    NoProfile {
        /// The one that was named.
        name: String,
        /// Those that there are.
        known: String,
    },
}

fn vocabulary(format: &str) -> Result<&'static Vocabulary, NotReady> {
    Vocabulary::of(format).ok_or_else(|| NotReady::NoFormat(format.to_owned()))
}

fn profile(name: &str) -> Result<&'static Profile, NotReady> {
    Profile::find(name).ok_or_else(|| NotReady::NoProfile { name: name.to_owned(), known: Profile::names() })
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
        let known = Profile::find(&found.upstream.profile).unwrap_or_else(Profile::openai);
        let profile = wanted.unwrap_or(known);
        let server = if profile.server.is_empty() { known } else { profile };
        profile.name.clone_into(&mut found.upstream.profile);
        Ok(Self { found, sender, profile, server, engine, puppet: None, reader: None, is_relayed: false })
    }

    /// Shakes hands with a puppet of this format.
    pub async fn with_puppet(mut self, format: Option<&str>) -> Result<Self, NotReady> {
        if let Some(format) = format {
            let vocabulary = vocabulary(format)?;
            let target = |window, thinks| self.checkpoint(format, window, thinks, 1);
            let shaken = shake(&self.sender, &self.found.upstream.model, vocabulary, target).await?;
            self.puppet = Some((vocabulary, shaken));
        }
        Ok(self)
    }

    /// Prepares the texts of this format to be handed over.
    pub async fn with_reader(mut self, format: Option<&str>, cases: &[Arc<Case>]) -> Result<Self, NotReady> {
        let vocabulary = vocabulary(format.unwrap_or_default())?;
        let reader = derender::prepare(&self.sender, &self.found.upstream.model, vocabulary, cases).await?;
        self.reader = Some(Arc::new(reader));
        Ok(self)
    }

    /// Shakes hands with the puppets that somebody's server lists: a gateway, with our engine behind it. A model that the
    /// user names is asked instead of them.
    pub async fn with_relay(mut self, named: Option<&str>) -> Result<Self, NotReady> {
        self.is_relayed = self.found.kind == Kind::Foreign
            && self.puppet.is_none()
            && self.reader.is_none()
            && named.is_none()
            && !self.found.puppets.is_empty();
        if self.is_relayed {
            let target = self.target(&[Rounds::Every(1)], 1, None);
            for format in &self.found.puppets {
                relays(&self.sender, format, &target).await?;
            }
        }
        Ok(self)
    }

    /// What the plan has to know. A model that the user names is asked instead of the puppets.
    pub fn target(&self, rounds: &[Rounds], repeat: usize, named: Option<&str>) -> Target {
        if let Some((vocabulary, shaken)) = &self.puppet {
            let mut target = self.checkpoint(vocabulary.format, shaken.window, shaken.thinks, repeat);
            if let (Cadence::Interval(intervals), true) = (&mut target.cadence, rounds != Rounds::DEFAULT) {
                *intervals = rounds.iter().filter_map(|rounds| rounds.interval()).collect();
            }
            return target;
        }
        if let Some(reader) = &self.reader {
            return Target {
                model: Model::Handed(Arc::clone(reader)),
                cadence: Cadence::Pieces(rounds.to_vec()),
                plant: None,
                fields: Vec::new(),
                repeat: 1,
            };
        }
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
            fields: self.proving(),
            repeat,
        }
    }

    /// Why schedules that the user names cannot all be had.
    pub fn cannot_cut(&self, rounds: &[Rounds], target: &Target) -> Option<String> {
        let server =
            Some(self.found.upstream.server.as_str()).filter(|s| !s.is_empty()).unwrap_or("the server");
        match &target.cadence {
            Cadence::Server => Some(format!("--rounds: {server} cuts its streams as it likes")),
            Cadence::Interval(_) => {
                let odd = rounds.iter().find(|rounds| rounds.interval().is_none())?;
                Some(format!("--rounds {odd}: {server} takes a number of tokens, or whole"))
            }
            Cadence::Header(_) | Cadence::ModelName(_) | Cadence::Pieces(_) => None,
        }
    }

    /// What makes the server prove its tokens.
    fn proving(&self) -> Vec<Along> {
        let along = |proof: &Proof| Along { fields: proof.fields.clone(), unless: proof.unless.clone() };
        self.server.proof.iter().map(along).collect()
    }

    fn checkpoint(&self, format: &str, window: usize, thinks: Unasked, repeat: usize) -> Target {
        // Its lead is far beyond any temperature. But where a server constrains what may be said next, the tokens that are
        // left are all as likely, and only without temperature the same in both modes.
        let temperature = [("temperature".to_owned(), 0.into())].into_iter().collect();
        let mut fields = self.proving();
        fields.push(Along { fields: temperature, unless: Vec::new() });
        let intervals = &self.server.stream_intervals;
        Target {
            model: Model::Checkpoint {
                name: self.found.upstream.model.clone(),
                format: format.to_owned(),
                window,
                thinks,
            },
            cadence: if intervals.is_empty() {
                Cadence::Server
            } else {
                Cadence::Interval(intervals.clone())
            },
            plant: None,
            fields,
            repeat,
        }
    }

    /// Adapts what entries expect to be billed to how the server counts.
    pub fn count_as_billed(&self, entries: &mut [Entry]) {
        if self.reader.is_some() {
            // Its tokenizer is its own; what it counts is what it was handed.
            for entry in entries.iter_mut() {
                entry.tokens = None;
            }
        }
        let Some((_, shaken)) = &self.puppet else { return };
        for entry in entries {
            let has_end = entry.bills_end();
            entry.tokens = entry.tokens.and_then(|tokens| match shaken.bills {
                Bills::WithoutEnd if has_end => Some(tokens - 1),
                Bills::WithEnd | Bills::WithoutEnd => Some(tokens),
                Bills::Unclear => None,
            });
        }
    }

    /// How everything is judged. `repeat` is what a user types to run it again.
    pub fn terms(&self, repeat: String) -> Terms {
        let puppet = match &self.puppet {
            Some(_) => Puppet::Seen,
            None if self.is_relayed => Puppet::Relayed,
            None => Puppet::None,
        };
        Terms { profile: self.profile, kind: self.found.kind, puppet, repeat }
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
