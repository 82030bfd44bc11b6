//! The executor's shared state on the atomics of model checkers: the same machine, the same code,
//! another `Memory`.
//!
//! `loom` goes through every interleaving of a small world with C++ orderings; `shuttle` through
//! seeded schedules of larger ones. Both are second opinions to `explore`, written by others.

/// A memory over the atomics of a checker, and a driver over its threads and locks: tasks and
/// continuations run on threads of their own, pending thunks complete on others.
macro_rules! world {
    ($checker:ident) => {
        use std::collections::VecDeque;

        use thunkscope_core::executor::{
            Attached, Begin, Completed, Continuation, Event, Failure, Plan, ReadyQueue, Run, Runner, Session,
            State, Task, Worker,
        };
        use thunkscope_core::graph::{EdgeKind, Graph};
        use thunkscope_core::machine::{Memory, Word};
        use $checker::sync::atomic::{AtomicU32, Ordering};
        use $checker::sync::{Arc, Mutex};
        use $checker::thread;

        /// Words as the checker's atomics.
        pub(super) struct Words(Vec<AtomicU32>);

        impl Words {
            pub(super) fn new(words: usize) -> Self {
                Self((0..words).map(|_| AtomicU32::new(0)).collect())
            }
        }

        impl Memory for Words {
            fn load(&self, word: Word, order: Ordering) -> u32 {
                self.0[word.0 as usize].load(order)
            }
            fn store(&self, word: Word, value: u32, order: Ordering) {
                self.0[word.0 as usize].store(value, order);
            }
            fn swap(&self, word: Word, value: u32, order: Ordering) -> u32 {
                self.0[word.0 as usize].swap(value, order)
            }
            fn fetch_add(&self, word: Word, value: u32, order: Ordering) -> u32 {
                self.0[word.0 as usize].fetch_add(value, order)
            }
            fn fetch_sub(&self, word: Word, value: u32, order: Ordering) -> u32 {
                self.0[word.0 as usize].fetch_sub(value, order)
            }
            fn compare_exchange(
                &self,
                word: Word,
                current: u32,
                new: u32,
                success: Ordering,
                failure: Ordering,
            ) -> Result<u32, u32> {
                self.0[word.0 as usize].compare_exchange(current, new, success, failure)
            }
        }

        /// What a world is made of.
        #[derive(Clone, Debug)]
        pub(super) struct Setup {
            pub(super) graph: Graph,
            pub(super) priorities: Vec<u32>,
            /// By thunk.
            pub(super) pending: Vec<bool>,
            pub(super) blocking: Vec<bool>,
            pub(super) fails: Vec<bool>,
            pub(super) max_workers: u32,
            pub(super) split_threshold: u32,
        }

        impl Setup {
            #[allow(dead_code, reason = "one of the two worlds is made of plans")]
            pub(super) fn of(plan: &Plan<'_>, max_workers: u32, split_threshold: u32) -> Self {
                let thunks = &plan.sequence.thunks;
                Self {
                    graph: plan.graph.clone(),
                    priorities: plan.priorities().to_vec(),
                    pending: thunks.iter().map(|thunk| thunk.pending).collect(),
                    blocking: thunks.iter().map(|thunk| thunk.may_block).collect(),
                    fails: vec![false; thunks.len()],
                    max_workers,
                    split_threshold,
                }
            }
        }

        /// One run, shared by its threads.
        struct Shared {
            setup: Setup,
            state: State<Words>,
            session: Session<Words>,
            /// A word each.
            events: Words,
            /// Continuations that wait, with whether they hold a place in the session.
            attached: Mutex<Vec<Option<(Continuation, bool)>>>,
            /// What thunks have done: written and read relaxed, so that only the executor's own
            /// orderings can make it visible.
            done: Vec<AtomicU32>,
            /// How often each thunk began.
            began: Vec<AtomicU32>,
            ends: AtomicU32,
            threads: Mutex<VecDeque<thread::JoinHandle<()>>>,
        }

        struct Spawner(Arc<Shared>);

        impl<Q: ReadyQueue + Send + 'static> Runner<Q> for Spawner {
            fn available(&self) -> bool {
                true
            }
            fn post(&mut self, task: Task<Q>) {
                let shared = Arc::clone(&self.0);
                spawn(&self.0, move || work(&shared, Worker::take(task.ready), true));
            }
        }

        fn spawn(shared: &Arc<Shared>, body: impl FnOnce() + Send + 'static) {
            let handle = thread::spawn(body);
            shared.threads.lock().expect("no panic before").push_back(handle);
        }

        /// The observer: counts the ends of the run, which is all that it has to see.
        struct Ends<'s>(&'s Shared);
        impl thunkscope_core::executor::Observer for Ends<'_> {
            fn on(&mut self, happening: thunkscope_core::executor::Happening) {
                if matches!(happening, thunkscope_core::executor::Happening::Done(_)) {
                    self.0.ends.fetch_add(1, Ordering::Relaxed);
                    // The run is over: whoever is told sees everything.
                    for (node, done) in self.0.done.iter().enumerate() {
                        assert_eq!(done.load(Ordering::Relaxed), 1, "the run ended before thunk {node}");
                    }
                }
            }
        }

        fn run<'s>(shared: &'s Shared) -> Run<'s, Words> {
            Run {
                graph: shared.setup.graph.successors(),
                priorities: &shared.setup.priorities,
                state: &shared.state,
                session: &shared.session,
                split_threshold: shared.setup.split_threshold,
            }
        }

        /// A thunk's body: all that it waits for must be visible.
        fn begin(shared: &Shared, node: u32) {
            assert_eq!(shared.began[node as usize].fetch_add(1, Ordering::Relaxed), 0, "{node} began twice");
            for edge in shared.setup.graph.incoming(node) {
                if edge.kind == EdgeKind::Execution {
                    let done = shared.done[edge.node as usize].load(Ordering::Relaxed);
                    assert_eq!(done, 1, "{node} does not see {}", edge.node);
                }
            }
        }

        fn end(shared: &Shared, node: u32) {
            shared.done[node as usize].store(1, Ordering::Relaxed);
        }

        fn result(shared: &Shared, node: u32) -> Result<(), Failure> {
            if shared.setup.fails[node as usize] { Err(Failure { node }) } else { Ok(()) }
        }

        fn work<Q: ReadyQueue + Send + 'static>(
            shared: &Arc<Shared>,
            mut worker: Worker<Q>,
            mut place: bool,
        ) {
            let run = run(shared);
            let see = || Ends(shared);
            loop {
                let may_block = |node: u32| shared.setup.blocking[node as usize];
                let mut runner = Spawner(Arc::clone(shared));
                match worker.begin(&run, may_block, &mut runner, &mut see()) {
                    Begin::Idle => break,
                    Begin::Posted => {}
                    Begin::Skip(node) => {
                        assert_eq!(shared.began[node as usize].fetch_add(1, Ordering::Relaxed), 0);
                        end(shared, node);
                        worker.finish(&run, node, Ok(()), &mut see());
                    }
                    Begin::Execute(node) if shared.setup.pending[node as usize] => {
                        begin(shared, node);
                        let completer = Arc::clone(shared);
                        spawn(shared, move || complete::<Q>(&completer, node));
                        let continuation = worker.suspend(&run, node, &mut see());
                        let handed = place && worker.ready.len() == 0;
                        place &= !handed;
                        let stored = Some((continuation, handed));
                        shared.attached.lock().expect("no panic before")[node as usize] = stored;
                        if Event::new(&shared.events, Word(node)).attach() != Attached::Waits {
                            shared.attached.lock().expect("no panic before")[node as usize] = None;
                            place |= handed;
                            worker.resume(&run, continuation, result(shared, node), &mut see());
                        }
                    }
                    Begin::Execute(node) => {
                        begin(shared, node);
                        end(shared, node);
                        worker.finish(&run, node, result(shared, node), &mut see());
                    }
                }
            }
            if place {
                shared.session.leave();
            }
        }

        /// A pending thunk completes: its thread goes on from there.
        fn complete<Q: ReadyQueue + Send + 'static>(shared: &Arc<Shared>, node: u32) {
            end(shared, node);
            let well = result(shared, node).is_ok();
            match Event::new(&shared.events, Word(node)).complete(well) {
                Completed::Early => return,
                Completed::Continue => {}
                Completed::Twice => panic!("the event of {node} has completed before"),
            }
            let stored = shared.attached.lock().expect("no panic before")[node as usize].take();
            let (continuation, place) = stored.expect("the event has a continuation");
            if !place {
                shared.session.join();
            }
            let mut worker = Worker::take(Q::default());
            worker.resume(&run(shared), continuation, result(shared, node), &mut Ends(shared));
            work(shared, worker, true);
        }

        /// Runs a world to its end and checks what must hold of it.
        pub(super) fn whole_run<Q: ReadyQueue + Send + 'static>(setup: &Setup) {
            let graph = &setup.graph;
            let nodes = graph.len() as usize;
            let atomics = || (0..nodes).map(|_| AtomicU32::new(0)).collect();
            let shared = Arc::new(Shared {
                setup: setup.clone(),
                state: State::new(Words::new(State::<Words>::words(graph.len())), graph),
                session: Session::new(Words::new(Session::<Words>::WORDS), setup.max_workers),
                events: Words::new(nodes),
                attached: Mutex::new((0..nodes).map(|_| None).collect()),
                done: atomics(),
                began: atomics(),
                ends: AtomicU32::new(0),
                threads: Mutex::new(VecDeque::new()),
            });
            let worker = Worker::<Q>::start(&run(&shared));
            work(&shared, worker, false);
            loop {
                let next = shared.threads.lock().expect("no panic before").pop_front();
                let Some(handle) = next else { break };
                handle.join().expect("no panic");
            }
            assert!(shared.state.is_done());
            assert_eq!(shared.ends.load(Ordering::Relaxed), u32::from(nodes > 0));
            assert_eq!(shared.state.pending_nodes(), 0);
            assert_eq!(shared.session.workers(), 0);
            assert!(shared.began.iter().all(|began| began.load(Ordering::Relaxed) == 1));
            match shared.state.failure() {
                None => assert!(!setup.fails.contains(&true)),
                Some(failure) => assert!(setup.fails[failure.node as usize]),
            }
        }
    };
}

