//! Kernels that compute.

use std::ops::ControlFlow;

use super::parse::{Dtype, Operation};
use crate::executor::Error;
use crate::sys::buffers::{Claim, Element, Read, Write};

/// What a kernel needs of its elements.
trait Number<const N: usize>: Element<N> {
    fn of(value: f64) -> Self;
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn before(&self, other: &Self) -> std::cmp::Ordering;
    fn is_normal(self) -> bool;
}

macro_rules! floats {
    ($($type:ty = $size:literal),*) => {$(
        impl Number<$size> for $type {
            fn of(value: f64) -> Self {
                value as Self
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            fn before(&self, other: &Self) -> std::cmp::Ordering {
                self.total_cmp(other)
            }
            fn is_normal(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ty = $size:literal),*) => {$(
        impl Number<$size> for $type {
            fn of(value: f64) -> Self {
                value as Self
            }
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn before(&self, other: &Self) -> std::cmp::Ordering {
                self.cmp(other)
            }
            fn is_normal(self) -> bool {
                true
            }
        }
    )*};
}

floats!(f32 = 4, f64 = 8);
integers!(i32 = 4, u8 = 1);

/// Runs `operation` on claimed slices.
///
/// # Errors
/// When the slices do not fit the operation.
pub(super) fn compute(operation: Operation, dtype: Dtype, claim: &Claim<'_>) -> Result<(), Error> {
    match dtype {
        Dtype::F32 => typed::<f32, 4>(operation, claim),
        Dtype::F64 => typed::<f64, 8>(operation, claim),
        Dtype::I32 => typed::<i32, 4>(operation, claim),
        Dtype::U8 => typed::<u8, 1>(operation, claim),
    }
}

/// Whether something that was written is infinite or no number.
pub(super) fn overflowed(dtype: Dtype, claim: &Claim<'_>) -> bool {
    fn any<E: Number<N>, const N: usize>(claim: &Claim<'_>) -> bool {
        let mut writes = claim.writes();
        let bad = |write: Write<'_>| write.read().elements::<E, N>().any(|value| !value.is_normal());
        writes.any(bad)
    }
    match dtype {
        Dtype::F32 => any::<f32, 4>(claim),
        Dtype::F64 => any::<f64, 8>(claim),
        Dtype::I32 | Dtype::U8 => false,
    }
}

fn typed<E: Number<N>, const N: usize>(operation: Operation, claim: &Claim<'_>) -> Result<(), Error> {
    match operation {
        Operation::Fill(value) => fill(claim, E::of(value)),
        Operation::Overflow => {
            // By arithmetic, as it happens to people: the largest number, twice.
            let large = E::of(f64::from(f32::MAX));
            fill(claim, large.multiply(large).multiply(large.multiply(large)).multiply(E::of(1e300)));
        }
        Operation::Copy => claim.writes().zip(claim.reads()).for_each(|(to, from)| to.copy_from(from)),
        Operation::Add => fold(claim, E::add),
        Operation::Multiply => fold(claim, E::multiply),
        Operation::Reduce => {
            let sum = elements::<E, N>(claim).fold(E::of(0.0), E::add);
            fill(claim, sum);
        }
        Operation::Sort => sort::<E, N>(claim),
        Operation::Matmul(sizes) => return matmul::<E, N>(claim, sizes),
        Operation::Transpose(sizes) => return transpose::<E, N>(claim, sizes),
        Operation::Spin(_)
        | Operation::Sleep(_)
        | Operation::Fail
        | Operation::Panic
        | Operation::Never
        | Operation::Collective(_)
        | Operation::Replay => {}
    }
    Ok(())
}

fn fill<E: Number<N>, const N: usize>(claim: &Claim<'_>, value: E) {
    claim.writes().for_each(|write| write.set_all(std::iter::repeat(value)));
}

fn elements<'c, E: Number<N> + 'c, const N: usize>(claim: &'c Claim<'_>) -> impl Iterator<Item = E> + 'c {
    claim.reads().flat_map(Read::elements)
}

/// `out[i] = f(in_0[i], in_1[i], …)`, in the order of `i`; a read slice that is shorter starts over.
fn fold<E: Number<N>, const N: usize>(claim: &Claim<'_>, f: impl Fn(E, E) -> E) {
    let inputs = || claim.reads().filter(|read| read.len() >= N);
    for write in claim.writes() {
        match inputs().any(|read| write.runs_into(read)) {
            true => fold_one_by_one(inputs, write, &f),
            false => fold_in_blocks(inputs, write, &f),
        }
    }
}

/// The meaning of [`fold`]: right wherever the slices are.
fn fold_one_by_one<'c, E: Number<N>, const N: usize, R: Iterator<Item = Read<'c>>>(
    inputs: impl Fn() -> R,
    write: Write<'_>,
    f: &impl Fn(E, E) -> E,
) {
    for i in 0..write.len() / N {
        if let Some(value) = inputs().map(|read| read.get(i % (read.len() / N))).reduce(f) {
            write.set(i, value);
        }
    }
}

/// The same where no input changes meanwhile: by blocks, in memory of which the compiler knows that
/// nobody else can reach it, so that it computes several elements at once.
fn fold_in_blocks<'c, E: Number<N>, const N: usize, R: Iterator<Item = Read<'c>>>(
    inputs: impl Fn() -> R,
    write: Write<'_>,
    f: &impl Fn(E, E) -> E,
) {
    const BLOCK: usize = 64;
    let (mut results, mut others) = ([E::of(0.0); BLOCK], [E::of(0.0); BLOCK]);
    let n = write.len() / N;
    for start in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - start);
        let mut inputs = inputs();
        let Some(first) = inputs.next() else { return };
        load(first, start, &mut results[..len]);
        for input in inputs {
            load(input, start, &mut others[..len]);
            results.iter_mut().zip(&others).for_each(|(result, &other)| *result = f(*result, other));
        }
        write.part(start * N, len * N).set_all(results);
    }
}

