//! The command line, as close to what a user types as possible: no IO, no defaults that need the system.
//!
//! Out: [`Cli`], which [`settings`](crate::settings) checks.

use crate::{
    mode::puppet::checkpoint::Precision,
    plan::Rounds,
    report::text::Show,
    request::{Dialect, select::Shard},
    run::FailOn,
};
use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use std::{net::SocketAddr, path::PathBuf};

/// Finds out where a language-model server answers differently streamed than whole.
///
/// With --check it asks a set of cases, each whole and streamed at many chunk sizes, and reports every difference. Without, it
/// stands in front of a server as a proxy and judges what passes. Where no --upstream is named, the bundled engine answers.
#[derive(Debug, Parser)]
#[command(name = "tfproxy", version, args_conflicts_with_subcommands = true, max_term_width = 110)]
#[command(after_long_help = "Examples:
  tfproxy --check                                        the built-in cases against the bundled engine
  tfproxy --check --upstream http://localhost:8000/v1    prompts and forced answers, or puppet cases
  tfproxy --check --run 'glm/*' --show 1                 one format, the first fault in full
  tfproxy --upstream http://localhost:8000 --shadow      a proxy that asks everything twice and compares

Exit status: 0 clean, 1 findings, 2 usage or case file, 3 not run or aborted,
                   4 nothing exercised or over a fifth skipped, 5 a known failure is stale.")]
pub struct Cli {
    /// What to do instead.
    #[command(subcommand)]
    pub mode: Option<Mode>,
    /// Run cases against the upstream, report, exit
    #[arg(long)]
    pub check: bool,
    /// The server to ask, with or without /v1; the bundled engine where absent.
    #[arg(long, value_name = "URL")]
    pub upstream: Option<String>,
    /// Headers and keys for the upstream.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Where reports land.
    #[arg(long, value_name = "DIR", default_value = "reports/latest")]
    pub report: PathBuf,
    /// Options of serving.
    #[command(flatten)]
    pub serve: ServeArgs,
    /// Options of `--check`.
    #[command(flatten)]
    pub checks: CheckArgs,
}

/// What else the program does.
#[derive(Debug, Subcommand)]
pub enum Mode {
    /// Send recordings again and judge: fixed, still failing, cannot
    ///
    /// Headers go along as recorded; secrets are not kept. A --header stands in place of the recorded one of that name.
    Replay(ReplayArgs),
    /// Today's rules over recorded bytes, without network.
    Rejudge(RejudgeArgs),
    /// Every plant and every decoy against the checker.
    Plants(PlantsArgs),
    /// The rules, or one of them explained with its examples.
    Rules {
        /// A rule's id.
        id: Option<String>,
    },
    /// A checkpoint that says exactly what it is told, for any engine
    Puppet(PuppetArgs),
    /// The bundled engine alone.
    Engine(EngineArgs),
}

/// Headers and keys for the upstream, and patience with it.
#[derive(Debug, Args)]
pub struct AccessArgs {
    /// A header for every request that has none of that name; may be repeated.
    #[arg(long = "header", value_name = "NAME:VALUE")]
    pub headers: Vec<String>,
    /// The environment variable that holds the key, sent as a bearer token.
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Let keys go over plain http to another machine.
    #[arg(long)]
    pub allow_plain_http: bool,
    /// Seconds without a byte after which an exchange is given up; a whole reply gets four times as long.
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    pub timeout: f64,
}

/// Options of serving.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of serving")]
pub struct ServeArgs {
    /// The address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", conflicts_with = "check")]
    pub listen: SocketAddr,
    /// Send the twin of each request too, also to an upstream that is not ours: every request is billed twice.
    #[arg(long, conflicts_with = "check")]
    pub shadow: bool,
    /// Record every exchange in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    pub record: Option<PathBuf>,
    /// Let requests ask the bundled engine for plants and decoys.
    #[arg(long, conflicts_with_all = ["check", "upstream"])]
    pub plants: bool,
}

