//! What properties remember of the past: as little as will do, since it is part of every state.

use super::Property;
use super::scenario::{MAX_BUFFERS, MAX_LANES, MAX_RECORDS};
use crate::dfx::{Cause, Event, Gate, Layout, Owner};
use crate::explore::{Broken, Row};

/// Whether the lane has asked for a release at the arena's gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Asked {
    #[default]
    No,
    /// Its mark stands, and no freeze was released since.
    Marked,
    Released,
}

/// What is remembered of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LanePast {
    /// Parked at this gate; true: since before the open freeze.
    parked: Option<(Gate, bool)>,
    /// Waits for the release at this gate; true: there was one since.
    barrier: Option<(Gate, bool)>,
    asked: Asked,
    /// Its present write has published a buffer.
    published: bool,
    /// It has spent a budget since the host died.
    pub(super) expired: bool,
}

/// Most buffers of all pools.
const MOST: usize = MAX_LANES as usize * MAX_BUFFERS as usize;

/// What is remembered in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Past {
    /// By pool, `MAX_BUFFERS` each.
    pub(super) owners: [Owner; MOST],
    pub(super) lanes: [LanePast; MAX_LANES as usize],
    /// By gate (push, pop): a freeze is open.
    pub(super) open: [bool; 2],
    /// By pool: the number that the next buffer is published with.
    seq: [u8; MAX_LANES as usize],
    /// By pool: the last record that was spooled.
    pub(super) spooled: [u8; MAX_LANES as usize],
    /// By lane: offset and length of payloads that nobody has read.
    payloads: [Row<(u8, u8), { MAX_RECORDS as usize }>; MAX_LANES as usize],
    /// By lane: payloads that were read.
    handled: [u8; MAX_LANES as usize],
}

fn slot(gate: Gate) -> usize {
    usize::from(gate != Gate::Push)
}

fn owner_at(pool: u32, buffer: u32) -> Option<usize> {
    (buffer < u32::from(MAX_BUFFERS)).then_some((pool * u32::from(MAX_BUFFERS) + buffer) as usize)
}

/// A property that does not hold, if it is looked at.
pub(super) type Finding = Option<Broken>;

fn unless(holds: bool, property: Property, what: impl FnOnce() -> String) -> Finding {
    (!holds).then(|| Broken { property: property.name(), what: what() })
}

impl Past {
    /// The start: the first buffers of each pool are queued, unless the world starts `dry`.
    pub(super) fn new(layout: &Layout, dry: bool) -> Self {
        let mut past = Self {
            owners: [Owner::Recycled; MOST],
            lanes: Default::default(),
            open: [false; 2],
            seq: [0; MAX_LANES as usize],
            spooled: [0; MAX_LANES as usize],
            payloads: Default::default(),
            handled: [0; MAX_LANES as usize],
        };
        for (index, pool) in (0..).zip(&layout.pools) {
            for buffer in 0..pool.count.min(pool.slots) {
                if let Some(at) = owner_at(index, buffer).filter(|_| !dry) {
                    past.owners[at] = Owner::Queued;
                }
            }
        }
        past
    }

    /// The host died: what it held, and where it stood, matters to nobody.
    pub(super) fn forget_host(&mut self) {
        self.owners = [Owner::Recycled; MOST];
        self.open = [false; 2];
        self.spooled = [0; MAX_LANES as usize];
        self.handled = [0; MAX_LANES as usize];
        self.payloads = Default::default();
        for lane in &mut self.lanes {
            lane.parked = None;
            lane.barrier = None;
        }
    }

    fn moves(&mut self, pool: u32, buffer: u32, from: Owner, to: Owner) -> Finding {
        let place = owner_at(pool, buffer).and_then(|at| self.owners.get_mut(at));
        let held = place.as_deref().copied();
        if let Some(place) = place {
            *place = to;
        }
        unless(held == Some(from), Property::OneOwner, || {
            format!("buffer {buffer} of pool {pool} goes from {from:?} to {to:?}, but is {held:?}")
        })
    }

