//! Writes a whole recording: bodies first, the index last.
//!
//! In: a folder to put it in and a [`Recording`]. Out: the recording's own folder. All of it is written beside its place,
//! see `place`, so that an older recording of the same id reads until the new one does.

use super::{
    FORMAT, Recording, StoreError, curl,
    form::{entry_text, request_value},
    name::folder_name,
    place, redact,
};
use crate::{
    exchange::{Exchange, Slice},
    plan::Rounds,
    request::{Mode, Request},
};
use serde_json::{Map, Value};
use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

/// Name of the index.
pub(super) const INDEX: &str = "exchanges.json";
/// Name of the request's file.
pub(super) const REQUEST: &str = "request.json";
/// Name of the file of what was expected.
pub(super) const CASE: &str = "case.json";

/// Writes `recording` to `parent/folder_name(id)/` and says which folder that is.
pub fn write(parent: &Path, recording: &Recording) -> Result<PathBuf, StoreError> {
    let folder = parent.join(folder_name(&recording.id));
    place::replace(&folder, |fresh| fill(fresh, recording))?;
    Ok(folder)
}

fn fill(folder: &Path, recording: &Recording) -> Result<(), StoreError> {
    write_request(folder, &recording.id, recording.upstream.as_deref(), &recording.request)?;
    if let Some(case) = &recording.case {
        put(&folder.join(CASE), pretty(case).as_bytes())?;
    }
    write_curl(folder, recording)?;
    let files = file_names(&recording.exchanges);
    for (file, exchange) in files.iter().zip(&recording.exchanges) {
        put_slices(&folder.join(file), &exchange.slices)?;
    }
    write_index(folder, &recording.request, &files, &recording.exchanges)
}

pub(super) fn create(folder: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(folder).map_err(|source| StoreError::Io { path: folder.to_owned(), source })
}

pub(super) fn write_request(
    folder: &Path,
    id: &str,
    upstream: Option<&str>,
    request: &Request,
) -> Result<(), StoreError> {
    let mut object = Map::new();
    object.insert("schema".into(), FORMAT.0.into());
    object.insert("id".into(), id.into());
    object.insert("upstream".into(), upstream.map(redact::url).into());
    object.extend(request_value(request));
    put_whole(folder, REQUEST, pretty(&object.into()).as_bytes())
}

fn write_curl(folder: &Path, recording: &Recording) -> Result<(), StoreError> {
    let of = |mode| recording.exchanges.iter().find(|e| e.mode == mode).map(|e| (mode, &e.request));
    let mut requests: Vec<_> = [Mode::Whole, Mode::Stream].into_iter().filter_map(of).collect();
    if requests.is_empty() {
        requests.push((Mode::Whole, &recording.request));
    }
    match curl::script(recording.upstream.as_deref(), &requests) {
        Some(script) => put(&folder.join("curl.sh"), &script),
        None => Ok(()),
    }
}

/// Writes the index in one step: a reader sees the old one or the new one, never half of it.
pub(super) fn write_index(
    folder: &Path,
    own: &Request,
    files: &[String],
    exchanges: &[Exchange],
) -> Result<(), StoreError> {
    // Pretty, but the entries one a line: thousands of slice borders would fill screens.
    let entries = files.iter().zip(exchanges).map(|(file, exchange)| entry_text(file, exchange, own));
    let lines: Vec<String> = entries.map(|entry| format!("    {entry}")).collect();
    let index =
        format!("{{\n  \"schema\": {:?},\n  \"exchanges\": [\n{}\n  ]\n}}\n", FORMAT.0, lines.join(",\n"));
    put_whole(folder, INDEX, index.as_bytes())
}

/// Writes a file in one step.
fn put_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let (unfinished, path) = (folder.join(format!("{name}.tmp")), folder.join(name));
    put(&unfinished, bytes)?;
    fs::rename(&unfinished, &path).map_err(|source| StoreError::Io { path, source })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

pub(super) fn put(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    fs::write(path, bytes).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

/// A body as it came: one piece of it would be another copy.
fn put_slices(path: &Path, slices: &[Slice]) -> Result<(), StoreError> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        slices.iter().try_for_each(|slice| file.write_all(&slice.bytes))?;
        file.flush()
    };
    write().map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

// === names of body files ===

/// The file of each exchange: `whole.json`, `stream-3.sse`; a second of the same kind is `whole-2.json`.
pub(super) fn file_names(exchanges: &[Exchange]) -> Vec<String> {
    let mut taken = HashSet::new();
    exchanges.iter().map(|exchange| free_name(exchange, &mut taken)).collect()
}

fn free_name(exchange: &Exchange, taken: &mut HashSet<String>) -> String {
    let mut count = 1;
    loop {
        let name = file_name(exchange.mode, exchange.rounds, count);
        if taken.insert(name.clone()) {
            return name;
        }
        count += 1;
    }
}

/// The body file of the `count`th exchange of a kind: `whole-2.json`, `stream-3.2.sse`.
pub(super) fn file_name(mode: Mode, rounds: Option<Rounds>, count: usize) -> String {
    let count = |mark: char| if count > 1 { format!("{mark}{count}") } else { String::new() };
    match (mode, rounds) {
        (Mode::Whole, _) => format!("whole{}.json", count('-')),
        (Mode::Stream, None) => format!("stream{}.sse", count('.')),
        (Mode::Stream, Some(rounds)) => {
            format!("stream-{}{}.sse", rounds.to_string().replace(':', "-"), count('.'))
        }
    }
}

/// What a body file's name says of its exchange; `None` for other files.
pub(super) fn read_file_name(name: &str) -> Option<(Mode, Option<Rounds>)> {
    if let Some(rest) = name.strip_suffix(".json").and_then(|stem| stem.strip_prefix("whole")) {
        return is_count(rest, '-').then_some((Mode::Whole, None));
    }
    let stem = name.strip_suffix(".sse")?.strip_prefix("stream")?;
    let (rounds, count) = stem.split_at(stem.find('.').unwrap_or(stem.len()));
    let rounds = match rounds.strip_prefix('-') {
        Some(rounds) => Some(rounds.replace('-', ":").parse().ok()?),
        None if rounds.is_empty() => None,
        None => return None,
    };
    is_count(count, '.').then_some((Mode::Stream, rounds))
}

fn is_count(rest: &str, mark: char) -> bool {
    rest.is_empty() || rest.strip_prefix(mark).is_some_and(|digits| digits.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_what_they_hold() {
        for (mode, rounds, count, expect) in [
            (Mode::Whole, None, 1, "whole.json"),
            (Mode::Whole, None, 2, "whole-2.json"),
            (Mode::Stream, None, 1, "stream.sse"),
            (Mode::Stream, None, 2, "stream.2.sse"),
            (Mode::Stream, Some(Rounds::Every(3)), 1, "stream-3.sse"),
            (Mode::Stream, Some(Rounds::Every(3)), 12, "stream-3.12.sse"),
            (Mode::Stream, Some(Rounds::Whole), 1, "stream-whole.sse"),
            (Mode::Stream, Some(Rounds::Rand { seed: 1, max: 8 }), 1, "stream-rand-1-8.sse"),
        ] {
            let name = file_name(mode, rounds, count);
            assert_eq!(name, expect);
            assert_eq!(read_file_name(&name), Some((mode, rounds)));
        }
        for name in
            ["request.json", "case.json", "wholesome.json", "stream-x.sse", "streams.sse", "stream.sse.tmp"]
        {
            assert_eq!(read_file_name(name), None, "{name}");
        }
    }
}
