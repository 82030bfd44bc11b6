//! What must hold of the transport (dfx spec §9.1).

/// A property of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// I1: each buffer has one owner, and goes from one to the next in order; pools do not grow.
    OneOwner,
    /// I2: the leader at the arena's gate does not leave before a release that came after its mark.
    NoWindow,
    /// I3: each shared word has one writer.
    SingleWriter,
    /// §3.9: whoever touches a buffer, an entry or a slot has seen who did so last. Can break under
    /// release and acquire alone.
    NoRace,
    /// I4, I5, I16: `written = collected + in flight + dropped + lost`, in every state; nothing is
    /// missing while the host lives; records arrive as they were written.
    Conservation,
    /// I6: buffers of a pool are published and records delivered in order.
    InOrder,
    /// I7, I11: while the host lives, the end can still be reached from every state: with pools of
    /// one buffer too.
    Completion,
    /// I8, I16: every wait has a deadline, and a lane whose host has died waits for one at most.
    Bounded,
    /// I9: a release serves those who waited for it since before the freeze.
    Release,
    /// I10: no lane sleeps through a release.
    WakeUp,
    /// I12: payloads that nobody has read are not overwritten.
    UnreadPayloads,
    /// I13: what was published is not counted as dropped.
    Honest,
    /// I14: what is acknowledged has been delivered.
    Acknowledge,
    /// I15, I17: freezes open and end once, and when everybody has ended no freeze is open, nothing
    /// is on its way, and every buffer is where it should be.
    QuietEnd,
}

impl Property {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::OneOwner,
        Self::NoWindow,
        Self::SingleWriter,
        Self::NoRace,
        Self::Conservation,
        Self::InOrder,
        Self::Completion,
        Self::Bounded,
        Self::Release,
        Self::WakeUp,
        Self::UnreadPayloads,
        Self::Honest,
        Self::Acknowledge,
        Self::QuietEnd,
    ];

    /// The name of the option value.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneOwner => "one-owner",
            Self::NoWindow => "no-window",
            Self::SingleWriter => "single-writer",
            Self::NoRace => "no-race",
            Self::Conservation => "conservation",
            Self::InOrder => "in-order",
            Self::Completion => "completion",
            Self::Bounded => "bounded",
            Self::Release => "release",
            Self::WakeUp => "wake-up",
            Self::UnreadPayloads => "unread-payloads",
            Self::Honest => "honest",
            Self::Acknowledge => "acknowledge",
            Self::QuietEnd => "quiet-end",
        }
    }
}

impl Property {
    /// What it says, in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::OneOwner => {
                "each buffer has one owner, goes from one to the next in order, and pools do not grow"
            }
            Self::NoWindow => "no leader leaves the arena's gate before a release that came after its mark",
            Self::SingleWriter => "each shared word has one writer",
            Self::NoRace => "whoever touches a buffer, an entry or a slot has seen who did so last",
            Self::Conservation => "written = collected + in flight + dropped + lost, in every state",
            Self::InOrder => "buffers are published and records delivered in order",
            Self::Completion => "while the host lives, the end can still be reached from every state",
            Self::Bounded => {
                "every wait has a deadline, and a lane whose host has died waits for one at most"
            }
            Self::Release => "a release serves those who waited for it since before the freeze",
            Self::WakeUp => "no lane sleeps through a release",
            Self::UnreadPayloads => "payloads that nobody has read are not overwritten",
            Self::Honest => "what was published is not counted as dropped",
            Self::Acknowledge => "what is acknowledged has been delivered",
            Self::QuietEnd => {
                "at the end no freeze is open, nothing is on its way, and every buffer is in its place"
            }
        }
    }
}

by_name!(Property);
