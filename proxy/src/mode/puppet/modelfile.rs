//! The Modelfile that lets Ollama load a puppet, with the prompt in Ollama's own template language.
//!
//! In: a [`Checkpoint`] and the name of its GGUF. Out: the text, or nothing for a template of a family's own: Ollama does not
//! read those.

use super::{
    checkpoint::{CONTEXT, Checkpoint},
    template::built_in,
};

/// The parts of a prompt, in which formats differ.
struct Words {
    system: &'static str,
    user: &'static str,
    assistant: &'static str,
    tool: [&'static str; 2],
    end: &'static str,
    call: &'static str,
    last: &'static str,
}

const CHATML: Words = Words {
    system: "<|im_start|>system\n",
    user: "<|im_start|>user\n",
    assistant: "<|im_start|>assistant\n",
    tool: ["<|im_start|>user\n<tool_response>\n", "\n</tool_response>"],
    end: "<|im_end|>\n",
    call: "<tool_call>\n{\"name\": \"{{ .Function.Name }}\", \"arguments\": {{ .Function.Arguments }}}\n</tool_call>",
    last: "\n\n\n\n\n\n<|im_start|>assistant\n",
};

const XML: Words = Words {
    call: "<tool_call>\n<function={{ .Function.Name }}>\n{{ range $key, $value := .Function.Arguments }}<parameter={{ $key }}>\n{{ $value }}\n</parameter>\n{{ end }}</function>\n</tool_call>",
    ..CHATML
};

const GLM: Words = Words {
    system: "<|system|>",
    user: "<|user|>",
    assistant: "<|assistant|></think>",
    tool: ["<|observation|><tool_response>", "</tool_response>"],
    end: "",
    call: "<tool_call>{{ .Function.Name }}{{ range $key, $value := .Function.Arguments }}<arg_key>{{ $key }}</arg_key><arg_value>{{ $value }}</arg_value>{{ end }}</tool_call>",
    last: "\n<|assistant|>",
};

/// The file's text.
pub fn text(checkpoint: &Checkpoint, gguf: &str) -> Option<String> {
    let format = checkpoint.vocabulary.format;
    if checkpoint.template.text != built_in(format) {
        return None;
    }
    let words = match format {
        "hermes" => CHATML,
        "qwen3-xml" => XML,
        "glm" => GLM,
        _ => return None,
    };
    Some(format!(
        "FROM ./{gguf}\nTEMPLATE \"\"\"{}\"\"\"\nPARAMETER num_ctx {}\nPARAMETER temperature 0\nPARAMETER stop {}\n",
        words.template(),
        CONTEXT / 2,
        checkpoint.vocabulary.end
    ))
}

// === impl Words ===

impl Words {
    fn template(&self) -> String {
        let Self { system, user, assistant, tool: [before, after], end, call, last } = self;
        [
            &format!("{{{{- if .Tools }}}}{system}{{{{ range .Tools }}}}{{{{ .Function }}}}\n{{{{ end }}}}{end}{{{{ end }}}}"),
            "{{- range $i, $_ := .Messages }}",
            &format!("{{{{- if eq .Role \"user\" }}}}{user}{{{{ .Content }}}}{end}"),
            &format!("{{{{- else if eq .Role \"system\" }}}}{system}{{{{ .Content }}}}{end}"),
            &format!("{{{{- else if eq .Role \"assistant\" }}}}{assistant}{{{{ .Content }}}}"),
            &format!("{{{{ range .ToolCalls }}}}{call}{{{{ end }}}}{end}"),
            &format!("{{{{- else if eq .Role \"tool\" }}}}{before}{{{{ .Content }}}}{after}{end}"),
            "{{- end }}{{- end }}",
            last,
        ]
        .concat()
    }
}
