//! The `tfproxy` binary: parse the command line, run the mode, exit with its code. Nothing else.

use clap::Parser;
use std::process::ExitCode;
use tfproxy::{cli::Cli, exit::Exit, mode, settings};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Where it cannot be printed, the exit status still tells.
            _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Clean }.into();
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

fn start(task: settings::Task) -> Exit {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(mode::run(task)),
        Err(error) => {
            mode::complain(format_args!("cannot start: {error}"));
            Exit::NotRun
        }
    }
}
