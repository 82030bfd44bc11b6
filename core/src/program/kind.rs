//! Kinds of thunk, by the names that XLA's log uses.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What a thunk does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every kind, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, as XLA prints it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// Compiled code.
    Kernel = "kernel",
    /// Memory copy.
    Copy = "copy",
    /// Matrix multiplication by a library.
    Dot = "dot",
    /// Convolution by a library.
    Convolution = "convolution",
    /// In-place sort.
    Sort = "sort",
    /// Fast Fourier transform.
    Fft = "fft",
    /// The k largest values.
    TopK = "topk",
    /// Reads and advances the state of a random generator, in place.
    RngGetAndUpdateState = "rng-get-and-update-state",
    /// Seed of a random generator.
    RngSeed = "rng-seed",
    /// Loop: condition and body.
    While = "while",
    /// One of several branches.
    Conditional = "conditional",
    /// A sequence called by name.
    Call = "call",
    /// Takes data from the host.
    Infeed = "infeed",
    /// Hands data to the host.
    Outfeed = "outfeed",
    /// A collective whose exact kind the file does not say.
    Collective = "collective",
    /// Sum over all ranks.
    AllReduce = "all-reduce",
    /// Concatenation over all ranks.
    AllGather = "all-gather",
    /// Transposition over ranks.
    AllToAll = "all-to-all",
    /// Point-to-point exchange.
    CollectivePermute = "collective-permute",
    /// Sum, each rank keeps a part.
    ReduceScatter = "reduce-scatter",
    /// Code from outside XLA, such as a callback into Python.
    CustomCall = "custom-call",
    /// Which partition this is.
    PartitionId = "partition-id",
    /// Which replica this is.
    ReplicaId = "replica-id",
    /// A fusion run by XNNPACK.
    XnnFusion = "xnn-fusion",
    /// A fusion run by YNNPACK.
    YnnFusion = "ynn-fusion",
    /// Any other operator (programs that do not come from XLA).
    Other = "other",
}

impl Kind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether the kind takes part in a collective operation over ranks.
    pub fn is_collective(self) -> bool {
        matches!(
            self,
            Self::Collective
                | Self::AllReduce
                | Self::AllGather
                | Self::AllToAll
                | Self::CollectivePermute
                | Self::ReduceScatter
        )
    }

    /// Whether the kind runs nested sequences.
    pub fn is_control_flow(self) -> bool {
        matches!(self, Self::While | Self::Conditional | Self::Call)
    }

    /// Kinds through which the old content of what they declare as written may come out: for the
    /// analysis of true dependencies they count as readers of their writes (xla-import spec §4).
    ///
    /// Sorts, random states and collectives work in place. A `conditional` may take a branch that
    /// does not write, a `while` may run no trip: then what was there before is what comes out.
    pub fn updates_in_place(self) -> bool {
        self.is_collective()
            || matches!(self, Self::Sort | Self::RngGetAndUpdateState | Self::While | Self::Conditional)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("Kernel"), None);
    }
}
