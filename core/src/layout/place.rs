//! Horizontal coordinates: four extreme alignments (Brandes and Köpf 2001), averaged.
//!
//! Each alignment joins items with the median of their neighbours above or below into vertical
//! blocks, and packs the blocks to the left or to the right. The packing is a longest path over
//! blocks, so neighbours of a row keep their distance in each alignment, and therefore also in
//! the mean of the two middle ones.

use super::Spacing;
use super::items::{Item, Items, Segment};

/// The four alignments, one per step.
#[derive(Clone, Debug)]
pub(super) struct Alignments {
    spacing: Spacing,
    crossings: u64,
    /// Segments that cross the inside of a trunk: those bend, the trunk stays straight.
    bent: Vec<bool>,
    done: Vec<Vec<i64>>,
}

impl Alignments {
    pub(super) fn new(items: &Items, spacing: Spacing, crossings: u64) -> Self {
        Self { spacing, crossings, bent: bent(items), done: Vec::new() }
    }

    /// Computes one alignment; the number of items looked at, `None` when there are all four.
    pub(super) fn step(&mut self, items: &Items) -> Option<u32> {
        let (from_above, to_left) = match self.done.len() {
            0 => (true, true),
            1 => (true, false),
            2 => (false, true),
            3 => (false, false),
            _ => return None,
        };
        let view = View { items, from_above, to_left };
        let (root, order) = view.align(&self.bent);
        let mut x = view.pack(&root, &order, self.spacing);
        if !to_left {
            x.iter_mut().for_each(|x| *x = -*x);
        }
        self.done.push(x);
        Some(items.len())
    }

    /// The centre of each item, the leftmost edge at 0, and the crossings.
    pub(super) fn settle(&mut self, items: &Items) -> (Vec<i32>, u64) {
        let extent = |x: &[i64]| {
            let half = |item: usize| i64::from(items.width[item]) / 2;
            let left = x.iter().enumerate().map(|(item, x)| x - half(item)).min().unwrap_or(0);
            let right = x.iter().enumerate().map(|(item, x)| x + half(item)).max().unwrap_or(0);
            (left, right)
        };
        let extents: Vec<(i64, i64)> = self.done.iter().map(|x| extent(x)).collect();
        let narrowest = extents.iter().copied().min_by_key(|(left, right)| right - left).unwrap_or((0, 0));
        for (index, x) in self.done.iter_mut().enumerate() {
            // Those packed to the left meet the narrowest at its left edge, the others at its right.
            let shift = match index % 2 {
                0 => narrowest.0 - extents[index].0,
                _ => narrowest.1 - extents[index].1,
            };
            x.iter_mut().for_each(|x| *x += shift);
        }
        let mut mean: Vec<i64> = (0..items.len() as usize)
            .map(|item| {
                let mut four: Vec<i64> = self.done.iter().map(|x| x[item]).collect();
                four.sort_unstable();
                (four[1] + four[2]).div_euclid(2)
            })
            .collect();
        let (left, _) = extent(&mean);
        mean.iter_mut().for_each(|x| *x -= left);
        (mean.into_iter().map(|x| i32::try_from(x).unwrap_or(i32::MAX / 2)).collect(), self.crossings)
    }
}

/// Marks the segments that cross a segment between two passages, by one scan per pair of rows.
fn bent(items: &Items) -> Vec<bool> {
    let mut bent = vec![false; items.segments()];
    for row in 1..items.rows() {
        let lower = items.row(row);
        let mut left = 0;
        let mut scanned = 0;
        for (at, &item) in lower.iter().enumerate() {
            let inner =
                items.up.of(item).iter().find(|up| items.is_passage(item) && items.is_passage(up.item));
            if inner.is_none() && at + 1 < lower.len() {
                continue;
            }
            let right = inner.map_or(u32::MAX, |inner| items.place[inner.item as usize]);
            for &other in &lower[scanned..=at] {
                for up in items.up.of(other) {
                    let place = items.place[up.item as usize];
                    if (place < left || place > right) && Some(up) != inner {
                        bent[up.id as usize] = true;
                    }
                }
            }
            scanned = at + 1;
            left = if right == u32::MAX { left } else { right };
        }
    }
    bent
}

/// The items as one of the four alignments sees them.
#[derive(Clone, Copy)]
struct View<'a> {
    items: &'a Items,
    from_above: bool,
    to_left: bool,
}

