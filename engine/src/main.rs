//! The `tfengine` binary: serve until interrupted.

mod cli;

use std::{error::Error, io::Write, process::ExitCode};

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&cli::Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            // If nobody reads the error stream, the exit status still tells.
            let _ = writeln!(std::io::stderr(), "tfengine: {error}{cause}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: &cli::Cli) -> Result<(), Box<dyn Error>> {
    let server = tfengine::serve(cli.config()).await?;
    writeln!(std::io::stdout(), "tfengine listens on http://{}/v1", server.addr)?;
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
