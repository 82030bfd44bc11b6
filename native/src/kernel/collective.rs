//! Collectives: where the ranks of a program meet, and what happens when not all come.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use thunkscope_core::graph::NodeId;
use thunkscope_core::program::{BufferUse, Kind};

use super::parse::Dtype;
use crate::executor::{Completer, Error, World};
use crate::sys::buffers::{Buffers, Claim, Read, Write};

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Every rank gets the sum over all.
    AllReduce,
    /// Every rank gets what all have, one after the other.
    AllGather,
    /// Rank r gets the r-th part of what each has.
    AllToAll,
    /// Every rank gets what the rank before it has.
    Permute,
    /// Rank r gets the r-th part of the sum.
    ReduceScatter,
}

impl Collective {
    /// What a kind of thunk does. A collective of unknown kind sums.
    pub fn of(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::AllReduce | Kind::Collective => Self::AllReduce,
            Kind::AllGather => Self::AllGather,
            Kind::AllToAll => Self::AllToAll,
            Kind::CollectivePermute => Self::Permute,
            Kind::ReduceScatter => Self::ReduceScatter,
            _ => return None,
        })
    }
}

/// Where ranks meet. A collective thunk waits until the same thunk of every rank has been started
/// as often.
///
/// When nothing moves any more and somebody still waits, the ranks wait for each other in a circle,
/// or for one that has ended: all who wait are failed with an explanation.
#[derive(Debug)]
pub struct Rendezvous {
    world: Arc<World>,
    ranks: Vec<Arc<Buffers>>,
    meetings: Mutex<BTreeMap<Key, Meeting>>,
    changed: Condvar,
}

/// Sequence, thunk, how often it was started before.
type Key = (usize, NodeId, u64);

#[derive(Debug, Default)]
struct Meeting {
    /// What the thunk is called.
    name: String,
    /// By rank.
    arrived: Vec<Option<Arrival>>,
    here: usize,
    /// How it ended, for those who sleep.
    ended: Option<Result<(), Error>>,
    sleepers: usize,
}

/// One rank at a meeting.
#[derive(Debug)]
struct Arrival {
    uses: Arc<[BufferUse]>,
    /// `None`: its thread sleeps here.
    completer: Option<Completer>,
}

/// What a rank brings to a meeting.
pub(super) struct Guest<'a> {
    pub(super) rank: usize,
    pub(super) key: Key,
    pub(super) name: &'a str,
    pub(super) uses: &'a Arc<[BufferUse]>,
    pub(super) collective: Collective,
    pub(super) dtype: Option<Dtype>,
}