impl View<'_> {
    fn place(&self, item: Item) -> u32 {
        let place = self.items.place[item as usize];
        if self.to_left {
            return place;
        }
        let row = self.items.layer[item as usize] as usize;
        self.items.start[row + 1] - self.items.start[row] - 1 - place
    }

    fn row(&self, index: usize) -> impl Iterator<Item = Item> + '_ {
        let row = if self.from_above { index } else { self.items.rows() - 1 - index };
        let row = self.items.row(row);
        let last = row.len();
        (0..last).map(move |at| row[if self.to_left { at } else { last - 1 - at }])
    }

    /// The `at`-th neighbour in the row before, counted from the side packed to.
    fn neighbour(&self, list: &[Segment], at: usize) -> Segment {
        list[if self.to_left { at } else { list.len() - 1 - at }]
    }

    /// The block of each item, named by its first item; and all items, row by row.
    fn align(&self, bent: &[bool]) -> (Vec<Item>, Vec<Item>) {
        let items = self.items;
        let mut root: Vec<Item> = (0..items.len()).collect();
        let mut order = Vec::with_capacity(root.len());
        for index in 0..items.rows() {
            let mut free = 0;
            for item in self.row(index) {
                order.push(item);
                let list = if self.from_above { items.up.of(item) } else { items.down.of(item) };
                if list.is_empty() {
                    continue;
                }
                let middle = list.len() - 1;
                for at in [middle / 2, middle.div_ceil(2)] {
                    let median = self.neighbour(list, at);
                    let place = self.place(median.item);
                    if !bent[median.id as usize] && place >= free {
                        root[item as usize] = root[median.item as usize];
                        free = place + 1;
                        break;
                    }
                }
            }
        }
        (root, order)
    }

    /// Coordinates of all items: each block as far to the side as the others let it, then back
    /// again as far as costs no width.
    fn pack(&self, root: &[Item], order: &[Item], spacing: Spacing) -> Vec<i64> {
        let items = self.items;
        let mut gaps: Vec<(Item, Item, i64)> = Vec::new();
        for pair in order.windows(2) {
            let [left, right] = [pair[0], pair[1]];
            if items.layer[left as usize] == items.layer[right as usize] {
                let gap = gap(items, left, right, spacing);
                gaps.push((root[left as usize], root[right as usize], gap));
            }
        }
        let (sorted, start) = topological(root.len(), &mut gaps);
        let mut x = vec![0i64; root.len()];
        for &block in &sorted {
            let at = x[block as usize];
            for &(_, right, gap) in &gaps[start[block as usize]..start[block as usize + 1]] {
                x[right as usize] = x[right as usize].max(at + gap);
            }
        }
        for &block in sorted.iter().rev() {
            let after = &gaps[start[block as usize]..start[block as usize + 1]];
            if let Some(room) = after.iter().map(|&(_, right, gap)| x[right as usize] - gap).min() {
                x[block as usize] = x[block as usize].max(room);
            }
        }
        root.iter().map(|&root| x[root as usize]).collect()
    }
}

/// Least distance between the centres of neighbours.
fn gap(items: &Items, left: Item, right: Item, spacing: Spacing) -> i64 {
    let half = i64::from(items.width[left as usize] + items.width[right as usize]) / 2;
    let trunk = items.is_passage(left) || items.is_passage(right);
    half + i64::from(if trunk { spacing.lane } else { spacing.column })
}

/// Sorts `gaps` by their left block; the blocks in an order in which every gap leads forward, and
/// where the gaps of each block start. Items that head no block come along without gaps.
fn topological(blocks: usize, gaps: &mut [(Item, Item, i64)]) -> (Vec<Item>, Vec<usize>) {
    gaps.sort_unstable();
    let mut start = vec![0usize; blocks + 1];
    let mut incoming = vec![0u32; blocks];
    for &(left, right, _) in gaps.iter() {
        start[left as usize + 1] += 1;
        incoming[right as usize] += 1;
    }
    for block in 0..blocks {
        start[block + 1] += start[block];
    }
    let mut sorted: Vec<Item> = (0..blocks as Item).filter(|&block| incoming[block as usize] == 0).collect();
    let mut next = 0;
    while next < sorted.len() {
        let block = sorted[next] as usize;
        next += 1;
        for &(_, right, _) in &gaps[start[block]..start[block + 1]] {
            incoming[right as usize] -= 1;
            if incoming[right as usize] == 0 {
                sorted.push(right);
            }
        }
    }
    debug_assert_eq!(sorted.len(), blocks, "blocks form no cycle");
    (sorted, start)
}
