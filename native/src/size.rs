//! `thunkscope size`: how large pools must be, and what they take of memory.

use std::fmt::Write as _;

use clap::Args;
use thunkscope_core::dfx::Profile;
use thunkscope_core::sim::dfx;

use crate::Outcome;
use crate::print::{err, out, out_json};

/// What `size` is asked for.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The device: a2a3 or a5.
    #[arg(long, default_value = "a2a3", value_parser = ["a2a3", "a5"])]
    profile: String,
    /// Lanes, the orchestrator included; all that the device has (4 or 5) unless set.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
    lanes: Option<u32>,
    /// Cores; all that the device has (72 or 108) unless set.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    cores: Option<u32>,
    /// Records a second into each pool, instead of what was measured in a flood of submits.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=1_000_000_000_000))]
    rate: Option<u64>,
    /// From publishing a buffer to having it back, in microseconds.
    #[arg(long, default_value_t = dfx::LATENCY / 1000, value_parser = clap::value_parser!(u64).range(1..=3_600_000_000))]
    latency: u64,
    /// Print as JSON (thunkscope.size/1).
    #[arg(long)]
    json: bool,
}

/// What was asked for, or all there is; more than that is wrong usage, and ends the process.
fn within(option: &str, asked: Option<u32>, most: u32, profile: &Profile) -> u32 {
    let asked = asked.unwrap_or(most);
    if asked > most {
        let message = format!("{option} {asked}: {} has at most {most}\n", profile.name);
        clap::Error::raw(clap::error::ErrorKind::ValueValidation, message).exit();
    }
    asked
}

/// Runs the command. A pool that is too small is a finding.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let profile = if arguments.profile == "a5" { Profile::a5() } else { Profile::a2a3() };
    let lanes = within("--lanes", arguments.lanes, profile.max_lanes, &profile);
    let cores = within("--cores", arguments.cores, profile.max_cores, &profile);
    let Some(all) = dfx::size(&profile, lanes, cores, arguments.rate, arguments.latency * 1000) else {
        err("these sizes do not fit into memory");
        return Outcome::Unreadable;
    };
    let printed = if arguments.json {
        let pools: Vec<_> = all.iter().map(dfx::Sizing::to_json).collect();
        out_json(&serde_json::json!({ "format": "thunkscope.size/1", "profile": profile.name, "lanes": lanes,
            "cores": cores, "pools": pools }))
    } else {
        let mut text = format!(
            "{} · {lanes} lanes, {cores} cores · a buffer is back after {} µs (L = λ·W, and one being filled)\n",
            profile.name, arguments.latency
        );
        for s in &all {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  {:12} {:>10} records/s, full after {:>9} µs: {:>6} buffers needed, {:>3} there{}, {:>7.1} MiB",
                s.kind,
                s.rate,
                s.fill / 1000,
                s.needed,
                s.configured,
                match s {
                    _ if s.suffices() => "",
                    _ if s.is_at_the_edge() => " (at the edge)",
                    _ => " (too few)",
                },
                s.bytes as f64 / f64::from(1 << 20),
            );
        }
        out(&text)
    };
    printed.max(if all.iter().all(dfx::Sizing::suffices) { Outcome::Fine } else { Outcome::Finding })
}
