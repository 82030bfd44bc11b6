//! One rank: its buffers, and its thunks with their kernels.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thunkscope_core::diagnostic::{Diagnostic, shown};
use thunkscope_core::graph::NodeId;
use thunkscope_core::program::{Access, BufferUse, Program, Slice};
use thunkscope_core::rng::Rng;

use super::collective::{Guest, Rendezvous};
use super::compute::{compute, overflowed};
use super::parse::{Dtype, Kernel, Operation};
use super::replay;
use crate::executor::{Call, Error, Flags, Ran, Thunks};
use crate::sys::buffers::{Buffers, Clash};

/// Most bytes of all allocations of one rank.
pub const MAX_BYTES: u64 = 4 << 30;

/// How the thunks of a rank behave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Look for infinities and what is no number in what float kernels write.
    pub op_debug: bool,
    /// Collectives keep their thread until all ranks have come, also those that could return.
    pub blocking_collectives: bool,
}

/// The thunks of a program on the buffers of one rank.
#[derive(Debug)]
pub struct Rank {
    number: usize,
    /// By sequence, by node.
    thunks: Vec<Vec<Thunk>>,
    buffers: Arc<Buffers>,
    rendezvous: Option<Arc<Rendezvous>>,
    settings: Settings,
    /// By lane: an overflow since it was asked last.
    overflow: Vec<AtomicBool>,
    /// The first thunks that overflowed.
    overflowed: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Thunk {
    name: Box<str>,
    /// Distinct for each thunk of the program.
    identity: u64,
    kernel: Kernel,
    uses: Arc<[BufferUse]>,
    cost: u64,
    in_place: bool,
    flags: Flags,
    later: bool,
    /// How often a collective was started.
    started: AtomicU64,
}

/// Lanes whose overflows are told apart.
const MAX_LANES: usize = 2_048;
/// Most thunks named in a list of overflows.
const MAX_NAMES: usize = 16;

impl Rank {
    /// Buffers for a program, filled for `rank`.
    ///
    /// # Errors
    /// `RN003` when the allocations take more than [`MAX_BYTES`].
    pub fn buffers(program: &Program, rank: usize) -> Result<Arc<Buffers>, Diagnostic> {
        let mut sizes = std::collections::BTreeMap::<u32, u64>::new();
        for allocation in &program.allocations {
            sizes.insert(allocation.index, allocation.size);
        }
        for (_, sequence) in program.sequences() {
            for used in sequence.thunks.iter().flat_map(|thunk| &thunk.uses) {
                let size = sizes.entry(used.slice.allocation).or_default();
                *size = used.slice.end().max(*size);
            }
        }
        let total = sizes.values().fold(0u64, |sum, &size| sum.saturating_add(size));
        if total > MAX_BYTES {
            return Err(Diagnostic::error(
                "RN003",
                "$.allocations",
                format!("at most {MAX_BYTES} bytes in all"),
            )
            .found(format!("{total} bytes"))
            .hint("`thunkscope explain` needs no buffers"));
        }
        let buffers = Arc::new(Buffers::new(sizes.into_iter().map(|(index, size)| (index, size as usize))));
        fill(&buffers, rank);
        Ok(buffers)
    }

    /// The thunks of `program` as rank `number`, on `buffers`.
    ///
    /// # Errors
    /// `RN002` for a kernel that is not known.
    pub fn new(
        program: &Program,
        number: usize,
        buffers: Arc<Buffers>,
        rendezvous: Option<Arc<Rendezvous>>,
        settings: Settings,
    ) -> Result<Self, Diagnostic> {
        let mut thunks = Vec::new();
        let mut slices = 0;
        for (index, (path, sequence)) in program.sequences().into_iter().enumerate() {
            let mut own = Vec::with_capacity(sequence.thunks.len());
            for (node, thunk) in (0u64..).zip(&sequence.thunks) {
                let kernel = Kernel::of(thunk, &format!("{path}/{node}"))?;
                let collective = matches!(kernel.operation, Operation::Collective(_)) && rendezvous.is_some();
                let blocking = collective && (thunk.may_block || settings.blocking_collectives);
                let never = kernel.operation == Operation::Never;
                let later = !collective && !never && (thunk.pending || thunk.foreign_pool);
                slices += thunk.uses.len();
                own.push(Thunk {
                    name: shown(&thunk.name, 120).into_boxed_str(),
                    identity: (index as u64) << 32 | node,
                    kernel,
                    uses: thunk.uses.clone().into(),
                    cost: thunk.cost.unwrap_or(0),
                    in_place: thunk.kind.updates_in_place(),
                    flags: Flags {
                        may_block: thunk.may_block || blocking,
                        may_pend: later || never || (collective && !blocking),
                        foreign: thunk.foreign_pool,
                    },
                    later,
                    started: AtomicU64::new(0),
                });
            }
            thunks.push(own);
        }
        buffers.reserve(slices.min(1 << 20));
        Ok(Self {
            number,
            thunks,
            buffers,
            rendezvous,
            settings,
            overflow: (0..MAX_LANES).map(|_| AtomicBool::new(false)).collect(),
            overflowed: Mutex::default(),
        })
    }

