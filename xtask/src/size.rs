//! `cargo xtask size`: what a visitor downloads, against the budgets.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result, while_doing};
use crate::process::{command, root};
use crate::test::files_below;

/// A limit on the sum of some files. A KB has 1,000 bytes here.
struct Budget {
    name: &'static str,
    /// Which files count, by name.
    counts: fn(&str) -> bool,
    raw: u64,
    gzip: u64,
}

/// The page must come quickly over a phone's connection; the engine may come later, on first use. What
/// pages of others call comes only to them, and to who opens another instrument of the Lab.
const BUDGETS: [Budget; 3] = [
    Budget { name: "first load, wasm", counts: first_wasm, raw: 350_000, gzip: 140_000 },
    Budget { name: "page and engine, wasm", counts: page_wasm, raw: 700_000, gzip: 320_000 },
    Budget { name: "for others, wasm", counts: api_wasm, raw: 1_800_000, gzip: 700_000 },
];

fn first_wasm(name: &str) -> bool {
    name.starts_with("thunkscope-web") && name.ends_with(".wasm")
}

fn api_wasm(name: &str) -> bool {
    name.starts_with("thunkscope-api") && name.ends_with(".wasm")
}

/// Everything that is not only for others.
fn page_wasm(name: &str) -> bool {
    name.ends_with(".wasm") && !api_wasm(name)
}

/// One file: as it is, and compressed as a server would send it.
struct Size {
    name: String,
    raw: u64,
    gzip: u64,
}

/// Prints the sizes; the number of budgets that are not kept.
pub(crate) fn size() -> Result<usize> {
    let dist = root().join("dist");
    let mut sizes = Vec::new();
    for extension in ["html", "css", "js", "wasm", "bin", "json", "svg"] {
        for path in files_below(&dist, extension) {
            let about = fs::metadata(&path).map_err(while_doing(format!("looking at {}", path.display())))?;
            let name = path.strip_prefix(&dist).unwrap_or(&path).display().to_string();
            sizes.push(Size { name, raw: about.len(), gzip: compressed(&path)? });
        }
    }
    if !sizes.iter().any(|size| first_wasm(&size.name)) {
        return Err(Failure::new("dist/ holds no WebAssembly").by_hand("cargo xtask build"));
    }
    print!("{}", table(&sizes));
    let lines: Vec<(String, bool)> = BUDGETS.iter().map(|budget| budget.line(&sizes)).collect();
    lines.iter().for_each(|(line, _)| println!("{line}"));
    Ok(lines.iter().filter(|(_, kept)| !kept).count())
}

/// By the program itself: other compressors differ by a percent.
fn compressed(path: &Path) -> Result<u64> {
    let packed = command("gzip").arg("-9nc").arg(path).output().map_err(while_doing("running `gzip`"))?;
    Ok(packed.stdout.len() as u64)
}

fn table(sizes: &[Size]) -> String {
    let line = |Size { name, raw, gzip }: &Size| format!("{raw:>10} {gzip:>10}  {name}\n");
    let head = format!("{:>10} {:>10}  file\n", "bytes", "gzip -9");
    head + &sizes.iter().map(line).collect::<String>()
}

impl Budget {
    /// Says how the files stand to the limits, and whether they keep them.
    fn line(&self, sizes: &[Size]) -> (String, bool) {
        let counted = || sizes.iter().filter(|size| (self.counts)(base(&size.name)));
        let (raw, gzip): (u64, u64) =
            (counted().map(|size| size.raw).sum(), counted().map(|size| size.gzip).sum());
        let kept = raw <= self.raw && gzip <= self.gzip;
        let verdict = if kept { "kept" } else { "NOT KEPT" };
        let Self { name, raw: most, gzip: most_gzip, .. } = self;
        (format!("{name}: {raw} of {most} bytes, {gzip} of {most_gzip} compressed: {verdict}"), kept)
    }
}

fn base(name: &str) -> &str {
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sizes: &[(&str, u64, u64)], expected: [&str; 3]) {
        let sizes: Vec<Size> =
            sizes.iter().map(|&(name, raw, gzip)| Size { name: name.to_owned(), raw, gzip }).collect();
        assert_eq!(BUDGETS.map(|budget| budget.line(&sizes).0), expected);
    }

    #[test]
    fn budgets_are_sums_of_their_files() {
        check(
            &[
                ("index.html", 9, 9),
                ("thunkscope-web-1a_bg.wasm", 350_000, 1),
                ("thunkscope-engine_bg.wasm", 1, 319_999),
                ("thunkscope-api_bg.wasm", 1_800_000, 2),
            ],
            [
                "first load, wasm: 350000 of 350000 bytes, 1 of 140000 compressed: kept",
                "page and engine, wasm: 350001 of 700000 bytes, 320000 of 320000 compressed: kept",
                "for others, wasm: 1800000 of 1800000 bytes, 2 of 700000 compressed: kept",
            ],
        );
        check(
            &[("thunkscope-web-1a_bg.wasm", 350_001, 1), ("thunkscope-engine_bg.wasm", 1, 320_000)],
            [
                "first load, wasm: 350001 of 350000 bytes, 1 of 140000 compressed: NOT KEPT",
                "page and engine, wasm: 350002 of 700000 bytes, 320001 of 320000 compressed: NOT KEPT",
                "for others, wasm: 0 of 1800000 bytes, 0 of 700000 compressed: kept",
            ],
        );
    }
}