    /// A write begins.
    pub(super) fn begin(&mut self, lane: usize) {
        self.lanes[lane].published = false;
    }

    /// Judges one event; `lane` if a lane did it. `next` is what is published where the ready queue
    /// of a lane begins, for an acknowledgement: (pool, buffer).
    pub(super) fn see(
        &mut self,
        layout: &Layout,
        dead: bool,
        lane: Option<usize>,
        event: &Event,
        next: impl FnOnce(u32) -> Option<(u32, u32)>,
    ) -> Finding {
        let by = lane.unwrap_or_default();
        match *event {
            Event::Claim { pool, buffer, .. } if !dead => {
                return self.moves(pool, buffer, Owner::Queued, Owner::Active);
            }
            Event::Publish { pool, buffer, seq, .. } => {
                self.lanes[by].published = true;
                let expected = std::mem::replace(&mut self.seq[pool as usize], seq as u8 + 1);
                let moved =
                    if dead { None } else { self.moves(pool, buffer, Owner::Active, Owner::ReadyDevice) };
                return moved.or_else(|| {
                    unless(seq == u32::from(expected), Property::InOrder, || {
                        format!("pool {pool} publishes buffer number {seq} where {expected} is next")
                    })
                });
            }
            Event::Deliver { pool, buffer, .. } => {
                return self.moves(pool, buffer, Owner::ReadyDevice, Owner::ReadyHost);
            }
            Event::Collect { pool, buffer, .. } => {
                return self.moves(pool, buffer, Owner::ReadyHost, Owner::Collecting);
            }
            Event::Return { pool, buffer, .. } => {
                return self.moves(pool, buffer, Owner::Collecting, Owner::Done);
            }
            Event::Recycle { pool, buffer, .. } => {
                return self.moves(pool, buffer, Owner::Done, Owner::Recycled);
            }
            Event::Refill { pool, buffer, .. } => {
                return self.moves(pool, buffer, Owner::Recycled, Owner::Queued);
            }
            Event::Allocate { pool, buffer, .. } => {
                return unless(false, Property::OneOwner, || {
                    format!("pool {pool} grows by buffer {buffer}, though pools are fixed")
                });
            }
            Event::Acknowledge { queue, .. } => {
                let at = next(queue);
                let owner = at.and_then(|(pool, buffer)| Some(self.owners[owner_at(pool, buffer)?]));
                return unless(
                    owner.is_some_and(|owner| owner != Owner::ReadyDevice),
                    Property::Acknowledge,
                    || format!("lane {queue}'s entry is acknowledged, and its buffer is {owner:?}"),
                );
            }
            Event::Open { gate, .. } => {
                let was = std::mem::replace(&mut self.open[slot(gate)], true);
                for (_, before) in self.lanes.iter_mut().filter_map(|lane| lane.parked.as_mut()) {
                    *before = true;
                }
                return unless(!was, Property::QuietEnd, || format!("the {gate:?} gate is closed twice"));
            }
            Event::Release { gate, .. } => return self.release(layout, gate),
            Event::Park { gate, .. } if !dead => self.lanes[by].parked = Some((gate, false)),
            Event::Resume { .. } => self.lanes[by].parked = None,
            Event::Mark { gate: Gate::Arena, .. } => self.lanes[by].asked = Asked::Marked,
            Event::Dropped { cause: Cause::ArenaTimeout, .. } => self.lanes[by].asked = Asked::No,
            Event::Dropped { cause: Cause::PushTimeout | Cause::FlushTimeout, .. } => {
                return unless(!self.lanes[by].published, Property::Honest, || {
                    format!("lane {by} counts records as dropped that it has published")
                });
            }
            Event::Payload { offset, bytes, .. } => {
                return self.leave_arena(by).or_else(|| self.payload(layout, dead, by, offset, bytes));
            }
            Event::Handled { lane, payloads, .. } => self.read(lane as usize, payloads as u8),
            _ => {}
        }
        None
    }

