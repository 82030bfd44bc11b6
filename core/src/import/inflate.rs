//! JAX's persistent cache: zlib, or zstd where the user has `zstandard` (xla-import spec §1).

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::Limits;
use crate::diagnostic::Diagnostic;

/// How an entry is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// A zlib stream.
    Zlib,
    /// A zstd frame.
    Zstd,
}

/// Up to here any ratio is accepted: small programs with large constant tensors compress well.
const FREE: u64 = 64 << 20;

/// Beyond [`FREE`], decompressed bytes per compressed byte. Machine code and protobuf compress
/// 3 to 10 times.
const MAX_RATIO: u64 = 200;

/// How much is decompressed at a time.
const STEP: usize = 64 << 10;

/// The decompressed bytes.
///
/// # Errors
/// `XI012`: the stream is broken or cut. `XI013`: it grows beyond the limit, or beyond any
/// plausible ratio.
pub(super) fn inflate(bytes: &[u8], method: Method, limits: &Limits) -> Result<Vec<u8>, Diagnostic> {
    // What a decoder says about a broken stream helps nobody, and the texts that it has for that are
    // as large as the decoder: its errors become `None`.
    match method {
        Method::Zlib => {
            let mut stream = flate2::bufread::ZlibDecoder::new(bytes);
            drain(&mut |step| stream.read(step).ok(), bytes.len(), limits)
        }
        Method::Zstd => {
            let mut source = bytes;
            let mut frame = FrameDecoder::new();
            frame.init(&mut source).map_err(|_| broken(0, "a zstd frame"))?;
            let mut read = |step: &mut [u8]| {
                while frame.can_collect() < step.len() && !frame.is_finished() {
                    let missing = step.len() - frame.can_collect();
                    frame.decode_blocks(&mut source, BlockDecodingStrategy::UptoBytes(missing)).ok()?;
                }
                frame.read(step).ok()
            };
            let out = drain(&mut read, bytes.len(), limits)?;
            // Both are optional in a frame; the decoder leaves the comparison to us.
            let sum = frame.get_checksum_from_data();
            if sum.is_some() && sum != frame.get_calculated_checksum() {
                return Err(broken(out.len(), "data that agree with their check sum"));
            }
            let size = frame.content_size();
            if size != 0 && size != out.len() as u64 {
                return Err(broken(out.len(), &format!("{size} bytes, as the frame says")));
            }
            Ok(out)
        }
    }
}

/// JAX puts the compile time in front: four bytes.
///
/// # Errors
/// `XI012`: there is nothing after them.
pub(super) fn without_compile_time(inner: &[u8]) -> Result<&[u8], Diagnostic> {
    inner.get(4..).filter(|body| !body.is_empty()).ok_or_else(|| {
        broken(0, "four bytes of compile time and an executable")
            .found(format!("{} decompressed bytes", inner.len()))
    })
}

/// All that `read` gives, a step at a time: `None` for a broken stream, 0 bytes at the end.
fn drain(
    read: &mut dyn FnMut(&mut [u8]) -> Option<usize>,
    compressed: usize,
    limits: &Limits,
) -> Result<Vec<u8>, Diagnostic> {
    let plausible = FREE.max((compressed as u64).saturating_mul(MAX_RATIO));
    let most = limits.decompressed.min(plausible);
    let mut out = Vec::new();
    let mut step = vec![0; STEP];
    loop {
        let length = read(&mut step).ok_or_else(|| broken(out.len(), "a whole compressed stream"))?;
        if length == 0 {
            return Ok(out);
        }
        out.extend_from_slice(&step[..length]);
        if out.len() as u64 > most {
            return Err(Diagnostic::error(
                "XI013",
                format!("byte {} of the decompressed data", out.len()),
                format!("at most {most} decompressed bytes"),
            )
            .found(format!("more, from {compressed} compressed bytes"))
            .hint("no executable compresses like this: the file is damaged, or made to exhaust memory"));
        }
    }
}

fn broken(at: usize, expected: &str) -> Diagnostic {
    Diagnostic::error("XI012", format!("byte {at} of the decompressed data"), expected)
        .hint("the cache entry is cut or damaged: delete it, and JAX writes it again")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("in memory");
        encoder.finish().expect("in memory")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[track_caller]
    fn check(bytes: &[u8], method: Method, limits: &Limits, expected: Result<&[u8], &str>) {
        let got = inflate(bytes, method, limits).map_err(|error| error.code.clone());
        assert_eq!(got.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn both_methods() {
        let text = b"four score and seven years ago four score and seven".repeat(100);
        check(&zlib(&text), Method::Zlib, &Limits::default(), Ok(&text));
        check(&zstd(&text), Method::Zstd, &Limits::default(), Ok(&text));
    }

    #[test]
    fn cut_streams() {
        let text = b"four score and seven years ago".repeat(100);
        let (zlib, zstd) = (zlib(&text), zstd(&text));
        for cut in [2, 10, zlib.len() / 2] {
            check(&zlib[..cut], Method::Zlib, &Limits::default(), Err("XI012"));
        }
        for cut in [4, 5, 10, zstd.len() / 2] {
            check(&zstd[..cut], Method::Zstd, &Limits::default(), Err("XI012"));
        }
    }

    #[test]
    fn bombs_are_stopped_at_the_limit_and_at_the_ratio() {
        let zeros = vec![0; 1 << 20];
        let limits = Limits { decompressed: 1 << 18, ..Limits::default() };
        check(&zlib(&zeros), Method::Zlib, &limits, Err("XI013"));
        check(&zstd(&zeros), Method::Zstd, &limits, Err("XI013"));
        // 96 MiB of zeros in about 100 KiB: within the size limit, but like no executable.
        let bomb = zlib(&vec![0; 96 << 20]);
        check(&bomb, Method::Zlib, &Limits::default(), Err("XI013"));
    }
}
