//! Tensor maps: the descriptions by which a copy finds a box of an array.
//!
//! A map describes an array of one to five dimensions in global memory, the fastest first, and the box that one copy moves. The
//! driver encodes it into 128 bytes whose layout NVIDIA does not publish, and kernels pass their address to
//! `cp.async.bulk.tensor`. Here they hold, in words of 64 bits:
//!
//! ```text
//! word       contents
//! 0          a mark, by which a copy knows that a map is there
//! 1          address of the array
//! 2          bytes 0 to 3: dimensions, element, swizzle, fill
//! 3 to 5     elements in each dimension, less 1, in 32 bits each
//! 6 to 9     bytes from an element to the next in dimensions 2 to 5
//! 10 to 14   per dimension: elements of the box in bytes 0 and 1, its step in byte 2
//! ```
//!
//! A step other than 1 takes each second (third, ...) element of a dimension, so that a box of 8 elements with step 2 has 4 in
//! shared memory. In the fastest dimension steps have no effect.

use crate::ptx::ScalarType;

/// Words of an encoded map.
pub(super) const WORDS: usize = 16;

/// The most dimensions.
pub(super) const MOST_DIMENSIONS: usize = 5;

/// The most elements in a dimension, and the bytes below which strides are.
const MOST_ELEMENTS: u64 = 1 << 32;
const STRIDES_BELOW: u64 = 1 << 40;

/// The most elements of a box in a dimension, and the largest step.
const LARGEST_BOX: u32 = 256;
const LARGEST_STEP: u32 = 8;

/// Bytes that a swizzle moves together, of which addresses, strides and rows of boxes are multiples.
pub(super) const UNIT: u64 = 16;

/// Content of word 0.
const MARK: u64 = u64::from_le_bytes(*b"tensor-1");

/// Type of a tensor's elements, as the driver API numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TensorElement {
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `i32`
    S32,
    /// `u64`
    U64,
    /// `i64`
    S64,
    /// IEEE half precision
    F16,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// bfloat16
    Bf16,
}

impl TensorElement {
    const ALL: [Self; 10] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
    ];

    /// Returns the type of this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Returns the type as instructions name it.
    pub fn scalar(self) -> ScalarType {
        match self {
            Self::U8 => ScalarType::U8,
            Self::U16 => ScalarType::U16,
            Self::U32 => ScalarType::U32,
            Self::S32 => ScalarType::S32,
            Self::U64 => ScalarType::U64,
            Self::S64 => ScalarType::S64,
            Self::F16 => ScalarType::F16,
            Self::F32 => ScalarType::F32,
            Self::F64 => ScalarType::F64,
            Self::Bf16 => ScalarType::Bf16,
        }
    }

    /// Returns the bytes of an element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Returns true for floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::Bf16)
    }
}

/// A tensor map. Of the arrays, what lies behind the map's dimensions has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of an element.
    pub element: TensorElement,
    /// Number of dimensions, 1 to 5.
    pub dimensions: usize,
    /// Address of the first element, a multiple of 16.
    pub address: u64,
    /// Elements in each dimension, 1 to 2^32.
    pub sizes: [u64; MOST_DIMENSIONS],
    /// Bytes from an element to the next in each dimension; of the first one, the bytes of an element.
    pub strides: [u64; MOST_DIMENSIONS],
    /// Elements of the box in each dimension, 1 to 256.
    pub tile: [u32; MOST_DIMENSIONS],
    /// Steps from an element of the box to the next, 1 to 8.
    pub steps: [u32; MOST_DIMENSIONS],
    /// Bytes within which units of 16 are swizzled in shared memory: 32, 64, 128, or 0 for none.
    pub span: u32,
    /// Whether elements outside of the array read as NaN instead of zero.
    pub fills_with_nan: bool,
}

impl TensorMap {
    /// Encodes the map.
    pub fn encode(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[0] = MARK;
        words[1] = self.address;
        let head = [
            self.dimensions as u8,
            self.element as u8,
            (self.span / 32) as u8,
            u8::from(self.fills_with_nan),
            0,
            0,
            0,
            0,
        ];
        words[2] = u64::from_le_bytes(head);
        for dimension in 0..self.dimensions {
            let size = (self.sizes[dimension] - 1) & u64::from(u32::MAX);
            words[3 + dimension / 2] |= size << (32 * (dimension % 2));
            if dimension > 0 {
                words[5 + dimension] = self.strides[dimension];
            }
            words[10 + dimension] = u64::from(self.tile[dimension]) | u64::from(self.steps[dimension]) << 16;
        }
        words
    }

    /// Returns true if the copy engine can move the map's boxes.
    pub fn keeps_rules(&self) -> bool {
        let keeps = |dimension: usize| {
            let stride = self.strides[dimension];
            (1..=MOST_ELEMENTS).contains(&self.sizes[dimension])
                && (1..=LARGEST_BOX).contains(&self.tile[dimension])
                && (1..=LARGEST_STEP).contains(&self.steps[dimension])
                && (dimension == 0 || stride.is_multiple_of(UNIT) && stride < STRIDES_BELOW)
        };
        let row = self.row_bytes();
        (1..=MOST_DIMENSIONS).contains(&self.dimensions)
            && (0..self.dimensions).all(keeps)
            && self.address.is_multiple_of(UNIT)
            && (self.element.is_float() || !self.fills_with_nan)
            && row.is_multiple_of(UNIT)
            && matches!(self.span, 0 | 32 | 64 | 128)
            && (self.span == 0 || row <= u64::from(self.span))
    }

