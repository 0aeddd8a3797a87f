//! Events a second of the fold, ours and the clients', and its cost for one argument that comes byte by byte: a byte of a
//! long one may cost at most one and a half times as much as one of ten kilobytes.

#![expect(clippy::print_stdout, reason = "the ratio is told beside what criterion tells")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tfproxy::{
    decode::{Cut, Decoded, recut},
    exchange::clock::Clock,
    fold::{Lens, fold},
    request::Dialect,
};

/// Arguments whose costs a byte are held against each other. A longer one, byte by byte, is too large to be judged.
const SIZES: [usize; 2] = [10_000, 100_000];

/// A call whose one argument is so many bytes long, one byte a chunk.
fn call(bytes: usize) -> Decoded {
    let head = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n";
    let byte = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"x\"}}]}}]}\n\n";
    recut((head.to_owned() + &byte.repeat(bytes)).as_bytes(), Cut::Every(1 << 16))
}

fn text(events: usize) -> Decoded {
    let chunk = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n";
    recut(chunk.repeat(events).as_bytes(), Cut::Every(1 << 16))
}

fn folds(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold");
    group.sample_size(20);
    let decoded = text(5_000);
    group.throughput(Throughput::Elements(5_000));
    for lens in [Lens::STRICT].iter().chain(Lens::CLIENTS) {
        group.bench_function(BenchmarkId::new("text", lens.name), |b| {
            b.iter(|| fold(Dialect::OpenaiChat, Some(200), black_box(&decoded), lens));
        });
    }
    for bytes in [1_000, SIZES[0], SIZES[1]] {
        let decoded = call(bytes);
        group.throughput(Throughput::Elements(bytes as u64));
        group.bench_function(BenchmarkId::new("argument", bytes), |b| {
            b.iter(|| fold(Dialect::OpenaiChat, Some(200), black_box(&decoded), &Lens::STRICT));
        });
    }
    group.finish();
}

/// Says how much more a byte of a long argument costs, scanned and folded.
fn ratios(_: &mut Criterion) {
    let [small, large] = SIZES.map(per_byte);
    println!("argument by byte: a byte of {} costs {:.2} times one of {}", SIZES[1], large / small, SIZES[0]);
}

/// The mean time that a byte takes, in nanoseconds, over as many bytes whatever the size.
fn per_byte(bytes: usize) -> f64 {
    let rounds = 5 * SIZES[1] / bytes;
    let clock = Clock::start();
    for _ in 0..rounds {
        let decoded = call(bytes);
        assert!(!decoded.is_partial());
        black_box(fold(Dialect::OpenaiChat, Some(200), &decoded, &Lens::STRICT));
    }
    #[expect(clippy::cast_precision_loss, reason = "some megabytes fit")]
    let bytes = (rounds * bytes) as f64;
    clock.seconds() * 1e9 / bytes
}

criterion_group!(benches, folds, ratios);
criterion_main!(benches);
