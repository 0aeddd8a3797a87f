//! What reading costs: the reader in each grammar, byte by byte and in one piece, and over texts made to be slow.
//!
//! In: made-up texts of two sizes. Out: bytes a second. The cost of a byte must not grow with the size: a megabyte
//! fed byte by byte may cost at most one and a half times as much a byte as ten kilobytes.

#![expect(clippy::print_stdout, reason = "the ratio is told beside what criterion tells")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use tfengine::read::{End, Format, Offer, Reader, Thinking, Tool};

const SIZES: [usize; 2] = [10_000, 1_000_000];

fn offer() -> Arc<Offer> {
    let parameters = json!({"properties": {"q": {"type": "string"}, "tags": {"type": "array"}}});
    Arc::new(Offer { tools: vec![Tool { name: "lookup".to_owned(), parameters }], one_call: false })
}

/// Texts that hold this filling, over and over, to the given size.
fn text(before: &str, filling: &str, after: &str, size: usize) -> String {
    [before, &filling.repeat(size / filling.len()), after].concat()
}

fn read(text: &str, bytes: usize, offer: &Arc<Offer>) -> usize {
    let mut reader = Reader::new(Format::Qwen3Xml, Arc::clone(offer), Thinking::MayOpen);
    let (mut events, mut count) = (Vec::new(), 0);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
        reader.feed(piece, &mut events);
        count += events.drain(..).count();
        rest = later;
    }
    reader.finish(End::Model, &mut events);
    count + events.len()
}

fn bench(criterion: &mut Criterion, name: &str, bytes: usize, make: impl Fn(usize) -> String) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    for size in SIZES {
        let (text, offer) = (make(size), offer());
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| read(black_box(&text), bytes, &offer));
        });
    }
    group.finish();
}

const WORDS: &str = "some words, and a line of them\\n";
const JSON: &str = "<tool_call>{\"name\": \"lookup\", \"arguments\": {\"q\": \"";
const GLM: &str = "<tool_call>lookup<arg_key>q</arg_key><arg_value>";
const XML: &str = "<tool_call><function=lookup><parameter=q>\n";

fn arguments(criterion: &mut Criterion) {
    for (name, before, after) in [
        ("json", JSON, "\"}}</tool_call>"),
        ("glm", GLM, "</arg_value></tool_call>"),
        ("xml", XML, "\n</parameter></function></tool_call>"),
    ] {
        bench(criterion, &format!("{name} by byte"), 1, |size| text(before, WORDS, after, size));
        bench(criterion, &format!("{name} whole"), usize::MAX, |size| text(before, WORDS, after, size));
    }
    bench(criterion, "prose by byte", 1, |size| text("", WORDS, "", size));
}

/// Says how much more a byte costs in the larger of the two sizes.
fn ratios(_: &mut Criterion) {
    for (name, before, after) in [
        ("json", JSON, "\"}}</tool_call>"),
        ("glm", GLM, "</arg_value></tool_call>"),
        ("xml", XML, "\n</parameter></function></tool_call>"),
    ] {
        let [small, large] = SIZES.map(|size| per_byte(&text(before, WORDS, after, size)));
        println!(
            "{name} by byte: a byte of {} costs {:.2} times one of {}",
            SIZES[1],
            large / small,
            SIZES[0]
        );
    }
}

/// The mean time that a byte takes, in nanoseconds, over as many bytes whatever the size.
#[expect(clippy::disallowed_methods, reason = "time is what is measured here")]
fn per_byte(text: &str) -> f64 {
    let offer = offer();
    let rounds = 5 * SIZES[1] / text.len();
    let start = Instant::now();
    for _ in 0..rounds {
        black_box(read(black_box(text), 1, &offer));
    }
    #[expect(clippy::cast_precision_loss, reason = "some megabytes fit")]
    let bytes = (rounds * text.len()) as f64;
    start.elapsed().as_secs_f64() * 1e9 / bytes
}

fn hostile(criterion: &mut Criterion) {
    for (name, before, filling) in [
        ("blanks after a closer", "<tool_call>lookup<arg_key>q</arg_key><arg_value>x</arg_value>", " "),
        ("blanks after an opener", "<tool_call>", "\n"),
        ("blanks after prose", "Hi", " "),
        ("many closers", GLM, "</arg_value> "),
        ("many key lines", XML, "\n<parameter=tags\n"),
        ("many brackets", "Hi", "<"),
        ("many openers", "Hi", "<tool_call>"),
        ("many calls after prose", "Hi ", "<tool_call>lookup</tool_call>\n"),
        ("a long name", "<tool_call>", "lookup "),
        ("a long number", "<tool_call>{\"name\": \"lookup\", \"arguments\": {\"n\": ", "1234567890"),
        ("a long key", "<tool_call>lookup<arg_key>", "key "),
        (
            "many repeated keys",
            "<tool_call>{\"name\": \"lookup\", \"arguments\": {\"n\": 1",
            ", \"n\": [{\"n\": 1}]",
        ),
        ("arguments before the name", "<tool_call>{\"arguments\": {\"q\": \"", "words "),
        ("a typed value", "<tool_call>lookup<arg_key>tags</arg_key><arg_value>[1", ", 1"),
    ] {
        bench(criterion, name, 1, |size| text(before, filling, "", size));
    }
}

criterion_group!(benches, arguments, hostile, ratios);
criterion_main!(benches);