impl Rendezvous {
    /// A place for these ranks.
    pub fn new(world: &Arc<World>, ranks: Vec<Arc<Buffers>>) -> Arc<Self> {
        let rendezvous = Arc::new(Self {
            world: Arc::clone(world),
            ranks,
            meetings: Mutex::default(),
            changed: Condvar::new(),
        });
        let hook = Arc::downgrade(&rendezvous);
        world.on_quiet(move || hook.upgrade().is_some_and(|rendezvous| rendezvous.give_up()));
        rendezvous
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Meeting>> {
        self.meetings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thunk is completed when all have come.
    pub(super) fn meet(&self, guest: &Guest<'_>, mut completer: Completer) {
        let mut meetings = self.lock();
        if self.arrive(&mut meetings, guest, None) {
            let Some(meeting) = meetings.remove(&guest.key) else { return };
            drop(meetings);
            let result = self.perform(guest, &meeting);
            let others = meeting.arrived.into_iter().flatten().filter_map(|arrival| arrival.completer);
            for completer in others.chain([completer]) {
                completer.complete(result.clone());
            }
            return;
        }
        completer.rest();
        if let Some(meeting) = meetings.get_mut(&guest.key)
            && let Some(arrival) = &mut meeting.arrived[guest.rank]
        {
            arrival.completer = Some(completer);
        }
        // Only now: while the lock is held, nobody can find this meeting without its completer.
        drop(meetings);
    }

    /// Blocks the thread until all have come.
    pub(super) fn meet_blocking(&self, guest: &Guest<'_>) -> Result<(), Error> {
        let mut meetings = self.lock();
        let last = self.arrive(&mut meetings, guest, None);
        if last {
            // Nobody else looks at a full meeting: it can be taken out while it is performed.
            let Some(mut meeting) = meetings.remove(&guest.key) else { return Ok(()) };
            drop(meetings);
            let result = self.perform(guest, &meeting);
            let others: Vec<_> =
                meeting.arrived.iter_mut().flatten().filter_map(|a| a.completer.take()).collect();
            if meeting.sleepers > 0 {
                (0..meeting.sleepers).for_each(|_| self.world.activate());
                meeting.ended = Some(result.clone());
                self.lock().insert(guest.key, meeting);
                self.changed.notify_all();
            }
            others.into_iter().for_each(|completer| completer.complete(result.clone()));
            return result;
        }
        if let Some(meeting) = meetings.get_mut(&guest.key) {
            meeting.sleepers += 1;
        }
        drop(meetings);
        // This thread does nothing from here on; who ends the meeting makes it active again.
        self.world.deactivate();
        let mut meetings = self.lock();
        loop {
            if let Some(meeting) = meetings.get_mut(&guest.key)
                && let Some(result) = meeting.ended.clone()
            {
                meeting.sleepers -= 1;
                if meeting.sleepers == 0 {
                    meetings.remove(&guest.key);
                }
                return result;
            }
            meetings = self.changed.wait(meetings).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts a guest in; whether it is the last.
    fn arrive(
        &self,
        meetings: &mut BTreeMap<Key, Meeting>,
        guest: &Guest<'_>,
        completer: Option<Completer>,
    ) -> bool {
        let ranks = self.ranks.len();
        let meeting = meetings.entry(guest.key).or_insert_with(|| Meeting {
            name: guest.name.to_owned(),
            arrived: (0..ranks).map(|_| None).collect(),
            ..Meeting::default()
        });
        if meeting.arrived[guest.rank].replace(Arrival { uses: Arc::clone(guest.uses), completer }).is_none()
        {
            meeting.here += 1;
        }
        meeting.here == ranks
    }

    fn perform(&self, guest: &Guest<'_>, meeting: &Meeting) -> Result<(), Error> {
        let mut claims = Vec::with_capacity(self.ranks.len());
        for (rank, (buffers, arrival)) in self.ranks.iter().zip(&meeting.arrived).enumerate() {
            let Some(arrival) = arrival else { return Err(Error(format!("rank {rank} did not come"))) };
            let claim = buffers.claim(&arrival.uses, u64::from(guest.key.1));
            claims.push(claim.map_err(|clash| {
                Error(format!("on rank {rank} thunk {} is at the same bytes: {clash:?}", clash.owner))
            })?);
        }
        match guest.dtype {
            // Bytes of unknown meaning: as 32-bit words, so that the order of summing is no matter.
            None => perform::<4>(guest.collective, &claims, |a, b| {
                u32::from_ne_bytes(a).wrapping_add(u32::from_ne_bytes(b)).to_ne_bytes()
            }),
            Some(Dtype::F32) => perform::<4>(guest.collective, &claims, |a, b| {
                (f32::from_ne_bytes(a) + f32::from_ne_bytes(b)).to_ne_bytes()
            }),
            Some(Dtype::F64) => perform::<8>(guest.collective, &claims, |a, b| {
                (f64::from_ne_bytes(a) + f64::from_ne_bytes(b)).to_ne_bytes()
            }),
            Some(Dtype::I32) => perform::<4>(guest.collective, &claims, |a, b| {
                i32::from_ne_bytes(a).wrapping_add(i32::from_ne_bytes(b)).to_ne_bytes()
            }),
            Some(Dtype::U8) => perform::<1>(guest.collective, &claims, |a, b| [a[0].wrapping_add(b[0])]),
        }
        Ok(())
    }

    /// Nothing moves any more: who still waits, waits for ever. True if somebody did.
    fn give_up(&self) -> bool {
        let mut meetings = self.lock();
        meetings.retain(|_, meeting| meeting.ended.is_none() || meeting.sleepers > 0);
        let waiting = meetings.values().filter(|meeting| meeting.ended.is_none()).count();
        if waiting == 0 {
            return false;
        }
        let error = Error(explanation(&meetings, self.ranks.len()));
        // Active until all are told: they go on one after the other.
        self.world.activate();
        let mut completers = Vec::new();
        for meeting in meetings.values_mut().filter(|meeting| meeting.ended.is_none()) {
            completers.extend(meeting.arrived.iter_mut().flatten().filter_map(|a| a.completer.take()));
            (0..meeting.sleepers).for_each(|_| self.world.activate());
            meeting.ended = Some(Err(error.clone()));
        }
        meetings.retain(|_, meeting| meeting.sleepers > 0);
        drop(meetings);
        self.changed.notify_all();
        completers.into_iter().for_each(|completer| completer.complete(Err(error.clone())));
        self.world.deactivate();
        true
    }
}

/// Who waits where for whom, as sentences.
fn explanation(meetings: &BTreeMap<Key, Meeting>, ranks: usize) -> String {
    /// Meetings told one by one.
    const SHOWN: usize = 4;
    let waits = |rank: usize| {
        meetings.values().any(|meeting| meeting.ended.is_none() && meeting.arrived[rank].is_some())
    };
    let circle = (0..ranks).all(waits);
    let mut text = String::from(if circle {
        "deadlock: the ranks wait for each other"
    } else {
        "waits for a rank that will not come"
    });
    let open: Vec<_> = meetings.iter().filter(|(_, meeting)| meeting.ended.is_none()).collect();
    for ((_, node, _), meeting) in open.iter().take(SHOWN) {
        let list = |here: bool| {
            let ranks = meeting.arrived.iter().enumerate().filter(|(_, arrival)| arrival.is_some() == here);
            ranks.map(|(rank, _)| rank.to_string()).collect::<Vec<_>>().join(", ")
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "; in thunk {node} `{}` rank {} waits for rank {}",
            meeting.name,
            list(true),
            list(false)
        );
    }
    if open.len() > SHOWN {
        let _ = write!(text, "; and so in {} more", open.len() - SHOWN);
    }
    let absent: Vec<_> = (0..ranks).filter(|&rank| !waits(rank)).map(|rank| rank.to_string()).collect();
    if circle {
        text += ". They started their collectives in different orders; scheduling edges prevent that";
    } else if !absent.is_empty() {
        let _ = write!(text, ". Rank {} has ended, failed or stalled", absent.join(", "));
    }
    text
}

/// What is brought: the slices that are read, or those that are written where none are.
fn inputs<'c>(claim: &'c Claim<'_>) -> Vec<Read<'c>> {
    let reads: Vec<_> = claim.reads().collect();
    if reads.is_empty() { claim.writes().map(Write::read).collect() } else { reads }
}

fn perform<const N: usize>(
    collective: Collective,
    claims: &[Claim<'_>],
    sum: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let ranks = claims.len();
    // All is read before anything is written: slices may be both.
    let brought: Vec<Vec<Vec<u8>>> =
        claims.iter().map(|claim| inputs(claim).into_iter().map(Read::to_vec).collect()).collect();
    let summed = |slice: usize| {
        let mut total: Vec<u8> = brought[0].get(slice).cloned().unwrap_or_default();
        for other in brought[1..].iter().filter_map(|rank| rank.get(slice)) {
            for (a, b) in total.chunks_exact_mut(N).zip(other.chunks_exact(N)) {
                if let (Some(&x), Some(&y)) = (a.first_chunk(), b.first_chunk()) {
                    a.copy_from_slice(&sum(x, y));
                }
            }
        }
        total
    };
    for (rank, claim) in claims.iter().enumerate() {
        for (slice, write) in claim.writes().enumerate() {
            let of = |rank: usize| brought[rank].get(slice).map_or(&[][..], Vec::as_slice);
            let result: Vec<u8> = match collective {
                Collective::AllReduce => summed(slice),
                Collective::AllGather => (0..ranks).flat_map(of).copied().collect(),
                Collective::AllToAll => {
                    (0..ranks).flat_map(|from| part(of(from), rank, ranks)).copied().collect()
                }
                Collective::Permute => of((rank + ranks - 1) % ranks).to_vec(),
                Collective::ReduceScatter => part(&summed(slice), rank, ranks).to_vec(),
            };
            result.iter().take(write.len()).enumerate().for_each(|(i, &byte)| write.set(i, byte));
        }
    }
}

/// The `n`-th of `of` equal parts; the last may be shorter.
fn part(bytes: &[u8], n: usize, of: usize) -> &[u8] {
    let size = bytes.len().div_ceil(of.max(1));
    let at = |n: usize| n.saturating_mul(size).min(bytes.len());
    &bytes[at(n)..at(n + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use thunkscope_core::program::{Access, Slice};

    /// Two ranks of four bytes to read (rank · 10 + place) and eight to write.
    #[track_caller]
    fn check(collective: Collective, expected: [[u8; 8]; 2]) {
        let ranks = [0u8, 1].map(|rank| {
            let buffers = Buffers::new([(0, 4), (1, 8)]);
            let all = [BufferUse { slice: Slice::new(0, 0, 4), access: Access::Write }];
            let claim = buffers.claim(&all, 0).expect("free");
            (0..4).for_each(|i| claim.writes().next().expect("one").set(i, 10 * rank + i as u8));
            drop(claim);
            buffers
        });
        let uses = [
            BufferUse { slice: Slice::new(0, 0, 4), access: Access::Read },
            BufferUse { slice: Slice::new(1, 0, 8), access: Access::Write },
        ];
        let claims = ranks.each_ref().map(|buffers| buffers.claim(&uses, 0).expect("free"));
        perform::<1>(collective, &claims, |a, b| [a[0] + b[0]]);
        let written = claims.each_ref().map(|claim| claim.writes().next().expect("one").read().to_vec());
        assert_eq!(written, expected.map(|bytes| bytes.to_vec()), "{collective:?}");
    }

    #[test]
    fn collectives_move_what_they_should() {
        check(Collective::AllReduce, [[10, 12, 14, 16, 0, 0, 0, 0]; 2]);
        check(Collective::AllGather, [[0, 1, 2, 3, 10, 11, 12, 13]; 2]);
        check(Collective::AllToAll, [[0, 1, 10, 11, 0, 0, 0, 0], [2, 3, 12, 13, 0, 0, 0, 0]]);
        check(Collective::Permute, [[10, 11, 12, 13, 0, 0, 0, 0], [0, 1, 2, 3, 0, 0, 0, 0]]);
        check(Collective::ReduceScatter, [[10, 12, 0, 0, 0, 0, 0, 0], [14, 16, 0, 0, 0, 0, 0, 0]]);
    }
}
