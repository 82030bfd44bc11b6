//! The worked timeline of ge-dump spec §5.14, the life cycle, and what a device may do wrong.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::dump::batch::Batch;
use crate::dump::log::Lines;
use crate::dump::model::{Slot, Tensor};
use crate::dump::record::Record;
use crate::dump::selection::tests::{model_of, properties_of};
use crate::dump::sink::{DumpSink, Loss};
use crate::dump::target::Located;
use crate::dump::worker;
use crate::machine::LocalMemory;

/// A device whose bytes are their address; parts of it can be made unreadable, unknown or absent.
#[derive(Debug, Default)]
struct Fake {
    unreadable: Vec<u64>,
    absent: Vec<Slot>,
    unknown: Vec<Slot>,
    short: Vec<Slot>,
    syncs: RefCell<u32>,
}

impl Target for Fake {
    fn address(&self, slice: Slice) -> Option<u64> {
        Some(0x1000 * (u64::from(slice.allocation) + 1) + slice.offset)
    }
    fn locate(&self, slot: Slot, tensor: &Tensor) -> Located {
        let Some(slice) = tensor.slice.filter(|_| !self.absent.contains(&slot)) else {
            return Located::default();
        };
        let room = if self.short.contains(&slot) { 1 } else { slice.size };
        Located { address: self.address(slice).unwrap_or(0), room }
    }
    fn shape(&self, slot: Slot, tensor: &Tensor, dims: &mut Vec<u64>) -> bool {
        dims.extend(&tensor.shape);
        !self.unknown.contains(&slot)
    }
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        if self.unreadable.contains(&address) {
            return Err(Unreadable);
        }
        bytes.fill((address >> 12) as u8);
        Ok(())
    }
    fn sync(&self) {
        *self.syncs.borrow_mut() += 1;
    }
}

/// Keeps `op:phase:inputs/outputs` per record.
#[derive(Debug, Default)]
struct Seen(Vec<String>);

impl DumpSink for Seen {
    fn put(&mut self, record: &Record<'_>, _: &mut dyn Journal) -> Result<String, Loss> {
        use crate::dump::record::Part;
        let count = |part| record.payloads.iter().filter(|p| p.part == part).count();
        let identity = &record.identity;
        self.0.push(format!(
            "{}:{}:{}/{}",
            identity.op,
            identity.phase,
            count(Part::Input),
            count(Part::Output)
        ));
        Ok(String::new())
    }
}

struct World {
    dumper: Dumper<LocalMemory>,
    lanes: Vec<Lane>,
    fake: Fake,
    lines: Lines,
}

impl World {
    fn new(model: Model, switch: &Switch) -> Self {
        let dumper = Dumper::new(Arc::new(model), Scene::Model, 0, LocalMemory::new);
        let lanes = vec![dumper.lane(0, 0, 16)];
        let mut world = Self { dumper, lanes, fake: Fake::default(), lines: Lines::default() };
        world.model_start(switch);
        world
    }
    fn model_start(&mut self, switch: &Switch) {
        self.dumper.model_start(switch, &mut self.lanes, &self.fake, &mut self.lines);
    }
    fn start(&mut self, node: u32) -> Vec<String> {
        self.dumper.execute_start(at(node), &mut self.lanes[0], &self.fake, 1, &mut self.lines);
        self.records()
    }
    fn end(&mut self, node: u32) -> Vec<String> {
        self.end_with(node, Status::Ok)
    }
    fn end_with(&mut self, node: u32, status: Status) -> Vec<String> {
        self.dumper.execute_end(at(node), status, &mut self.lanes[0], &self.fake, 1, &mut self.lines);
        self.records()
    }
    fn model_end(&mut self) -> Summary {
        self.dumper.model_end(&mut self.lanes, &self.fake, &mut self.lines)
    }
    fn records(&mut self) -> Vec<String> {
        let mut seen = Seen::default();
        worker::drain(&mut self.lanes[0].batch, &mut seen, &mut self.lines);
        seen.0
    }
    fn says(&self, text: &str) -> bool {
        self.lines.lines.iter().any(|line| line.text.contains(text))
    }
}

fn at(node: u32) -> ThunkRef {
    ThunkRef { sequence: 0, node }
}

fn switch(generation: u64, properties: Properties) -> Switch {
    Switch { generation, properties: Arc::new(properties) }
}

fn uses() -> Value {
    json!([{ "allocation": 0, "size": 8, "access": "read" }, { "allocation": 1, "size": 8, "access": "write" }])
}

