//! The order within each row: median sweeps, as long as they help.

use super::Layout;
use super::items::{Item, Items};

/// Sweeps at most; each goes over all rows once.
const MOST_SWEEPS: u32 = 24;
/// Sweeps without a better order before giving up.
const PATIENCE: u32 = 4;

/// The sweeps, one row per step.
#[derive(Clone, Debug)]
pub(super) struct Sweeps {
    best: Vec<Item>,
    best_crossings: u64,
    /// A new order must have fewer crossings than this to be taken at all.
    bar: u64,
    now: Items,
    sweep: u32,
    fruitless: u32,
    /// Rows done of the current sweep.
    rows: usize,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    keyed: Vec<(u64, u32, Item)>,
    places: Vec<u32>,
    tree: Vec<u32>,
}

impl Sweeps {
    pub(super) fn new(items: &Items, earlier: Option<&Layout>) -> Self {
        let mut now = items.clone();
        match earlier {
            Some(earlier) => by_earlier(&mut now, earlier),
            None => by_descent(&mut now),
        }
        now.index();
        let mut scratch = Scratch::default();
        let crossings = crossings(&now, &mut scratch);
        let bar = if earlier.is_some() { crossings - crossings / 4 } else { crossings };
        Self {
            best: now.order.clone(),
            best_crossings: crossings,
            bar,
            now,
            sweep: 0,
            fruitless: 0,
            rows: 1,
            scratch,
        }
    }

    /// Sorts one row, or ends a sweep. The number of items looked at; `None` when there is
    /// nothing to gain any more.
    pub(super) fn step(&mut self, _: &Items) -> Option<u32> {
        let rows = self.now.rows();
        if self.best_crossings == 0 || self.sweep == MOST_SWEEPS || self.fruitless == PATIENCE {
            return None;
        }
        if self.rows < rows {
            let down = self.sweep.is_multiple_of(2);
            let row = if down { self.rows } else { rows - 1 - self.rows };
            self.rows += 1;
            sort_row(&mut self.now, row, down, &mut self.scratch);
            return Some(self.now.start[row + 1] - self.now.start[row]);
        }
        let crossings = crossings(&self.now, &mut self.scratch);
        self.fruitless += 1;
        if crossings < self.bar {
            self.best.clone_from(&self.now.order);
            self.best_crossings = crossings;
            self.bar = crossings;
            self.fruitless = 0;
        }
        self.sweep += 1;
        self.rows = 1;
        Some(self.now.len())
    }

    /// Puts the best order into `items`, and says how many crossings it has.
    pub(super) fn settle(&mut self, items: &mut Items) -> u64 {
        items.order = std::mem::take(&mut self.best);
        items.index();
        items.up.sort_by_place(&items.place);
        items.down.sort_by_place(&items.place);
        self.best_crossings
    }
}

/// The first order: walk down from the sources in program order, each item at the end of its row
/// when it is first seen. What belongs together stays together, and sources stay in order.
fn by_descent(items: &mut Items) {
    let mut next = items.start.clone();
    let mut seen = vec![false; items.len() as usize];
    let mut stack = Vec::new();
    for source in 0..items.nodes {
        if !items.up.of(source).is_empty() {
            continue;
        }
        stack.push(source);
        while let Some(item) = stack.pop() {
            if std::mem::replace(&mut seen[item as usize], true) {
                continue;
            }
            let row = items.layer[item as usize] as usize;
            items.order[next[row] as usize] = item;
            next[row] += 1;
            stack.extend(items.down.of(item).iter().rev().map(|segment| segment.item));
        }
    }
}

/// The first order when there is an earlier layout: by where things were. What is new goes where
/// its first neighbour above is, and to the left edge without one.
fn by_earlier(items: &mut Items, earlier: &Layout) {
    let mut x = vec![0i32; items.len() as usize];
    for node in 0..items.nodes {
        x[node as usize] = match earlier.centres.get(node as usize) {
            Some(centre) => centre.x,
            None => items.up.of(node).first().map_or(0, |segment| x[segment.item as usize]),
        };
        let (first, end) = items.trunk[node as usize];
        let trunk = earlier.trunks.get(node as usize).map_or(&[][..], Vec::as_slice);
        for passage in first..end {
            let was = trunk.get((passage - first) as usize).or(trunk.last());
            x[passage as usize] = was.copied().unwrap_or(x[node as usize]);
        }
    }
    for row in 0..items.rows() {
        let range = items.start[row] as usize..items.start[row + 1] as usize;
        items.order[range].sort_unstable_by_key(|&item| (x[item as usize], item));
    }
}

/// Sorts `row` by the medians of the neighbours in the row that is fixed: above on the way down,
/// below on the way up. Items without such neighbours keep their places.
fn sort_row(items: &mut Items, row: usize, down: bool, scratch: &mut Scratch) {
    let range = items.start[row] as usize..items.start[row + 1] as usize;
    let neighbours = if down { &items.up } else { &items.down };
    let Scratch { keyed, places, .. } = scratch;
    keyed.clear();
    for &item in &items.order[range.clone()] {
        let list = neighbours.of(item);
        if list.is_empty() {
            continue;
        }
        let key = match *list {
            [only] => 2 * u64::from(items.place[only.item as usize]),
            _ => {
                places.clear();
                places.extend(list.iter().map(|segment| items.place[segment.item as usize]));
                places.sort_unstable();
                let middle = places.len() - 1;
                u64::from(places[middle / 2]) + u64::from(places[middle.div_ceil(2)])
            }
        };
        keyed.push((key, items.place[item as usize], item));
    }
    keyed.sort_unstable();
    let mut next = keyed.iter();
    for at in range.clone() {
        if neighbours.of(items.order[at]).is_empty() {
            continue;
        }
        if let Some(&(_, _, item)) = next.next() {
            items.order[at] = item;
        }
    }
    for (place, at) in range.enumerate() {
        items.place[items.order[at] as usize] = place as u32;
    }
}

/// Pairs of segments that cross, over all pairs of neighbouring rows, by a tree of partial sums.
fn crossings(items: &Items, scratch: &mut Scratch) -> u64 {
    let Scratch { places, tree, .. } = scratch;
    let mut total = 0;
    for row in 1..items.rows() {
        tree.clear();
        tree.resize(items.row(row).len() + 1, 0);
        let mut seen = 0u32;
        for &upper in items.row(row - 1) {
            places.clear();
            places.extend(items.down.of(upper).iter().map(|segment| items.place[segment.item as usize]));
            places.sort_unstable();
            for &place in &*places {
                let mut not_right = 0;
                let mut at = place as usize + 1;
                while at > 0 {
                    not_right += tree[at];
                    at &= at - 1;
                }
                total += u64::from(seen - not_right);
            }
            for &place in &*places {
                let mut at = place as usize + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
                seen += 1;
            }
        }
    }
    total
}
