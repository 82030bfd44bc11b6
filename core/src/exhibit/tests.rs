//! Exhibits, built and read back.

use super::*;
use crate::executor::Plan;
use crate::explain;
use crate::program::{Program, SequencePath, json};
use crate::sim;
use crate::trace::{EventKind, Replay};

fn moe10() -> Program {
    json::read(include_bytes!("../../../www/programs/moe10.json")).expect("reads").program
}

fn chapter() -> Exhibit {
    Chapter::find("moe10").expect("a chapter").exhibit(&moe10()).expect("builds")
}

#[test]
fn the_chapter_has_what_the_page_shows() {
    let exhibit = chapter();
    assert_eq!((exhibit.thunks.len(), exhibit.edges.len(), exhibit.runs.len()), (10, 9, 3));
    assert_eq!((exhibit.sources(), exhibit.sinks()), (5, 1));
    assert_eq!((exhibit.path(), exhibit.asked), ("entry", 8));
    assert_eq!(exhibit.thunks[1].label, "expert 1");
    assert_eq!(exhibit.thunks[0].uses[0], "reads 16,384 B of allocation 1 from 0");
    assert_eq!(exhibit.verdict.name, "concurrent but never split");
}

/// An exhibit that was written and read is the same, and is consistent.
#[track_caller]
fn check_round_trip(exhibit: &Exhibit) {
    let text = exhibit.to_json();
    assert_eq!(&Exhibit::from_json(text.as_bytes()).expect("reads back"), exhibit);
    let bytes = exhibit.to_bytes();
    assert_eq!(&Exhibit::from_bytes(&bytes).expect("reads back"), exhibit);
    // By hand as postcard does.
    assert_eq!(binary::read::<Exhibit>(&bytes).as_ref(), Ok(exhibit));
}

#[test]
fn seeded_programs_come_back_whatever_sequence_is_shown() {
    for seed in 0..sim::SEEDED {
        let (program, options) = sim::seeded(seed);
        for (path, sequence) in program.sequences() {
            let exhibit = build(&program, &path, std::slice::from_ref(&options), &[]).expect("builds");
            assert_eq!((exhibit.path(), exhibit.thunks.len()), (&*path.to_string(), sequence.thunks.len()));
            check_round_trip(&exhibit);
        }
    }
    check_round_trip(&chapter());
}

/// The page's answer is the report's, at every instant of every run.
#[test]
fn why_is_what_the_report_says() {
    for seed in 0..sim::SEEDED {
        let (program, options) = sim::seeded(seed);
        let exhibit =
            build(&program, &SequencePath::entry(), std::slice::from_ref(&options), &[]).expect("builds");
        let plans = Plan::all(&program, &options.executor).expect("plans");
        let replay = Replay::new(exhibit.runs[0].log.clone());
        for index in (0..=replay.len()).step_by(7) {
            let state = replay.state_at(index);
            for execution in &state.runs {
                let run = execution.id;
                for node in 0..execution.nodes.len() as u32 + 1 {
                    let said = why(&exhibit, run, &state, node);
                    if execution.sequence == SHOWN_IN_LOG {
                        assert_eq!(said, explain::why(&program, &plans, &state, run, node), "seed {seed}");
                    } else {
                        assert_eq!(said, "");
                    }
                }
            }
        }
    }
}

#[test]
fn the_opening_is_the_first_choice_of_each_queue() {
    let exhibit = chapter();
    let replays = exhibit.runs.iter().map(|run| Replay::new(run.log.clone())).collect();
    let together = crate::trace::Together::new(replays);
    assert_eq!(exhibit.opening as usize, together.step_after(0));
    for (replay, index) in together.replays().iter().zip(together.indices_at(exhibit.opening as usize)) {
        let events = &replay.log().events[..index];
        assert_eq!(events.iter().filter(|event| matches!(event.kind, EventKind::Started { .. })).count(), 1);
    }
}

/// What is refused, and with which code.
#[track_caller]
fn check_refused(change: impl FnOnce(&mut Exhibit), expected: &str) {
    let mut exhibit = chapter();
    change(&mut exhibit);
    for read in [Exhibit::from_json(exhibit.to_json().as_bytes()), Exhibit::from_bytes(&exhibit.to_bytes())] {
        let error = read.map(|_| expected).expect_err("refused");
        assert_eq!(format!("{} {}", error.code, error.path), expected, "{error}");
    }
}

/// Bytes from anywhere are refused in words, or are an exhibit that holds together.
#[test]
fn damaged_bytes_are_refused() {
    let whole = chapter().to_bytes();
    for length in 0..whole.len() {
        let error = Exhibit::from_bytes(&whole[..length]).expect_err("cut");
        assert_eq!((&*error.code, &*error.path), ("EX001", "$"), "{length} bytes");
    }
    let longer = [&whole[..], &[0]].concat();
    assert_eq!(Exhibit::from_bytes(&longer).map_err(|error| error.code.clone()), Err("EX001".to_owned()));
    let mut rng = crate::rng::Rng::new(11);
    for _ in 0..4_000 {
        let mut bytes = whole.clone();
        for _ in 0..rng.below(4) + 1 {
            let place = rng.below(bytes.len() as u64) as usize;
            bytes[place] = rng.below(256) as u8;
        }
        match Exhibit::from_bytes(&bytes) {
            // Names, numbers of a run, places in the picture: whatever they are, they can be shown.
            Ok(exhibit) => exhibit.runs.iter().for_each(|run| drop(Replay::new(run.log.clone()))),
            Err(error) => assert!(["EX001", "EX002"].contains(&&*error.code), "{error}"),
        }
    }
    // A list of 2^60 thunks in twelve bytes.
    let huge = [whole[..1].to_vec(), vec![0xff; 9], vec![1, 1]].concat();
    assert!(Exhibit::from_bytes(&huge).is_err());
}