    /// Decodes words. `None` if they are no map, or one whose boxes cannot be moved.
    pub fn decode(words: &[u64; WORDS]) -> Option<Self> {
        let [dimensions, element, span, fill, ..] = words[2].to_le_bytes();
        let element = TensorElement::from_number(element.into())?;
        let dimensions = usize::from(dimensions);
        if words[0] != MARK || !(1..=MOST_DIMENSIONS).contains(&dimensions) {
            return None;
        }
        let mut map = Self {
            element,
            dimensions,
            address: words[1],
            sizes: [1; MOST_DIMENSIONS],
            strides: [element.bytes(); MOST_DIMENSIONS],
            tile: [1; MOST_DIMENSIONS],
            steps: [1; MOST_DIMENSIONS],
            span: u32::from(span) * 32,
            fills_with_nan: fill != 0,
        };
        for dimension in 0..dimensions {
            map.sizes[dimension] = (words[3 + dimension / 2] >> (32 * (dimension % 2)) & 0xFFFF_FFFF) + 1;
            if dimension > 0 {
                map.strides[dimension] = words[5 + dimension];
            }
            map.tile[dimension] = words[10 + dimension] as u32 & 0xFFFF;
            map.steps[dimension] = (words[10 + dimension] >> 16) as u32 & 0xFF;
        }
        map.keeps_rules().then_some(map)
    }

    /// Returns the elements of the box in shared memory, by dimension.
    pub(super) fn kept(&self, dimension: usize) -> u32 {
        match dimension {
            0 => self.tile[0],
            _ => self.tile[dimension].div_ceil(self.steps[dimension].max(1)),
        }
    }

    /// Returns the bytes of a row of the box.
    pub(super) fn row_bytes(&self) -> u64 {
        u64::from(self.tile[0]) * self.element.bytes()
    }

    /// Returns the bytes from a row of the box to the next in shared memory. A swizzle takes its whole span.
    pub(super) fn pitch(&self) -> u64 {
        self.row_bytes().max(self.span.into())
    }

    /// Returns the rows of the box.
    pub(super) fn rows(&self) -> u64 {
        (1..self.dimensions).map(|dimension| u64::from(self.kept(dimension))).product()
    }

    /// Returns the address in shared memory at which the swizzle keeps what would be at another one.
    pub(super) fn swizzled(&self, address: u64) -> u64 {
        // Bits 4 to 6 by bits 7 to 9: as many as number the units within a span.
        let units = (u64::from(self.span) / UNIT).saturating_sub(1);
        address ^ (address >> 3 & units << 4)
    }

    /// Returns the bytes that elements outside of the array have, again and again. The NaN is the one that an H200 writes.
    pub(super) fn outside(&self) -> [u8; 2] {
        if self.fills_with_nan { 0x7FF7_u16.to_le_bytes() } else { [0; 2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            element: TensorElement::Bf16,
            dimensions: 3,
            address: 0x7F00_1000,
            sizes: [1000, 1 << 32, 7, 1, 1],
            strides: [2, 2000, 2000 << 20, 2, 2],
            tile: [64, 256, 1, 1, 1],
            steps: [1, 3, 1, 1, 1],
            span: 128,
            fills_with_nan: true,
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(TensorMap::decode(&map().encode()), Some(map()));
        assert_eq!(TensorMap::decode(&[0; WORDS]), None);
        // A kernel can write such words itself.
        for broken in [
            TensorMap { tile: [3, 256, 1, 1, 1], ..map() },
            TensorMap { tile: [128, 256, 1, 1, 1], ..map() },
            TensorMap { steps: [1, 9, 1, 1, 1], ..map() },
            TensorMap { strides: [2, 2008, 16, 2, 2], ..map() },
            TensorMap { address: 8, ..map() },
            TensorMap { element: TensorElement::U16, ..map() },
        ] {
            assert_eq!(TensorMap::decode(&broken.encode()), None, "{broken:?}");
        }
        for number in 0..10 {
            let element = TensorElement::from_number(number).expect("a type");
            let map = TensorMap {
                element,
                strides: [element.bytes(); 5],
                dimensions: 1,
                tile: [16, 1, 1, 1, 1],
                sizes: [9, 1, 1, 1, 1],
                steps: [1; 5],
                fills_with_nan: element.is_float(),
                ..map()
            };
            assert_eq!(TensorMap::decode(&map.encode()), Some(map));
        }
        assert_eq!(TensorElement::from_number(10), None);
    }

    #[test]
    fn a_box_has_rows_of_the_span_and_of_each_third_element() {
        let map = map();
        assert_eq!((map.row_bytes(), map.pitch(), map.rows()), (128, 128, 86));
        assert_eq!(TensorMap { tile: [8, 2, 2, 1, 1], steps: [1; 5], ..map }.pitch(), 128);
        assert_eq!(TensorMap { tile: [8, 2, 2, 1, 1], span: 0, ..map }.pitch(), 16);
    }

    #[test]
    fn units_change_places_with_the_row() {
        let of = |span: u32, address: u64| TensorMap { span, ..map() }.swizzled(address);
        assert_eq!(
            [of(0, 0x3F0), of(32, 0x390), of(64, 0x3B0), of(128, 0x3F8)],
            [0x3F0, 0x380, 0x380, 0x388]
        );
        assert_eq!([of(32, 0x80), of(64, 0x180), of(128, 0x400)], [0x90, 0x1B0, 0x400]);
    }
}