/// t0 InferShape(A), t1 Alloc(A), t2 Launch(A), t3 InferShape(R), t4 Alloc(R), t5 LaunchHcom(R), t6 Launch(N).
fn timeline() -> Model {
    model_of(
        json!([
            { "kind": "other", "sets_shape": [2] },
            { "kind": "other", "sets_address": [2] },
            { "kind": "kernel", "name": "A", "uses": uses() },
            { "kind": "other", "sets_shape": [5] },
            { "kind": "other", "sets_address": [5] },
            { "kind": "all-reduce", "name": "R", "op_type": "HcomAllReduce", "uses": uses() },
            { "kind": "kernel", "name": "N", "uses": uses() },
        ]),
        json!({ "mode": "dynamic" }),
    )
}

const NONE: [&str; 0] = [];

#[test]
fn the_worked_timeline() {
    let on = switch(1, properties_of(r#""dump_mode": "all", "dump_step": "1", "dump_list": [{}]"#));
    let mut world = World::new(timeline(), &on);
    assert_eq!((0..3).map(|op| world.dumper.total(op)).collect::<Vec<_>>(), [3, 3, 1]);
    // Iteration 0: the gate is closed.
    assert!(!world.dumper.watches());
    for node in 0..6 {
        assert_eq!(world.start(node), NONE);
        assert_eq!(world.end(node), NONE);
    }
    assert_eq!(world.model_end().counts.skipped.of(Skip::StepMismatch), 6);
    // Iteration 1.
    world.model_start(&on);
    assert!(world.dumper.watches());
    assert_eq!((world.end(0), world.end(1), world.start(2)), (vec![], vec![], vec![]));
    assert_eq!(world.end(2), ["A:whole:1/1"]);
    assert_eq!((world.end(3), world.end(4)), (vec![], vec![]));
    assert_eq!(world.start(5), ["R:in:1/0"]);
    // The switch goes off now: nothing of it is seen before the next ModelStart.
    let off = switch(2, Properties::default());
    assert_eq!(world.end(5), ["R:out:0/1"]);
    let summary = world.model_end();
    assert_eq!(
        (summary.iteration, summary.counts.ops_due, summary.counts.skipped.of(Skip::NeverDue)),
        (1, 2, 2)
    );
    // Iteration 2.
    world.model_start(&off);
    assert!(!world.dumper.watches());
    assert_eq!(world.end(2), NONE);
    world.model_end();
    assert_eq!(world.dumper.iteration(), 3);
}

#[test]
fn one_wait_at_the_end_of_an_iteration_that_dumped() {
    let on = switch(1, properties_of(r#""dump_list": [{"layer": ["A"]}]"#));
    let mut world = World::new(timeline(), &on);
    world.model_end();
    assert_eq!(*world.fake.syncs.borrow(), 0);
    world.model_start(&on);
    for node in 0..3 {
        world.dumper.execute_end(at(node), Status::Ok, &mut world.lanes[0], &world.fake, 1, &mut world.lines);
    }
    world.model_end();
    assert_eq!(*world.fake.syncs.borrow(), 1);
}

#[test]
fn p18_a_start_in_a_running_iteration_ends_it_first() {
    let on = switch(1, properties_of(r#""dump_list": [{}]"#));
    let mut world = World::new(timeline(), &on);
    assert_eq!(world.dumper.state(), State::Running);
    world.end(0);
    world.model_start(&on);
    assert!(world.says("ModelStart in a running iteration"));
    assert_eq!((world.dumper.state(), world.dumper.iteration()), (State::Running, 1));
    // Nothing of the first is left.
    assert_eq!((world.end(1), world.end(2)), (vec![], vec![]));
    assert_eq!(world.end(0), ["A:whole:0/1"]);
}

#[test]
fn life_cycle() {
    let mut world = World::new(timeline(), &Switch::off());
    assert_eq!(world.dumper.state(), State::Uninit);
    assert_eq!(world.model_end().iteration, 0);
    world.model_start(&switch(1, properties_of(r#""dump_list": [{}]"#)));
    assert_eq!(world.dumper.state(), State::Running);
    world.model_end();
    assert_eq!((world.dumper.state(), world.dumper.iteration()), (State::Ready, 2));
}

#[test]
fn p19_a_constant_folded_op_is_dumped_once() {
    let model = model_of(
        json!([{ "kind": "kernel", "name": "c", "uses": uses(), "attributes": { "graph": "init" } }, { "kind": "kernel", "name": "k", "uses": uses() }]),
        json!({ "mode": "dynamic" }),
    );
    // An op of the initialising graph is no op at all here; one that only has initial parts is:
    assert_eq!(model.ops.len(), 1);
    let mut model = model;
    model.thunks[0][1] = Role::Init;
    let on = switch(1, properties_of(r#""dump_list": [{}]"#));
    let mut world = World::new(model, &on);
    assert_eq!(world.dumper.total(0), 0);
    assert_eq!(world.model_end().counts.ops_dumped, 1);
    assert_eq!(world.records(), ["k:whole:0/1"]);
    world.model_start(&on);
    let summary = world.model_end();
    assert_eq!((summary.counts.ops_dumped, summary.counts.skipped.of(Skip::ConstantFolded)), (0, 1));
}

#[test]
fn what_cannot_be_had_is_skipped_with_its_reason() {
    let all = switch(1, properties_of(r#""dump_mode": "all", "dump_list": [{"layer": ["A"]}]"#));
    let slot = |position| Slot { op: 0, position };
    use crate::dump::blacklist::Position::{Input, Output};
    for (fake, skip, record) in [
        (Fake { absent: vec![slot(Input(0))], ..Fake::default() }, Skip::NullAddress, "A:whole:0/1"),
        (Fake { unknown: vec![slot(Output(0))], ..Fake::default() }, Skip::ShapeUnknown, "A:whole:1/0"),
        (Fake { short: vec![slot(Output(0))], ..Fake::default() }, Skip::SizeMismatch, "A:whole:1/0"),
        (Fake { unreadable: vec![0x1000], ..Fake::default() }, Skip::CopyFailed, "A:whole:0/1"),
    ] {
        let mut world = World::new(timeline(), &all);
        world.fake = fake;
        assert_eq!((world.end(0), world.end(1)), (vec![], vec![]));
        assert_eq!(world.end(2), [record], "{skip}");
        let counts = world.model_end().counts;
        assert_eq!((counts.tensors, counts.skipped.of(skip)), (1, 1), "{skip}");
    }
}

#[test]
fn every_status_after_a_launch() {
    let on = switch(1, properties_of(r#""dump_debug": "on""#));
    for (status, dumped, says) in [
        (Status::Ok, false, ""),
        (Status::Overflow, true, "overflow in op `A`"),
        (Status::AiCoreOverflow, true, "overflow in op `A`"),
        (Status::VectorOverflow, true, "overflow in op `A`"),
        (Status::Timeout, false, "did not synchronise in time"),
        (Status::Failed, false, ""),
    ] {
        let mut world = World::new(timeline(), &on);
        world.end(0);
        world.end(1);
        let records = world.end_with(2, status);
        assert_eq!(records, if dumped { vec!["A:whole:1/1"] } else { vec![] }, "{status:?}");
        assert!(world.says(says), "{status:?}");
    }
}

#[test]
fn p17_exception_beside_data() {
    let mut properties = properties_of(r#""dump_list": [{"layer": ["A"]}]"#);
    properties.exception = Some(ExceptionLevel::Norm);
    let mut world = World::new(timeline(), &switch(1, properties));
    world.end(0);
    world.end(1);
    assert_eq!(world.end(2), ["A:whole:0/1"]);
    assert_eq!(
        world.end_with(6, Status::Failed),
        ["N:whole:1/1"],
        "everything, although data is outputs of A"
    );
    // Asked by numbers, the newest launch answers; one that is not remembered is told.
    let World { dumper, lanes, fake, lines, .. } = &mut world;
    assert!(dumper.exception(0, 2, None, &mut lanes[0], fake, 1, lines));
    assert!(!dumper.exception(0, 4, None, &mut lanes[0], fake, 1, lines));
    assert_eq!(world.records(), ["A:whole:1/1"]);
    assert!(world.says("no launch with these numbers"));
}

#[test]
fn an_exception_records_unreadable_memory_as_nothing() {
    let mut world =
        World::new(timeline(), &switch(1, properties_of(r#""dump_scene": "aic_err_brief_dump""#)));
    world.fake.unreadable = vec![0x1000, 0x2000];
    assert_eq!(world.end_with(2, Status::Failed), ["A:whole:1/1"]);
    assert!(world.says("could not be read"));
}

#[test]
fn exceptions_do_not_wait_for_the_step_filter_or_the_end() {
    let mut world = World::new(
        timeline(),
        &switch(1, properties_of(r#""dump_scene": "aic_err_norm_dump", "dump_step": "7""#)),
    );
    assert!(world.dumper.watches());
    assert_eq!(world.end_with(2, Status::Failed), ["A:whole:1/1"]);
}

#[test]
fn loads_and_unloads_alternate_and_filters_are_evaluated_anew() {
    let model = model_of(
        json!([{ "kind": "kernel", "name": "a", "uses": uses() }, { "kind": "kernel", "name": "b", "uses": uses() }]),
        json!({}),
    );
    let list = |layer: &str| properties_of(&format!(r#""dump_list": [{{"layer": ["{layer}"]}}]"#));
    let mut world = World::new(model, &switch(1, list("a")));
    assert_eq!(world.dumper.kernel().loaded().collect::<Vec<_>>(), [1]);
    assert_eq!((world.end(0), world.end(1)), (vec!["a:whole:0/1".to_owned()], vec![]));
    world.model_end();
    world.model_start(&switch(2, list("b")));
    assert_eq!((world.end(0), world.end(1)), (vec![], vec!["b:whole:0/1".to_owned()]));
    world.model_end();
    world.model_start(&switch(3, Properties::default()));
    assert_eq!(world.dumper.kernel().loaded().count(), 0);
    world.model_end();
    world.dumper.unload(&mut world.lines);
    world.model_start(&switch(4, list("a")));
    assert_eq!(world.end(0), ["a:whole:0/1"]);
    world.dumper.unload(&mut world.lines);
    world.dumper.unload(&mut world.lines);
    assert!(!world.lines.lines.iter().any(|line| line.text.contains("refused")), "{:#?}", world.lines.lines);
}

#[test]
fn t24_an_unload_names_everything_that_was_loaded() {
    use crate::dump::message::OpMappingInfo;
    use prost::Message;
    let model = model_of(
        json!([
            { "kind": "kernel", "name": "f", "uses": uses(), "contexts": [{ "context_id": 1, "thread_id": 0, "outputs": [{ "allocation": 1, "size": 8 }] }] },
            { "kind": "kernel", "name": "k", "uses": uses() },
        ]),
        json!({}),
    );
    let properties = properties_of(r#""dump_list": [{}]"#);
    let selection = Selection::new(&model, &properties, Matching::Union);
    let (references, fake) = (References::new(&model), Fake::default());
    let context = LoadContext {
        model: &model,
        properties: &properties,
        selection: &selection,
        references: &references,
        target: &fake,
        device: 0,
        l1: 0,
        submodel: None,
    };
    let mut dumper = DataDumper::default();
    let load = dumper.load(context, &mut Skips::default(), &mut ()).expect("a message");
    let load = OpMappingInfo::decode(&load[..]).expect("decodes");
    assert_eq!((load.flag, load.model_name.as_deref(), load.dump_path.as_str()), (1, Some("m"), "/d/0/"));
    assert!(dumper.load(context, &mut Skips::default(), &mut ()).is_none(), "a second load is none");
    let unload = OpMappingInfo::decode(&dumper.unload(&mut ()).expect("a message")[..]).expect("decodes");
    let ids =
        |mapping: &OpMappingInfo| mapping.task.iter().map(|t| (t.task_id, t.stream_id)).collect::<Vec<_>>();
    assert_eq!((unload.flag, ids(&unload)), (0, ids(&load)));
    assert!(ids(&unload).contains(&(65_535, 65_535)));
    assert!(dumper.unload(&mut ()).is_none());
}

#[test]
fn t18_t13_lanes_do_not_grow() {
    let model = model_of(
        json!([{ "kind": "kernel", "name": "k", "uses": uses(), "workspace": [{ "allocation": 2, "size": 8 }, { "allocation": 3, "size": 8 }] }]),
        json!({ "mode": "dynamic" }),
    );
    let on = switch(1, properties_of(r#""dump_mode": "all", "dump_list": [{}]"#));
    let mut world = World::new(model, &on);
    let mut bytes = Vec::new();
    for _ in 0..3 {
        world.dumper.execute_end(at(0), Status::Ok, &mut world.lanes[0], &world.fake, 1, &mut world.lines);
        bytes.push(world.lanes[0].batch.len());
        world.records();
        world.model_end();
        world.model_start(&on);
    }
    // The step takes no more room either: it is in the header.
    assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]), "{bytes:?}");
}

#[test]
fn kernel_refuses_what_does_not_alternate() {
    use crate::dump::kernel::Refused;
    use crate::dump::message::OpMappingInfo;
    use prost::Message;
    let message =
        |flag| OpMappingInfo { model_id: Some(4), flag, ..OpMappingInfo::default() }.encode_to_vec();
    let mut kernel = DumpKernel::default();
    assert_eq!(kernel.accept(&message(0)), Err(Refused::NotLoaded));
    assert_eq!(kernel.accept(&message(1)), Ok(()));
    assert_eq!(kernel.accept(&message(1)), Err(Refused::LoadedTwice));
    assert_eq!(kernel.accept(&message(0)), Ok(()));
    assert_eq!(kernel.accept(&[0xff]), Err(Refused::NoMessage));
    assert_eq!(crate::dump::kernel::device_step(3, 4, 2), 17);
}

#[test]
fn lanes_have_room_for_the_largest_op() {
    let big = json!([{ "allocation": 0, "size": 3 << 20, "access": "write" }]);
    let model =
        model_of(json!([{ "kind": "kernel", "name": "k", "uses": big }]), json!({ "mode": "dynamic" }));
    let mut world = World::new(model, &switch(1, properties_of(r#""dump_list": [{}]"#)));
    assert_eq!(world.end(0), ["k:whole:0/1"]);
    assert!(Batch::new(0).is_empty());
}
