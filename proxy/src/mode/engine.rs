//! `tfproxy engine`: the bundled engine alone, until interrupted.

use super::{bundled, complain, interrupted, tell};
use crate::{cli::EngineArgs, exit::Exit};

/// Serves it.
pub async fn run(args: &EngineArgs) -> Exit {
    let plants = if args.plants { bundled::Plants::Allowed } else { bundled::Plants::Refused };
    match bundled::start(args.listen, plants).await {
        Ok(engine) => {
            let interrupted = interrupted();
            let told = tell(&format!("tfengine listens on http://{}/v1\n", engine.address));
            if told.is_ok() {
                interrupted.await;
            }
            engine.stop().await;
            told.err().unwrap_or(Exit::Clean)
        }
        Err(error) => {
            complain(error);
            Exit::NotRun
        }
    }
}
