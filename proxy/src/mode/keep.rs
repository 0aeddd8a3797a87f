//! What a run leaves behind: its report, the bytes of what did not pass, and progress on a terminal.
//!
//! In: run events and exchanges. Out: a [`Report`], and folders below `failed/`.

use super::complain;
use crate::{
    exchange::Exchange,
    finding::Known,
    plan::Entry,
    report::{Report, json::FILE},
    request::case::to_value,
    rules::Severity,
    run::{Judged, Verdict, event::RunEvent, workers::Sink},
    serve::LIVE,
    settings::Noise,
    store::{self, Recording},
};
use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};
use tokio::task::spawn_blocking;

/// Entries whose bytes are kept; a server that fails everywhere says the same with fewer.
const MAX_KEPT: usize = 500;

/// Progress is shown each time so many entries are done.
const STEP: usize = 16;

/// Takes what a run tells.
pub struct Keeper<'a> {
    failed: PathBuf,
    upstream: String,
    known: &'a Known,
    report: Report,
    kept: usize,
    progress: Option<io::Stderr>,
}

// === impl Keeper ===

impl<'a> Keeper<'a> {
    /// Makes room in the report's folder: what an earlier run kept is removed.
    pub fn new(folder: &Path, upstream: &str, known: &'a Known, noise: Noise) -> io::Result<Self> {
        let failed = folder.join("failed");
        fs::create_dir_all(&failed)?;
        clear(&failed)?;
        // The report of an earlier run tells of what is kept no more.
        match fs::remove_file(folder.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let stderr = io::stderr();
        let progress = (noise == Noise::Progress && stderr.is_terminal()).then_some(stderr);
        Ok(Self {
            failed,
            upstream: upstream.to_owned(),
            known,
            report: Report::default(),
            kept: 0,
            progress,
        })
    }

    /// The report of all that happened, not yet concluded.
    pub fn end(mut self) -> Report {
        if let Some(terminal) = &mut self.progress {
            _ = write!(terminal, "\r\x1b[K");
        }
        self.report
    }

    fn show_progress(&mut self) {
        let (done, planned) = (self.report.entries.len(), self.report.planned);
        if let Some(terminal) = &mut self.progress {
            _ = write!(terminal, "\r{done} of {planned}");
        }
    }
}

impl Sink for Keeper<'_> {
    fn event(&mut self, event: RunEvent) {
        let is_step = matches!(event, RunEvent::Done(_));
        self.report.take(event);
        if is_step && self.report.entries.len().is_multiple_of(STEP) {
            self.show_progress();
        }
    }

    /// Whether somebody will want to see the bytes.
    fn wants(&self, judged: &Judged) -> bool {
        let is_new = |rule: Option<&str>| self.known.reason(&judged.id, rule).is_none();
        let has_new = judged.findings.iter().any(|f| f.severity > Severity::Info && is_new(Some(&f.rule)));
        has_new || (judged.verdict == Verdict::Error && is_new(None))
    }

    async fn keep(&mut self, entry: &Entry, exchanges: Vec<Exchange>) {
        let Some(first) = exchanges.first().filter(|_| self.kept < MAX_KEPT) else { return };
        let recording = Recording {
            id: entry.id.clone(),
            upstream: Some(self.upstream.clone()),
            request: first.request.clone(),
            exchanges,
            case: Some(to_value(&entry.case)),
        };
        let failed = self.failed.clone();
        match spawn_blocking(move || store::write(&failed, &recording)).await {
            Ok(Ok(_)) => self.kept += 1,
            Ok(Err(error)) => complain(error),
            Err(broken) => complain(format_args!("{}: {broken}", self.failed.display())),
        }
    }
}

/// Removes the recordings of a folder that a check left, and nothing else that may lie there: what the live proxy kept was
/// seen once.
fn clear(failed: &Path) -> io::Result<()> {
    for entry in fs::read_dir(failed)? {
        let entry = entry?;
        let path = entry.path();
        let suite = entry.file_name().to_string_lossy().split_once('-').map(|(suite, _)| suite.to_owned());
        if suite.as_deref() == Some(LIVE) {
            continue;
        }
        if store::is_recording(&path) || store::is_leftover(&path) {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}
