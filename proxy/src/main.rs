//! The `tfproxy` binary: parse the command line, run the mode, exit with its code. Nothing else.

use clap::Parser;
use std::process::ExitCode;
use tfproxy::{cli::Cli, exit::Exit, mode, settings};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            return explained(&error).into();
        }
    };
    match settings::settle(cli, settings::environment) {
        Ok(task) => start(task),
        Err(error) => {
            mode::complain(error);
            Exit::Usage
        }
    }
    .into()
}

/// Prints what is wrong with the command line, or the help that it asks for.
fn explained(error: &clap::Error) -> Exit {
    let printed = error.print().and_then(|()| std::io::Write::flush(&mut mode::output()));
    match printed {
        _ if error.use_stderr() => Exit::Usage,
        Err(failure) if failure.kind() != std::io::ErrorKind::BrokenPipe => mode::not_printed(&failure),
        _ => Exit::Clean,
    }
}

fn start(task: settings::Task) -> Exit {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(mode::run(task)),
        Err(error) => {
            mode::complain(format_args!("cannot start: {error}"));
            Exit::NotRun
        }
    }
}
