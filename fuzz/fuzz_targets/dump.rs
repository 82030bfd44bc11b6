//! The Dump module's readers: an ACL document, a dump file, an overflow record, a scenario, a step
//! expression, the same bytes as a variable and as an option, and as every text that `dump check` takes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thunkscope_core::dump::acl;
use thunkscope_core::dump::check::{Texts, check_texts};
use thunkscope_core::dump::env::{EnvLayer, VARIABLES};
use thunkscope_core::dump::option::{OPTIONS, OptionLayer, Scope};
use thunkscope_core::dump::overflow::OverflowRecord;
use thunkscope_core::dump::path::PathState;
use thunkscope_core::dump::record::DumpFile;
use thunkscope_core::dump::resolve::{Context, Entries, resolve};
use thunkscope_core::dump::scenario::Scenario;
use thunkscope_core::dump::step::Steps;

fuzz_target!(|bytes: &[u8]| {
    let probe = |_: &str| PathState::Fine;
    let text = String::from_utf8_lossy(bytes);
    let env = EnvLayer::read(VARIABLES.iter().map(|&name| (name, &*text))).0;
    let options = OptionLayer::read(OPTIONS.iter().map(|&name| (Scope::Session, name, &*text))).0;
    if let Ok((acl, _)) = acl::read(bytes, &probe) {
        let entries = Entries { acl: &acl, env: &env, options: &options };
        let context = Context { probe: &probe, time: Some("T") };
        assert_eq!(resolve(entries, context), resolve(entries, context));
    }
    if let Ok(file) = DumpFile::read(bytes) {
        let sizes: u64 = file.tensors.iter().map(|tensor| tensor.size).sum();
        assert!(sizes < bytes.len() as u64);
    }
    if let Ok(steps) = Steps::parse(&text) {
        assert_eq!(Steps::parse(&steps.to_string()), Ok(steps));
    }
    // Five texts, apart at the first NUL characters.
    let mut parts = text.split('\0');
    let mut part = || parts.next().unwrap_or("");
    let (acl, env, options, program, scenario) = (part(), part(), part(), part(), part());
    let texts = Texts { acl, env, options, program, scenario, ..Texts::default() };
    let report = check_texts(texts, Context::unseen());
    assert!(report.diagnostics.iter().all(|one| !one.code.is_empty()));
    let _ = OverflowRecord::read(bytes);
    let _ = Scenario::read(bytes);
});
