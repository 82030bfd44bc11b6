//! Known answers: the litmus tests of the literature, every execution of each.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

use super::{Shared, Views, Words};
use crate::machine::{Memory, Word};

const X: Word = Word(0);
const Y: Word = Word(1);

/// One access of a litmus test. What it reads goes to its thread's list of results.
#[derive(Clone, Copy)]
enum Do {
    Load(Word, Ordering),
    Store(Word, u32, Ordering),
    Add(Word, u32, Ordering),
    /// Current, new.
    Exchange(Word, u32, u32, Ordering),
}
use Do::{Add, Exchange, Load, Store};

/// All outcomes: what each read gave, in the order of the threads and of their accesses.
fn outcomes<M: Shared>(threads: &[&[Do]]) -> BTreeSet<Vec<u32>> {
    fn go<M: Shared>(
        threads: &[&[Do]],
        memory: &M,
        at: &mut Vec<usize>,
        read: &mut Vec<Vec<u32>>,
        all: &mut BTreeSet<Vec<u32>>,
    ) {
        let mut rest = true;
        for (actor, thread) in threads.iter().enumerate() {
            let Some(&access) = thread.get(at[actor]) else { continue };
            rest = false;
            let (mut choice, mut choices) = (0, 1);
            while choice < choices {
                let memory = memory.clone();
                memory.act(actor as u8, choice);
                let result = match access {
                    Load(word, order) => Some(memory.load(word, order)),
                    Store(word, value, order) => {
                        memory.store(word, value, order);
                        None
                    }
                    Add(word, value, order) => Some(memory.fetch_add(word, value, order)),
                    Exchange(word, current, new, order) => {
                        let failure = if order == Relaxed { Relaxed } else { Acquire };
                        Some(match memory.compare_exchange(word, current, new, order, failure) {
                            Ok(held) => held,
                            Err(held) => 100 + held,
                        })
                    }
                };
                choices = memory.choices();
                choice += 1;
                read[actor].extend(result);
                at[actor] += 1;
                go(threads, &memory, at, read, all);
                at[actor] -= 1;
                if result.is_some() {
                    read[actor].pop();
                }
            }
        }
        if rest {
            all.insert(read.concat());
        }
    }
    let mut all = BTreeSet::new();
    let mut memory = M::new(2, threads.len() as u8);
    memory.start();
    go(threads, &memory, &mut vec![0; threads.len()], &mut vec![Vec::new(); threads.len()], &mut all);
    all
}

/// The weak outcome of a test: possible or not under release and acquire, never under sequential
/// consistency; and every sequentially consistent outcome is one of release and acquire too.
#[track_caller]
fn check(threads: &[&[Do]], weak: &[u32], possible: bool) {
    let (sc, ra) = (outcomes::<Words>(threads), outcomes::<Views>(threads));
    assert!(!sc.contains(weak), "{weak:?} is no weak outcome: {sc:?}");
    assert!(sc.is_subset(&ra), "missing: {:?}", sc.difference(&ra).collect::<Vec<_>>());
    assert_eq!(ra.contains(weak), possible, "{weak:?} in {ra:?}");
}

#[test]
fn store_buffering() {
    let test = |store, load| [[Store(X, 1, store), Load(Y, load)], [Store(Y, 1, store), Load(X, load)]];
    let check_with = |store, load, possible| {
        let [one, two] = test(store, load);
        check(&[&one, &two], &[0, 0], possible);
    };
    check_with(Relaxed, Relaxed, true);
    check_with(Release, Acquire, true);
    check_with(SeqCst, SeqCst, false);
}

#[test]
fn message_passing() {
    let check_with = |store, load, possible| {
        let write = [Store(X, 1, Relaxed), Store(Y, 1, store)];
        let read = [Load(Y, load), Load(X, Relaxed)];
        check(&[&write, &read], &[1, 0], possible);
    };
    check_with(Relaxed, Relaxed, true);
    check_with(Release, Relaxed, true);
    check_with(Relaxed, Acquire, true);
    check_with(Release, Acquire, false);
}

/// Nothing is speculated, so load buffering, which C++ allows with relaxed accesses, is not found.
#[test]
fn load_buffering_is_not_found() {
    let one = [Load(X, Relaxed), Store(Y, 1, Relaxed)];
    let two = [Load(Y, Relaxed), Store(X, 1, Relaxed)];
    check(&[&one, &two], &[1, 1], false);
}

