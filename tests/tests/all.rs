//! One integration-test binary for the whole workspace.

mod conformance;
mod diagnostics_doc;
mod dump;
mod graph_oracle;
mod import;
mod import_damage;
mod interleavings;
mod pages;
mod reduction;
mod schemas;
mod xla_text;
