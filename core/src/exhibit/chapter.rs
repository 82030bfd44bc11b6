//! The chapters of the page that show a program: which one, what its thunks are called, where to
//! look first. Their exhibits are made by `cargo xtask pages`.

#[cfg(feature = "engine")]
use super::{Exhibit, build};
use crate::executor::Queue;
use crate::graph::NodeId;
use crate::sim;
#[cfg(feature = "engine")]
use crate::{diagnostic::Diagnostic, program::Program};

/// A chapter with a program.
#[derive(Debug)]
pub struct Chapter {
    /// The name of its program, without folder and extension: `www/programs/<id>.json`, and
    /// `www/exhibits/<id>.bin` for its exhibit.
    pub id: &'static str,
    /// What the chapter calls each thunk, by node.
    pub labels: &'static [&'static str],
    /// The thunk that the inspector asks about first.
    pub asked: NodeId,
}

impl Chapter {
    /// All of them.
    pub const ALL: [Self; 1] = [
        // "Three queues, one graph": a mixture of experts. The experts by the parameters they read.
        Self {
            id: "moe10",
            labels: &[
                "gate", "expert 1", "expert 2", "expert 3", "expert 4", "max", "exp", "norm", "sum", "mix",
            ],
            asked: 8,
        },
    ];

    /// The chapter of that id.
    pub fn find(id: &str) -> Option<&'static Self> {
        static ALL: [Chapter; 1] = Chapter::ALL;
        ALL.iter().find(|chapter| chapter.id == id)
    }

    /// Its runs: one for each class of ready queue, the rest as `options` say.
    pub fn runs(options: &sim::Options) -> Vec<sim::Options> {
        Queue::ALL
            .map(|queue| {
                let mut options = options.clone();
                options.executor.queue = queue;
                options
            })
            .to_vec()
    }

    /// Its exhibit; `program` is the one in its file.
    ///
    /// # Errors
    /// As [`build`].
    #[cfg(feature = "engine")]
    pub fn exhibit(&self, program: &Program) -> Result<Exhibit, Diagnostic> {
        let runs = Self::runs(&sim::Options::default());
        let exhibit = build(program, &crate::program::SequencePath::entry(), &runs, self.labels)?;
        Ok(Exhibit { asked: self.asked, ..exhibit })
    }
}
