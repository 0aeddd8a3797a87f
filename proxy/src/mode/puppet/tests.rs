//! Puppets say what they are told: a small forward pass over the files as they are written, in both layouts.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "sizes and positions are small here"
)]

use super::{
    checkpoint::{Checkpoint, Precision, byte_name},
    gguf,
    template::{Template, Thinking, built_in},
    weights::{HEAD, HEADS, HIDDEN, VOCABULARY},
};
use crate::plan::tokens::{Vocabulary, formats};
use minijinja::value::{Serde, Value};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;

/// A model as an engine holds it: its tensors by Hugging Face's names, and which dimensions of a head are turned together.
struct Loaded {
    tensors: BTreeMap<String, Vec<f32>>,
    pair: fn(usize) -> (usize, usize),
}

fn numbers(bytes: &[u8], dtype: Dtype) -> Vec<f32> {
    match dtype {
        Dtype::BF16 => {
            bytes.chunks(2).map(|b| half::bf16::from_le_bytes(b.try_into().unwrap()).to_f32()).collect()
        }
        _ => bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(),
    }
}

impl Loaded {
    fn safetensors(bytes: &[u8]) -> Self {
        let file = SafeTensors::deserialize(bytes).unwrap();
        let tensors =
            file.tensors().into_iter().map(|(name, view)| (name, numbers(view.data(), view.dtype())));
        Self { tensors: tensors.collect(), pair: |i| (i, i + HEAD / 2) }
    }

    fn gguf(bytes: &[u8]) -> Self {
        let mut reader = Reader { bytes, at: 4 };
        assert_eq!((&bytes[..4], reader.u32()), (&b"GGUF"[..], 3));
        let (tensors, keys) = (reader.u64(), reader.u64());
        for _ in 0..keys {
            reader.text();
            let kind = reader.u32();
            reader.skip(kind);
        }
        let information: Vec<_> = (0..tensors).map(|_| reader.information()).collect();
        let data = reader.at.next_multiple_of(32);
        let tensors = information.into_iter().map(|(name, count, kind, offset)| {
            let (dtype, size) = if kind == 0 { (Dtype::F32, 4) } else { (Dtype::BF16, 2) };
            assert_eq!(offset % 32, 0);
            let bytes = &bytes[data + offset..data + offset + count * size];
            (theirs(&name), numbers(bytes, dtype))
        });
        Self { tensors: tensors.collect(), pair: |i| (2 * i, 2 * i + 1) }
    }

    fn row(&self, name: &str, row: usize, columns: usize) -> &[f32] {
        &self.tensors[name][row * columns..(row + 1) * columns]
    }

    fn times(&self, name: &str, vector: &[f32]) -> Vec<f32> {
        self.tensors[name]
            .chunks(vector.len())
            .map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
            .collect()
    }

    fn norm(&self, name: &str, vector: &[f32]) -> Vec<f32> {
        let mean = vector.iter().map(|x| x * x).sum::<f32>() / HIDDEN as f32;
        let scale = 1.0 / (mean + 1e-6).sqrt();
        vector.iter().zip(&self.tensors[name]).map(|(x, weight)| x * scale * weight).collect()
    }

    fn turned(&self, vector: &[f32], position: usize) -> Vec<f32> {
        let mut turned = vector.to_vec();
        for head in 0..HEADS {
            for i in 0..HEAD / 2 {
                let (a, b) = (self.pair)(i);
                let (a, b) = (head * HEAD + a, head * HEAD + b);
                let angle = position as f64 * 10_000_f64.powf(-2.0 * i as f64 / HEAD as f64);
                let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
                turned[a] = vector[a] * cos - vector[b] * sin;
                turned[b] = vector[a] * sin + vector[b] * cos;
            }
        }
        turned
    }

    /// What comes after these tokens, until `end` or so many; and the smallest lead of the right token over the next.
    fn generate(&self, prompt: &[u32], end: u32, most: usize) -> (Vec<u32>, f32) {
        let (mut keys, mut values, mut said, mut lead) = (vec![], vec![], vec![], f32::INFINITY);
        let mut tokens = prompt.to_vec();
        let mut position = 0;
        while said.len() < most {
            let is_last = position + 1 == tokens.len();
            let x = self.row("model.embed_tokens.weight", tokens[position] as usize, HIDDEN).to_vec();
            let normed = self.norm("model.layers.0.input_layernorm.weight", &x);
            let layer =
                |name: &str| self.times(&format!("model.layers.0.self_attn.{name}_proj.weight"), &normed);
            keys.push(self.turned(&layer("k"), position));
            values.push(layer("v"));
            if is_last {
                let query = self.turned(&layer("q"), position);
                let next = self.next(&x, &query, &keys, &values);
                let (best, margin) = best(&next);
                lead = lead.min(margin);
                said.push(best);
                tokens.push(best);
                if best == end {
                    break;
                }
            }
            position += 1;
        }
        (said, lead)
    }

