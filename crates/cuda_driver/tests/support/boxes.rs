//! Copies by tensor map, on whichever driver is bound: what lies in shared memory after a load, and in the array after a store
//! and a reduction, by a formula of its own.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_driver::ext;
use cust::memory::{CopyDestination, DeviceBuffer};

/// Bytes of the kernels' shared memory.
const TILE: usize = 16384;

/// Byte that fills shared memory before a load.
const BEFORE: u8 = 0xEE;

/// NaN of any type as an H200 writes it.
const NAN: u64 = 0x7FF7_7FF7_7FF7_7FF7;

/// Three kernels of `(map, buffer, x, y, z, bytes)` for boxes of some dimensions. `load` fills shared memory with `BEFORE`, copies a box
/// there, waits for `bytes`, and writes shared memory to the buffer. `store` and `add` read shared memory from the buffer and copy
/// it to the box, or add it.
fn text(dimensions: usize) -> String {
    let corner = ["%r1", "%r2", "%r3"][..dimensions].join(", ");
    let copy = format!("cp.async.bulk.tensor.{dimensions}d");
    let add = format!("cp.reduce.async.bulk.tensor.{dimensions}d.global.shared::cta.add.tile.bulk_group");
    let head = |name: &str| {
        format!(
            ".visible .entry {name}(.param .align 64 .b8 map[128], .param .u64 buffer, .param .s32 x, .param .s32 y, .param .s32 z,
    .param .u32 bytes)
{{
    .reg .pred %p<4>;
    .reg .u32 %r<12>;
    .reg .u64 %rd<8>;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [buffer];
    cvta.to.global.u64 %rd2, %rd2;
    ld.param.s32 %r1, [x];
    ld.param.s32 %r2, [y];
    ld.param.s32 %r3, [z];
    ld.param.u32 %r4, [bytes];
    mov.u32 %r5, tile;
    mov.u32 %r6, full;
    mov.u32 %r7, %tid.x;
    setp.ne.u32 %p1, %r7, 0;
    mul.lo.u32 %r8, %r7, 4;
    cvt.u64.u32 %rd3, %r8;
    add.u64 %rd3, %rd2, %rd3;
    add.u32 %r9, %r5, %r8;
    mov.u32 %r10, {loops};
",
            loops = TILE / 1024
        )
    };
    let store = |name: &str, copy: &str| {
        format!(
            "{head}
fill:
    ld.global.u32 %r11, [%rd3];
    st.shared.u32 [%r9], %r11;
    add.u64 %rd3, %rd3, 1024;
    add.u32 %r9, %r9, 1024;
    sub.u32 %r10, %r10, 1;
    setp.ne.u32 %p2, %r10, 0;
    @%p2 bra fill;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 ret;
    {copy} [%rd1, {{{corner}}}], [%r5];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;
}}
",
            head = head(name)
        )
    };
    format!(
        ".version 8.0
.target sm_90
.address_size 64
.shared .align 1024 .b8 tile[{TILE}];
.shared .align 8 .b64 full;
{head}
    mov.u32 %r11, {before:#x};
fill:
    st.shared.u32 [%r9], %r11;
    add.u32 %r9, %r9, 1024;
    sub.u32 %r10, %r10, 1;
    setp.ne.u32 %p2, %r10, 0;
    @%p2 bra fill;
    fence.proxy.async.shared::cta;
    @%p1 bra wait_for_all;
    mbarrier.init.shared.b64 [%r6], 1;
    fence.mbarrier_init.release.cluster;
wait_for_all:
    bar.sync 0;
    @%p1 bra wait;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r6], %r4;
    {copy}.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5], [%rd1, {{{corner}}}], [%r6];
wait:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r6], 0;
    @!%p3 bra wait;
    mov.u32 %r10, {loops};
    add.u32 %r9, %r5, %r8;
back:
    ld.shared.u32 %r11, [%r9];
    st.global.u32 [%rd3], %r11;
    add.u64 %rd3, %rd3, 1024;
    add.u32 %r9, %r9, 1024;
    sub.u32 %r10, %r10, 1;
    setp.ne.u32 %p2, %r10, 0;
    @%p2 bra back;
    ret;
}}
{stores}{adds}",
        head = head("load"),
        before = u32::from_ne_bytes([BEFORE; 4]),
        loops = TILE / 1024,
        stores = store("store", &format!("{copy}.global.shared::cta.tile.bulk_group")),
        adds = store("add", &add),
    )
}

/// An array and a box of it.
#[derive(Clone, Copy, Debug)]
struct Case {
    element: ext::TensorElement,
    sizes: &'static [u64],
    /// Bytes, from dimension 1 on.
    strides: &'static [u64],
    tile: &'static [u32],
    steps: &'static [u32],
    swizzle: ext::TensorSwizzle,
    /// Whether what is outside reads as NaN instead of zero.
    nan: bool,
    corner: [i32; 3],
}

