//! A short list held in place, so that states are flat and cheap to copy.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// A list of at most `N` items. Equal lists are equal whatever they held before.
#[derive(Clone, Copy)]
pub struct Row<T, const N: usize> {
    len: u8,
    items: [T; N],
}

impl<T: Copy + Default, const N: usize> Row<T, N> {
    /// Adds an item; false if there is no room, which whoever made the scenario must rule out.
    #[must_use]
    pub fn push(&mut self, item: T) -> bool {
        let Some(place) = self.items.get_mut(usize::from(self.len)) else { return false };
        *place = item;
        self.len += 1;
        true
    }

    /// A row of those items that fit.
    pub fn of(items: impl IntoIterator<Item = T>) -> Self {
        let mut row = Self::default();
        for item in items.into_iter().take(N) {
            let _ = row.push(item);
        }
        row
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl<T: Copy + Default, const N: usize> Default for Row<T, N> {
    fn default() -> Self {
        Self { len: 0, items: [T::default(); N] }
    }
}

impl<T, const N: usize> Deref for Row<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..usize::from(self.len)]
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Row<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
impl<T: Eq, const N: usize> Eq for Row<T, N> {}

impl<T: Ord, const N: usize> PartialOrd for Row<T, N> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T: Ord, const N: usize> Ord for Row<T, N> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: Hash, const N: usize> Hash for Row<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Row<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