    fn work(&self, thunk: &Thunk, call: &Call<'_>) -> Result<(), Error> {
        let start = Instant::now();
        let kernel = thunk.kernel;
        match kernel.operation {
            Operation::Fail => return Err(Error("fails, as its kernel says".to_owned())),
            Operation::Panic => panic!("thunk {} panics, as its kernel says", call.node),
            _ => {}
        }
        {
            let claim = self.buffers.claim(&thunk.uses, u64::from(call.node)).map_err(race)?;
            match kernel.operation {
                Operation::Replay | Operation::Spin(_) | Operation::Sleep(_) | Operation::Collective(_) => {
                    replay::touch(thunk.identity, thunk.in_place, &claim);
                    // Inside: a thunk holds its slices for as long as it runs.
                    match kernel.operation {
                        Operation::Spin(ns) => replay::spin(start, ns, call),
                        Operation::Sleep(ns) if !thunk.later => replay::sleep(start, ns, call),
                        Operation::Sleep(_) => {}
                        _ => replay::spin(start, thunk.cost, call),
                    }
                }
                operation => compute(operation, kernel.dtype.unwrap_or(Dtype::F32), &claim)?,
            }
            if self.settings.op_debug
                && kernel.is_float()
                && overflowed(kernel.dtype.unwrap_or(Dtype::F32), &claim)
            {
                self.note_overflow(thunk, call);
            }
        }
        Ok(())
    }

    fn note_overflow(&self, thunk: &Thunk, call: &Call<'_>) {
        if let Some(lane) = self.overflow.get(usize::from(call.lane)) {
            lane.store(true, Relaxed);
        }
        let mut names = self.overflowed.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MAX_NAMES {
            names.push(format!("thunk {} `{}`", call.node, thunk.name));
        }
    }

    fn collective(&self, thunk: &Thunk, call: &Call<'_>) -> Option<Ran> {
        let (Operation::Collective(collective), Some(rendezvous)) =
            (thunk.kernel.operation, &self.rendezvous)
        else {
            return None;
        };
        let guest = Guest {
            rank: self.number,
            key: (call.plan, call.node, thunk.started.fetch_add(1, AcqRel)),
            name: &thunk.name,
            uses: &thunk.uses,
            collective,
            dtype: thunk.kernel.dtype,
        };
        if thunk.flags.may_pend {
            rendezvous.meet(&guest, call.completer());
            return Some(Ran::Pending);
        }
        Some(Ran::Done(rendezvous.meet_blocking(&guest)))
    }
}

/// Fills every allocation with small numbers that depend on the rank, as 32-bit floats, so that
/// sums over ranks differ from what each has and nothing overflows by itself.
pub(crate) fn fill(buffers: &Buffers, rank: usize) {
    for (index, size) in buffers.sizes() {
        let whole = [BufferUse { slice: Slice::new(index, 0, size as u64), access: Access::Write }];
        let Ok(claim) = buffers.claim(&whole, u64::MAX) else { continue };
        let mut rng = Rng::new(u64::from(index) << 16 | rank as u64);
        for write in claim.writes() {
            (0..write.len() / 4).for_each(|i| write.set(i, rng.below(16) as f32 - 4.0));
            (write.len() / 4 * 4..write.len()).for_each(|i| write.set(i, rng.below(256) as u8));
        }
    }
}

fn race(clash: Clash) -> Error {
    let Clash { wanted, held, owner } = clash;
    Error(format!(
        "would race with thunk {owner}: bytes {}..{} and {}..{} of allocation {}",
        wanted.slice.offset,
        wanted.slice.end(),
        held.slice.offset,
        held.slice.end(),
        held.slice.allocation
    ))
}

/// A rank that others can still look at while an executor owns it.
impl Thunks for Arc<Rank> {
    fn flags(&self, plan: usize, node: NodeId) -> Flags {
        self.thunks[plan][node as usize].flags
    }

    fn name(&self, plan: usize, node: NodeId) -> String {
        self.thunks[plan][node as usize].name.to_string()
    }

    fn run(&self, call: &Call<'_>) -> Ran {
        let thunk = &self.thunks[call.plan][call.node as usize];
        if let Some(ran) = self.collective(thunk, call) {
            return ran;
        }
        match thunk.kernel.operation {
            Operation::Never => Ran::Pending,
            Operation::Sleep(ns) if thunk.later => Ran::Later(Duration::from_nanos(ns)),
            _ if thunk.later => Ran::Later(Duration::ZERO),
            _ => Ran::Done(self.work(thunk, call)),
        }
    }

    fn run_later(&self, call: &Call<'_>) -> Result<(), Error> {
        self.work(&self.thunks[call.plan][call.node as usize], call)
    }

    fn take_overflow(&self, lane: u16) -> bool {
        self.overflow.get(usize::from(lane)).is_some_and(|lane| lane.swap(false, Relaxed))
    }
}

impl Rank {
    /// The first thunks that overflowed, and no more than sixteen.
    pub fn take_overflowed(&self) -> Vec<String> {
        std::mem::take(&mut self.overflowed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All bytes, by allocation. `None` while something runs.
    pub fn bytes(&self) -> Option<Vec<(u32, Vec<u8>)>> {
        let mut all = Vec::new();
        for (index, size) in self.buffers.sizes() {
            let whole = [BufferUse { slice: Slice::new(index, 0, size as u64), access: Access::Read }];
            let claim = self.buffers.claim(&whole, u64::MAX).ok()?;
            all.push((index, claim.reads().flat_map(crate::sys::buffers::Read::to_vec).collect()));
        }
        Some(all)
    }

    /// Fills the buffers as they were at first.
    pub fn refill(&self) {
        fill(&self.buffers, self.number);
    }
}
