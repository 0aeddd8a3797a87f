//! The committed matrix of plants and rules: which rules fire, as warnings or errors, on which plant or decoy.
//!
//! In: what each came to, and the file. Out: the matrix, the file written, or which of them the file says otherwise of. It
//! holds names of rules and no counts, so that a new case changes nothing.

use super::{Tried, is_part};
use crate::cli::PlantsArgs;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The matrix's format.
const SCHEMA: &str = "tfproxy.plants/1";

/// A matrix that cannot be held against what was found.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadMatrix {
    /// There is none yet.
    #[error("{}: there is no committed matrix; tfproxy plants --update writes it", .0.display())]
    Absent(PathBuf),
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Not JSON.
    #[error("{}: {source}", path.display())]
    NoJson { path: PathBuf, source: serde_json::Error },
}

pub(super) fn matrix(tried: &[Tried]) -> Value {
    let mut sorted: Vec<&Tried> = tried.iter().collect();
    sorted.sort_by_key(|t| t.plant.name);
    let plants: Map<String, Value> = sorted.iter().map(|t| (t.plant.name.to_owned(), t.matrix())).collect();
    json!({ "schema": SCHEMA, "plants": plants })
}

/// The committed matrix, where what is found will be held against one.
pub(super) fn before(args: &PlantsArgs) -> Result<Option<Value>, BadMatrix> {
    if args.update || is_part(args) {
        return Ok(None);
    }
    let path = || args.matrix.clone();
    let bytes = fs::read(&args.matrix).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => BadMatrix::Absent(path()),
        _ => BadMatrix::Io { path: path(), source },
    })?;
    serde_json::from_slice(&bytes).map(Some).map_err(|source| BadMatrix::NoJson { path: path(), source })
}

pub(super) fn write(file: &Path, now: &Value) -> Result<(), BadMatrix> {
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(file, format!("{now:#}\n")));
    written.map_err(|source| BadMatrix::Io { path: file.to_owned(), source })
}

pub(super) fn differs(before: &Value, now: &Value, file: &Path) -> Option<String> {
    let of = |matrix: &Value| matrix.get("plants").and_then(Value::as_object).cloned().unwrap_or_default();
    let (before, now) = (of(before), of(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let changed: Vec<&str> =
        names.into_iter().filter(|name| before.get(*name) != now.get(*name)).map(String::as_str).collect();
    (!changed.is_empty()).then(|| {
        format!(
            "{} says otherwise of: {} (tfproxy plants --update writes it)",
            file.display(),
            changed.join(", ")
        )
    })
}
