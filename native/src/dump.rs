//! `thunkscope dump`: what a dump configuration does, and what dump files hold.

mod check;
mod compare;
mod files;
mod show;
mod simulate;
mod store;

pub(crate) use check::{layout, now};
pub(crate) use store::DiskStore;

use clap::{Args, Subcommand};

use crate::Outcome;

/// What `dump` is asked for.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what a configuration dumps and, with a program, which tensors of which ops, or why not.
    Check(check::Arguments),
    /// Say what dump files hold; export tensors.
    Show(show::Arguments),
    /// Compare the tensors of two dumps.
    Compare(compare::Arguments),
    /// Run a scenario in the simulator and write its dump files.
    Simulate(simulate::Arguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Check(arguments) => check::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
    }
}