/// Options of `--check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --check")]
pub struct CheckArgs {
    /// The model to ask; the upstream's first where absent.
    #[arg(long, value_name = "NAME", requires = "check")]
    pub model: Option<String>,
    /// The upstream serves a puppet checkpoint of this format, as `tfproxy puppet` writes it: it is told what to say.
    #[arg(long, value_name = "FORMAT", requires_all = ["check", "upstream"])]
    pub puppet: Option<String>,
    /// Hand the upstream the tokens of the texts of --puppet FORMAT instead of asking its model: vLLM reads them whole and piece
    /// by piece, at borders of ours. No weights are needed, nothing is sampled.
    #[arg(long, value_name = "HOW", requires_all = ["check", "upstream", "puppet"])]
    pub via: Option<Via>,
    /// What kind of server it is, by the name of its profile (vllm, llamacpp, ollama, ...); found out where absent. `strict` is
    /// every rule at its own severity.
    #[arg(long, value_name = "NAME", requires = "check")]
    pub profile: Option<String>,
    /// Case files, recorded outputs (.jsonl) or folders of them; the built-in cases where absent.
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "check")]
    pub cases: Vec<PathBuf>,
    /// Only cases of this suite; may be repeated.
    #[arg(long = "suite", value_name = "NAME", requires = "check")]
    pub suites: Vec<String>,
    /// Only ids that match: * within a segment, ** across, a plain id with its variants; may be repeated.
    #[arg(long, value_name = "PATTERN", requires = "check")]
    pub run: Vec<String>,
    /// No ids that match; may be repeated.
    #[arg(long, value_name = "PATTERN", requires = "check")]
    pub skip: Vec<String>,
    /// List what would be asked, and exit.
    #[arg(long, requires = "check")]
    pub list: bool,
    /// In place of the summary: the fault of a number in full, or all of skipped, suspect, unstable, inconclusive, error,
    /// policy (replies that follow another policy than ours), known (findings that are declared known).
    #[arg(long, value_name = "N|WHAT", requires = "check")]
    pub show: Option<Show>,
    /// Only these dialects.
    #[arg(long = "dialect", value_name = "NAME", num_args = 1.., value_parser = dialect, requires = "check")]
    pub dialects: Vec<Dialect>,
    /// Schedules of rounds, with commas between them: how many tokens the engine sends at once. whole, special (each special
    /// token alone), a number, rand:SEED:MAX.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "check")]
    pub rounds: Vec<Rounds>,
    /// Cut every puppet case at every position.
    #[arg(long, requires = "check")]
    pub deep: bool,
    /// Ask everything so often, at most 1000 times; a mode that disagrees with itself is unstable.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "check")]
    pub repeat: usize,
    /// Ask again so often: a busy server (3 times where absent), and a case that fails (not at all where absent); one that
    /// passes then is unstable. At most 1000.
    #[arg(long, value_name = "N", requires = "check")]
    pub retries: Option<u32>,
    /// Cases under way at once; where absent two a core for our engine, and 1 for any other server; at most 256.
    #[arg(long, value_name = "N", requires = "check")]
    pub jobs: Option<usize>,
    /// One share of the cases, chosen by a hash of the id: 1/3, 2/3, 3/3.
    #[arg(long, value_name = "I/N", requires = "check")]
    pub shard: Option<Shard>,
    /// Plan at most so many requests; cases beyond are skipped, and what is asked again comes on top. Where absent 60 to a server that is not ours and has no puppets,
    /// else without limit.
    #[arg(long, value_name = "N", requires = "check")]
    pub max_requests: Option<usize>,
    /// Known failures, a line each: `PATTERN [RULE] # reason`. They do not count, and one that no longer shows is told. Stands
    /// in place of the list that comes with the built-in cases and holds for the bundled engine.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub known_failing: Option<PathBuf>,
    /// The least that makes the exit status 1.
    #[arg(long, value_name = "LEVEL", default_value = "error", value_parser = fail_on(), requires = "check")]
    pub fail_on: FailOn,
    /// How the result is printed.
    #[arg(long, value_name = "FORMAT", default_value = "text", requires = "check")]
    pub message_format: MessageFormat,
    /// Print the verdict and where the report lies, nothing else.
    #[arg(long, short, requires = "check")]
    pub quiet: bool,
}

/// Another way to a reply than a chat request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Via {
    /// The tokens are handed over, and the server reads them.
    Derender,
}

/// Options of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Ids of failing entries of the last report, or folders of recordings.
    #[arg(required = true, value_name = "ID|DIR")]
    pub recordings: Vec<String>,
    /// The server to ask, with or without /v1; the bundled engine where absent.
    #[arg(long, value_name = "URL")]
    pub upstream: Option<String>,
    /// Headers and keys for the upstream.
    #[command(flatten)]
    pub access: AccessArgs,
    /// Where the report lies that ids refer to.
    #[arg(long, value_name = "DIR", default_value = "reports/latest")]
    pub report: PathBuf,
}

