//! Functions and types that the code written by `#[kernel]` uses. Not for direct use.

#[cfg(not(target_arch = "nvptx64"))]
pub use alloc::{format, string::String, vec, vec::Vec};
use core::marker::PhantomData;

/// A launch's access to memory that a slice parameter points to, as one byte of the kernel's descriptor.
///
/// `Access::<T>::BYTE` is `r` (nothing writes it) for an element type without interior mutability, else `-`. The
/// inherent constant below exists only for such types; where it does not, the name resolves to [`MayBeWritten`]'s.
#[derive(Debug)]
pub struct Access<T: ?Sized>(PhantomData<T>);

#[cfg(target_arch = "nvptx64")]
impl<T: ?Sized + core::marker::Freeze> Access<T> {
    pub const BYTE: u8 = b'r';
}

/// The answer for every type to which the inherent constant does not apply.
pub trait MayBeWritten {
    /// See [`Access`].
    const BYTE: u8 = b'-';
}

impl<T: ?Sized> MayBeWritten for Access<T> {}

/// The pieces of a descriptor after one another; `N` is their length together.
#[must_use]
pub const fn descriptor<const N: usize>(pieces: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    let mut piece = 0;
    while piece < pieces.len() {
        let mut index = 0;
        while index < pieces[piece].len() {
            bytes[filled] = pieces[piece][index];
            filled += 1;
            index += 1;
        }
        piece += 1;
    }
    assert!(filled == N, "the descriptor's length is the sum of its pieces");
    bytes
}

/// A launch bound in ten decimal digits.
#[must_use]
pub const fn decimal(bound: u32, most: u32) -> [u8; 10] {
    assert!(bound >= 1, "a launch bound is at least 1");
    assert!(
        bound <= most,
        "a launch bound is at most 1024 threads per block, 32 blocks per multiprocessor and 8 per cluster"
    );
    let mut digits = [b'0'; 10];
    let mut rest = bound;
    let mut index = digits.len();
    while rest > 0 {
        index -= 1;
        digits[index] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::{decimal, descriptor};

    #[test]
    fn a_descriptor_is_its_pieces() {
        let bytes: [u8; 11] = descriptor(&[b"copy", b"\0", b"256", b"\0", b"r-"]);
        assert_eq!(&bytes, b"copy\x00256\0r-");
    }

    #[test]
    fn a_bound_is_ten_digits() {
        assert_eq!(&decimal(256, 1024), b"0000000256");
        assert_eq!(&decimal(1, 32), b"0000000001");
    }

    #[test]
    #[should_panic(expected = "at most 1024 threads")]
    fn a_bound_over_the_most_is_refused() {
        let _ = decimal(1025, 1024);
    }
}