mod every_one {
    //! `loom`: every interleaving, with C++ orderings. Bounds and cost are noted at each test.

    world!(loom);

    use thunkscope_core::executor::{Fifo, Lifo};
    use thunkscope_core::graph::Edge;

    fn explore(preemptions: Option<usize>, body: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        builder.check(body);
    }

    fn setup(incoming: &[&[(u32, EdgeKind)]], pending: &[u32]) -> Setup {
        let edge = |&(node, kind): &(u32, EdgeKind)| Edge { node, kind };
        let incoming: Vec<Vec<Edge>> = incoming.iter().map(|list| list.iter().map(edge).collect()).collect();
        let graph = Graph::from_incoming(&incoming);
        let nodes = graph.len();
        Setup {
            priorities: graph.priorities(),
            graph,
            pending: (0..nodes).map(|node| pending.contains(&node)).collect(),
            blocking: vec![false; nodes as usize],
            fails: vec![false; nodes as usize],
            max_workers: 2,
            split_threshold: 0,
        }
    }

    /// Two workers under a cap of one: one of them joins, in every order. All interleavings.
    #[test]
    fn the_cap_is_exact() {
        explore(None, || {
            let session = Arc::new(Session::new(Words::new(1), 1));
            let other = Arc::clone(&session);
            let handle = thread::spawn(move || other.try_join());
            let mine = session.try_join();
            let theirs = handle.join().expect("no panic");
            assert!(mine ^ theirs, "{mine} {theirs}");
            assert_eq!(session.workers(), 1);
        });
    }

