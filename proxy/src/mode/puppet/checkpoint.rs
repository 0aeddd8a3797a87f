//! A puppet as a checkpoint of Hugging Face's layout, which most engines load.
//!
//! In: a format's vocabulary, a window, a template. Out: the files of a folder, the same bytes each time: `config.json`,
//! `model.safetensors`, `tokenizer.json`, `tokenizer_config.json`, `chat_template.jinja`, `generation_config.json`.

use super::{
    template::Template,
    weights::{self, EPSILON, HEAD, HEADS, HIDDEN, INNER, THETA, Tensor, VOCABULARY},
};
use crate::plan::tokens::Vocabulary;
use safetensors::{Dtype, SafeTensorError, tensor::TensorView};
use serde_json::{Map, Value, json};

/// Tokens that a prompt and its reply may have: room for tools, a window and the text once more.
pub const CONTEXT: usize = 32_768;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    /// bfloat16, two bytes each.
    Bf16,
    /// float32, four bytes each.
    F32,
}

/// A puppet, before it is written.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// What it is called: format and window.
    pub name: String,
    /// Its tokens.
    pub vocabulary: &'static Vocabulary,
    /// Tokens of the window that holds the text.
    pub window: usize,
    /// Its chat template.
    pub template: Template,
    /// How its numbers are stored.
    pub precision: Precision,
}

// === impl Precision ===

impl Precision {
    /// What engines call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bfloat16",
            Self::F32 => "float32",
        }
    }

    /// Numbers as little-endian bytes.
    pub fn bytes(self, values: &[f32]) -> Vec<u8> {
        match self {
            Self::Bf16 => values.iter().flat_map(|v| half::bf16::from_f32(*v).to_le_bytes()).collect(),
            Self::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    const fn dtype(self) -> Dtype {
        match self {
            Self::Bf16 => Dtype::BF16,
            Self::F32 => Dtype::F32,
        }
    }
}

// === impl Checkpoint ===

impl Checkpoint {
    /// A puppet of a format.
    pub fn new(
        vocabulary: &'static Vocabulary,
        window: usize,
        template: Template,
        precision: Precision,
    ) -> Self {
        Self {
            name: format!("puppet-{}-{window}", vocabulary.format),
            vocabulary,
            window,
            template,
            precision,
        }
    }

    /// How far the token to say next stands before the current one: the window, and what follows it in the prompt.
    pub fn look_back(&self) -> usize {
        self.window + self.template.suffix - 1
    }

    /// Its tensors.
    pub fn tensors(&self) -> Vec<Tensor> {
        weights::tensors(self.look_back())
    }

    /// The id of a token that is no byte.
    pub fn id(&self, token: &str) -> usize {
        256 + self.vocabulary.tokens().position(|t| t == token).unwrap_or_default()
    }

    /// The files of its folder.
    ///
    /// # Errors
    /// The tensors do not add up.
    pub fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, SafeTensorError> {
        let text = |value: &Value| format!("{value:#}\n").into_bytes();
        Ok(vec![
            ("config.json", text(&self.config())),
            ("model.safetensors", self.safetensors()?),
            ("tokenizer.json", text(&self.tokenizer())),
            ("tokenizer_config.json", text(&self.tokenizer_config())),
            ("chat_template.jinja", self.template.text.clone().into_bytes()),
            ("generation_config.json", text(&self.generation())),
        ])
    }

    fn config(&self) -> Value {
        json!({
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": VOCABULARY,
            "hidden_size": HIDDEN,
            "intermediate_size": INNER,
            "num_hidden_layers": 1,
            "num_attention_heads": HEADS,
            "num_key_value_heads": HEADS,
            "head_dim": HEAD,
            "hidden_act": "silu",
            "attention_bias": false,
            "mlp_bias": false,
            "rms_norm_eps": EPSILON,
            "rope_theta": THETA,
            "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
            "max_position_embeddings": CONTEXT,
            "tie_word_embeddings": false,
            "bos_token_id": null,
            "eos_token_id": self.id(self.vocabulary.end),
            "pad_token_id": self.id(self.vocabulary.pad),
            "torch_dtype": self.precision.name(),
            "tfproxy_puppet": {"format": self.vocabulary.format, "window": self.window,
                               "look_back": self.look_back()},
        })
    }

    fn safetensors(&self) -> Result<Vec<u8>, SafeTensorError> {
        let tensors = self.tensors();
        let stored: Vec<Vec<u8>> = tensors.iter().map(|t| self.precision.bytes(&t.values)).collect();
        let views = tensors.iter().zip(&stored).map(|(tensor, bytes)| {
            Ok((tensor.name, TensorView::new(self.precision.dtype(), tensor.shape.clone(), bytes)?))
        });
        let views = views.collect::<Result<Vec<_>, SafeTensorError>>()?;
        // Some loaders ask which framework a file is laid out for.
        let about = std::iter::once(("format".to_owned(), "pt".to_owned())).collect();
        safetensors::serialize(views, Some(about))
    }

    /// Byte-level BPE without merges; what is no byte is an added token, matched within text.
    fn tokenizer(&self) -> Value {
        let bytes = (0..=u8::MAX).map(|byte| (byte_name(byte).to_string(), json!(byte)));
        let added = || (256_u32..).zip(self.vocabulary.tokens());
        let others = added().map(|(id, token)| (token.to_owned(), json!(id)));
        let vocabulary: Map<String, Value> = bytes.chain(others).collect();
        let added: Vec<Value> = added()
            .map(|(id, token)| {
                json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                       "normalized": false, "special": !self.vocabulary.is_said(token)})
            })
            .collect();
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": added,
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
            "post_processor": null,
            "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
                      "vocab": vocabulary, "merges": []},
        })
    }

    fn tokenizer_config(&self) -> Value {
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": CONTEXT,
            "bos_token": null,
            "eos_token": self.vocabulary.end,
            "pad_token": self.vocabulary.pad,
            "clean_up_tokenization_spaces": false,
            "add_prefix_space": false,
        })
    }

    fn generation(&self) -> Value {
        json!({
            "do_sample": false,
            "eos_token_id": self.id(self.vocabulary.end),
            "pad_token_id": self.id(self.vocabulary.pad),
        })
    }
}

/// How byte-level tokenizers spell a byte: printable ones as themselves, the others as letters from U+0100 on, in order.
pub fn byte_name(byte: u8) -> char {
    let is_printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|b| !is_printable(*b)).count();
    u32::try_from(before).ok().and_then(|n| char::from_u32(0x100 + n)).unwrap_or(char::REPLACEMENT_CHARACTER)
}