#[test]
fn messages_come_back_or_are_refused() {
    use super::protocol::{Answer, Request, Response, What};
    let runs = Chapter::runs(&sim::Options { seed: u64::MAX, ..sim::Options::default() });
    let what = What::Exhibit {
        handle: 3,
        path: "entry/4.body".parse().expect("a path"),
        runs,
        labels: vec!["gate".to_owned()],
    };
    let request = Request { id: 7, what };
    let bytes = request.to_bytes();
    assert_eq!(Request::from_bytes(&bytes), Ok(request));
    let refused = |bytes: &[u8]| Request::from_bytes(bytes).map(|_| ()).map_err(|error| error.code.clone());
    for length in 0..bytes.len() {
        assert_eq!(refused(&bytes[..length]), Err("EX005".to_owned()), "{length} bytes");
    }
    assert_eq!(refused(&[1, 0xff]), Err("EX005".to_owned()));
    let answer = Answer::Error(Diagnostic::error("PG001", "$", "JSON").found("x"));
    let response = Response { id: 7, answer };
    assert_eq!(Response::from_bytes(&response.to_bytes()), Ok(response));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    check_refused(|exhibit| exhibit.format = "thunkscope.exhibit/9".to_owned(), "EX001 $.format");
    check_refused(|exhibit| exhibit.shown = 7, "EX002 $.shown");
    check_refused(|exhibit| exhibit.asked = 10, "EX002 $.asked");
    check_refused(|exhibit| exhibit.edges[0].to = 10, "EX002 $.edges");
    check_refused(|exhibit| exhibit.edges.swap(0, 1), "EX002 $.edges");
    check_refused(|exhibit| exhibit.picture.centres.truncate(9), "EX002 $.picture.centres");
    check_refused(|exhibit| exhibit.picture.routes.truncate(8), "EX002 $.picture.routes");
    check_refused(|exhibit| exhibit.picture.centres[3].x = i32::MAX, "EX002 $.picture");
    check_refused(|exhibit| exhibit.runs[1].log.header.sequences[0].counters[9] = 2, "EX002 $.runs[1].log");
    check_refused(|exhibit| exhibit.runs[0].log.events[4].kind = EventKind::Started { node: 10 }, "EX001 $");
    check_refused(|exhibit| exhibit.opening = u32::MAX, "EX002 $.opening");
    check_refused(|exhibit| exhibit.thunks[0].nested.push(3), "EX002 $.thunks");
}

#[test]
fn a_fault_in_a_nested_sequence_is_seen_there() {
    let (program, path) = (0..)
        .map(|seed| sim::seeded(seed).0)
        .find_map(|program| {
            let sequences = program.sequences();
            let (path, _) =
                sequences.iter().find(|(path, inner)| path.steps().len() == 1 && inner.thunks.len() > 3)?;
            let path = path.clone();
            Some((program, path))
        })
        .expect("a program with a nested sequence");
    let fault = sim::Fault { path: path.clone(), node: 0, kind: sim::FaultKind::Fails };
    let options = sim::Options { faults: vec![fault], ..sim::Options::default() };
    let exhibit = build(&program, &path, &[options], &[]).expect("builds");
    let failed =
        exhibit.runs[0].log.events.iter().any(|event| matches!(event.kind, EventKind::Failed { node: 0 }));
    assert!(failed, "{path}");
}

#[test]
fn a_pause_sees_progress_and_can_end_the_work() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};
    let program = moe10();
    let runs = Chapter::runs(&sim::Options::default());
    let drive = |limit: usize| {
        let mut seen = Vec::new();
        let entry = SequencePath::entry();
        let making = build_in_slices(&program, &entry, &runs, &[], async |job| {
            seen.push(job);
            let enough = Diagnostic::error("EX000", "", "no more");
            if seen.len() > limit { Err(enough) } else { Ok(()) }
        });
        let made = match Box::pin(making).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(made) => made.map(|_| ()).map_err(|error| error.code.clone()),
            Poll::Pending => Err("pending".to_owned()),
        };
        (made, seen)
    };
    let (made, seen) = drive(usize::MAX);
    assert_eq!(made, Ok(()));
    let progress: Vec<(u64, u64)> = seen
        .iter()
        .filter_map(|job| match job {
            crate::machine::Job::Running { done, total } => Some((*done, *total)),
            crate::machine::Job::Done => None,
        })
        .collect();
    assert!(progress.is_sorted() && progress.len() > 3, "{progress:?}");
    assert!(progress.iter().all(|(done, total)| done <= total), "{progress:?}");
    assert_eq!(drive(2).0, Err("EX000".to_owned()));
}

#[test]
fn a_path_that_is_not_there_is_refused() {
    let path: SequencePath = "entry/3.body".parse().expect("a path");
    let error = build(&moe10(), &path, &[], &[]).expect_err("refused");
    assert_eq!((&*error.code, &*error.path), ("EX003", "entry/3.body"));
}