/// Elements from `start` on; a slice that is shorter starts over.
fn load<E: Number<N>, const N: usize>(read: Read<'_>, start: usize, values: &mut [E]) {
    let all = read.len() / N;
    if all == 1 {
        return values.fill(read.get(0));
    }
    let (mut at, mut values) = (start % all, values);
    while !values.is_empty() {
        let (now, later) = values.split_at_mut(values.len().min(all - at));
        let elements = read.part(at * N, now.len() * N).elements();
        now.iter_mut().zip(elements).for_each(|(value, element)| *value = element);
        (at, values) = (0, later);
    }
}

/// Insertion into place by heap sort: no memory of its own, the same order everywhere.
fn sort<E: Number<N>, const N: usize>(claim: &Claim<'_>) {
    let mut input = elements::<E, N>(claim).peekable();
    if input.peek().is_some() {
        // Copied first: inputs may be what is written.
        let mut values: Vec<E> = input.collect();
        values.sort_by(E::before);
        let mut values = values.into_iter();
        let put = |(write, i): (Write<'_>, usize)| match values.next() {
            Some(value) => {
                write.set(i, value);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        };
        let places = claim.writes().flat_map(|write| (0..write.len() / N).map(move |i| (write, i)));
        let _ = { places }.try_for_each(put);
    } else {
        drop(input);
        for write in claim.writes() {
            let mut values: Vec<E> = write.read().elements().collect();
            values.sort_by(E::before);
            write.set_all(values);
        }
    }
}

/// The n-th read slice.
fn input<'c>(claim: &'c Claim<'_>, n: usize, least: usize) -> Result<Read<'c>, Error> {
    let read = claim.reads().nth(n).ok_or_else(|| Error(format!("needs {} slices to read", n + 1)))?;
    enough(read.len(), least, "reads").map(|()| read)
}

fn output<'c>(claim: &'c Claim<'_>, least: usize) -> Result<Write<'c>, Error> {
    let write = claim.writes().next().ok_or_else(|| Error("needs a slice to write".to_owned()))?;
    enough(write.len(), least, "writes").map(|()| write)
}

fn enough(len: usize, least: usize, what: &str) -> Result<(), Error> {
    if len >= least { Ok(()) } else { Err(Error(format!("{what} {len} bytes where {least} are needed"))) }
}

fn bytes<const N: usize>(rows: u32, columns: u32) -> usize {
    (rows as usize).saturating_mul(columns as usize).saturating_mul(N)
}

/// The side of the largest square that fits.
fn side<const N: usize>(len: usize) -> u32 {
    ((len / N) as f64).sqrt() as u32
}

fn matmul<E: Number<N>, const N: usize>(claim: &Claim<'_>, sizes: Option<[u32; 3]>) -> Result<(), Error> {
    let [m, k, n] = sizes.unwrap_or_else(|| {
        let lens = claim.reads().take(2).map(Read::len).chain(claim.writes().take(1).map(Write::len));
        [side::<N>(lens.min().unwrap_or(0)); 3]
    });
    let (a, b) = (input(claim, 0, bytes::<N>(m, k))?, input(claim, 1, bytes::<N>(k, n))?);
    let out = output(claim, bytes::<N>(m, n))?;
    let [m, k, n] = [m, k, n].map(|size| size as usize);
    // Computed row by row into memory of its own: the output may be one of the inputs.
    let mut product = vec![E::of(0.0); m * n];
    for i in 0..m {
        let row = &mut product[i * n..(i + 1) * n];
        for l in 0..k {
            let factor: E = a.get(i * k + l);
            for (sum, element) in row.iter_mut().zip(b.part(l * n * N, n * N).elements()) {
                *sum = sum.add(factor.multiply(element));
            }
        }
    }
    out.set_all(product);
    Ok(())
}

fn transpose<E: Number<N>, const N: usize>(claim: &Claim<'_>, sizes: Option<[u32; 2]>) -> Result<(), Error> {
    let [m, n] = sizes.unwrap_or_else(|| {
        let lens = claim.reads().take(1).map(Read::len).chain(claim.writes().take(1).map(Write::len));
        [side::<N>(lens.min().unwrap_or(0)); 2]
    });
    let (from, to) = (input(claim, 0, bytes::<N>(m, n))?, output(claim, bytes::<N>(n, m))?);
    let [m, n] = [m, n].map(|size| size as usize);
    let values: Vec<E> = from.elements().take(m * n).collect();
    for (i, value) in values.into_iter().enumerate() {
        to.set((i % n) * m + i / n, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::buffers::Buffers;
    use thunkscope_core::program::{Access, BufferUse, Slice};

    /// `input` in the first bytes, what the kernel wrote after it.
    #[track_caller]
    fn check(operation: Operation, inputs: &[&[f32]], expected: &[f32]) {
        let buffers = Buffers::new([(0, 4096)]);
        let mut uses = Vec::new();
        let mut offset = 0;
        for input in inputs {
            let size = 4 * input.len() as u64;
            let used = BufferUse { slice: Slice::new(0, offset, size), access: Access::Write };
            let claim = [used];
            let claim = buffers.claim(&claim, 0).expect("free");
            let write = claim.writes().next().expect("one");
            input.iter().enumerate().for_each(|(i, &value)| write.set(i, value));
            uses.push(BufferUse { access: Access::Read, ..used });
            offset += size;
        }
        uses.push(BufferUse { slice: Slice::new(0, 2048, 4 * expected.len() as u64), access: Access::Write });
        let claim = buffers.claim(&uses, 0).expect("free");
        compute(operation, Dtype::F32, &claim).expect("fits");
        let write = claim.writes().next().expect("one").read();
        let written: Vec<f32> = (0..expected.len()).map(|i| write.get(i)).collect();
        assert_eq!(written, expected, "{operation:?}");
        assert_eq!(overflowed(Dtype::F32, &claim), expected.iter().any(|value| !value.is_finite()));
    }

    #[test]
    fn kernels_compute() {
        check(Operation::Fill(2.5), &[], &[2.5; 3]);
        check(Operation::Copy, &[&[1.0, 2.0, 3.0]], &[1.0, 2.0, 3.0]);
        check(Operation::Add, &[&[1.0, 2.0, 3.0], &[10.0]], &[11.0, 12.0, 13.0]);
        check(Operation::Multiply, &[&[1.0, 2.0], &[3.0, 4.0]], &[3.0, 8.0]);
        check(Operation::Reduce, &[&[1.0, 2.0], &[3.0]], &[6.0]);
        check(Operation::Sort, &[&[3.0, -1.0], &[2.0]], &[-1.0, 2.0, 3.0]);
        check(Operation::Overflow, &[], &[f32::INFINITY; 2]);
        let square: &[f32] = &[1.0, 2.0, 3.0, 4.0];
        check(Operation::Matmul(None), &[square, square], &[7.0, 10.0, 15.0, 22.0]);
        check(Operation::Matmul(Some([1, 2, 2])), &[&[1.0, 1.0], square], &[4.0, 6.0]);
        check(Operation::Transpose(Some([1, 3])), &[&[1.0, 2.0, 3.0]], &[1.0, 2.0, 3.0]);
        check(
            Operation::Transpose(Some([2, 3])),
            &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]],
            &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0],
        );
    }

    mod folds {
        use super::*;
        use proptest::prelude::*;

        const BYTES: usize = 2048;

        /// What `add` writes, by the definition: one element after the other, over bytes that hold 1, 2, 3, …
        fn expected(reads: &[(usize, usize)], (to, bytes): (usize, usize)) -> Vec<i32> {
            let mut memory: Vec<u8> = (1..=BYTES as i32 / 4).flat_map(i32::to_ne_bytes).collect();
            let at = |memory: &[u8], place: usize| {
                i32::from_ne_bytes(memory[place..place + 4].try_into().expect("four bytes"))
            };
            for i in 0..bytes / 4 {
                let values = reads.iter().filter(|(_, bytes)| *bytes >= 4);
                let values = values.map(|(from, bytes)| at(&memory, from + 4 * (i % (bytes / 4))));
                if let Some(sum) = values.reduce(i32::wrapping_add) {
                    memory[to + 4 * i..to + 4 * i + 4].copy_from_slice(&sum.to_ne_bytes());
                }
            }
            (0..BYTES / 4).map(|i| at(&memory, 4 * i)).collect()
        }

        fn slice() -> impl Strategy<Value = (usize, usize)> {
            // Often at the same places, of any alignment, shorter and longer than a block.
            let start = prop_oneof![Just(0usize), Just(512), Just(516), 0..1000usize];
            (start, prop_oneof![Just(4usize), Just(512), 0..1000usize])
        }

        proptest! {
            #[test]
            fn are_by_element_wherever_the_slices_are(
                reads in prop::collection::vec(slice(), 0..4),
                write in slice(),
            ) {
                let buffers = Buffers::new([(0, BYTES)]);
                let used = |(start, size): (usize, usize), access| BufferUse {
                    slice: Slice::new(0, start as u64, size as u64),
                    access,
                };
                let all = [used((0, BYTES), Access::Write)];
                let whole = |fill: bool| {
                    let claim = buffers.claim(&all, 0).expect("free");
                    let write = claim.writes().next().expect("one");
                    if fill {
                        write.set_all::<i32, 4>(1..);
                    }
                    write.read().elements::<i32, 4>().collect::<Vec<_>>()
                };
                whole(true);
                let uses: Vec<_> = reads.iter().map(|&read| used(read, Access::Read)).collect();
                let uses = [uses, vec![used(write, Access::Write)]].concat();
                compute(Operation::Add, Dtype::I32, &buffers.claim(&uses, 0).expect("free")).expect("fits");
                prop_assert_eq!(whole(false), expected(&reads, write));
            }
        }
    }

    #[test]
    fn slices_that_are_too_small_are_told() {
        let buffers = Buffers::new([(0, 64)]);
        let uses = [BufferUse { slice: Slice::new(0, 0, 8), access: Access::Read }];
        let claim = buffers.claim(&uses, 0).expect("free");
        let error = compute(Operation::Matmul(Some([2, 2, 2])), Dtype::F32, &claim).expect_err("too small");
        assert_eq!(error.0, "reads 8 bytes where 16 are needed");
        let error = compute(Operation::Transpose(Some([1, 2])), Dtype::F32, &claim).expect_err("no output");
        assert_eq!(error.0, "needs a slice to write");
    }
}