/// Options of `rejudge`.
#[derive(Debug, Args)]
pub struct RejudgeArgs {
    /// Folders of recordings.
    #[arg(value_name = "DIR", required_unless_present = "request")]
    pub recordings: Vec<PathBuf>,
    /// A request body, with --whole and --stream: a pair from anywhere.
    #[arg(long, value_name = "FILE", requires_all = ["whole", "stream"], conflicts_with = "recordings")]
    pub request: Option<PathBuf>,
    /// The body of the whole reply.
    #[arg(long, value_name = "FILE", requires = "request")]
    pub whole: Option<PathBuf>,
    /// The body of the streamed reply.
    #[arg(long, value_name = "FILE", requires = "request")]
    pub stream: Option<PathBuf>,
    /// The profile of the server that answered.
    #[arg(long, value_name = "NAME", default_value = "openai")]
    pub profile: String,
}

/// Options of `plants`.
#[derive(Debug, Args)]
pub struct PlantsArgs {
    /// Write the matrix of plants and rules instead of holding it against the one that is there.
    #[arg(long)]
    pub update: bool,
    /// The matrix.
    #[arg(long, value_name = "FILE", default_value = "reports/plants.json")]
    pub matrix: PathBuf,
    /// Only plants and decoys whose name matches; the matrix is left alone then.
    #[arg(long, value_name = "PATTERN")]
    pub run: Vec<String>,
    /// Schedules of rounds, with commas between them, instead of whole, 1 and 3; the matrix is left alone then.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub rounds: Vec<Rounds>,
    /// Entries under way at once, at most 256.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Options of `puppet`.
#[derive(Debug, Args)]
pub struct PuppetArgs {
    /// How it writes reasoning and calls: hermes, glm or qwen3-xml.
    pub format: String,
    /// The folder to write to.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Tokens of the window at the end of the prompt that holds the text and its end.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub window: usize,
    /// A family's own chat template instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,
    /// Write a GGUF too, for llama.cpp and Ollama.
    #[arg(long)]
    pub gguf: bool,
    /// How numbers are stored.
    #[arg(long, value_enum, default_value = "bf16")]
    pub precision: Precision,
}

/// Options of `engine`.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// The address to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    pub listen: SocketAddr,
    /// Let requests switch on plants and decoys.
    #[arg(long)]
    pub plants: bool,
}

/// How the result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For people.
    Text,
    /// One JSON object, as in parity.json.
    Json,
}

fn fail_on() -> impl TypedValueParser<Value = FailOn> {
    let help = |level| match level {
        FailOn::Error => "errors, and cases without a usable answer",
        FailOn::Warn => "warnings too",
        FailOn::Suspect => "warnings, and what is suspect or unstable",
    };
    let each = FailOn::ALL.map(|level| PossibleValue::new(level.name()).help(help(level)));
    let named = |name: String| FailOn::ALL.into_iter().find(|level| level.name() == name).unwrap_or_default();
    PossibleValuesParser::new(each).map(named)
}

fn dialect(text: &str) -> Result<Dialect, String> {
    let known = || Dialect::ALL.map(Dialect::name).join(", ");
    Dialect::from_name(text).ok_or_else(|| format!("write one of: {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_check_line_is_read() {
        let cli = parse("tfproxy --check --upstream localhost:8000/v1 --rounds whole,3,rand:1:8 --cases a b --shard 1/2 --show 2").unwrap();
        assert!(cli.check);
        assert_eq!(cli.upstream.as_deref(), Some("localhost:8000/v1"));
        assert_eq!(cli.checks.rounds, [Rounds::Whole, Rounds::Every(3), Rounds::Rand { seed: 1, max: 8 }]);
        assert_eq!(cli.checks.cases, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(cli.checks.show, Some(Show::Fault(2)));
    }

    #[test]
    fn options_of_one_mode_are_refused_in_another() {
        for line in [
            "tfproxy --suite glm",
            "tfproxy --check --listen 127.0.0.1:1",
            "tfproxy --check engine",
            "tfproxy replay",
            "tfproxy rejudge",
            "tfproxy rejudge --request r.json --whole w.json",
            "tfproxy rejudge d --request r.json --whole w.json --stream s.sse",
            "tfproxy --check --rounds 0",
            "tfproxy --check --dialect klingon",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        for line in [
            "tfproxy",
            "tfproxy --upstream http://x --shadow --record d",
            "tfproxy rejudge --request r.json --whole w.json --stream s.sse",
            "tfproxy replay glm/a --upstream http://x",
            "tfproxy engine --plants",
            "tfproxy rules sse/recut",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }
}
