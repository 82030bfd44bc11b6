//! The values that configuration fields can have, by the names that users write.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
        }

        impl $name {
            /// Every value, in the order in which messages list them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// As users write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value of that name; case matters.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }

            /// All names, joined by `/`.
            pub fn names() -> String {
                Self::ALL.iter().map(|value| value.name()).collect::<Vec<_>>().join("/")
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                let unknown = || format!("`{name}` is none of {}", Self::names());
                Self::from_name(&name).ok_or_else(|| serde::de::Error::custom(unknown()))
            }
        }
    };
}
pub(super) use named;

named! {
    /// Which tensors of an op are dumped.
    Mode {
        /// What it reads.
        Input = "input",
        /// What it writes. The default.
        Output = "output",
        /// Both, and its workspace.
        All = "all",
    }
}

impl Mode {
    /// Inputs are dumped.
    pub fn inputs(self) -> bool {
        self != Self::Output
    }

    /// Outputs are dumped.
    pub fn outputs(self) -> bool {
        self != Self::Input
    }
}

named! {
    /// What of a tensor is written.
    Content {
        /// Its bytes.
        Tensor = "tensor",
        /// A line of statistics.
        Stats = "stats",
    }
}

named! {
    /// At which level ops are dumped.
    Level {
        /// Operators.
        Op = "op",
        /// Kernels: the streams that kernels write themselves, no operators.
        Kernel = "kernel",
        /// Both. The default.
        All = "all",
    }
}

named! {
    /// A switch.
    Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

named! {
    /// `dump_scene` of an ACL document, and `ASCEND_DUMP_SCENE`.
    Scene {
        /// Exception dump, level L0, by its older name.
        LiteException = "lite_exception",
        /// Exception dump, level L0: tensors, workspace, arguments.
        Brief = "aic_err_brief_dump",
        /// Exception dump, level L1: shapes, types, formats and attributes as well.
        Norm = "aic_err_norm_dump",
        /// Registers and memory of the core: hardware only, refused by this runtime with a warning.
        Detail = "aic_err_detail_dump",
        /// Dumps given nodes again after other nodes, to find who overwrites memory (static only).
        Watcher = "watcher",
    }
}

impl Scene {
    /// An exception scene: everything but the watcher.
    pub fn is_exception(self) -> bool {
        self != Self::Watcher
    }
}

named! {
    /// Streams that kernels write themselves (`dump_kernel_data`).
    KernelData {
        /// All of them.
        All = "all",
        /// Printed text.
        Printf = "printf",
        /// Tensors.
        Tensor = "tensor",
        /// Assertions.
        Assert = "assert",
        /// Time stamps.
        Timestamp = "timestamp",
    }
}

named! {
    /// Columns of the statistics (`dump_stats`).
    Stat {
        /// Largest element.
        Max = "Max",
        /// Smallest element.
        Min = "Min",
        /// Mean.
        Avg = "Avg",
        /// How many are not a number.
        Nan = "Nan",
        /// How many are negative infinity.
        NegInf = "Negative Inf",
        /// How many are positive infinity.
        PosInf = "Positive Inf",
        /// Euclidean norm.
        L2norm = "L2norm",
    }
}

/// The columns that are written when nothing is said (ge-dump spec §1.1).
pub const DEFAULT_STATS: [Stat; 6] = [Stat::Max, Stat::Min, Stat::Avg, Stat::Nan, Stat::NegInf, Stat::PosInf];

named! {
    /// Which overflow is looked for (`ge.exec.dumpDebugMode`).
    OverflowMode {
        /// In AI cores.
        AiCore = "aicore_overflow",
        /// In atomic additions.
        Atomic = "atomic_overflow",
        /// In both.
        All = "all",
    }
}

impl OverflowMode {
    /// As the device reads it: 1, 2, 3.
    pub fn bits(self) -> u32 {
        self as u32 + 1
    }
}

named! {
    /// How much an exception dump holds.
    ExceptionLevel {
        /// L0: inputs, outputs, workspace, arguments.
        Brief = "L0 brief",
        /// L1: shapes, types, formats and attributes as well.
        Norm = "L1 norm",
    }
}

named! {
    /// Where a value came from; later ones win (seed 003, "Priority Rules").
    Entry {
        /// Nobody set it.
        Default = "default",
        /// A GE option.
        Option = "option",
        /// An environment variable.
        Env = "env",
        /// The ACL document.
        Acl = "acl",
    }
}
