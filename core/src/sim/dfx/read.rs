//! Scenario files: every field checked, with its path and what is allowed there.

use serde_json::{Map, Value};

use super::scenario::{Dump, FORMAT, Host, Order, Scenario, Workload};
use crate::dfx::{Fault, PeerGate, Policy, PoolKind, Profile, Rules, Subsystem, Transport};
use crate::diagnostic::Diagnostic;
use crate::program::{Shape, json};
use crate::sim::Costs;

/// Longest file that is read, in bytes.
const MAX_TEXT: usize = 64 << 20;

/// Reads a scenario.
///
/// # Errors
/// `DX001` no JSON, `DX002` another format, `DX003` a field that is not known, `DX004` a value of
/// another type or out of its range, `DX005` sizes that cannot work; for the program inside,
/// `PG001` to `PG012`.
pub fn read(text: &[u8]) -> Result<Scenario, Diagnostic> {
    if text.len() > MAX_TEXT {
        return Err(Diagnostic::error("DX001", "$", format!("at most {MAX_TEXT} bytes of JSON"))
            .found(format!("{} bytes", text.len())));
    }
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        Diagnostic::error("DX001", format!("line {} column {}", error.line(), error.column()), "JSON")
            .found(error)
    })?;
    scenario(value)
}

/// Reads a scenario that is JSON already.
///
/// # Errors
/// As [`read`].
pub fn scenario(value: Value) -> Result<Scenario, Diagnostic> {
    let mut root = Object::new(value, "$")?;
    match root.take("format") {
        Some(Value::String(format)) if format == FORMAT => {}
        found => {
            return Err(Diagnostic::error("DX002", "$.format", FORMAT)
                .found(found.map_or("nothing".to_owned(), |found| found.to_string())));
        }
    }
    let (name, about) = (root.text("name", "scenario")?, root.text("about", "")?);
    let profile_name = root.one_of("profile", &["custom", "a2a3", "a5"])?;
    let device = match profile_name {
        "a2a3" => Profile::a2a3(),
        "a5" => Profile::a5(),
        _ => Profile::custom(64, 256),
    };
    let lanes = root.number("lanes", device.max_lanes.min(4).into(), 2, device.max_lanes.into())? as u32;
    let cores = root.number("cores", 4, 1, device.max_cores.into())? as u32;
    let mut profile = if profile_name == "custom" { Profile::custom(lanes, cores) } else { device };
    if let Some(transport) = root.option("transport", &["shared", "shadow"])? {
        profile.transport = if transport == "shared" { Transport::Shared } else { Transport::Shadow };
    }
    if profile_name == "custom" {
        profile.frequency = root.number("frequency_hz", profile.frequency, 1_000, 10_000_000_000)?;
    }
    sizes(&mut root, &mut profile)?;
    let scenario = Scenario {
        name,
        about,
        workload: workload(&mut root)?,
        iterations: root.number("iterations", 1, 1, 10_000)? as u32,
        profile,
        lanes,
        cores,
        subsystems: root.list("subsystems", &Subsystem::ALL.map(Subsystem::name))?.map_or_else(
            || Subsystem::ALL.to_vec(),
            |names| Subsystem::ALL.into_iter().filter(|s| names.contains(&s.name().to_owned())).collect(),
        ),
        swimlane_level: root.number("swimlane_level", 4, 0, 4)? as u32,
        dump: dump(&mut root)?,
        rules: rules(&mut root)?,
        host: host(&mut root)?,
        costs: costs(&mut root)?,
        order: match root.one_of("order", &["by_time", "random", "adversarial"])? {
            "random" => Order::Random,
            "adversarial" => Order::Adversarial,
            _ => Order::ByTime,
        },
        seed: root.number("seed", 0, 0, u64::MAX)?,
        max_events: root.number("max_events", 4_000_000, 1, 100_000_000)? as usize,
    };
    root.end()?;
    Ok(scenario)
}

fn workload(root: &mut Object) -> Result<Workload, Diagnostic> {
    let Some(value) = root.take("program") else { return Ok(Workload::Shape(Shape::Transformer, 60)) };
    if value.get("format").is_some() {
        let text = value.to_string();
        return Ok(Workload::Program(Box::new(json::read(text.as_bytes())?.program)));
    }
    let mut object = Object::new(value, "$.program")?;
    let names = Shape::ALL.map(Shape::name);
    let name = object.one_of("shape", &names)?;
    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == name).unwrap_or(Shape::Chain);
    let thunks = object.number("thunks", 60, 1, 100_000)? as u32;
    object.end()?;
    Ok(Workload::Shape(shape, thunks))
}

