//! Reads a recording back, also one that was cut short.
//!
//! In: its folder. Out: a [`Recording`], or the file and the line, key or byte that is wrong. Without an index the
//! bodies that lie there are exchanges that were cut.

use super::{
    FORMAT, MAX_FILE, Recording, StoreError,
    form::{BadKey, Entry, bad, read_entry, read_request, text},
    place,
    write::{CASE, INDEX, REQUEST, read_file_name},
};
use crate::{
    exchange::{End, Exchange, Slice, Took},
    request::Request,
};
use bytes::Bytes;
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// Whether a recording lies in `folder`, complete.
pub fn is_recording(folder: &Path) -> bool {
    folder.join(INDEX).is_file()
}

/// Reads the recording in `folder`.
pub fn read(folder: &Path) -> Result<Recording, StoreError> {
    let folder = &*place::readable(folder);
    let file = folder.join(REQUEST);
    let value = match optional(json(&file))? {
        Some(value) => value,
        None if folder.is_dir() => return Err(StoreError::NoRecording { path: folder.to_owned() }),
        None => json(&file)?,
    };
    let keyed = |error: BadKey| key_error(&file, error);
    expect_format(&value).map_err(keyed)?;
    let request = read_request(&value, "").map_err(keyed)?;
    Ok(Recording {
        id: text(&value, "", "id").map_err(keyed)?,
        upstream: value.get("upstream").and_then(Value::as_str).map(ToOwned::to_owned),
        exchanges: exchanges(folder, &request)?,
        case: optional(json(&folder.join(CASE)))?,
        request,
    })
}

fn exchanges(folder: &Path, own: &Request) -> Result<Vec<Exchange>, StoreError> {
    let file = folder.join(INDEX);
    let Some(index) = optional(json(&file))? else { return cut_exchanges(folder, own) };
    let entries = entries(&index).map_err(|error| key_error(&file, error))?;
    entries.into_iter().map(|entry| exchange(folder, entry, own)).collect()
}

fn entries(index: &Value) -> Result<Vec<Entry>, BadKey> {
    expect_format(index)?;
    let list = index.get("exchanges").and_then(Value::as_array);
    let list = list.ok_or_else(|| bad("", "exchanges", "no list"))?;
    let entry = |(number, value)| {
        let at = format!("exchanges[{number}]");
        let entry = read_entry(value, &at)?;
        match read_file_name(&entry.file) {
            Some(_) => Ok(entry),
            None => Err(bad(&at, "file", &format!("{:?} is no name of a body", entry.file))),
        }
    };
    list.iter().enumerate().map(entry).collect()
}

fn expect_format(value: &Value) -> Result<(), BadKey> {
    match text(value, "", "schema")? {
        format if format == FORMAT.0 => Ok(()),
        other => Err(bad("", "schema", &format!("{other:?}, and only {:?} is read", FORMAT.0))),
    }
}

fn exchange(folder: &Path, entry: Entry, own: &Request) -> Result<Exchange, StoreError> {
    let path = folder.join(&entry.file);
    let body = optional(read_file(&path))?.unwrap_or_default();
    let slices = slices(&body, &entry.borders).map_err(|(byte, problem)| StoreError::Body {
        path,
        byte,
        problem: problem.to_owned(),
    })?;
    Ok(Exchange {
        mode: entry.mode,
        rounds: entry.rounds,
        request: entry.request.unwrap_or_else(|| own.clone()),
        head: entry.head,
        slices,
        end: entry.end,
        took: entry.took,
    })
}

/// Cuts a body at its borders. Bytes without any border (written before the index was) are one slice.
fn slices(body: &Bytes, borders: &[(u64, u64)]) -> Result<Vec<Slice>, (u64, &'static str)> {
    if borders.is_empty() {
        let all = Slice { at: 0, bytes: body.clone() };
        return Ok(if body.is_empty() { Vec::new() } else { vec![all] });
    }
    let length = body.len() as u64;
    let ends = borders.iter().skip(1).map(|(start, _)| *start).chain([length]);
    if let Some((first @ 1.., _)) = borders.first() {
        return Err((*first, "the first slice does not start at 0"));
    }
    borders.iter().zip(ends).map(|((start, at), end)| slice(body, *start, end, *at)).collect()
}

fn slice(body: &Bytes, start: u64, end: u64, at: u64) -> Result<Slice, (u64, &'static str)> {
    if start > end {
        return Err((end, "a slice ends before it starts"));
    }
    let bound = |offset: u64| usize::try_from(offset).ok().filter(|offset| *offset <= body.len());
    match bound(start).zip(bound(end)) {
        Some((from, to)) => Ok(Slice { at, bytes: body.slice(from..to) }),
        None => Err((body.len() as u64, "the file ends before its last slice")),
    }
}

// === cut recordings ===

/// What lies there without an index: each body is an exchange that was cut.
fn cut_exchanges(folder: &Path, own: &Request) -> Result<Vec<Exchange>, StoreError> {
    let io = |source| StoreError::Io { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for file in fs::read_dir(folder).map_err(io)? {
        names.extend(file.map_err(io)?.file_name().into_string());
    }
    names.sort();
    names.iter().filter_map(|name| cut_exchange(folder, name, own)).collect()
}

fn cut_exchange(folder: &Path, name: &str, own: &Request) -> Option<Result<Exchange, StoreError>> {
    let (mode, rounds) = read_file_name(name)?;
    let exchange = |body: Bytes| Exchange {
        mode,
        rounds,
        request: own.clone(),
        head: None,
        slices: if body.is_empty() { Vec::new() } else { vec![Slice { at: 0, bytes: body }] },
        end: End::Cut("the recording ends here".to_owned()),
        took: Took::default(),
    };
    Some(read_file(&folder.join(name)).map(exchange))
}

// === files ===

fn json(path: &Path) -> Result<Value, StoreError> {
    let bytes = read_file(path)?;
    serde_json::from_slice(&bytes).map_err(|error| StoreError::Json {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: error.to_string(),
    })
}

/// A file of up to [`MAX_FILE`] bytes, also where its size is not known before.
pub fn read_file(path: &Path) -> Result<Bytes, StoreError> {
    let io = |source| StoreError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes)).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(StoreError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes.into())
}

/// A file that need not be there.
fn optional<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn key_error(path: &Path, BadKey { key, problem }: BadKey) -> StoreError {
    StoreError::Key { path: path.to_owned(), key, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_that_do_not_fit_the_body_name_the_byte() {
        let body = Bytes::from_static(b"abcdef");
        let check = |borders: &[(u64, u64)], expect: Result<&[&str], u64>| {
            let got = slices(&body, borders);
            let got =
                got.as_ref().map(|s| s.iter().map(|s| std::str::from_utf8(&s.bytes).unwrap()).collect());
            assert_eq!(got.map_err(|(byte, _)| *byte), expect.map(<[_]>::to_vec), "{borders:?}");
        };
        check(&[], Ok(&["abcdef"]));
        check(&[(0, 1)], Ok(&["abcdef"]));
        check(&[(0, 1), (2, 2), (2, 3), (6, 4)], Ok(&["ab", "", "cdef", ""]));
        check(&[(1, 1)], Err(1));
        check(&[(0, 1), (7, 2)], Err(6));
        check(&[(0, 1), (4, 2), (3, 3)], Err(3));
        check(&[(0, 1), (u64::MAX, 2)], Err(6));
    }
}
