//! What happens once an exchange has passed: its twins, the judgement, the folder, the line. None of it on the
//! client's path.

use super::{
    MAX_RECORDED_TOGETHER,
    line::{Remark, Said, line},
    shadow::{self, Twins},
    state::Busy,
    witness::{Seen, stem},
};
use crate::{
    exchange::{End, Exchange, Head, largest_body},
    request::{Mode, Request},
    run::{Judged, fails},
    store::{
        self, Recording, folder_name,
        live::{Order, Told},
    },
};
use std::sync::atomic::Ordering::Relaxed;
use tokio::{sync::OwnedSemaphorePermit, task::spawn_blocking};

/// Sees to an exchange that ended. Returns at once.
pub(super) fn after(seen: Seen) {
    let busy = Busy::new(&seen.state);
    let runtime = seen.state.runtime.clone();
    runtime.spawn(async move {
        conclude(seen).await;
        drop(busy);
    });
}

async fn conclude(mut seen: Seen) {
    let Some(request) = seen.request() else {
        count(&seen, &seen.end);
        let remark = seen.dialect.map(|_| Remark::NotJudged("its request was not seen whole".to_owned()));
        return seen.state.say(line(&seen.method, &seen.path, &unread(&seen), remark));
    };
    let exchange = seen.exchange(&request);
    let bytes = exchange.received();
    let read = move || (Said::of(&exchange), exchange);
    let Some((said, mut exchange)) = seen.state.judging.call(bytes, read).await else {
        let remark = Some(Remark::NotJudged("reading it broke".to_owned()));
        return seen.state.say(line(&seen.method, &seen.path, &unread(&seen), remark));
    };
    if exchange.end == End::Cancelled && said.is_terminated {
        // The client had read its last event and went; nothing was missing but the end of the framing.
        exchange.end = End::Complete;
    }
    let said = Said { end: Some(exchange.end.clone()), ..said };
    count(&seen, &exchange.end);
    match unjudged(&seen, &exchange) {
        Some(why) => pass_by(&mut seen, &request, exchange, &said, why),
        None => judge(&mut seen, request, exchange, said).await,
    }
}

fn count(seen: &Seen, end: &End) {
    match end {
        End::Cancelled => seen.state.status.cancelled.fetch_add(1, Relaxed),
        End::Refused(_) => seen.state.status.unreachable.fetch_add(1, Relaxed),
        _ => 0,
    };
}

/// What can be said of an exchange whose request is none of our dialects, or was not seen whole.
fn unread(seen: &Seen) -> Said {
    Said {
        status: seen.head.as_ref().map(|h| h.status),
        bytes: seen.received,
        end: Some(seen.end.clone()),
        ..Said::default()
    }
}

/// Why an exchange cannot be judged, if it cannot.
fn unjudged(seen: &Seen, exchange: &Exchange) -> Option<Remark> {
    let why = match (&exchange.end, exchange.head.as_ref().and_then(Head::coding)) {
        (End::Cancelled | End::Refused(_), _) => return Some(Remark::None),
        (End::TooLarge, _) if seen.is_too_large() => "too large to be recorded".to_owned(),
        (End::TooLarge, _) => {
            let together = MAX_RECORDED_TOGETHER >> 20;
            format!("no room to record it: answers under way together hold {together} MiB")
        }
        (_, Some(coding)) => format!("content-encoding {coding}"),
        _ => return None,
    };
    Some(Remark::NotJudged(why))
}

fn pass_by(seen: &mut Seen, request: &Request, exchange: Exchange, said: &Said, remark: Remark) {
    if exchange.end == End::TooLarge && !seen.is_too_large() {
        give_up(seen);
    } else {
        let recording = recording(seen, request, vec![exchange]);
        keep_recorded(seen, recording);
    }
    seen.state.say(line(&seen.method, &seen.path, said, Some(remark)));
}

