//! `thunkscope`: the command line (contracts §7). No rules live here: it reads files, calls the
//! core and prints.

#![deny(unsafe_code)]

mod check;
mod dump;
mod explain;
mod input;
mod print;
mod run;
mod sim;
mod size;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Run an accelerator runtime one step at a time.
#[derive(Parser)]
#[command(name = "thunkscope", version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 a finding (differs, failed, stalled, counterexample), 2 usage, 3 input cannot be read.";

#[derive(Subcommand)]
enum Command {
    /// Say why a compiled model runs on one core, or where its parallelism goes.
    Explain(explain::Arguments),
    /// Look at every interleaving of the executor, or of a small program of yours.
    Check(check::Arguments),
    /// Say what a dump configuration does, and what dump files hold.
    Dump(dump::Arguments),
    /// Run a program on real threads.
    Run(run::Arguments),
    /// Run a scenario on the simulated device: lanes, cores, buffers, gates, freezes.
    Sim(sim::Arguments),
    /// Say how large the pools of the DFX transport must be.
    Size(size::Arguments),
}

/// How a command ended. Usage errors (2) are clap's: it ends the process itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Nothing to report.
    Fine,
    /// The comparison that was asked for found a difference.
    Finding,
    /// Some input could not be read.
    Unreadable,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Sim(arguments) => sim::run(&arguments),
        Command::Size(arguments) => size::run(&arguments),
    };
    ExitCode::from(match outcome {
        Outcome::Fine => 0,
        Outcome::Finding => 1,
        Outcome::Unreadable => 3,
    })
}
