//! A puppet as one GGUF file, which llama.cpp and Ollama load.
//!
//! In: a [`Checkpoint`]. Out: its bytes, GGUF version 3. Three things differ from Hugging Face's layout: names, rotary pairs
//! (dimensions 2i and 2i + 1), and a list of merges that must not be empty.

use super::{
    checkpoint::{CONTEXT, Checkpoint, Precision, byte_name},
    weights::{EPSILON, HEAD, HEADS, HIDDEN, INNER, THETA, Tensor, VOCABULARY},
};

/// The file's format, as its head names it.
const VERSION: u32 = 3;
/// Where data begins, and each tensor in it, is a multiple of this many bytes.
const ALIGNMENT: usize = 32;
/// A merge of two characters that no text has: the list may not be empty.
const NEVER: &str = "\u{2581} \u{2581}";

/// Hugging Face's names and GGUF's.
const NAMES: [(&str, &str); 12] = [
    ("model.embed_tokens.weight", "token_embd.weight"),
    ("model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight"),
    ("model.layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight"),
    ("model.layers.0.self_attn.k_proj.weight", "blk.0.attn_k.weight"),
    ("model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"),
    ("model.layers.0.self_attn.o_proj.weight", "blk.0.attn_output.weight"),
    ("model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight"),
    ("model.layers.0.mlp.gate_proj.weight", "blk.0.ffn_gate.weight"),
    ("model.layers.0.mlp.up_proj.weight", "blk.0.ffn_up.weight"),
    ("model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"),
    ("model.norm.weight", "output_norm.weight"),
    ("lm_head.weight", "output.weight"),
];

/// A value of the file's head.
enum Entry {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
}

/// What kind of token it is, as GGUF numbers them.
#[derive(Clone, Copy)]
enum Kind {
    Normal = 1,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
}

/// The file.
pub fn write(checkpoint: &Checkpoint) -> Vec<u8> {
    let tensors: Vec<Stored> =
        checkpoint.tensors().iter().map(|t| Stored::of(t, checkpoint.precision)).collect();
    let head = head(checkpoint);
    let mut file = b"GGUF".to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend(long(tensors.len()));
    file.extend(long(head.len()));
    for (key, entry) in &head {
        file.extend(string(key));
        file.extend(entry.bytes());
    }
    let mut offset = 0;
    for tensor in &tensors {
        file.extend(tensor.information(offset));
        offset += padded(tensor.bytes.len());
    }
    for tensor in &tensors {
        file.resize(padded(file.len()), 0);
        file.extend(&tensor.bytes);
    }
    file.resize(padded(file.len()), 0);
    file
}

fn head(checkpoint: &Checkpoint) -> Vec<(&'static str, Entry)> {
    let number = |n: usize| Entry::U32(u32::try_from(n).unwrap_or(u32::MAX));
    let text = |text: &str| Entry::Text(text.to_owned());
    let vocabulary = checkpoint.vocabulary;
    vec![
        ("general.architecture", text("llama")),
        ("general.name", text(&checkpoint.name)),
        (
            "general.file_type",
            Entry::U32(match checkpoint.precision {
                Precision::F32 => 0,
                Precision::Bf16 => 32,
            }),
        ),
        ("llama.vocab_size", number(VOCABULARY)),
        ("llama.context_length", number(CONTEXT)),
        ("llama.embedding_length", number(HIDDEN)),
        ("llama.block_count", number(1)),
        ("llama.feed_forward_length", number(INNER)),
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(HEADS)),
        ("llama.attention.key_length", number(HEAD)),
        ("llama.attention.value_length", number(HEAD)),
        ("llama.attention.layer_norm_rms_epsilon", single(EPSILON)),
        ("llama.rope.dimension_count", number(HEAD)),
        ("llama.rope.freq_base", single(THETA)),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("gpt-2")),
        ("tokenizer.ggml.tokens", Entry::Texts(tokens(checkpoint).map(|(name, _)| name).collect())),
        ("tokenizer.ggml.token_type", Entry::I32s(tokens(checkpoint).map(|(_, kind)| kind as i32).collect())),
        ("tokenizer.ggml.merges", Entry::Texts(vec![NEVER.to_owned()])),
        ("tokenizer.ggml.eos_token_id", number(checkpoint.id(vocabulary.end))),
        ("tokenizer.ggml.padding_token_id", number(checkpoint.id(vocabulary.pad))),
        ("tokenizer.ggml.add_bos_token", Entry::Bool(false)),
        ("tokenizer.chat_template", text(&checkpoint.template.text)),
    ]
}

