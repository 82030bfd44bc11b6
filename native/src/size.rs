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
    /// Lanes, the orchestrator included.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=5))]
    lanes: u32,
    /// Cores.
    #[arg(long, default_value_t = 72, value_parser = clap::value_parser!(u32).range(1..=108))]
    cores: u32,
    /// Records a second into one pool, instead of what was measured in a flood of submits.
    #[arg(long)]
    rate: Option<u64>,
    /// From publishing a buffer to having it back, in microseconds.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000_000))]
    latency: u64,
    /// Print as JSON (thunkscope.size/1).
    #[arg(long)]
    json: bool,
}

/// Runs the command. A pool that is too small is a finding.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let profile = if arguments.profile == "a5" { Profile::a5() } else { Profile::a2a3() };
    let lanes = arguments.lanes.min(profile.max_lanes);
    let cores = arguments.cores.min(profile.max_cores);
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
                if s.suffices() { "" } else { " (too few)" },
                s.bytes as f64 / f64::from(1 << 20),
            );
        }
        out(&text)
    };
    printed.max(if all.iter().all(dfx::Sizing::suffices) { Outcome::Fine } else { Outcome::Finding })
}
