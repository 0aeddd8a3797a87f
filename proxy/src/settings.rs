//! The command line, checked: what every mode runs with. The one place that reads the environment.
//!
//! In: [`Cli`]. Out: a [`Task`], or what is wrong with the settings.

use crate::{
    cli::{
        AccessArgs, CheckArgs, Cli, EngineArgs, MessageFormat, Mode, PlantsArgs, PuppetArgs, RejudgeArgs, Via,
    },
    exchange::{
        BadRoot, Credentials, Limits, Root,
        credentials::{BadCredentials, PlainHttp},
    },
    mode::bundled::Plants,
    plan::{Depth, Rounds},
    report::text::Show,
    request::{
        Dialect,
        select::{Pattern, Selection},
    },
    run::FailOn,
};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// How often a busy server is asked again where the user does not say.
pub const BUSY_RETRIES: u32 = 3;

/// Entries under way at once: each holds 64 KiB of replies and a connection in any case.
pub const MAX_JOBS: usize = 256;

/// How often everything is asked at most: all replies to one request are judged together.
pub const MAX_REPEAT: usize = 1000;

/// How often one thing is asked again at most; between busy answers it waits.
pub const MAX_RETRIES: u32 = 1000;

/// What to do, with all that it takes.
#[derive(Debug)]
pub enum Task {
    /// Stand in front of a server.
    Serve(ServeSettings),
    /// Run cases.
    Check(Box<CheckSettings>),
    /// Send recordings again.
    Replay(ReplaySettings),
    /// Judge recorded bytes.
    Rejudge(RejudgeArgs),
    /// Try the checker on plants.
    Plants(PlantsArgs),
    /// Explain rules.
    Rules(Option<String>),
    /// Write a puppet.
    Puppet(PuppetArgs),
    /// Serve the bundled engine.
    Engine(EngineArgs),
}

/// How an upstream is reached.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where it is; the bundled engine where `None`.
    pub root: Option<Root>,
    /// What to send along.
    pub credentials: Credentials,
    /// How long things may take.
    pub limits: Limits,
    /// The options that reach it again; the value of a header that is not ours may be a key and is left out.
    pub words: Vec<String>,
}

/// Settings of serving.
#[derive(Debug, Clone)]
pub struct ServeSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The server behind.
    pub access: Access,
    /// Whether the twin is sent to a server that is not ours.
    pub shadow: Shadow,
    /// Where exchanges are recorded.
    pub record: Option<PathBuf>,
    /// Whether the bundled engine may be asked for plants.
    pub plants: Plants,
    /// Where reports land.
    pub report: PathBuf,
}

/// Whether the twin of a request is sent to a server that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shadow {
    /// It is; every request is billed twice.
    Sent,
    /// It is not.
    Off,
}

/// Settings of `--check`.
#[derive(Debug, Clone)]
pub struct CheckSettings {
    /// The server to ask.
    pub access: Access,
    /// The model to ask.
    pub model: Option<String>,
    /// The format of the puppet checkpoint there.
    pub puppet: Option<String>,
    /// Another way to a reply than a chat request.
    pub via: Option<Via>,
    /// The profile of rules.
    pub profile: Option<String>,
    /// Files and folders of cases; the built-in ones where empty.
    pub cases: Vec<PathBuf>,
    /// Which of them.
    pub selection: Selection,
    /// In which dialects.
    pub dialects: Vec<Dialect>,
    /// At which rounds.
    pub rounds: Vec<Rounds>,
    /// With how many cuts.
    pub depth: Depth,
    /// How often.
    pub repeat: usize,
    /// How often a busy server is asked again.
    pub retries: u32,
    /// How often a case that fails is asked again.
    pub again: u32,
    /// How many entries at once.
    pub jobs: Option<usize>,
    /// How many requests at most.
    pub max_requests: Option<usize>,
    /// What is known to fail.
    pub known_failing: Option<PathBuf>,
    /// What makes the exit status 1.
    pub fail_on: FailOn,
    /// Where reports land.
    pub report: PathBuf,
    /// How the result is printed.
    pub format: MessageFormat,
    /// Whether to run, or to list what would run.
    pub act: Act,
    /// What to show besides the summary.
    pub show: Option<Show>,
    /// How much is said while it runs.
    pub noise: Noise,
}

/// Whether to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Ask and judge.
    Run,
    /// List what would be asked.
    List,
}

/// How much is said while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Progress, on a terminal.
    Progress,
    /// Nothing but the result.
    Quiet,
}

/// Settings of `replay`.
#[derive(Debug, Clone)]
pub struct ReplaySettings {
    /// Ids of entries, or folders.
    pub recordings: Vec<String>,
    /// The server to ask.
    pub access: Access,
    /// Where the report lies that ids refer to.
    pub report: PathBuf,
}

