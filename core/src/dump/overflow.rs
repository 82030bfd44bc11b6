//! The device's overflow record: 2048 bytes, and its JSON (ge-dump spec §9.5).

use serde::Serialize;

use crate::diagnostic::Diagnostic;

/// Bytes of a record.
pub const RECORD_SIZE: usize = 2048;

/// Op name of the record's own task.
pub const OP_NAME: &str = "Node_OpDebug";
/// Op type of the record's own task.
pub const OP_TYPE: &str = "Opdebug";

/// Where one unit says what overflowed.
const INFO: [(Unit, usize, usize, usize); 3] = [
    // unit, offset of its info, offset of its status, bytes of its status
    (Unit::DhaAtomicAdd, 0, 512, 256),
    (Unit::L2AtomicAdd, 128, 768, 256),
    (Unit::AiCore, 256, 1024, 1024),
];

/// The units that look for overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Atomic additions by the DHA.
    #[serde(rename = "DHA Atomic Add")]
    DhaAtomicAdd,
    /// Atomic additions in the L2 cache.
    #[serde(rename = "L2 Atomic Add")]
    L2AtomicAdd,
    /// AI cores.
    #[serde(rename = "AI Core")]
    AiCore,
}

/// What one unit says. All zero: no overflow there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Info {
    /// The model.
    pub model_id: u64,
    /// The stream.
    pub stream_id: u64,
    /// The task that overflowed.
    pub task_id: u64,
    /// What runs it.
    pub task_type: u64,
    /// First instruction.
    pub pc_start: u64,
    /// Arguments.
    pub para_base: u64,
}

/// The status words of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The kernel.
    pub kernel_code: u64,
    /// The block.
    pub block_idx: u64,
    /// The status register.
    pub status: u64,
}

/// A record that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OverflowRecord {
    /// Atomic additions by the DHA.
    #[serde(rename = "DHA Atomic Add")]
    pub dha_atomic_add: Block,
    /// Atomic additions in the L2 cache.
    #[serde(rename = "L2 Atomic Add")]
    pub l2_atomic_add: Block,
    /// AI cores.
    #[serde(rename = "AI Core")]
    pub ai_core: Block,
}

/// Info and status of one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Block {
    /// What overflowed.
    #[serde(flatten)]
    pub info: Info,
    /// The unit's own words.
    #[serde(flatten)]
    pub status: Status,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
}

impl OverflowRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// `DU033` for another size.
    pub fn read(bytes: &[u8]) -> Result<Self, Diagnostic> {
        if bytes.len() != RECORD_SIZE {
            return Err(Diagnostic::error(
                "DU033",
                "byte 0",
                format!("{RECORD_SIZE} bytes of an overflow record"),
            )
            .found(bytes.len()));
        }
        let block = |index: usize| {
            let (_, info, status, _) = INFO[index];
            let word = |at: usize, n: usize| word(bytes, at + 8 * n);
            Block {
                info: Info {
                    model_id: word(info, 0),
                    stream_id: word(info, 1),
                    task_id: word(info, 2),
                    task_type: word(info, 3),
                    pc_start: word(info, 4),
                    para_base: word(info, 5),
                },
                status: Status {
                    kernel_code: word(status, 0),
                    block_idx: word(status, 1),
                    status: word(status, 2),
                },
            }
        };
        Ok(Self { dha_atomic_add: block(0), l2_atomic_add: block(1), ai_core: block(2) })
    }

    /// The record as the device writes it.
    pub fn to_bytes(&self) -> [u8; RECORD_SIZE] {
        let mut bytes = [0; RECORD_SIZE];
        let mut put = |at: usize, words: &[u64]| {
            for (n, word) in words.iter().enumerate() {
                bytes[at + 8 * n..at + 8 * n + 8].copy_from_slice(&word.to_le_bytes());
            }
        };
        for ((_, info, status, _), block) in
            INFO.iter().zip([&self.dha_atomic_add, &self.l2_atomic_add, &self.ai_core])
        {
            let Info { model_id, stream_id, task_id, task_type, pc_start, para_base } = block.info;
            put(*info, &[model_id, stream_id, task_id, task_type, pc_start, para_base]);
            put(*status, &[block.status.kernel_code, block.status.block_idx, block.status.status]);
        }
        bytes
    }

    /// Units that overflowed.
    pub fn units(&self) -> impl Iterator<Item = Unit> {
        INFO.iter()
            .zip([&self.dha_atomic_add, &self.l2_atomic_add, &self.ai_core])
            .filter(|(_, block)| block.info != Info::default())
            .map(|((unit, ..), _)| *unit)
    }

    /// The converted form.
    pub fn to_json(&self) -> String {
        // No map with other than text keys: cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_and_names_its_unit() {
        let info =
            Info { model_id: 1, stream_id: 2, task_id: 3, task_type: 0, pc_start: 0x40, para_base: 0x50 };
        let status = Status { kernel_code: 7, block_idx: 8, status: 9 };
        let record = OverflowRecord { ai_core: Block { info, status }, ..OverflowRecord::default() };
        let bytes = record.to_bytes();
        assert_eq!(&bytes[256..264], &1u64.to_le_bytes());
        assert_eq!(&bytes[1024..1032], &7u64.to_le_bytes());
        assert_eq!(OverflowRecord::read(&bytes), Ok(record.clone()));
        assert_eq!(record.units().collect::<Vec<_>>(), [Unit::AiCore]);
        let json = record.to_json();
        assert!(
            json.contains("\"AI Core\"")
                && json.contains("\"task_id\": 3")
                && json.contains("\"DHA Atomic Add\"")
        );
        assert_eq!(
            OverflowRecord::read(&bytes[1..]).map_err(|error| error.code.clone()),
            Err("DU033".to_owned())
        );
        assert_eq!(OverflowRecord::default().units().count(), 0);
    }
}
