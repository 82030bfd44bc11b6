//! The files that a run leaves, as names and bytes.

use super::document::Document;
use super::scenario::Scenario;
use super::world::Run;
use crate::dfx::artifact::{
    Names, PoolRecords, chip_swimlane_records, deps_json, dump_json, ledger_json, merged_swimlane, pmu_csv,
    scope_stats, submitted,
};
use crate::dfx::{PoolKind, Subsystem};

/// A file below the folder of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

struct ByNode<'a>(&'a [String]);

impl Names for ByNode<'_> {
    fn task(&self, task: u64) -> String {
        let local = task & u64::from(u32::MAX);
        let n = self.0.len().max(1) as u64;
        self.0.get((local % n) as usize).cloned().unwrap_or_else(|| format!("r{}t{local}", task >> 32))
    }
}

/// Everything that the regions of a run leave behind, and the log.
pub fn files(scenario: &Scenario, run: &Run) -> Vec<File> {
    let mut files = Vec::new();
    let mut add = |path: &str, text: String| {
        files.push(File { path: path.to_owned(), bytes: text.into_bytes() });
    };
    let pools = |subsystem: Subsystem| {
        let place = scenario.subsystems.iter().position(|s| *s == subsystem)?;
        let (layout, keeper) = &run.kept[place];
        let pools: Vec<_> = layout
            .pools
            .iter()
            .zip(&keeper.records)
            .map(|(pool, kept)| PoolRecords {
                kind: pool.kind,
                owner: pool.owner,
                lane: pool.lane,
                words: kept.whole(pool.record_words as usize),
            })
            .collect();
        Some((pools, &run.ledgers[place], keeper))
    };
    let deps = pools(Subsystem::DepGen);
    if let Some((records, _, _)) = pools(Subsystem::Swimlane) {
        let (profile, level) = (&scenario.profile, scenario.swimlane_level);
        let raw = chip_swimlane_records(&records, profile, level, scenario.cores);
        add("chip_swimlane_records.json", raw.to_string());
        let edges = deps.as_ref().and_then(|(records, ..)| submitted(records)).unwrap_or_default();
        let trace = merged_swimlane(&records, &edges, profile, &ByNode(&run.names));
        add("merged_swimlane.json", trace.to_string());
    }
    if let Some((records, ..)) = pools(Subsystem::Pmu) {
        add("pmu.csv", pmu_csv(&records, &["bytes_read", "bytes_written", "modelled_cycles"], 2));
    }
    if let Some((records, ledger, _)) = &deps
        && let Some(file) = deps_json(records, ledger)
    {
        add("deps.json", file.to_string());
    }
    if let Some((records, ledger, _)) = pools(Subsystem::ArgsDump) {
        let file = dump_json(&records, PoolKind::ArgsDump, ledger, &[], 2);
        add("args_dump/args_dump.json", file.to_string());
    }
    if let Some((records, ledger, _)) = pools(Subsystem::ScopeStats) {
        add("scope_stats/scope_stats.jsonl", scope_stats(&records, ledger));
    }
    add("ledger.json", format!("{:#}\n", ledger_json(&run.ledgers, &scenario.rules)));
    add(
        "report.json",
        format!("{}\n", serde_json::to_string_pretty(&Document::new(scenario, run)).unwrap_or_default()),
    );
    add("log.jsonl", run.log.to_json_lines());
    if let Some((records, ledger, keeper)) = pools(Subsystem::TensorDump) {
        let file = dump_json(&records, PoolKind::TensorDump, ledger, &keeper.payloads, 2);
        add("tensor_dump/tensor_dump.json", file.to_string());
        files.push(File { path: "tensor_dump/tensor_dump.bin".to_owned(), bytes: keeper.file.clone() });
    }
    files
}