    /// Completion and continuation meet: exactly one of the two goes on, and it sees what the
    /// other left. All interleavings.
    #[test]
    fn an_event_is_met_once() {
        explore(None, || {
            let word = Arc::new(Words::new(1));
            let (result, stored) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            let completer = (Arc::clone(&word), Arc::clone(&result), Arc::clone(&stored));
            let handle = thread::spawn(move || {
                let (word, result, stored) = completer;
                result.store(1, Ordering::Relaxed);
                let goes_on = Event::new(&*word, Word(0)).complete(true) == Completed::Continue;
                assert!(!goes_on || stored.load(Ordering::Relaxed) == 1, "the continuation is not visible");
                goes_on
            });
            stored.store(1, Ordering::Relaxed);
            let goes_on = Event::new(&*word, Word(0)).attach() != Attached::Waits;
            assert!(!goes_on || result.load(Ordering::Relaxed) == 1, "the result is not visible");
            assert!(goes_on ^ handle.join().expect("no panic"));
        });
    }

    /// Two sources, one of them given away, and a sink that waits for both: counters hand on what
    /// both have done. All interleavings.
    #[test]
    fn counters_hand_on_what_was_done() {
        let join = setup(&[&[], &[], &[(0, EdgeKind::Execution), (1, EdgeKind::Execution)]], &[]);
        explore(None, move || whole_run::<Fifo>(&join));
    }