/// What had to give way is not here any more; with `--record` what was written until then stays, and reads as cut.
fn give_up(seen: &Seen) {
    if seen.state.settings.record.is_some() {
        seen.state.status.not_recorded.fetch_add(1, Relaxed);
    }
}

async fn judge(seen: &mut Seen, request: Request, exchange: Exchange, said: Said) {
    let twins = shadow::twins(seen, &exchange).await;
    let was_dropped = matches!(twins, Twins::Dropped);
    let (exchanges, twins_permit) = together(exchange, twins);
    let count = exchanges.len() - 1;
    let recording = recording(seen, &request, exchanges);
    let judge = seen.state.desk.judge.clone();
    let largest = largest_body(&recording.exchanges);
    let judge = move || {
        let judged = judge(&recording.request, &recording.exchanges, None);
        (recording, judged)
    };
    let judged = seen.state.judging.call(largest, judge).await;
    drop(twins_permit);
    let Some((recording, judged)) = judged else {
        let remark = Remark::NotJudged("judging it broke".to_owned());
        return seen.state.say(line(&seen.method, &seen.path, &said, Some(remark)));
    };
    seen.state.status.judged(&judged.findings);
    let folder = keep(seen, recording, &judged).await;
    let remark = Remark::Judged { judged: Box::new(judged), twins: count, was_dropped, folder };
    seen.state.say(line(&seen.method, &seen.path, &said, Some(remark)));
}

/// Whole first, as a check sends them. Twins keep their permit until they are judged: until then they lie in memory.
fn together(exchange: Exchange, twins: Twins) -> (Vec<Exchange>, Option<OwnedSemaphorePermit>) {
    let (mut exchanges, mut permit) = (vec![exchange], None);
    if let Twins::Sent(answers, twins_permit) = twins {
        exchanges.extend(answers);
        permit = Some(twins_permit);
    }
    exchanges.sort_by_key(|exchange| exchange.mode != Mode::Whole);
    (exchanges, permit)
}

fn recording(seen: &Seen, request: &Request, mut exchanges: Vec<Exchange>) -> Recording {
    let noted = seen.noted(request.clone());
    for own in exchanges.iter_mut().filter(|exchange| exchange.request == *request) {
        own.request = noted.clone();
    }
    let upstream = Some(seen.state.settings.upstream.to_string());
    Recording { id: String::new(), upstream, request: noted, exchanges, case: None }
}

// === keeping ===

/// Keeps what is to be kept; says where a failing exchange lies.
async fn keep(seen: &mut Seen, recording: Recording, judged: &Judged) -> Option<String> {
    let recording = keep_recorded(seen, recording);
    if !fails(judged, seen.state.settings.fail_on) {
        return None;
    }
    let id = seen.state.status.failed(&stem(&recording.request), seen.id.as_deref())?;
    let name = folder_name(&id);
    let (failed, recording) = (seen.state.settings.failed.clone(), Recording { id, ..recording });
    // A disk that hangs holds up nobody's bytes.
    let why = match spawn_blocking(move || store::write(&failed, &recording)).await {
        Ok(Ok(_)) => return Some(name),
        Ok(Err(error)) => error.to_string(),
        Err(broken) => broken.to_string(),
    };
    seen.state.say(format!("cannot keep a failing exchange: {why}"));
    None
}

/// With `--record`: the whole of it replaces what was written while it passed.
fn keep_recorded(seen: &mut Seen, recording: Recording) -> Recording {
    if seen.state.settings.record.is_none() {
        return recording;
    }
    if seen.id.is_none() {
        seen.id = seen.claim(&recording.request);
    }
    let Some(id) = seen.id.clone() else { return recording };
    let recording = Recording { id, ..recording };
    if seen.state.record(|| Order::Keep(recording.clone())) == Told::Dropped {
        seen.state.status.not_recorded.fetch_add(1, Relaxed);
    }
    recording
}
