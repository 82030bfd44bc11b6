//! The state at any instant of a log: nearest keyframe, then fold.

use super::{Log, State};

/// Events between two keyframes.
const SPACING: usize = 128;

/// A log that can be looked at anywhere.
#[derive(Clone, Debug)]
pub struct Replay {
    log: Log,
    /// `keyframes[k]` is the state after `k * SPACING` events.
    keyframes: Vec<State>,
}

impl Replay {
    /// Folds the log once and keeps keyframes.
    pub fn new(log: Log) -> Self {
        let mut state = State::new(&log.header);
        let mut keyframes = vec![state.clone()];
        for (index, event) in log.events.iter().enumerate() {
            state.apply(event, &log.header);
            if (index + 1).is_multiple_of(SPACING) {
                keyframes.push(state.clone());
            }
        }
        Self { log, keyframes }
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.log.events.len()
    }

    /// Whether nothing ever happened.
    pub fn is_empty(&self) -> bool {
        self.log.events.is_empty()
    }

    /// The state after the first `index` events; the last state beyond the end.
    pub fn state_at(&self, index: usize) -> State {
        let index = index.min(self.len());
        let key = index / SPACING;
        let mut state = self.keyframes[key].clone();
        for event in &self.log.events[key * SPACING..index] {
            state.apply(event, &self.log.header);
        }
        state
    }
}
