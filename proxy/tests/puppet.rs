//! Puppets as a user meets them: a checkpoint is written, a server that says what it is told is checked with padded texts, and
//! one that does not is refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its stage fails, and says where")]

mod support;

use serde_json::Value;
use support::{Folder, response, running::Running, stage_of};

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&folder.read("reports/latest/parity.json")).unwrap()
}

/// The native puppet stops at the end of its text, so a padded window is as good to it as the text alone.
#[test]
fn a_puppet_in_another_process_shakes_hands_and_says_padded_texts() {
    let folder = Folder::new();
    let engine = Running::engine(&folder, &[]);
    let to = |model: &str, puppet: &str, run: &str| {
        folder.run(&[
            "--check",
            "--upstream",
            &engine.url,
            "--model",
            model,
            "--puppet",
            puppet,
            "--run",
            run,
        ])
    };
    for format in ["hermes", "glm", "qwen3-xml"] {
        let run = format!("{format}/one-call*");
        to(&format!("puppet-{format}"), format, &run).expect(0, &["PASS", "whole"]);
        assert!(report(&folder)["totals"]["passed"].as_u64().unwrap() >= 5, "{format}");
    }
    let cut = |profile: &str, rounds: &str| {
        let base = ["--check", "--upstream", &engine.url, "--model", "puppet-glm", "--puppet", "glm"];
        let more = ["--profile", profile, "--run", "glm/one-call", "--rounds", rounds];
        folder.run(&[base.as_slice(), &more].concat())
    };
    cut("tfengine", "1").expect(2, &["--rounds: tfengine cuts its streams as it likes"]);
    cut("vllm", "1,special").expect(2, &["--rounds special: tfengine takes a number of tokens, or whole"]);
    to("puppet-glm", "dsml", "glm/one-call").expect(2, &["--puppet \"dsml\": no puppet speaks it"]);
    folder.run(&["--check", "--puppet", "glm"]).expect(2, &["--upstream"]);
}

#[test]
fn a_model_that_says_something_else_is_no_puppet() {
    let folder = Folder::new();
    let other = stage_of(response(
        "200 OK",
        "application/json",
        br#"{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello!"}}]}"#,
    ));
    folder
        .run(&["--check", "--upstream", &other.url, "--model", "puppet-glm-512", "--puppet", "glm"])
        .expect(
            3,
            &[
                "puppet-glm-512 does not say what it is told with a window of 512 tokens: it said \"Hello!\"",
                "tfproxy puppet glm",
            ],
        );
}

#[test]
fn a_checkpoint_is_written_with_how_to_launch_it() {
    let folder = Folder::new();
    folder.run(&["puppet", "glm", "--out", "p", "--window", "256", "--gguf"]).expect(
        0,
        &[
            "puppet-glm-256",
            "says texts of up to 255 tokens",
            "llama-server --model p/puppet-glm-256.gguf",
            "vllm serve p",
            "--puppet glm",
        ],
    );
    let names = [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "generation_config.json",
        "puppet-glm-256.gguf",
        "Modelfile",
    ];
    let bytes = |name: &str| std::fs::read(folder.at("p").join(name)).unwrap();
    let first = names.map(bytes);
    folder.run(&["puppet", "glm", "--out", "p", "--window", "256", "--gguf"]).expect(0, &[]);
    assert_eq!(names.map(bytes), first, "the same bytes each time");
    assert!(names.iter().all(|name| bytes(name).len() < 4_000_000));
}

#[test]
fn a_checkpoint_that_cannot_be_written_says_why() {
    let folder = Folder::new();
    folder.write("bad.jinja", "{% for %}");
    folder.write("none.jinja", "hello");
    folder.write("file", "");
    for (words, expect) in [
        ("puppet dsml --out p", "no puppet speaks \"dsml\"; formats: hermes, qwen3-xml, glm"),
        ("puppet glm --out p --window 63", "--window 63: a window has 64 to 16384 tokens"),
        ("puppet glm --out p --window 99999", "--window 99999"),
        ("puppet glm --out p --template bad.jinja", "bad.jinja: the template does not render"),
        (
            "puppet glm --out p --template none.jinja",
            "none.jinja: the template does not print the last user message",
        ),
        ("puppet glm --out p --template gone.jinja", "gone.jinja: No such file"),
        ("puppet glm --out file/p", "file/p: "),
        ("puppet glm", "--out"),
    ] {
        folder.run(&words.split(' ').collect::<Vec<_>>()).expect(2, &[expect]);
    }
}