const PLAIN: Case = Case {
    element: ext::TensorElement::U32,
    sizes: &[40, 12],
    strides: &[160],
    tile: &[16, 8],
    steps: &[1, 1],
    swizzle: ext::TensorSwizzle::None,
    nan: false,
    corner: [8, 2, 0],
};

fn all() -> Vec<Case> {
    use ext::TensorElement::{Bf16, F16, F32, F64, I64, U8, U16};
    use ext::TensorSwizzle::{Bytes32, Bytes64, Bytes128};
    let line = Case { sizes: &[1000], strides: &[], tile: &[64], steps: &[1], corner: [100, 0, 0], ..PLAIN };
    let cube = Case {
        sizes: &[40, 6, 5],
        strides: &[160, 960],
        tile: &[16, 4, 3],
        steps: &[1; 3],
        corner: [8, 1, 1],
        ..PLAIN
    };
    vec![
        line,
        Case { corner: [-4, 0, 0], ..line },
        Case { corner: [992, 0, 0], ..line },
        Case { corner: [i32::MIN, 0, 0], ..line },
        Case { element: U8, tile: &[256], corner: [800, 0, 0], ..line },
        Case { element: F64, nan: true, corner: [-6, 0, 0], ..line },
        PLAIN,
        // Outside on each side.
        Case { corner: [-4, 3, 0], ..PLAIN },
        Case { corner: [8, -3, 0], ..PLAIN },
        Case { corner: [32, 9, 0], ..PLAIN },
        Case { corner: [4, 12, 0], ..PLAIN },
        Case { corner: [40, 2, 0], ..PLAIN },
        // Rows that are farther apart than they are long.
        Case { strides: &[1024], ..PLAIN },
        // Each third row, the fastest dimension's step notwithstanding.
        Case { steps: &[2, 3], ..PLAIN },
        Case { steps: &[1, 2], tile: &[16, 7], corner: [0, 7, 0], ..PLAIN },
        Case { element: F32, nan: true, corner: [32, -2, 0], ..PLAIN },
        Case { element: F16, nan: true, corner: [-8, -2, 0], ..PLAIN },
        Case { element: Bf16, nan: true, corner: [-8, -2, 0], ..PLAIN },
        // Rows whose end is at no multiple of 16 bytes.
        Case { sizes: &[38, 12], corner: [32, 2, 0], ..PLAIN },
        Case { element: U8, sizes: &[35, 12], tile: &[32, 8], corner: [16, 2, 0], ..PLAIN },
        Case { swizzle: Bytes64, ..PLAIN },
        Case { swizzle: Bytes32, tile: &[8, 12], ..PLAIN },
        Case { swizzle: Bytes128, tile: &[32, 12], ..PLAIN },
        // Rows shorter than the span.
        Case { swizzle: Bytes128, ..PLAIN },
        Case { swizzle: Bytes64, tile: &[4, 8], ..PLAIN },
        cube,
        Case { corner: [-4, 4, -1], ..cube },
        Case { corner: [32, 4, 3], ..cube },
        Case { swizzle: Bytes64, element: U16, tile: &[16, 4, 3], corner: [32, -1, 4], ..cube },
        Case { element: I64, sizes: &[20, 6, 5], steps: &[1, 2, 2], ..cube },
    ]
}

impl Case {
    fn bytes(&self) -> usize {
        self.element.bytes() as usize
    }

    fn encode(&self, address: u64) -> ext::TensorMap {
        let mut map = ext::TensorMap(ext::raw::CUtensorMap { opaque: [0; 16] });
        // SAFETY: the arrays have as many elements as there are dimensions.
        let outcome = unsafe {
            ext::raw::cuTensorMapEncodeTiled(
                &raw mut map.0,
                self.element as c_int,
                self.sizes.len() as u32,
                ptr::with_exposed_provenance_mut(address as usize),
                self.sizes.as_ptr(),
                self.strides.as_ptr(),
                self.tile.as_ptr(),
                self.steps.as_ptr(),
                0,
                self.swizzle as c_int,
                0,
                c_int::from(self.nan),
            )
        };
        assert_eq!(outcome.0, 0, "{self:?}");
        map
    }

    /// Bytes of the array.
    fn len(&self) -> usize {
        let rows = self
            .sizes
            .iter()
            .skip(1)
            .zip(self.strides)
            .map(|(size, stride)| (size - 1) * stride)
            .sum::<u64>();
        (rows + self.sizes[0] * self.element.bytes()).next_multiple_of(16) as usize
    }

    /// Elements of the box that shared memory has, by dimension.
    fn kept(&self, dimension: usize) -> i64 {
        let step = if dimension == 0 { 1 } else { self.steps[dimension] };
        i64::from(self.tile.get(dimension).map_or(1, |tile| tile.div_ceil(step)))
    }