fn sizes(root: &mut Object, profile: &mut Profile) -> Result<(), Diagnostic> {
    if let Some(mut object) = root.object("ready")? {
        for subsystem in Subsystem::ALL {
            let ready = &mut profile.ready[subsystem as usize];
            let path = format!("{}.{}", object.path, subsystem.name());
            let n = object.number(subsystem.name(), u64::from(*ready), 0, 65_536)?;
            if n < 2 {
                return Err(Diagnostic::error("DX005", path, "2 to 65536").found(n).hint(
                    "one entry of a ready queue always stays empty, to tell full from empty: \
                     a queue of 1 can hold nothing",
                ));
            }
            *ready = n as u32;
        }
        object.end()?;
    }
    if let Some(mut object) = root.object("pools")? {
        for kind in PoolKind::ALL {
            let Some(mut pool) = object.object(kind.name())? else { continue };
            let size = &mut profile.pools[kind as usize];
            size.records = pool.number("records", size.records.into(), 1, 65_536)? as u32;
            size.buffers = pool.number("buffers", size.buffers.into(), 1, 4_096)? as u32;
            let path = format!("{}.slots", pool.path);
            let slots = pool.number("slots", size.slots.into(), 1, 4_096)? as u32;
            if !slots.is_power_of_two() {
                return Err(Diagnostic::error("DX005", path, "1, 2, 4, … 4096").found(slots).hint(
                    "a free queue's indices run freely over 32 bits: its slots must divide 2^32, or the \
                     queue forgets its place when they wrap",
                ));
            }
            size.slots = slots;
            pool.end()?;
        }
        object.end()?;
    }
    let arena = root.number("arena_bytes", profile.arena_bytes, 64, 1 << 30)?;
    if !arena.is_multiple_of(4) {
        return Err(Diagnostic::error("DX005", "$.arena_bytes", "a multiple of 4").found(arena));
    }
    profile.arena_bytes = arena;
    Ok(())
}

fn dump(root: &mut Object) -> Result<Dump, Diagnostic> {
    let Some(mut object) = root.object("dump")? else { return Ok(Dump { every: 1, most: 1024 }) };
    let every = object.number("every", 1, 0, 1_000_000)? as u32;
    let most = object.number("most_bytes", 1024, 0, 1 << 30)?;
    object.end()?;
    Ok(Dump { every, most })
}

fn rules(root: &mut Object) -> Result<Rules, Diagnostic> {
    let standard = Rules::default();
    let policy = match root.one_of("policy", &["global-freeze", "drop", "per-lane"])? {
        "drop" => Policy::Drop,
        "per-lane" => Policy::PerLane,
        _ => Policy::GlobalFreeze,
    };
    let peer_gate = match root.one_of("peer_gate", &["barrier-first", "slot-first"])? {
        "slot-first" => PeerGate::SlotFirst,
        _ => PeerGate::BarrierFirst,
    };
    let names = root.list("faults", &Fault::ALL.map(Fault::name))?.unwrap_or_default();
    Ok(Rules {
        policy,
        peer_gate,
        budget: root.number("budget_ns", standard.budget, 1_000, 3_600_000_000_000)?,
        short_wait: root.number("short_wait_ns", standard.short_wait, 0, 3_600_000_000_000)?,
        allocate: root.flag("allocate")?,
        faults: Fault::ALL.into_iter().filter(|f| names.contains(&f.name().to_owned())).collect(),
    })
}

fn host(root: &mut Object) -> Result<Host, Diagnostic> {
    const HOUR: u64 = 3_600_000_000_000;
    let mut host = Host::default();
    let Some(mut object) = root.object("host")? else { return Ok(host) };
    host.step = object.number("step_ns", host.step, 1, HOUR)?;
    host.poll = object.number("poll_ns", host.poll, 1, HOUR)?;
    host.collect = object.number("collect_ns", host.collect, 0, HOUR)?;
    host.collect_record = object.number("collect_record_ns", host.collect_record, 0, HOUR)?;
    host.write = object.number("write_ns", host.write, 0, HOUR)?;
    host.crash_at = object.maybe("crash_at_ns", 0, HOUR)?;
    host.stall = object.window("stall_ns", HOUR)?;
    host.collectors_stuck = object.window("collectors_stuck_ns", HOUR)?;
    host.copy_fails_one_in = object.number("copy_fails_one_in", 0, 0, 1 << 32)?;
    host.write_fails_one_in = object.number("write_fails_one_in", 0, 0, 1 << 32)?;
    host.sink_records = object.number("sink_records", 0, 0, 1 << 32)?;
    host.skew_percent = object.numbers("skew_percent", 64, 1, 100_000)?;
    object.end()?;
    Ok(host)
}

fn costs(root: &mut Object) -> Result<Costs, Diagnostic> {
    let standard = Costs::default();
    let Some(mut object) = root.object("costs")? else { return Ok(standard) };
    let costs = Costs {
        base: object.number("base_ns", standard.base, 0, 3_600_000_000_000)?,
        bytes_per_tick: object.number("bytes_per_ns", standard.bytes_per_tick, 0, u64::MAX)?,
        jitter_percent: object.number("jitter_percent", 0, 0, 100)? as u32,
    };
    object.end()?;
    Ok(costs)
}