fn single(value: f64) -> Entry {
    #[expect(clippy::cast_possible_truncation, reason = "the file holds single precision")]
    Entry::F32(value as f32)
}

/// All tokens up to the size of the vocabulary. What a reply may hold must come out as text; turn marks must not.
fn tokens(checkpoint: &Checkpoint) -> impl Iterator<Item = (String, Kind)> {
    let vocabulary = checkpoint.vocabulary;
    let bytes = (0..=u8::MAX).map(|byte| (byte_name(byte).to_string(), Kind::Normal));
    let special = vocabulary.tokens().map(|token| {
        let kind = if vocabulary.is_said(token) { Kind::UserDefined } else { Kind::Control };
        (token.to_owned(), kind)
    });
    let unused = (0..).map(|n| (format!("<|unused-{n}|>"), Kind::Unused));
    bytes.chain(special).chain(unused).take(VOCABULARY)
}

fn long(number: usize) -> [u8; 8] {
    (number as u64).to_le_bytes()
}

fn string(text: &str) -> Vec<u8> {
    [&long(text.len())[..], text.as_bytes()].concat()
}

fn padded(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT)
}

/// A tensor as the file holds it.
struct Stored {
    name: &'static str,
    shape: Vec<usize>,
    kind: u32,
    bytes: Vec<u8>,
}

// === impl Stored ===

impl Stored {
    fn of(tensor: &Tensor, precision: Precision) -> Self {
        let name =
            NAMES.iter().find(|(theirs, _)| *theirs == tensor.name).map_or(tensor.name, |(_, name)| name);
        // Norms are single precision in every such file.
        let precision = if tensor.shape.len() == 1 { Precision::F32 } else { precision };
        let turned = name.ends_with("attn_q.weight") || name.ends_with("attn_k.weight");
        let values = if turned { neighbours(&tensor.values) } else { tensor.values.clone() };
        let kind = match precision {
            Precision::F32 => 0,
            Precision::Bf16 => 30,
        };
        Self { name, shape: tensor.shape.clone(), kind, bytes: precision.bytes(&values) }
    }

    /// Columns come first here.
    fn information(&self, offset: usize) -> Vec<u8> {
        let mut bytes = string(self.name);
        let dimensions: u32 = if self.shape.len() == 1 { 1 } else { 2 };
        bytes.extend(dimensions.to_le_bytes());
        bytes.extend(self.shape.iter().rev().flat_map(|n| long(*n)));
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(long(offset));
        bytes
    }
}

/// Rows of heads whose rotary pairs are `i` and `i + 32`, so that pairs are neighbours.
fn neighbours(values: &[f32]) -> Vec<f32> {
    let rows: Vec<&[f32]> = values.chunks(HIDDEN).collect();
    let heads = rows.chunks(HEAD);
    let order = heads.flat_map(|head| {
        let (first, second) = head.split_at(head.len() / 2);
        first.iter().zip(second).flat_map(|(a, b)| [*a, *b])
    });
    order.flatten().copied().collect()
}

// === impl Entry ===

impl Entry {
    /// Its kind and value.
    fn bytes(&self) -> Vec<u8> {
        let (kind, value): (u32, Vec<u8>) = match self {
            Self::U32(n) => (4, n.to_le_bytes().to_vec()),
            Self::F32(n) => (6, n.to_le_bytes().to_vec()),
            Self::Bool(is) => (7, vec![u8::from(*is)]),
            Self::Text(text) => (8, string(text)),
            Self::Texts(texts) => (9, list(8, texts.len(), texts.iter().flat_map(|t| string(t)))),
            Self::I32s(numbers) => (9, list(5, numbers.len(), numbers.iter().flat_map(|n| n.to_le_bytes()))),
        };
        [&kind.to_le_bytes()[..], &value].concat()
    }
}

fn list(kind: u32, length: usize, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    kind.to_le_bytes().into_iter().chain(long(length)).chain(bytes).collect()
}