/// Settings that cannot be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// A key was named that is not there.
    #[error("--api-key-env {0}: the environment variable is not set, or empty")]
    NoKey(String),
    /// An address that is none.
    #[error("--upstream: {0}")]
    Root(#[from] BadRoot),
    /// A header or key that cannot be sent.
    #[error(transparent)]
    Credentials(#[from] BadCredentials),
    /// No time at all, or no number.
    #[error("--timeout {0}: write a number of seconds above 0, at most 86400")]
    Timeout(String),
    /// A count that has to be at least 1.
    #[error("--{0} 0: write a number from 1")]
    Zero(&'static str),
    /// More than [`MAX_JOBS`].
    #[error("--jobs {0}: write a number from 1, at most {MAX_JOBS}")]
    Jobs(usize),
    /// More than [`MAX_REPEAT`].
    #[error("--repeat {0}: write a number from 1, at most {MAX_REPEAT}")]
    Repeat(usize),
    /// More than [`MAX_RETRIES`].
    #[error("--retries {0}: write a number of at most {MAX_RETRIES}")]
    Retries(u32),
}

/// Checks the command line; `environment` gives the value of a variable.
pub fn settle(cli: Cli, environment: impl Fn(&str) -> Option<String>) -> Result<Task, BadSettings> {
    match cli.mode {
        Some(Mode::Replay(args)) => Ok(Task::Replay(ReplaySettings {
            access: access(args.upstream, &args.access, environment)?,
            recordings: args.recordings,
            report: args.report,
        })),
        Some(Mode::Rejudge(args)) => Ok(Task::Rejudge(args)),
        Some(Mode::Plants(args)) => check_jobs(args.jobs).map(|()| Task::Plants(args)),
        Some(Mode::Rules { id }) => Ok(Task::Rules(id)),
        Some(Mode::Puppet(args)) => Ok(Task::Puppet(args)),
        Some(Mode::Engine(args)) => Ok(Task::Engine(args)),
        None => {
            let access = access(cli.upstream, &cli.access, environment)?;
            if cli.check {
                return Ok(Task::Check(Box::new(check(cli.checks, access, cli.report)?)));
            }
            let shadow = if cli.serve.shadow { Shadow::Sent } else { Shadow::Off };
            let plants = if cli.serve.plants { Plants::Allowed } else { Plants::Refused };
            let (listen, record) = (cli.serve.listen, cli.serve.record);
            Ok(Task::Serve(ServeSettings { listen, access, shadow, record, plants, report: cli.report }))
        }
    }
}

/// The value of an environment variable, if it is set and is text.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn access(
    upstream: Option<String>,
    args: &AccessArgs,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Access, BadSettings> {
    // Not read by the command line's own parser, which would print the value with all that it holds.
    let root = upstream.map(|text| text.parse::<Root>()).transpose()?;
    let mut credentials = Credentials::default();
    for header in &args.headers {
        credentials.add(header)?;
    }
    if let Some(name) = &args.api_key_env {
        let key = environment(name).filter(|key| !key.trim().is_empty());
        credentials.add_key(&key.ok_or_else(|| BadSettings::NoKey(name.clone()))?)?;
    }
    let plain = if args.allow_plain_http { PlainHttp::Allowed } else { PlainHttp::Refused };
    if let Some(root) = &root {
        credentials.check(root, plain)?;
    }
    let words = words(root.as_ref(), args);
    Ok(Access { root, credentials, limits: limits(args.timeout)?, words })
}

fn words(root: Option<&Root>, args: &AccessArgs) -> Vec<String> {
    let mut words: Vec<String> = root.map(|root| format!("--upstream {root}")).into_iter().collect();
    for header in &args.headers {
        let name = header.split(':').next().unwrap_or_default();
        let is_ours = name.trim().to_ascii_lowercase().starts_with("x-tfproxy-");
        let shown = if is_ours { header.clone() } else { format!("{name}: ...") };
        words.push(format!("--header {}", quoted(&shown)));
    }
    words.extend(args.api_key_env.as_ref().map(|name| format!("--api-key-env {}", quoted(name))));
    words.extend(args.allow_plain_http.then(|| "--allow-plain-http".to_owned()));
    words
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:~+=,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn limits(seconds: f64) -> Result<Limits, BadSettings> {
    let is_sane = seconds > 0.0 && seconds <= 86_400.0;
    if is_sane {
        Ok(Limits::of(Duration::from_secs_f64(seconds)))
    } else {
        Err(BadSettings::Timeout(seconds.to_string()))
    }
}

fn check_jobs(jobs: Option<usize>) -> Result<(), BadSettings> {
    match jobs {
        Some(0) => Err(BadSettings::Zero("jobs")),
        Some(jobs) if jobs > MAX_JOBS => Err(BadSettings::Jobs(jobs)),
        _ => Ok(()),
    }
}

fn check_counts(args: &CheckArgs) -> Result<(), BadSettings> {
    match (args.repeat, args.retries) {
        (0, _) => Err(BadSettings::Zero("repeat")),
        (repeat, _) if repeat > MAX_REPEAT => Err(BadSettings::Repeat(repeat)),
        (_, Some(retries)) if retries > MAX_RETRIES => Err(BadSettings::Retries(retries)),
        _ => check_jobs(args.jobs),
    }
}

/// The schedules where the user names none. A piece that is handed over takes a request, and the server reads all before it
/// again.
pub fn default_rounds(via: Option<Via>) -> Vec<Rounds> {
    match via {
        None => Rounds::DEFAULT.to_vec(),
        Some(Via::Derender) => {
            vec![
                Rounds::Whole,
                Rounds::Special,
                Rounds::Every(1),
                Rounds::Every(3),
                Rounds::Rand { seed: 1, max: 8 },
            ]
        }
    }
}

fn check(args: CheckArgs, access: Access, report: PathBuf) -> Result<CheckSettings, BadSettings> {
    let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
    check_counts(&args)?;
    Ok(CheckSettings {
        access,
        model: args.model,
        puppet: args.puppet,
        via: args.via,
        profile: args.profile,
        cases: args.cases,
        selection: Selection {
            run: patterns(&args.run),
            skip: patterns(&args.skip),
            suites: args.suites,
            shard: args.shard,
        },
        dialects: if args.dialects.is_empty() { Dialect::ALL.to_vec() } else { args.dialects },
        rounds: if args.rounds.is_empty() { default_rounds(args.via) } else { args.rounds },
        depth: if args.deep { Depth::Deep } else { Depth::Seeded },
        repeat: args.repeat,
        retries: args.retries.unwrap_or(BUSY_RETRIES),
        again: args.retries.unwrap_or_default(),
        jobs: args.jobs,
        max_requests: args.max_requests,
        known_failing: args.known_failing,
        fail_on: args.fail_on,
        report,
        format: args.message_format,
        act: if args.list { Act::List } else { Act::Run },
        show: args.show,
        noise: if args.quiet { Noise::Quiet } else { Noise::Progress },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn task(line: &str) -> Result<Task, BadSettings> {
        let environment = |name: &str| (name == "KEY").then(|| "s3cret".to_owned());
        settle(Cli::try_parse_from(line.split(' ')).unwrap(), environment)
    }

    #[test]
    fn a_key_comes_from_the_named_variable_and_prints_nowhere() {
        let task = task("tfproxy --check --upstream https://x --api-key-env KEY").unwrap();
        assert!(!format!("{task:?}").contains("s3cret"));
        let Task::Check(check) = task else { panic!("no check") };
        assert_eq!(check.access.credentials.headers()["authorization"], "Bearer s3cret");
    }

    #[test]
    fn what_reaches_an_upstream_again_holds_no_key() {
        let cli = [
            "tfproxy",
            "--check",
            "--upstream",
            "https://x/v1",
            "--header",
            "x-tfproxy-plant: a b",
            "--header",
            "X-Mine: s3cret",
            "--api-key-env",
            "KEY",
        ];
        let settled = settle(Cli::try_parse_from(cli).unwrap(), |_| Some("s3cret".to_owned())).unwrap();
        let Task::Check(check) = settled else { panic!("no check") };
        assert_eq!(
            check.access.words.join(" "),
            "--upstream https://x/v1 --header 'x-tfproxy-plant: a b' --header 'X-Mine: ...' --api-key-env KEY"
        );
        assert_eq!(["a/b~c", "", "it's", "a b"].map(quoted), ["a/b~c", "''", r"'it'\''s'", "'a b'"]);
    }

    #[test]
    fn settings_that_cannot_be_are_told() {
        for (line, expect) in [
            ("tfproxy --check --api-key-env NONE", BadSettings::NoKey("NONE".to_owned())),
            ("tfproxy --check --timeout 0", BadSettings::Timeout("0".to_owned())),
            ("tfproxy --check --timeout NaN", BadSettings::Timeout("NaN".to_owned())),
            ("tfproxy --check --repeat 0", BadSettings::Zero("repeat")),
            ("tfproxy --check --repeat 1001", BadSettings::Repeat(MAX_REPEAT + 1)),
            ("tfproxy --check --repeat 4000000000", BadSettings::Repeat(4_000_000_000)),
            ("tfproxy --check --retries 4294967295", BadSettings::Retries(u32::MAX)),
            ("tfproxy --check --timeout 86401", BadSettings::Timeout("86401".to_owned())),
            ("tfproxy --check --jobs 0", BadSettings::Zero("jobs")),
            ("tfproxy --check --jobs 257", BadSettings::Jobs(MAX_JOBS + 1)),
            ("tfproxy plants --jobs 1000000", BadSettings::Jobs(1_000_000)),
            ("tfproxy plants --jobs 0", BadSettings::Zero("jobs")),
            ("tfproxy --check --upstream http://me:secret@x", BadSettings::Root(BadRoot::UserInfo)),
            (
                "tfproxy --upstream http://10.0.0.1 --api-key-env KEY",
                BadSettings::Credentials(BadCredentials::Plain("http://10.0.0.1".to_owned())),
            ),
        ] {
            assert_eq!(task(line).unwrap_err(), expect, "{line}");
        }
        for line in [
            "tfproxy --upstream http://10.0.0.1 --api-key-env KEY --allow-plain-http",
            "tfproxy --check --repeat 1000 --retries 1000 --jobs 256 --timeout 86400",
            "tfproxy --check --retries 0 --max-requests 18446744073709551615",
        ] {
            assert!(task(line).is_ok(), "{line}");
        }
    }
}
