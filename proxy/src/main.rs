//! The `tfproxy` binary: parse the command line, run the mode, exit with its code. Nothing else.

fn main() {}
