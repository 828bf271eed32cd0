//! A case: one kernel's launch on stated data, and what must come out of it.

use bytemuck::{Pod, allocation::pod_collect_to_vec, cast_slice};

/// Numbers that buffers hold.
pub(crate) trait Element: Pod + Send {
    /// The number as a double, to compare with a tolerance.
    fn double(self) -> f64;
}

macro_rules! elements {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn double(self) -> f64 {
                self as f64
            }
        }
    )*};
}

elements! { u8 i8 u16 u32 i32 u64 f32 f64 }

/// Compares a buffer's bytes with what must come out.
type Check = Box<dyn Fn(&[u8]) -> Result<(), String> + Send>;

/// A buffer of device memory: its first content, and what it must hold after one launch.
pub(crate) struct Buffer {
    /// The content before the launch.
    pub(crate) bytes: Vec<u8>,
    /// The comparison; `None` for inputs.
    pub(crate) check: Option<Check>,
}

/// A parameter of the kernel.
#[derive(Clone, Copy)]
pub(crate) enum Argument {
    /// The address of the buffer with this index.
    Address(usize),
    /// A value of up to 8 bytes, in the low ones.
    Value(u64),
}

/// One kernel's launch.
pub(crate) struct Case {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) arguments: Vec<Argument>,
}

impl Case {
    /// A launch of at least `threads` threads in blocks of `block`, all along x.
    pub(crate) fn over(threads: usize, block: u32) -> Case {
        Case::grid([threads.div_ceil(block as usize) as u32, 1, 1], [block, 1, 1])
    }

    /// A launch that covers `nx` by `ny` threads with blocks of `bx` by `by`.
    pub(crate) fn plane([nx, ny]: [usize; 2], [bx, by]: [u32; 2]) -> Case {
        let blocks = |n: usize, block: u32| n.div_ceil(block as usize) as u32;
        Case::grid([blocks(nx, bx), blocks(ny, by), 1], [bx, by, 1])
    }

    /// A launch of this grid of such blocks.
    pub(crate) fn grid(grid: [u32; 3], block: [u32; 3]) -> Case {
        Case { grid, block, buffers: Vec::new(), arguments: Vec::new() }
    }

    /// Bytes of all buffers.
    pub(crate) fn footprint(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes.len() as u64).sum()
    }

    fn value(mut self, bits: u64) -> Case {
        self.arguments.push(Argument::Value(bits));
        self
    }

    /// The next parameter, a `u32`.
    pub(crate) fn word(self, value: usize) -> Case {
        let value = u32::try_from(value).expect("a parameter of 32 bits");
        self.value(value.into())
    }

    /// The next parameter, an `f32`.
    pub(crate) fn single(self, value: f32) -> Case {
        self.value(value.to_bits().into())
    }

    /// The next parameter, an `f64`.
    pub(crate) fn double(self, value: f64) -> Case {
        self.value(value.to_bits())
    }

    fn buffer(mut self, bytes: Vec<u8>, check: Option<Check>) -> Case {
        self.arguments.push(Argument::Address(self.buffers.len()));
        self.buffers.push(Buffer { bytes, check });
        self
    }

    /// The next parameter, the address of data that the kernel reads.
    pub(crate) fn input<T: Element>(self, data: &[T]) -> Case {
        self.buffer(cast_slice(data).to_vec(), None)
    }

    /// The next parameter, the address of a result whose every element the kernel writes.
    pub(crate) fn output<T: Element>(self, expected: Vec<T>, tolerance: f64) -> Case {
        // Poison: NaN as a float, and no small number as an integer.
        let bytes = vec![0xff; size_of_val(expected.as_slice())];
        self.buffer(bytes, Some(compare(expected, tolerance)))
    }

    /// The next parameter, the address of data that the kernel changes, or of a result that it writes in part.
    pub(crate) fn inout<T: Element>(self, data: &[T], expected: Vec<T>, tolerance: f64) -> Case {
        self.buffer(cast_slice(data).to_vec(), Some(compare(expected, tolerance)))
    }

    /// The same where the result is not one list of numbers, but has to hold what `check` says.
    pub(crate) fn holding<T: Element>(
        self,
        data: &[T],
        check: impl Fn(&[T]) -> Result<(), String> + Send + 'static,
    ) -> Case {
        let check = move |bytes: &[u8]| check(&pod_collect_to_vec::<u8, T>(bytes));
        self.buffer(cast_slice(data).to_vec(), Some(Box::new(check)))
    }
}

/// Compares each element with the expected one: the distance is at most the tolerance times the sum of the expected
/// magnitude and the mean of all. A tolerance of 0 asks for equality. NaN is never near.
fn compare<T: Element>(expected: Vec<T>, tolerance: f64) -> Check {
    Box::new(move |bytes| {
        let found: Vec<T> = pod_collect_to_vec(bytes);
        let mean = expected.iter().map(|value| value.double().abs()).sum::<f64>() / expected.len() as f64;
        let wrong = |(found, expected): (&T, &T)| {
            let (found, expected) = (found.double(), expected.double());
            let near = (found - expected).abs() <= tolerance * (expected.abs() + mean);
            !near
        };
        match found.iter().zip(&expected).position(wrong) {
            None => Ok(()),
            Some(at) => {
                Err(format!("element {at} is {}, expected {}", found[at].double(), expected[at].double()))
            }
        }
    })
}

/// Checks that a list holds these words, in any order.
pub(crate) fn any_order(mut expected: Vec<u32>) -> impl Fn(&[u32]) -> Result<(), String> + Send + 'static {
    expected.sort_unstable();
    move |found| {
        let mut found = found.to_vec();
        found.sort_unstable();
        if found == expected { Ok(()) } else { Err("the words are not those that belong there".to_owned()) }
    }
}

/// Checks that a table holds these entries and no other ones, in any slots.
pub(crate) fn any_slots<T: Element + Ord>(
    empty: T,
    mut expected: Vec<T>,
) -> impl Fn(&[T]) -> Result<(), String> + Send + 'static {
    expected.sort_unstable();
    move |found| {
        let mut found: Vec<T> = found.iter().copied().filter(|&entry| entry != empty).collect();
        found.sort_unstable();
        if found == expected { Ok(()) } else { Err("the entries are not those inserted".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_hold_and_nan_is_wrong() {
        let check = compare(vec![1.0_f32, 3.0], 0.01);
        // The mean is 2: the first may be off by 0.03, the second by 0.05.
        assert_eq!(check(cast_slice(&[1.02_f32, 2.96])), Ok(()));
        assert_eq!(check(cast_slice(&[1.0_f32, 3.5])), Err("element 1 is 3.5, expected 3".to_owned()));
        assert!(check(cast_slice(&[f32::NAN, 3.0])).is_err());
        let exact = compare(vec![7_u32], 0.0);
        assert_eq!(exact(cast_slice(&[7_u32])), Ok(()));
        assert!(exact(cast_slice(&[8_u32])).is_err());
    }
}
