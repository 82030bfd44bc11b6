//! The protocol under every order of steps that a seed can think of.

mod faults;
mod invariants;
mod upstream;
mod world;
