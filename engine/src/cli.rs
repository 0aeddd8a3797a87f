//! The command line of `tfengine`.

use std::net::SocketAddr;

use clap::Parser;
use tfengine::{Config, Switch};

/// The engine that tfproxy brings along: its whole and streamed replies agree by construction.
#[derive(Debug, Parser)]
#[command(name = "tfengine", version)]
pub struct Cli {
    /// Where to listen; port 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8377")]
    listen: SocketAddr,

    /// Let requests ask for plants (deliberate faults) and decoys (legal oddities)
    #[arg(long)]
    plants: bool,
}

// === impl Cli ===

impl Cli {
    /// What was asked for.
    pub fn config(&self) -> Config {
        Config { listen: self.listen, plants: if self.plants { Switch::On } else { Switch::Off } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], listen: &str, plants: Switch) {
        let cli = Cli::try_parse_from(["tfengine"].iter().chain(arguments)).unwrap();
        assert_eq!(cli.config(), Config { listen: listen.parse().unwrap(), plants });
    }

    #[test]
    fn flags_become_a_config() {
        check(&[], "127.0.0.1:8377", Switch::Off);
        check(&["--plants", "--listen", "[::1]:0"], "[::1]:0", Switch::On);
        assert!(Cli::try_parse_from(["tfengine", "--listen", "here"]).is_err());
    }
}
