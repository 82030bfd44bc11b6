//! What a thunk of an imported program does: touch its slices, take its time.

use std::time::{Duration, Instant};

use crate::executor::Call;
use crate::sys::buffers::{Claim, Read};

/// Reads all that is read, and writes all that is written with a mixture of that and of the
/// thunk's identity: whoever reads it later sees whether the order was right.
pub(super) fn touch(identity: u64, in_place: bool, claim: &Claim<'_>) {
    let mut mixed = mix(identity ^ 0x9e37_79b9_7f4a_7c15);
    for read in claim.reads() {
        mixed = digest(mixed, read);
    }
    if in_place {
        for write in claim.writes() {
            mixed = digest(mixed, write.read());
        }
    }
    for (index, write) in claim.writes().enumerate() {
        let mut value = mix(mixed ^ index as u64);
        for i in 0..write.len() / 8 {
            value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
            write.set::<u64, 8>(i, value ^ (value >> 29));
        }
        for i in write.len() / 8 * 8..write.len() {
            value = mix(value);
            write.set(i, value as u8);
        }
    }
}

fn digest(mut mixed: u64, read: Read<'_>) -> u64 {
    for i in 0..read.len() / 8 {
        mixed = (mixed ^ read.get::<u64, 8>(i)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
    }
    for i in read.len() / 8 * 8..read.len() {
        mixed = (mixed ^ u64::from(read.get::<u8, 1>(i))).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(mixed ^ read.len() as u64)
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Keeps the core busy until `ns` have passed since `start`, or the run is cancelled.
pub(super) fn spin(start: Instant, ns: u64, call: &Call<'_>) {
    let until = Duration::from_nanos(ns);
    while start.elapsed() < until && !call.is_cancelled() {
        std::hint::spin_loop();
    }
}

/// Sleeps until `ns` have passed since `start`, or the run is cancelled.
pub(super) fn sleep(start: Instant, ns: u64, call: &Call<'_>) {
    /// How late a cancelled run may be noticed.
    const SLICE: Duration = Duration::from_millis(20);
    let until = Duration::from_nanos(ns);
    while let Some(left) = until.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        if call.is_cancelled() {
            break;
        }
        std::thread::sleep(left.min(SLICE));
    }
}
