//! How many tests ran, failed, were skipped: read from each runner's own report, added up, shown once.

use std::fmt::Write;

/// Results of some tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// A runner that failed without saying which test did has still failed: one test more is counted.
    pub(crate) fn or_failed_as_a_whole(mut self, success: bool) -> Self {
        if !success && self.failed == 0 {
            self.failed = 1;
        }
        self
    }

    /// Reads the reports of Rust's test harness, and of wasm-bindgen's, which has the same form:
    /// `running 3 tests` … `test result: ok. 2 passed; 0 failed; 1 ignored; …`.
    ///
    /// A binary that began and never reported, because it crashed, counts as one failure.
    pub(crate) fn from_harness(output: &str) -> Self {
        let mut counts = Counts::default();
        let mut unfinished = false;
        for line in output.lines() {
            if let Some((_, result)) = line.split_once("test result: ") {
                counts.add(Counts {
                    passed: number_before(result, "passed"),
                    failed: number_before(result, "failed"),
                    skipped: number_before(result, "ignored"),
                });
                unfinished = false;
            } else if is_start(line) {
                counts.failed += u64::from(unfinished);
                unfinished = true;
            }
        }
        counts.failed += u64::from(unfinished);
        counts
    }

    /// Reads the end of a TAP report by Node's test runner: `# pass 4`, `# fail 0`, `# cancelled 0`, `# skipped 1`.
    pub(crate) fn from_tap(output: &str) -> Self {
        let number = |name: &str| {
            let lines = output.lines().rev().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(name));
            lines.filter_map(|rest| rest.strip_prefix(' ')?.trim().parse::<u64>().ok()).next().unwrap_or(0)
        };
        Counts {
            passed: number("pass"),
            failed: number("fail") + number("cancelled"),
            skipped: number("skipped") + number("todo"),
        }
    }

    /// Reads the last line of the conformance command: `1576 passed, 0 failed`.
    pub(crate) fn from_conformance(output: &str) -> Self {
        let last = output.lines().last().unwrap_or_default();
        Counts {
            passed: number_before(last, "passed"),
            failed: number_before(last, "failed"),
            skipped: number_before(last, "skipped"),
        }
    }
}

fn is_start(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words[..], ["running", n, "test" | "tests"] if n.parse::<u64>().is_ok())
}

/// The number just before a word: 9 in `ok. 9 passed; …`; 0 where there is none.
fn number_before(text: &str, word: &str) -> u64 {
    let words: Vec<&str> = text.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|found| *found == word);
    at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
}

/// All suites of a run.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    suites: Vec<(&'static str, Counts, Option<String>)>,
}

impl Summary {
    pub(crate) fn push(&mut self, suite: &'static str, counts: Counts) {
        self.suites.push((suite, counts, None));
    }

    /// A suite with something to add: why tests were skipped, or why it could not run.
    pub(crate) fn push_with_note(&mut self, suite: &'static str, counts: Counts, note: impl Into<String>) {
        self.suites.push((suite, counts, Some(note.into())));
    }

    pub(crate) fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.suites.iter().for_each(|(_, counts, _)| total.add(*counts));
        total
    }

    /// The table, and on the last line, alone, the total.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{:<14}{:>8}{:>8}{:>9}\n", "suite", "passed", "failed", "skipped");
        for (suite, counts, note) in &self.suites {
            let Counts { passed, failed, skipped } = counts;
            let _ = write!(text, "{suite:<14}{passed:>8}{failed:>8}{skipped:>9}");
            if let Some(note) = note {
                let _ = write!(text, "   {note}");
            }
            text.push('\n');
        }
        let Counts { passed, failed, skipped } = self.total();
        let _ = write!(text, "\n{passed} passed, {failed} failed, {skipped} skipped");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Counts {
        Counts { passed, failed, skipped }
    }

    #[test]
    fn adds_up_the_reports_of_several_test_binaries() {
        let output = "\nrunning 2 tests\ntest a ... ok\ntest b ... ignored\n\n\
                      test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s\n\
                      \nrunning 1 test\ntest c ... FAILED\n\n\
                      test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(Counts::from_harness(output), counts(1, 1, 1));
    }

    #[test]
    fn a_test_binary_that_crashed_is_a_failure() {
        let good = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(Counts::from_harness(&format!("running 9 tests\ntest a ... ok\n{good}")), counts(1, 1, 0));
        assert_eq!(Counts::from_harness(&format!("{good}running 9 tests\n")), counts(1, 1, 0));
        assert_eq!(Counts::from_harness("running 9 tests\n").or_failed_as_a_whole(false), counts(0, 1, 0));
    }

    #[test]
    fn a_runner_that_failed_before_any_test_is_a_failure() {
        assert_eq!(Counts::from_harness("").or_failed_as_a_whole(false), counts(0, 1, 0));
        assert_eq!(Counts::from_harness("").or_failed_as_a_whole(true), counts(0, 0, 0));
    }

    #[test]
    fn reads_the_end_of_a_tap_report() {
        let output = "ok 1 - # pass 77\n# Subtest: x\n1..3\n# tests 5\n# suites 0\n# pass 2\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n";
        assert_eq!(Counts::from_tap(output), counts(2, 2, 1));
    }

    #[test]
    fn reads_the_last_line_of_the_conformance_command() {
        let output =
            "programs/moe10: 3 compared, 2 equal\nDIFFERENT 7 passed, 7 failed\n11 passed, 1 failed\n";
        assert_eq!(Counts::from_conformance(output), counts(11, 1, 0));
        assert_eq!(Counts::from_conformance(""), counts(0, 0, 0));
    }

    #[test]
    fn the_total_stands_alone_on_the_last_line() {
        let mut summary = Summary::default();
        summary.push("host", counts(3, 0, 1));
        summary.push_with_note("browser", counts(0, 0, 2), "no browser");
        assert_eq!(summary.text().lines().last(), Some("3 passed, 0 failed, 3 skipped"));
    }
}