    fn next(&self, x: &[f32], query: &[f32], keys: &[Vec<f32>], values: &[Vec<f32>]) -> Vec<f32> {
        let mut heads = vec![0.0; VOCABULARY];
        for head in 0..HEADS {
            let of = head * HEAD..(head + 1) * HEAD;
            let dot = |key: &Vec<f32>| -> f32 {
                query[of.clone()].iter().zip(&key[of.clone()]).map(|(a, b)| a * b).sum::<f32>()
                    / (HEAD as f32).sqrt()
            };
            let scores: Vec<f32> = keys.iter().map(dot).collect();
            let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights: Vec<f32> = scores.iter().map(|s| (s - top).exp()).collect();
            let sum: f32 = weights.iter().sum();
            for (weight, value) in weights.iter().zip(values) {
                for i in of.clone() {
                    heads[i] += weight / sum * value[i];
                }
            }
        }
        let attended = self.times("model.layers.0.self_attn.o_proj.weight", &heads);
        let x: Vec<f32> = x.iter().zip(attended).map(|(a, b)| a + b).collect();
        let normed = self.norm("model.layers.0.post_attention_layernorm.weight", &x);
        let gate = self.times("model.layers.0.mlp.gate_proj.weight", &normed);
        let up = self.times("model.layers.0.mlp.up_proj.weight", &normed);
        let inner: Vec<f32> = gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
        let down = self.times("model.layers.0.mlp.down_proj.weight", &inner);
        let x: Vec<f32> = x.iter().zip(down).map(|(a, b)| a + b).collect();
        self.times("lm_head.weight", &self.norm("model.norm.weight", &x))
    }
}

fn best(logits: &[f32]) -> (u32, f32) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    (order[0] as u32, logits[order[0]] - logits[order[1]])
}