/// Coherence of reads: two loads of one word never see its changes in the wrong order.
#[test]
fn coherence_of_reads() {
    let write = [Store(X, 1, Relaxed), Store(X, 2, Relaxed)];
    let read = [Load(X, Relaxed), Load(X, Relaxed)];
    check(&[&write, &read], &[2, 1], false);
    check(&[&write, &read], &[1, 0], false);
    let stale = outcomes::<Views>(&[&write, &read]);
    assert!(stale.contains(&vec![0, 2]) && stale.contains(&vec![1, 2]), "{stale:?}");
    // And an actor sees its own stores.
    check(&[&[Store(X, 1, Relaxed), Load(X, Relaxed)]], &[0], false);
}

/// Independent reads of independent writes: two readers may disagree about the order, even with
/// release and acquire. Only sequential consistency forbids it.
#[test]
fn independent_reads_of_independent_writes() {
    let check_with = |store, load, possible| {
        let (one, two) = ([Store(X, 1, store)], [Store(Y, 1, store)]);
        let (three, four) = ([Load(X, load), Load(Y, load)], [Load(Y, load), Load(X, load)]);
        check(&[&one, &two, &three, &four], &[1, 0, 1, 0], possible);
    };
    check_with(Release, Acquire, true);
    check_with(SeqCst, SeqCst, false);
}

/// Causality is transitive: who hears it from somebody who has heard it knows it too.
#[test]
fn write_to_read_causality() {
    let check_with = |order, possible| {
        let one = [Store(X, 1, Relaxed)];
        let two = [Load(X, Relaxed), Store(Y, 1, order)];
        let three = [Load(Y, Acquire), Load(X, Relaxed)];
        check(&[&one, &two, &three], &[1, 1, 0], possible);
    };
    check_with(Release, false);
    check_with(Relaxed, true);
}

/// Two increments never get the same value, however weak.
#[test]
fn read_modify_writes_are_atomic() {
    let add = [Add(X, 1, Relaxed)];
    assert_eq!(outcomes::<Views>(&[&add, &add]), BTreeSet::from([vec![0, 1], vec![1, 0]]));
    let take = [Exchange(X, 0, 1, Relaxed)];
    assert_eq!(outcomes::<Views>(&[&take, &take]), BTreeSet::from([vec![0, 101], vec![101, 0]]));
}

/// A refused exchange may have seen an old value that is not the expected one either.
#[test]
fn a_refused_exchange_is_a_load() {
    let write = [Store(X, 1, Relaxed), Store(X, 2, Relaxed)];
    let take = [Exchange(X, 2, 3, Relaxed)];
    let expected = BTreeSet::from([vec![2], vec![100], vec![101]]);
    assert_eq!(outcomes::<Views>(&[&write, &take]), expected);
}

/// A release sequence: a relaxed read-modify-write hands on what the release before it carries; a
/// relaxed store does not.
#[test]
fn release_sequences() {
    let write = [Store(X, 1, Relaxed), Store(Y, 1, Release)];
    let read = [Load(Y, Acquire), Load(X, Relaxed)];
    check(&[&write, &[Add(Y, 1, Relaxed)], &read], &[1, 2, 0], false);
    check(&[&write, &[Load(Y, Relaxed), Store(Y, 2, Relaxed)], &read], &[1, 2, 0], true);
    // Two that release hand on both.
    let both = [Load(Y, Acquire), Load(X, Relaxed)];
    let (one, two) = ([Store(X, 1, Relaxed), Add(Y, 1, Release)], [Add(Y, 1, Release)]);
    check(&[&one, &two, &both], &[0, 1, 2, 0], false);
}

/// Known gap, stated in the module's text: two writers of two words, each first on the other's.
#[test]
fn stores_are_ordered_as_executed() {
    let one = [Store(X, 1, Relaxed), Store(Y, 2, Relaxed), Load(Y, Relaxed)];
    let two = [Store(Y, 1, Relaxed), Store(X, 2, Relaxed), Load(X, Relaxed)];
    check(&[&one, &two], &[1, 1], false);
}

/// Data: what is written without synchronisation is known through what carries it, and not else.
#[test]
fn data_travel_with_views() {
    for (order, known) in [(Release, true), (Relaxed, false)] {
        let mut memory = Views::new(1, 3);
        memory.start();
        memory.write(0, 5);
        memory.act(0, 0);
        memory.store(X, 1, order);
        memory.act(1, 0);
        assert_eq!(memory.load(X, Acquire), 1);
        assert_eq!((memory.knows(0, 5), memory.knows(1, 5), memory.knows(2, 5)), (true, known, false));
        memory.see(2, &memory.view(0));
        assert!(memory.knows(2, 5));
    }
}
