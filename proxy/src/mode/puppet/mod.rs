//! `tfproxy puppet FORMAT --out DIR`: a checkpoint that generates exactly the text it is told, for any engine.
//!
//! In: a format, a window, perhaps a family's own chat template. Out: its files, and how to launch servers on it. A server's
//! tokenizer, parsers, counters and HTTP layer are then all its own, and there is no sampling noise.

use super::{complain, tell};
use crate::{
    cli::PuppetArgs,
    exit::Exit,
    plan::tokens::{Vocabulary, formats},
};
use checkpoint::Checkpoint;
use safetensors::SafeTensorError;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use template::{BadTemplate, Template};

pub mod checkpoint;
pub mod gguf;
mod launch;
mod modelfile;
pub mod template;
pub mod weights;

/// The smallest window: room for a probe.
pub const WINDOW_MIN: usize = 64;
/// The largest: half of what a prompt may have.
pub const WINDOW_MAX: usize = checkpoint::CONTEXT / 2;

/// Why there is no puppet.
#[derive(Debug, thiserror::Error)]
enum NoPuppet {
    /// Nothing is known of the format.
    #[error("no puppet speaks {0:?}; formats: {formats}", formats = formats().collect::<Vec<_>>().join(", "))]
    Format(String),
    /// Too small or too large.
    #[error("--window {0}: a window has {WINDOW_MIN} to {WINDOW_MAX} tokens")]
    Window(usize),
    /// The template is no good.
    #[error("{}: {source}", path.display())]
    Template { path: PathBuf, source: BadTemplate },
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Our own tensors do not add up.
    #[error("model.safetensors: {0}")]
    Tensors(#[from] SafeTensorError),
}

/// Writes it.
pub fn run(args: &PuppetArgs) -> Exit {
    match written(args) {
        Ok(text) => tell(&text).err().unwrap_or(Exit::Clean),
        Err(error) => {
            complain(error);
            Exit::Usage
        }
    }
}

fn written(args: &PuppetArgs) -> Result<String, NoPuppet> {
    let checkpoint = checkpoint(args)?;
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| NoPuppet::Io { path, source }
    };
    fs::create_dir_all(&args.out).map_err(io(&args.out))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = args.out.join(name);
        fs::write(&path, bytes).map_err(io(&path))
    };
    for (name, bytes) in checkpoint.files()? {
        write(name, &bytes)?;
    }
    let mut gguf = None;
    if args.gguf {
        let name = format!("{}.gguf", checkpoint.name);
        write(&name, &gguf::write(&checkpoint))?;
        if let Some(text) = modelfile::text(&checkpoint, &name) {
            write("Modelfile", text.as_bytes())?;
        }
        gguf = Some(args.out.join(name));
    }
    let about = format!(
        "{}  says texts of up to {} tokens; looks back {} positions; {}\n\n",
        checkpoint.name,
        checkpoint.window - 1,
        checkpoint.look_back(),
        args.out.display()
    );
    let limits = launch::limits(&checkpoint).map(|limit| format!("note: {limit}\n\n")).unwrap_or_default();
    Ok(about + &limits + &launch::lines(&checkpoint, &args.out, gguf.as_deref()))
}

fn checkpoint(args: &PuppetArgs) -> Result<Checkpoint, NoPuppet> {
    let vocabulary = Vocabulary::of(&args.format).ok_or_else(|| NoPuppet::Format(args.format.clone()))?;
    if !(WINDOW_MIN..=WINDOW_MAX).contains(&args.window) {
        return Err(NoPuppet::Window(args.window));
    }
    let path = args.template.clone().unwrap_or_else(|| PathBuf::from("the built-in template"));
    let text = match &args.template {
        Some(path) => {
            fs::read_to_string(path).map_err(|source| NoPuppet::Io { path: path.clone(), source })?
        }
        None => template::built_in(vocabulary.format).to_owned(),
    };
    let template = Template::new(&text, vocabulary).map_err(|source| NoPuppet::Template { path, source })?;
    Ok(Checkpoint::new(vocabulary, args.window, template, args.precision))
}

#[cfg(test)]
mod tests;
