//! Serving, replaying and rejudging, tied to what they need of the rest: judging, twins, senders, the bundled engine.
//!
//! In: settings. Out: an exit status. Everything else happens in [`proxy`], [`replay`] and [`rejudge`].

use super::{
    bundled::{self, Plants},
    complain, interrupted, not_printed, output, proxy, rejudge, replay,
};
use crate::{
    cli::RejudgeArgs,
    exchange::{Credentials, Exchange, Limits, Root, clock::Clock},
    exit::Exit,
    plan::{Depth, Entry, Planned, entry::entries},
    request::{Mode, Request, case::read_cases, twin},
    rules::Profile,
    run::{
        FailOn,
        judge::{Puppet, Terms, judge},
        upstream::{Kind, find_out},
    },
    serve::{Ask, Judge, Sender, TwinOf},
    settings::{Access, ReplaySettings, ServeSettings, Shadow},
};
use memchr::memmem::Finder;
use serde_json::{Map, Value};
use std::{io, path::PathBuf, sync::Arc};

/// The id of what belongs to no case.
const LIVE: &str = "live/request";

/// Stands in front of a server.
pub async fn serve(settings: ServeSettings) -> Exit {
    let terms = terms(&settings.access).await;
    let options = proxy::Options {
        listen: settings.listen,
        upstream: settings.access.root.clone(),
        twins: match settings.shadow {
            Shadow::Sent => proxy::Twins::Everywhere,
            Shadow::Off => proxy::Twins::BundledOnly,
        },
        report: settings.report,
        record: settings.record,
        head_timeout: settings.access.limits.total,
        credentials: settings.access.credentials.clone(),
        fail_on: FailOn::Error,
    };
    let wiring = wiring(&settings.access, terms, settings.plants);
    match proxy::proxy(options, wiring, Box::new(output()), interrupted()).await {
        Ok(()) => Exit::Clean,
        Err(error) => {
            complain(error);
            Exit::NotRun
        }
    }
}

/// Sends recordings again.
pub async fn replay(settings: ReplaySettings) -> Exit {
    let options = replay::Options {
        names: settings.recordings,
        report: settings.report,
        recorded: PathBuf::from("cases/recorded"),
        upstream: settings.access.root.clone(),
        given: settings.access.credentials.headers().keys().map(ToString::to_string).collect(),
        fail_on: FailOn::Error,
    };
    // What a plant did is repeated by the plant.
    let wiring = wiring(&settings.access, of_profile(Profile::openai()), Plants::Allowed);
    exit(replay::replay(&options, &wiring, &mut output()).await)
}

/// Judges recorded bytes.
pub fn rejudge(args: RejudgeArgs) -> Exit {
    let Some(profile) = Profile::find(&args.profile) else {
        complain(format_args!("no profile is called {:?}: write one of {}", args.profile, Profile::names()));
        return Exit::Usage;
    };
    let source = match args.request {
        Some(request) => rejudge::Source::Pair(rejudge::Pair {
            request,
            whole: args.whole,
            streams: args.stream.into_iter().collect(),
        }),
        None => rejudge::Source::Recordings(args.recordings),
    };
    exit(rejudge::rejudge(&source, &judging(of_profile(profile)), FailOn::Error, &mut output()))
}

fn exit(status: io::Result<u8>) -> Exit {
    match status {
        Ok(0) => Exit::Clean,
        Ok(1) => Exit::Findings,
        Ok(2) => Exit::Usage,
        Ok(_) => Exit::NotRun,
        Err(error) => not_printed(&error),
    }
}

// === what the modes need ===

fn wiring(access: &Access, terms: Terms, plants: Plants) -> proxy::Wiring {
    let (credentials, limits) = (access.credentials.clone(), access.limits);
    let clock = Clock::start();
    proxy::Wiring {
        judge: judging(terms),
        twin: twins(),
        clock: Arc::new(move || clock.micros()),
        connect: Arc::new(move |root| sender(root, &credentials, limits)),
        bundled: Arc::new(move || Box::pin(running(plants))),
    }
}

async fn running(plants: Plants) -> Result<proxy::Running, String> {
    let engine = bundled::start(bundled::anywhere(), plants).await.map_err(|error| error.to_string())?;
    Ok(proxy::Running { root: engine.root.clone(), keep: Box::new(engine) })
}

fn sender(root: &Root, credentials: &Credentials, limits: Limits) -> Result<Sender, String> {
    let sender = crate::exchange::Sender::new(root.clone(), credentials.clone(), limits);
    let sender = sender.map_err(|error| error.to_string())?;
    Ok(Arc::new(move |ask: Ask| {
        let sender = sender.with(&ask.credentials);
        let planned = Planned { mode: ask.mode, rounds: ask.rounds, request: ask.request };
        Box::pin(async move { sender.exchange(&planned).await })
    }))
}

fn twins() -> TwinOf {
    Arc::new(|request: &Request, mode: Mode| {
        let Some(Value::Object(body)) = request.json() else { return None };
        let body = Value::Object(twin::twin(&body, mode)).to_string().into();
        Some(Request { body, ..request.clone() })
    })
}

/// The terms of an upstream; of any server where it does not say who it is.
async fn terms(access: &Access) -> Terms {
    let Some(root) = &access.root else { return of_profile(Profile::tfengine()) };
    let sender = crate::exchange::Sender::new(root.clone(), access.credentials.clone(), access.limits);
    let Ok(sender) = sender else { return of_profile(Profile::openai()) };
    let found = find_out(&sender, None).await;
    let profile = found.ok().and_then(|found| Profile::find(&found.upstream.profile));
    of_profile(profile.unwrap_or(Profile::openai()))
}

fn of_profile(profile: &'static Profile) -> Terms {
    let kind = if profile.name == Profile::tfengine().name { Kind::Ours } else { Kind::Foreign };
    Terms { profile, kind, puppet: Puppet::None, repeat: String::new() }
}

/// Judges exchanges by what their case expected, where they have one.
fn judging(terms: Terms) -> Judge {
    Arc::new(move |request, exchanges, case| {
        let terms = if signed_by_ours(exchanges) { of_profile(Profile::tfengine()) } else { terms.clone() };
        judge(&entry(request, case), exchanges, &terms)
    })
}

/// Whether our engine answered: it alone writes the hash of its tokens under its own name. What a model is called
/// proves nothing.
fn signed_by_ours(exchanges: &[Exchange]) -> bool {
    let signature = Finder::new(br#""tfengine":{"token_sha":"#);
    exchanges.iter().any(|exchange| signature.find(&exchange.body()).is_some())
}

/// The entry that a request was made of, found again by its body; else one that expects nothing.
fn entry(request: &Request, case: Option<&Value>) -> Entry {
    let body = match request.json() {
        Some(Value::Object(body)) => body,
        _ => Map::new(),
    };
    let of_case = case.and_then(|case| {
        let case = Arc::new(read_cases("case.json", &case.to_string()).0.pop()?);
        entries(&case, request.dialect, Depth::Deep).into_iter().find(|entry| is_same(&entry.body, &body))
    });
    of_case.unwrap_or_else(|| Entry::of_request(LIVE, request.dialect, body))
}

/// Whether two bodies ask the same, mode and model aside.
fn is_same(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    let bare = |body: &Map<String, Value>| {
        let mut bare = twin::whole(body);
        bare.shift_remove("model");
        bare
    };
    bare(left) == bare(right)
}
