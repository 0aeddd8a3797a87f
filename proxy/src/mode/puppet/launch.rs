//! How to start a server on a puppet, and how to check it then.
//!
//! In: a [`Checkpoint`] and where it was written. Out: one line for each server that can load it.

use super::{checkpoint::Checkpoint, template::Thinking};
use std::{fmt::Write, path::Path};

/// A server's name and its options for each format's parser; empty where it finds the format out itself.
struct Parsers {
    format: &'static str,
    vllm: &'static str,
    sglang: &'static str,
}

const PARSERS: [Parsers; 3] = [
    Parsers {
        format: "hermes",
        vllm: "--tool-call-parser hermes --reasoning-parser qwen3",
        sglang: "--tool-call-parser qwen --reasoning-parser qwen3",
    },
    Parsers {
        format: "glm",
        vllm: "--tool-call-parser glm47 --reasoning-parser glm45",
        sglang: "--tool-call-parser glm47 --reasoning-parser glm45",
    },
    Parsers {
        format: "qwen3-xml",
        vllm: "--tool-call-parser qwen3_xml --reasoning-parser qwen3",
        sglang: "--tool-call-parser qwen3_coder --reasoning-parser qwen3",
    },
];

/// What a user does next.
pub fn lines(checkpoint: &Checkpoint, folder: &Path, gguf: Option<&Path>) -> String {
    let (folder, name) = (folder.display(), &checkpoint.name);
    let format = checkpoint.vocabulary.format;
    let parsers = PARSERS.iter().find(|parsers| parsers.format == format);
    let (vllm, sglang) = parsers.map_or(("", ""), |parsers| (parsers.vllm, parsers.sglang));
    let mut text = String::new();
    if let Some(file) = gguf {
        let file = file.display();
        _ = writeln!(
            text,
            "llama.cpp     llama-server --model {file} --alias {name} --jinja --ctx-size 16384 --parallel 1 --port 8000"
        );
        _ = writeln!(text, "Ollama        ollama create {name} -f {folder}/Modelfile && ollama serve");
    } else {
        _ = writeln!(text, "llama.cpp     write it with --gguf, as for Ollama");
    }
    _ = writeln!(
        text,
        "vLLM          vllm serve {folder} --served-model-name {name} --max-model-len 16384 --enforce-eager --enable-auto-tool-choice {vllm} --port 8000"
    );
    _ = writeln!(
        text,
        "SGLang        python -m sglang.launch_server --model-path {folder} --served-model-name {name} --context-length 16384 {sglang} --port 8000"
    );
    _ = writeln!(text, "transformers  transformers serve --port 8000   (model {folder})");
    _ = writeln!(
        text,
        "\ncheck it      tfproxy --check --upstream http://localhost:8000/v1 --puppet {format}"
    );
    text
}

/// What it cannot be asked.
pub fn limits(checkpoint: &Checkpoint) -> Option<String> {
    let silent: Vec<&str> = Thinking::ALL
        .into_iter()
        .filter(|state| !checkpoint.template.answers.contains(state))
        .map(|state| match state {
            Thinking::Unsaid => "without enable_thinking",
            Thinking::On => "with enable_thinking true",
            Thinking::Off => "with enable_thinking false",
        })
        .collect();
    (!silent.is_empty()).then(|| {
        format!(
            "the template ends its prompt at another distance {}: there the puppet says junk",
            silent.join(" and ")
        )
    })
}