    /// For each element of the box, where it is in shared memory, and in the array unless it is outside. Rows of the array end at a
    /// multiple of `granule` bytes.
    fn places(&self, granule: u64) -> Vec<(usize, Option<usize>)> {
        let row = (self.sizes[0] * self.element.bytes()).next_multiple_of(granule) / self.element.bytes();
        let span = [0, 32, 64, 128][self.swizzle as usize];
        let pitch = (self.tile[0] as usize * self.bytes()).max(span);
        let kept: Vec<i64> = (0..3)
            .map(|dimension| if dimension < self.tile.len() { self.kept(dimension) } else { 1 })
            .collect();
        let mut places = Vec::new();
        for z in 0..kept[2] {
            for y in 0..kept[1] {
                for x in 0..kept[0] {
                    let plain = (z * kept[1] + y) as usize * pitch + x as usize * self.bytes();
                    // 16-byte units change places within the span, by the number of the line of 128 bytes.
                    let unit = (plain / 16) ^ if span == 0 { 0 } else { plain / 128 % (span / 16) };
                    let within = unit * 16 + plain % 16;
                    let mut at = Some(0);
                    for (dimension, index) in [x, y, z].into_iter().enumerate().take(self.sizes.len()) {
                        let step = if dimension == 0 { 1 } else { self.steps[dimension] };
                        let coordinate = i64::from(self.corner[dimension]) + index * i64::from(step);
                        let stride =
                            if dimension == 0 { self.element.bytes() } else { self.strides[dimension - 1] };
                        let size = if dimension == 0 { row } else { self.sizes[dimension] };
                        let inside = (0..size as i64).contains(&coordinate);
                        at = at.filter(|_| inside).map(|at| at + coordinate as usize * stride as usize);
                    }
                    places.push((within, at));
                }
            }
        }
        places
    }

    fn run(&self, kernel: &str, array: &mut [u8], shared: &mut [u8]) {
        let device = DeviceBuffer::from_slice(array).expect("an array");
        let buffer = DeviceBuffer::from_slice(shared).expect("a buffer");
        let module = ext::Module::from_ptx(&text(self.sizes.len())).expect("a module");
        let name = std::ffi::CString::new(kernel).expect("a name");
        let function = module.function(&name).expect("a kernel");
        let mut map = self.encode(device.as_device_ptr().as_raw());
        let mut pointer = buffer.as_device_ptr().as_raw();
        let mut corner = self.corner;
        let mut bytes = (0..self.tile.len()).map(|dimension| self.kept(dimension)).product::<i64>() as u32
            * self.bytes() as u32;
        let [x, y, z] = corner.each_mut().map(|coordinate| ptr::from_mut(coordinate).cast::<c_void>());
        let mut parameters =
            [(&raw mut map).cast::<c_void>(), (&raw mut pointer).cast(), x, y, z, (&raw mut bytes).cast()];
        let config = ext::LaunchConfig::new([1; 3], [256, 1, 1], 0, ptr::null_mut());
        // SAFETY: the parameters are those of the kernels, whose buffer has TILE bytes.
        unsafe { ext::launch(function, &config, &mut parameters) }.expect("a launch");
        cust::context::CurrentContext::synchronize()
            .unwrap_or_else(|error| panic!("{kernel} {self:?}: {error}"));
        device.copy_to(array).expect("the array");
        buffer.copy_to(shared).expect("the buffer");
    }
}

/// Bytes of a pattern without repetition nearby.
fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ seed).collect()
}

pub(super) fn move_as_the_formula_says() {
    for case in all() {
        let (size, before) = (case.bytes(), pattern(case.len(), 5));
        let mut array = before.clone();
        let mut shared = vec![0; TILE];
        case.run("load", &mut array, &mut shared);
        let mut expected = vec![BEFORE; TILE];
        let outside = if case.nan { NAN.to_le_bytes() } else { [0; 8] };
        for (within, at) in case.places(1) {
            let from = at.map_or(&outside[..size], |at| &before[at..at + size]);
            expected[within..within + size].copy_from_slice(from);
        }
        let different = (0..TILE).find(|&at| shared[at] != expected[at]);
        assert_eq!(different.map(|at| (at, shared[at], expected[at])), None, "load {case:?}");

        let tile = pattern(TILE, 99);
        for kernel in ["store", "add"] {
            // Only loads begin before the array; sums are of words.
            let is_word = case.element == ext::TensorElement::U32;
            if case.corner.iter().any(|&coordinate| coordinate < 0) || kernel == "add" && !is_word {
                continue;
            }
            let (mut array, mut shared) = (before.clone(), tile.clone());
            case.run(kernel, &mut array, &mut shared);
            let mut expected = before.clone();
            // A unit of 16 bytes that is partly inside is written whole.
            for (within, at) in case.places(16) {
                let Some(at) = at else { continue };
                let (old, new) = (&mut expected[at..at + size], &tile[within..within + size]);
                if kernel == "store" {
                    old.copy_from_slice(new);
                } else {
                    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
                    let sum = word(old).wrapping_add(word(new));
                    old.copy_from_slice(&sum.to_le_bytes());
                }
            }
            let different = (0..array.len()).find(|&at| array[at] != expected[at]);
            assert_eq!(different.map(|at| (at, array[at], expected[at])), None, "{kernel} {case:?}");
        }
    }
}
