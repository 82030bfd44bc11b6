//! Thousands of damaged files: each gives a program or one diagnostic, never a panic or a hang.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use thunkscope_core::import::xla_log::XlaLog;
use thunkscope_core::import::{Imported, ReadOptions, read};
use thunkscope_core::program::{Kind, MAX_END, MAX_NESTING, Nested, Program, Role, Sequence, Thunk, json};
use thunkscope_core::rng::Rng;

/// A real file, by its path in the package.
fn sample(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// Every executable of the samples.
fn executables() -> Vec<Vec<u8>> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/programs");
    let mut paths: Vec<_> =
        std::fs::read_dir(programs).expect("samples").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 26);
    paths.iter().map(|path| std::fs::read(path.join("exec.bin")).expect("an executable")).collect()
}

/// Reads bytes; what comes out must be sound, whatever they are.
#[track_caller]
fn sound(bytes: &[u8], lenient: bool) -> Option<Imported> {
    match read(bytes, "damaged", &ReadOptions { lenient, ..ReadOptions::default() }) {
        Err(error) => {
            assert!(error.code.starts_with("XI") || error.code.starts_with("PG"), "{error}");
            assert!(!error.path.is_empty() && !error.expected.is_empty(), "{error}");
            None
        }
        Ok(imported) => {
            let program = &imported.program;
            for (path, sequence) in program.sequences() {
                assert!(path.steps().len() <= MAX_NESTING);
                for thunk in &sequence.thunks {
                    assert!(thunk.uses.iter().all(|used| used.slice.end() <= MAX_END));
                    assert!(
                        thunk.resources.iter().all(|used| (used.resource as usize) < program.resources.len())
                    );
                }
            }
            let again = json::read(json::write(program).as_bytes()).expect("what was read can be written");
            assert_eq!(&again.program, program);
            Some(imported)
        }
    }
}

/// Runs `part` on a thread with a stack no larger than a browser gives, and stops waiting for it
/// after ten times what it should take.
fn guarded(seconds: u64, part: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let thread = thread.spawn(move || {
        part();
        let _ = done.send(());
    });
    let thread = thread.expect("a thread");
    match finished.recv_timeout(Duration::from_secs(10 * seconds)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("still reading after {} s", 10 * seconds),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

#[test]
fn a_cut_executable_is_an_error_or_lacks_nothing() {
    guarded(20, || {
        let mut errors = 0;
        for bytes in executables() {
            let whole = sound(&bytes, false).expect("a sample");
            let step = (bytes.len() / 400).max(1);
            let lengths = (0..bytes.len().min(300))
                .chain((0..bytes.len()).step_by(step))
                .chain(bytes.len() - 50..bytes.len());
            for length in lengths {
                match sound(&bytes[..length], false) {
                    Some(cut) => assert_eq!(cut, whole, "cut at {length} of {}", bytes.len()),
                    None => errors += 1,
                }
            }
        }
        assert!(errors > 15_000, "{errors}");
    });
}

#[test]
fn flipped_bits_in_executables() {
    guarded(20, || {
        let mut rng = Rng::new(1);
        let (mut errors, mut programs) = (0, 0);
        for bytes in executables() {
            for round in 0..300 {
                let mut damaged = bytes.clone();
                for _ in 0..=rng.below(4) {
                    let at = rng.below(bytes.len() as u64) as usize;
                    damaged[at] ^= 1 << rng.below(8);
                }
                match sound(&damaged, round % 2 == 0) {
                    Some(_) => programs += 1,
                    None => errors += 1,
                }
            }
        }
        // Most of a file is machine code, which is not looked at.
        assert!(errors > 300 && programs > 500, "{errors} errors, {programs} programs");
    });
}

#[test]
fn bytes_put_in_taken_out_and_overwritten() {
    guarded(20, || {
        let mut rng = Rng::new(2);
        let mut errors = 0;
        for bytes in executables() {
            for _ in 0..200 {
                let mut damaged = bytes.clone();
                let at = rng.below(bytes.len() as u64) as usize;
                let end = (at + rng.below(20) as usize).min(bytes.len());
                match rng.below(4) {
                    // A length of 2 GiB, and one of 2^64-1.
                    0 => drop(damaged.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x07])),
                    1 => drop(damaged.splice(at..at, [0xff; 9].into_iter().chain([1]))),
                    2 => drop(damaged.drain(at..end)),
                    _ => damaged[at..end].iter_mut().for_each(|byte| *byte = rng.below(256) as u8),
                }
                errors += u32::from(sound(&damaged, false).is_none());
            }
        }
        assert!(errors > 1000, "{errors}");
    });
}