    /// The leader leaves the arena's gate.
    pub(super) fn leave_arena(&mut self, lane: usize) -> Finding {
        let asked = std::mem::take(&mut self.lanes[lane].asked);
        unless(asked != Asked::Marked, Property::NoWindow, || {
            format!("lane {lane} leaves the arena's gate, and nothing was released since it asked")
        })
    }

    /// The leader gives up at the arena's gate.
    pub(super) fn gave_up_arena(&mut self, lane: usize) {
        self.lanes[lane].asked = Asked::No;
    }

    fn release(&mut self, layout: &Layout, gate: Gate) -> Finding {
        let was = std::mem::replace(&mut self.open[slot(gate)], false);
        for lane in &mut self.lanes {
            if let Some((at, released)) = &mut lane.barrier
                && slot(*at) == slot(gate)
            {
                *released = true;
            }
            if gate != Gate::Push && lane.asked == Asked::Marked {
                lane.asked = Asked::Released;
            }
        }
        let opened =
            unless(was, Property::QuietEnd, || format!("the {gate:?} gate is released, and is not closed"));
        opened.or_else(|| (0..layout.lanes as usize).find_map(|lane| self.unserved(layout, lane)))
    }

    /// I9: who has waited since before the freeze is served by its release.
    fn unserved(&self, layout: &Layout, lane: usize) -> Finding {
        match self.lanes[lane].parked {
            Some((Gate::Pop, true)) => {
                let mut mine = (0..).zip(&layout.pools).filter(|(_, pool)| pool.lane == lane as u32);
                let dry = mine.any(|(index, _): (u32, _)| {
                    let first = (index * u32::from(MAX_BUFFERS)) as usize;
                    let device = [Owner::Queued, Owner::Active, Owner::ReadyDevice];
                    !self.owners[first..][..usize::from(MAX_BUFFERS)]
                        .iter()
                        .any(|owner| device.contains(owner))
                });
                unless(!dry, Property::Release, || {
                    format!("released while lane {lane} waits at an empty queue")
                })
            }
            Some((Gate::Arena, true)) => {
                let unread = self.payloads[lane].len();
                unless(unread == 0, Property::Release, || {
                    format!("released while {unread} payloads of lane {lane}, which waits, are not read")
                })
            }
            _ => None,
        }
    }

    fn payload(&mut self, layout: &Layout, dead: bool, lane: usize, offset: u64, bytes: u64) -> Finding {
        if dead || bytes == 0 {
            return None;
        }
        let size = layout.arenas.get(lane).map_or(1, |arena| arena.size);
        let (start, end) = ((offset % size) as u8, (offset % size + bytes) as u8);
        let unread = self.payloads[lane].iter().copied();
        let hit = unread.clone().find(|&(other, length)| other < end && start < other + length);
        self.payloads[lane] = Row::of(unread.chain([(start, bytes as u8)]));
        unless(hit.is_none() && u64::from(end) <= size, Property::UnreadPayloads, || {
            format!("a payload at {start} of lane {lane}'s arena overwrites one that nobody has read")
        })
    }

    fn read(&mut self, lane: usize, payloads: u8) {
        let more = payloads.saturating_sub(std::mem::replace(&mut self.handled[lane], payloads));
        self.payloads[lane] = Row::of(self.payloads[lane].iter().copied().skip(usize::from(more)));
    }

    /// What the lane waits for when its step is over: the release of a freeze, or not.
    pub(super) fn waits(&mut self, lane: usize, barrier: Option<Gate>) -> Finding {
        let past = &mut self.lanes[lane];
        match (barrier, past.barrier) {
            (Some(gate), Some((before, released))) if gate == before => {
                unless(!released, Property::WakeUp, || {
                    format!("lane {lane} sleeps at the {gate:?} gate through a release")
                })
            }
            (gate, _) => {
                past.barrier = gate.map(|gate| (gate, false));
                None
            }
        }
    }
}