/// The fields of one object that are still to be read.
pub(super) struct Object {
    fields: Map<String, Value>,
    path: String,
    known: Vec<&'static str>,
}

fn wrong(path: String, expected: impl Into<String>, found: &Value) -> Diagnostic {
    Diagnostic::error("DX004", path, expected).found(found)
}

impl Object {
    pub(super) fn new(value: Value, path: &str) -> Result<Self, Diagnostic> {
        match value {
            Value::Object(fields) => Ok(Self { fields, path: path.to_owned(), known: Vec::new() }),
            found => Err(wrong(path.to_owned(), "an object", &found)),
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn object(&mut self, name: &'static str) -> Result<Option<Self>, Diagnostic> {
        self.take(name).map(|value| Self::new(value, &self.at(name))).transpose()
    }

    pub(super) fn maybe(
        &mut self,
        name: &'static str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, Diagnostic> {
        let Some(value) = self.take(name) else { return Ok(None) };
        whole(&value, &self.at(name), least, most).map(Some)
    }

    fn number(
        &mut self,
        name: &'static str,
        standard: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, Diagnostic> {
        Ok(self.maybe(name, least, most)?.unwrap_or(standard))
    }

    fn numbers(
        &mut self,
        name: &'static str,
        n: usize,
        least: u64,
        most: u64,
    ) -> Result<Vec<u32>, Diagnostic> {
        let Some(value) = self.take(name) else { return Ok(Vec::new()) };
        let path = self.at(name);
        let Value::Array(items) = &value else { return Err(wrong(path, "a list of numbers", &value)) };
        if items.len() > n {
            return Err(wrong(path, format!("at most {n} numbers"), &value));
        }
        let item = |(index, item)| Ok(whole(item, &format!("{path}[{index}]"), least, most)? as u32);
        items.iter().enumerate().map(item).collect()
    }

    fn window(&mut self, name: &'static str, most: u64) -> Result<Option<(u64, u64)>, Diagnostic> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let path = self.at(name);
        let Some([from, to]) = value.as_array().map(Vec::as_slice) else {
            return Err(wrong(path, "two instants: from, to", &value));
        };
        let from = whole(from, &format!("{path}[0]"), 0, most)?;
        let to = whole(to, &format!("{path}[1]"), from, most)?;
        Ok(Some((from, to)))
    }

    fn text(&mut self, name: &'static str, standard: &str) -> Result<String, Diagnostic> {
        match self.take(name) {
            None => Ok(standard.to_owned()),
            Some(Value::String(text)) if text.len() <= 2_000 => Ok(text),
            Some(found) => Err(wrong(self.at(name), "a text of at most 2000 bytes", &found)),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, Diagnostic> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(found) => Err(wrong(self.at(name), "true or false", &found)),
        }
    }

    pub(super) fn option<'a>(
        &mut self,
        name: &'static str,
        names: &[&'a str],
    ) -> Result<Option<&'a str>, Diagnostic> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let found = names.iter().find(|known| value.as_str() == Some(known));
        found
            .copied()
            .map(Some)
            .ok_or_else(|| wrong(self.at(name), format!("one of {}", names.join(", ")), &value))
    }

    /// The first name is the standard one.
    fn one_of<'a>(&mut self, name: &'static str, names: &[&'a str]) -> Result<&'a str, Diagnostic> {
        Ok(self.option(name, names)?.unwrap_or(names[0]))
    }

    pub(super) fn list(
        &mut self,
        name: &'static str,
        names: &[&str],
    ) -> Result<Option<Vec<String>>, Diagnostic> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let path = self.at(name);
        let Value::Array(items) = value else { return Err(wrong(path, "a list of names", &value)) };
        let item = |(index, item): (usize, Value)| match item.as_str() {
            Some(text) if names.contains(&text) => Ok(text.to_owned()),
            _ => Err(wrong(format!("{path}[{index}]"), format!("one of {}", names.join(", ")), &item)),
        };
        items.into_iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    /// Nothing may be left: a misspelt field would silently have no effect.
    pub(super) fn end(self) -> Result<(), Diagnostic> {
        let Some(name) = self.fields.keys().next() else { return Ok(()) };
        Err(Diagnostic::error("DX003", format!("{}.{name}", self.path), "a known field")
            .found(name)
            .hint(format!("known here: {}", self.known.join(", "))))
    }
}

/// A whole number in a range, as a number or as decimal digits in a text.
fn whole(value: &Value, path: &str, least: u64, most: u64) -> Result<u64, Diagnostic> {
    let number = value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| wrong(path.to_owned(), format!("a whole number from {least} to {most}"), value))
}
