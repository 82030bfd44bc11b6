//! Which part of the graph is seen, in the graph's own units.

/// A rectangle of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zoom {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

/// Closer than this there is nothing more to see.
const CLOSEST: i32 = 120;

impl Zoom {
    /// Seen from further away or closer: `eighths` of the size, around the middle; `None` as soon
    /// as all of `whole` would be seen.
    pub(crate) fn by(self, eighths: i32, whole: Self) -> Option<Self> {
        let (cx, cy) = (self.x + self.width / 2, self.y + self.height / 2);
        self.around(cx, cy, eighths, whole)
    }

    /// As [`Zoom::by`], keeping the point `(x, y)` where it is.
    pub(crate) fn around(self, x: i32, y: i32, eighths: i32, whole: Self) -> Option<Self> {
        let scaled = |length: i32| i64::from(length) * i64::from(eighths) / 8;
        if scaled(self.width) >= i64::from(whole.width) && scaled(self.height) >= i64::from(whole.height) {
            return None;
        }
        if scaled(self.width).max(scaled(self.height)) < i64::from(CLOSEST) {
            return Some(self);
        }
        Some(Self {
            x: x - scaled(x - self.x) as i32,
            y: y - scaled(y - self.y) as i32,
            width: scaled(self.width) as i32,
            height: scaled(self.height) as i32,
        })
    }

    /// Grown around its middle to at least this size.
    pub(crate) fn at_least(self, width: i32, height: i32) -> Self {
        let (more, higher) = ((width - self.width).max(0), (height - self.height).max(0));
        Self {
            x: self.x - more / 2,
            y: self.y - higher / 2,
            width: self.width + more,
            height: self.height + higher,
        }
    }

    /// Moved by so much.
    pub(crate) fn moved(self, x: i32, y: i32) -> Self {
        Self { x: self.x + x, y: self.y + y, ..self }
    }

    /// Whether it shows all of the rectangle `(left, top, right, bottom)`.
    pub(crate) fn shows(&self, left: i32, top: i32, right: i32, bottom: i32) -> bool {
        left >= self.x && right <= self.x + self.width && top >= self.y && bottom <= self.y + self.height
    }

    /// Moved as little as needed to hold the rectangle `(left, top, right, bottom)`.
    pub(crate) fn holding(self, left: i32, top: i32, right: i32, bottom: i32) -> Self {
        let axis = |from: i32, length: i32, low: i32, high: i32| {
            if low < from || high - low > length { low } else { from.max(high - length) }
        };
        Self { x: axis(self.x, self.width, left, right), y: axis(self.y, self.height, top, bottom), ..self }
    }
}