/// Cuts and flips of a file whose format has a check sum: an error, or the same program.
fn checked_sum(path: &'static str) {
    guarded(20, move || {
        let bytes = sample(path);
        let whole = sound(&bytes, false).expect("a sample").program;
        for length in (0..bytes.len()).step_by(7) {
            assert!(sound(&bytes[..length], false).is_none_or(|cut| cut.program == whole));
        }
        let mut rng = Rng::new(3);
        let mut errors = 0;
        for _ in 0..1000 {
            let mut damaged = bytes.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            damaged[at] ^= 1 << rng.below(8);
            match sound(&damaged, false) {
                Some(other) => assert!(other.program == whole, "flipped a bit of byte {at}"),
                None => errors += 1,
            }
        }
        assert!(errors > 900, "{errors}");
    });
}

#[test]
fn damaged_cache_entries() {
    checked_sum("oracle/cache/moe10-cache");
}

#[test]
fn damaged_zstd_entries() {
    checked_sum("samples/moe10-zstd-cache");
}

#[test]
fn both_compressions_hold_the_same() {
    let zlib = sound(&sample("oracle/cache/moe10-cache"), false);
    assert_eq!(zlib, sound(&sample("samples/moe10-zstd-cache"), false));
    assert!(zlib.is_some());
}

#[test]
fn damaged_json() {
    guarded(20, || {
        let bytes = sample("../www/programs/moe10.json");
        for length in 0..bytes.len() - 2 {
            assert_eq!(sound(&bytes[..length], false), None, "cut at {length}");
        }
        let mut rng = Rng::new(4);
        let mut errors = 0;
        for _ in 0..3000 {
            let mut damaged = bytes.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => damaged[at] ^= 1 << rng.below(8),
                1 => damaged[at] = *b"{}[]\",:0-9e.".get(rng.below(12) as usize).expect("in range"),
                _ => drop(damaged.splice(at..at, b"99999999999999999999".iter().copied())),
            }
            errors += u32::from(sound(&damaged, false).is_none());
        }
        assert!(errors > 1000, "{errors}");
    });
}

#[test]
fn damaged_logs_still_give_what_is_whole() {
    guarded(20, || {
        let bytes = sample("oracle/programs/coll_sched_edges/vlog.txt");
        let whole = XlaLog::parse(&bytes);
        assert_eq!(whole.executors.len(), 1);
        let mut rng = Rng::new(5);
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => damaged.truncate(at),
                1 => damaged[at] ^= 1 << rng.below(8),
                _ => {
                    drop(damaged.splice(
                        at..at,
                        b"] Processing operation 99999999999999999999 \xff\n".iter().copied(),
                    ))
                }
            }
            let log = XlaLog::parse(&damaged);
            assert!(log.executors.len() <= 2);
            assert!(log.executors.iter().all(|executor| executor.nodes.len() <= 26));
        }
    });
}

#[test]
fn random_bytes_of_every_beginning() {
    guarded(20, || {
        let mut rng = Rng::new(6);
        for start in [
            &b""[..],
            b"\x0a",
            b"\x78\x9c",
            b"\x28\xb5\x2f\xfd",
            b"{\"",
            b"[",
            b"\x1f\x8b",
            b"\x0a\x80\x80\x80\x80\x08",
        ] {
            for _ in 0..500 {
                let length = rng.below(200) as usize;
                let mut bytes = start.to_vec();
                bytes.extend((0..length).map(|_| rng.below(256) as u8));
                let _ = sound(&bytes, true);
            }
        }
    });
}

#[test]
fn the_deepest_program_fits_a_small_stack() {
    guarded(20, || {
        let mut thunk = Thunk::new(Kind::Copy, "innermost");
        for _ in 0..MAX_NESTING {
            let sequence = Sequence { thunks: vec![thunk] };
            thunk = Thunk::new(Kind::Call, "c");
            thunk.nested.push(Nested { role: Role::Called, sequence });
        }
        let program = Program { sequence: Sequence { thunks: vec![thunk] }, ..Program::default() };
        let written = json::write(&program);
        assert_eq!(json::read(written.as_bytes()).expect("reads").program, program);
        // As many brackets, in a field that is only kept.
        let deep = format!("{}{}", "[".repeat(340), "]".repeat(340));
        let text = written.replacen("\"name\"", &format!("\"x\": {deep}, \"name\""), 1);
        assert!(sound(text.as_bytes(), false).is_some());
    });
}