/// GGUF's names as Hugging Face has them.
fn theirs(name: &str) -> String {
    let layer = |rest: &str| format!("model.layers.0.{rest}.weight");
    match name.trim_end_matches(".weight") {
        "token_embd" => "model.embed_tokens.weight".to_owned(),
        "output_norm" => "model.norm.weight".to_owned(),
        "output" => "lm_head.weight".to_owned(),
        "blk.0.attn_norm" => layer("input_layernorm"),
        "blk.0.ffn_norm" => layer("post_attention_layernorm"),
        "blk.0.attn_output" => layer("self_attn.o_proj"),
        other => match other.strip_prefix("blk.0.attn_") {
            Some(which) => layer(&format!("self_attn.{which}_proj")),
            None => layer(&format!("mlp.{}_proj", other.trim_start_matches("blk.0.ffn_"))),
        },
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> &[u8] {
        self.at += count;
        &self.bytes[self.at - count..self.at]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> usize {
        u64::from_le_bytes(self.take(8).try_into().unwrap()) as usize
    }

    fn text(&mut self) -> String {
        let length = self.u64();
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    fn skip(&mut self, kind: u32) {
        match kind {
            7 => _ = self.take(1),
            8 => _ = self.text(),
            9 => {
                let (of, count) = (self.u32(), self.u64());
                (0..count).for_each(|_| self.skip(of));
            }
            _ => _ = self.take(4),
        }
    }

    fn information(&mut self) -> (String, usize, u32, usize) {
        let name = self.text();
        let dimensions = self.u32();
        let count = (0..dimensions).map(|_| self.u64()).product();
        (name, count, self.u32(), self.u64())
    }
}

fn puppet(format: &str, window: usize, precision: Precision) -> Checkpoint {
    let vocabulary = Vocabulary::of(format).unwrap();
    Checkpoint::new(vocabulary, window, Template::new(built_in(format), vocabulary).unwrap(), precision)
}

fn file(checkpoint: &Checkpoint, name: &str) -> Vec<u8> {
    checkpoint.files().unwrap().into_iter().find(|(of, _)| *of == name).unwrap().1
}

#[track_caller]
fn check(checkpoint: &Checkpoint, loaded: &Loaded, says: &str, tools: &Value, thinking: Thinking) {
    let vocabulary = checkpoint.vocabulary;
    let filled = vocabulary.fill(says, checkpoint.window).unwrap();
    let prompt = checkpoint.template.render(&filled, tools.clone(), thinking).unwrap();
    let (said, lead) =
        loaded.generate(&vocabulary.encode(&prompt), checkpoint.id(vocabulary.end) as u32, checkpoint.window);
    let expect = vocabulary.encode(&format!("{says}{}", vocabulary.end));
    assert_eq!(said, expect, "{} {says}", checkpoint.name);
    assert!(lead > 13.0, "{}: a lead of {lead}", checkpoint.name);
}

const TEXTS: [&str; 3] = [
    "Grüße, 漢字 🎉 and a\ttab.\n",
    "<think>\nhm\n</think>\n\n<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"q\": \"x </tool_call> y\"}}\n</tool_call>",
    "<tool_call>lookup<arg_key>q</arg_key><arg_value>aaaa</arg_value></tool_call>",
];

#[test]
fn every_format_says_what_it_is_told_in_both_layouts_and_precisions() {
    let tool = serde_json::json!({"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}});
    let tools = Value::from(Serde([tool]));
    for format in formats() {
        for precision in [Precision::Bf16, Precision::F32] {
            let puppet = puppet(format, 160, precision);
            let loaded = Loaded::safetensors(&file(&puppet, "model.safetensors"));
            let other = Loaded::gguf(&gguf::write(&puppet));
            for (text, thinking) in TEXTS.into_iter().zip(Thinking::ALL) {
                check(&puppet, &loaded, text, &tools, thinking);
                check(&puppet, &other, text, &Value::UNDEFINED, thinking);
            }
        }
    }
}

#[test]
fn far_back_is_as_clear_as_near() {
    let puppet = puppet("hermes", 2_048, Precision::Bf16);
    let loaded = Loaded::safetensors(&file(&puppet, "model.safetensors"));
    check(&puppet, &loaded, "A text.", &Value::UNDEFINED, Thinking::Unsaid);
}

#[test]
fn a_wrong_distance_is_not_right_by_chance() {
    let mut puppet = puppet("hermes", 64, Precision::F32);
    puppet.template.suffix += 1;
    let loaded = Loaded::safetensors(&file(&puppet, "model.safetensors"));
    let prompt = puppet.template.render(
        &puppet.vocabulary.fill("Hello.", 64).unwrap(),
        Value::UNDEFINED,
        Thinking::Unsaid,
    );
    let (said, _) = loaded.generate(&puppet.vocabulary.encode(&prompt.unwrap()), 260, 10);
    assert_ne!(said, puppet.vocabulary.encode("Hello.<|im_end|>"));
}

#[test]
fn files_are_the_same_bytes_each_time() {
    for format in formats() {
        let one = puppet(format, 256, Precision::Bf16);
        assert_eq!(one.files().unwrap(), puppet(format, 256, Precision::Bf16).files().unwrap());
        assert_eq!(gguf::write(&one), gguf::write(&puppet(format, 256, Precision::Bf16)));
    }
}

#[test]
fn the_tokenizer_spells_every_byte_once_and_every_token() {
    let names: std::collections::BTreeSet<char> = (0..=255).map(byte_name).collect();
    assert_eq!(names.len(), 256);
    assert_eq!([b' ', b'\n', b'A', 0xAD, 0xFF].map(byte_name), ['Ġ', 'Ċ', 'A', 'Ń', 'ÿ']);
    let tokenizer: serde_json::Value =
        serde_json::from_slice(&file(&puppet("glm", 256, Precision::Bf16), "tokenizer.json")).unwrap();
    let tokens = Vocabulary::of("glm").unwrap().tokens().count();
    assert_eq!(tokenizer["model"]["vocab"].as_object().unwrap().len(), 256 + tokens);
    let special = |content: &str| {
        let added = tokenizer["added_tokens"].as_array().unwrap();
        added.iter().find(|token| token["content"] == content).unwrap()["special"].as_bool().unwrap()
    };
    assert!(!special("<arg_key>"), "what a reply holds has to come out");
    assert!(special("<|user|>"));
}
