//! Puts a folder in the place of another, so that whoever is stopped in the middle leaves the one or the other.
//!
//! In: a folder, and what fills it. Out: the folder, filled. No system renames a folder over one that is full: for a moment
//! the place is empty. Then the new one lies beside it, complete, and [`readable`] finds it there.

use super::{
    StoreError,
    write::{REQUEST, create},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Held while a place is empty that is not free: nobody may claim it meanwhile.
static EMPTY: Mutex<()> = Mutex::new(());

/// Until it is dropped no place is empty that is not free, as far as this process goes.
pub(super) fn guard() -> MutexGuard<'static, ()> {
    EMPTY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fills a new folder and puts it in the place of `folder`.
pub(super) fn replace(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (fresh, old) = (beside(folder, "new"), beside(folder, "old"));
    recover(folder, &fresh, &old)?;
    create(&fresh)?;
    if let Err(error) = fill(&fresh) {
        let _ = remove(&fresh); // half a recording is no use, and the disk may be full
        return Err(error);
    }
    swap(folder, &fresh, &old)?;
    remove(&old)
}

/// Where the recording of `folder` is to be read: there, or beside it where its writer was stopped between two names.
pub(super) fn readable(folder: &Path) -> PathBuf {
    let (fresh, old) = (beside(folder, "new"), beside(folder, "old"));
    let is_between = !folder.exists() && old.is_dir();
    match is_between {
        true if fresh.is_dir() => fresh,
        true => old,
        false => folder.to_owned(),
    }
}

/// Whether something lies in `folder`, or beside it as `readable` finds it.
pub fn is_there(folder: &Path) -> bool {
    readable(folder).exists()
}

/// Whether a writer that was stopped left this behind.
pub fn is_leftover(path: &Path) -> bool {
    place_of(path).is_some() && path.join(REQUEST).is_file()
}

/// Whether a writer that was stopped left this behind, and no exchange in it: a folder without a body, or one beside a place
/// that is read elsewhere.
pub fn is_unfinished(folder: &Path) -> bool {
    if let Some(place) = place_of(folder) {
        return folder.is_dir() && readable(&place) != folder;
    }
    let Ok(files) = fs::read_dir(folder) else { return false };
    let begun = [REQUEST.to_owned(), format!("{REQUEST}.tmp")];
    files.flatten().all(|file| begun.iter().any(|name| file.file_name() == name.as_str()))
}

/// Ends what an earlier writer began, or leaves no trace of it.
fn recover(folder: &Path, fresh: &Path, old: &Path) -> Result<(), StoreError> {
    let left = readable(folder);
    if left != folder {
        rename(&left, folder)?;
    }
    remove(old)?;
    remove(fresh)
}

fn swap(folder: &Path, fresh: &Path, old: &Path) -> Result<(), StoreError> {
    let _guard = guard();
    if folder.exists() {
        rename(folder, old)?;
    }
    rename(fresh, folder)
}

fn beside(folder: &Path, what: &str) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{what}"))
}

/// The place that a folder lies beside, if it is called as [`beside`] calls it.
fn place_of(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?;
    let of = name.strip_suffix(".new").or_else(|| name.strip_suffix(".old"))?.strip_prefix('.')?;
    Some(folder.with_file_name(of))
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|source| StoreError::Io { path: to.to_owned(), source })
}

fn remove(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::Io { path: folder.to_owned(), source })
        }
        _ => Ok(()),
    }
}