    /// Two sinks end at the same time: one of them ends the run, and whoever is told sees both.
    /// All interleavings.
    #[test]
    fn pending_nodes_end_the_run_once() {
        let sinks = setup(&[&[], &[]], &[]);
        explore(None, move || whole_run::<Lifo>(&sinks));
    }

    /// A pending thunk that releases a scheduling edge and may complete before, between and after.
    /// Three preemptions: all of them take minutes.
    #[test]
    fn a_pending_thunk_does_not_outlive_the_run() {
        let scheduled = setup(&[&[], &[(0, EdgeKind::Scheduling)]], &[0]);
        explore(Some(3), move || whole_run::<Fifo>(&scheduled));
    }

    /// A pending source, given away or not, and a sink that waits for both. Two preemptions.
    #[test]
    fn a_continuation_hands_on_what_was_done() {
        let join = setup(&[&[], &[], &[(0, EdgeKind::Execution), (1, EdgeKind::Execution)]], &[1]);
        explore(Some(2), move || whole_run::<Fifo>(&join));
    }

    /// Does loom see what it should? A release that is none is found.
    #[test]
    #[should_panic(expected = "not visible")]
    fn a_weak_store_is_found() {
        explore(None, || {
            let (flag, data) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            let writer = (Arc::clone(&flag), Arc::clone(&data));
            let handle = thread::spawn(move || {
                writer.1.store(1, Ordering::Relaxed);
                writer.0.store(1, Ordering::Relaxed);
            });
            let seen = flag.load(Ordering::Acquire);
            assert!(seen == 0 || data.load(Ordering::Relaxed) == 1, "the data are not visible");
            handle.join().expect("no panic");
        });
    }
}

mod seeded {
    //! `shuttle`: seeded schedules of larger worlds, sequentially consistent.

    world!(shuttle);

    use shuttle::scheduler::RandomScheduler;
    use thunkscope_core::executor::{Fifo, Lifo, Options, Priority};
    use thunkscope_core::program::Program;
    use thunkscope_core::sim;

    /// Schedules of one world.
    const SCHEDULES: usize = 40;
    /// Worlds; with the schedules of each, 1,200 in all.
    const WORLDS: u64 = 30;

    /// A seeded program of up to 24 thunks without control flow, some of them pending, blocking or
    /// failing.
    fn setup(seed: u64) -> Setup {
        let (mut program, options) = sim::seeded(seed);
        program.sequence.thunks.truncate(24);
        program.sequence.thunks.iter_mut().for_each(|thunk| thunk.nested.clear());
        let program = Program { name: "shuttle".to_owned(), ..program };
        let plans = Plan::all(&program, &Options::default()).expect("a graph");
        let mut setup = Setup::of(&plans[0], (seed % 4) as u32, (seed % 3) as u32);
        if let Some(fault) = options.faults.first()
            && let Some(fails) = setup.fails.get_mut(fault.node as usize)
        {
            *fails = true;
        }
        setup
    }

    fn check<Q: ReadyQueue + Send + 'static>(rest: u64) {
        for seed in (0..WORLDS).filter(|seed| seed % 3 == rest) {
            let setup = setup(seed);
            let scheduler = RandomScheduler::new_from_seed(seed, SCHEDULES);
            let runner = shuttle::Runner::new(scheduler, shuttle::Config::default());
            let schedules = runner.run(move || whole_run::<Q>(&setup));
            assert_eq!(schedules, SCHEDULES, "seed {seed}");
        }
    }

    #[test]
    fn fifo() {
        check::<Fifo>(0);
    }
    #[test]
    fn lifo() {
        check::<Lifo>(1);
    }
    #[test]
    fn priority() {
        check::<Priority>(2);
    }
}
