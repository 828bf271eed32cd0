//! Matrices on the device: their sizes, their random numbers, their tensor maps.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Error, Result, bail, ensure};
use cuda_driver::ext::{self, TensorElement, TensorMapConfig, TensorPromotion, TensorSwizzle};
use cuda_launch::IntoArgument as _;
use cuda_std::tensor::TensorMap;
use cust::memory::{DeviceBuffer, DeviceCopy};

/// Sizes of a product: C has `m` rows of `n`, the sums have `k` terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
}

impl Size {
    pub(crate) fn cube(side: u32) -> Self {
        Self { m: side, n: side, k: side }
    }

    /// A multiplication and an addition for each term.
    pub(crate) fn operations(self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    /// Elements of A, B and C.
    pub(crate) fn elements(self) -> [usize; 3] {
        let [m, n, k] = [self.m, self.n, self.k].map(|size| size as usize);
        [m * k, n * k, m * n]
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} x {} x {}", self.m, self.n, self.k))
    }
}

impl FromStr for Size {
    type Err = Error;

    /// Reads `4096` or `4096x14336x4096`.
    fn from_str(text: &str) -> Result<Self> {
        let form = || format!("`{text}` is not a size: write 4096, or MxNxK as in 4096x14336x4096");
        let numbers: Vec<u32> =
            text.split('x').map(str::parse).collect::<Result<_, _>>().with_context(form)?;
        let size = match numbers[..] {
            [side] => Self::cube(side),
            [m, n, k] => Self { m, n, k },
            _ => bail!(form()),
        };
        ensure!(![size.m, size.n, size.k].contains(&0), "`{text}`: no size may be 0");
        Ok(size)
    }
}

/// Random numbers from -1 to 1: steps of splitmix64, of which 24 bits become a number.
pub(crate) fn numbers(seed: u64, count: usize) -> impl Iterator<Item = f32> {
    (1..=count as u64).map(move |step| {
        let state =
            seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(step.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// The bf16 below a number in magnitude.
pub(crate) fn bf16(number: f32) -> u16 {
    (number.to_bits() >> 16) as u16
}

/// The FP8 (e4m3) below a normal number in magnitude, or 0.
pub(crate) fn e4m3(number: f32) -> u8 {
    let bits = number.to_bits();
    let sign = (bits >> 24 & 0x80) as u8;
    // Biases of 127 and 7; the fraction's upper three bits.
    match (bits >> 20 & 0x7ff).checked_sub((127 - 7) << 3) {
        Some(magnitude @ 8..0x7f) => sign | magnitude as u8,
        _ => sign,
    }
}

/// The same number as bf16, exactly.
pub(crate) fn e4m3_as_bf16(number: u8) -> u16 {
    let sign = u16::from(number & 0x80) << 8;
    match u16::from(number & 0x7f) {
        0 => sign,
        magnitude => sign | ((magnitude + ((127 - 7) << 3)) << 4),
    }
}

/// A tensor map of a matrix, or of a stack of matrices, without gaps: `sizes` are columns, rows and matrices, and a box has so many
/// rows of 128 bytes.
pub(crate) fn map<T: DeviceCopy, const RANK: usize>(
    matrix: &DeviceBuffer<T>,
    element: TensorElement,
    sizes: [u32; RANK],
    rows: u32,
) -> Result<TensorMap> {
    let mut tile = [1; RANK];
    tile[0] = 128 / element.bytes() as u32;
    tile[1] = rows;
    let address = matrix.as_device_ptr().as_raw();
    let config = TensorMapConfig::contiguous(element, address, sizes.map(u64::from), tile);
    let config =
        TensorMapConfig { swizzle: TensorSwizzle::Bytes128, promotion: TensorPromotion::Bytes256, ..config };
    Ok(ext::TensorMap::tiled(&config)?.into_argument())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp8_goes_to_bf16_and_back() {
        for bits in 0..=0xff_u8 {
            // Neither subnormal nor no number.
            if (8..0x7f).contains(&(bits & 0x7f)) {
                let number = f32::from_bits(u32::from(e4m3_as_bf16(bits)) << 16);
                assert_eq!(e4m3(number), bits, "{number}");
                assert_eq!(e4m3(number * 1.05), bits, "{number} rounds towards 0");
            }
        }
        assert_eq!([1.0, -1.0, 448.0, 0.015_625, 0.0].map(e4m3), [0x38, 0xb8, 0x7e, 0x08, 0]);
    }

    #[test]
    fn sizes_are_read_and_refused() {
        let size: Size = "4096x14336x64".parse().expect("a size");
        assert_eq!([size.m, size.n, size.k], [4096, 14336, 64]);
        for text in ["", "4x", "1x2", "0", "1x2x3x4"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
