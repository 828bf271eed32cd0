//! Launches of kernels by their own signature, on the simulated driver.
//!
//! The kernels' device code is written out as PTX, so that these tests need no build for the device; that it is what the
//! kernels compile to is the business of `cuda_builder`'s tests.

mod options;
mod parameters;
mod refused;

use cuda_driver::simulated::{Settings, bind_simulated};
use cuda_launch::{Launch, LaunchError, Module, Parts, Shape, scope};
use cuda_safe::names::{N, Nx, Ny, S};
use cuda_safe::shape::{OneBlock, Plane, Tiles, Warps};
use cuda_safe::{
    AlongRows, Block, Each, EachThread, Extent, In, Matrix, Out, PerBlock, Positive, Strided, Thread, Width,
    kernel,
};
use cust::context::Context;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy, UnifiedBuffer};
use cust::stream::{Stream, StreamFlags};

/// `y[i] += factor * x[i]`
#[kernel]
pub fn saxpy(thread: Thread, factor: f32, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) {
        y.update(i, |y| y + factor * x.at(i));
    }
}

/// Two factors, which cross as one value.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C)]
pub struct Factors {
    x: f32,
    y: f32,
}

/// `y[i] = factors.y * y[i] + factors.x * x[i]` for the first `n`.
///
/// # Safety
/// Both arrays have `n` elements.
#[kernel(requires(n <= threads.count(), grid.count() == 1))]
pub unsafe fn blend(factors: Factors, x: *const f32, y: *mut f32, n: u32) {
    let _ = (factors, x, y, n);
    unreachable!("only the device runs it");
}

/// Is not in the module by this name.
#[kernel]
pub fn saxpi(thread: Thread) {
    let _ = thread;
}

/// Is not in the module by any name like this.
#[kernel]
pub fn elsewhere(thread: Thread) {
    let _ = thread;
}

/// Has fewer parameters in the module.
#[kernel]
pub fn older(thread: Thread, factor: f32, x: In<f32, Each<N>>) {
    let _ = (thread, factor, x);
}

/// Has contracts of all kinds.
#[kernel(requires(distance <= 3, threads.x > distance))]
pub fn particular(
    block: Block<Warps>,
    y: Out<f32, EachThread>,
    a: Out<f32, Strided<S>>,
    s: Positive<S>,
    width: Width,
    distance: u32,
) {
    let _ = (block, y, a, s, width, distance);
}

/// Has a matrix.
#[kernel]
pub fn turned(
    thread: Thread<Plane>,
    m: Matrix<f32, Ny, Nx>,
    y: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let _ = (thread, m, y, nx, ny);
}

/// Takes one block.
#[kernel]
pub fn single(thread: Thread<OneBlock<64>>) {
    let _ = thread;
}

/// Takes blocks of 256 threads.
#[kernel]
pub fn tiled(block: Block<Tiles<32>>, slice: u32) {
    let _ = (block, slice);
}

type Hidden = Extent<N>;
type HiddenSlices = PerBlock;

/// Hides from `#[kernel]` that `n` is a number of the launch.
#[kernel]
pub fn hidden(thread: Thread, x: In<f32, Each<N>>, n: Hidden) {
    let _ = (thread, x, n);
}

/// Hides from `#[kernel]` that both are slices.
#[kernel]
pub fn hidden_slices(block: Block<cuda_safe::shape::Sliced>, one: PerBlock, other: HiddenSlices) {
    let _ = (block, one, other);
}

/// A clause that tries to end the check.
#[kernel(requires({ return true; }))]
pub fn hasty(thread: Thread<OneBlock<64>>, x: In<f32, Each<cuda_safe::Count<7>>>) {
    let _ = (thread, x);
}

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .f32 factor, .param .u64 x, .param .u64 n, .param .u64 y)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    ld.param.f32 %f1, [factor];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [n];
    ld.param.u64 %rd3, [y];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd4, %r4;
    setp.ge.u64 %p, %rd4, %rd2;
    @%p bra END;
    shl.b64 %rd5, %rd4, 2;
    add.u64 %rd6, %rd1, %rd5;
    add.u64 %rd7, %rd3, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f3;
END:
    ret;
}
.visible .entry blend(.param .align 4 .b8 factors[8], .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<6>;
    ld.param.f32 %f1, [factors];
    ld.param.f32 %f2, [factors+4];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra END;
    mul.wide.u32 %rd3, %r2, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f3, [%rd4];
    ld.global.f32 %f4, [%rd5];
    mul.rn.f32 %f4, %f2, %f4;
    fma.rn.f32 %f4, %f1, %f3, %f4;
    st.global.f32 [%rd5], %f4;
END:
    ret;
}
.visible .entry older(.param .u32 factor, .param .u64 x) { ret; }
.visible .entry particular(.param .u64 y, .param .u64 a, .param .u32 s, .param .u32 width, .param .u32 distance) { ret; }
.visible .entry turned(.param .u64 m, .param .u64 n, .param .u64 y, .param .u32 nx, .param .u32 ny) { ret; }
.visible .entry single() { ret; }
.visible .entry tiled(.param .u32 slice) { ret; }
.visible .entry hidden(.param .u64 x, .param .u64 length, .param .u32 n) { ret; }
.visible .entry hidden_slices(.param .u64 one, .param .u64 other) { ret; }
.visible .entry hasty(.param .u64 x, .param .u64 n) { ret; }
";

/// A module on the simulated device, in a context of the test's own.
struct Device {
    module: Module,
    stream: Stream,
    _context: Context,
}

fn device() -> Device {
    let settings = Settings { memory_bytes: Some(1 << 26), ..Settings::default() };
    bind_simulated(settings).expect("the simulated driver");
    let context = cust::quick_init().expect("a context");
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    Device { module: Module::from_ptx(PTX).expect("the kernels"), stream, _context: context }
}

fn buffer(values: &[f32]) -> DeviceBuffer<f32> {
    DeviceBuffer::from_slice(values).expect("device memory")
}

fn host(buffer: &DeviceBuffer<f32>) -> Vec<f32> {
    let mut values = vec![0.0; buffer.len()];
    buffer.copy_to(&mut values).expect("a copy");
    values
}

/// The message with which a launch is refused.
fn refused(launch: Result<(), LaunchError>) -> String {
    launch.expect_err("the launch breaks the contract").to_string()
}

#[test]
fn buffers_slices_and_values_are_passed() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let x = buffer(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let mut y = buffer(&[10.0, 20.0, 30.0, 40.0, 50.0]);
    saxpy::launch(module, stream, Shape::linear(2, 3), (2.0, &x, &mut y)).unwrap();
    assert_eq!(host(&y), [12.0, 24.0, 36.0, 48.0, 60.0]);

    // A part of either. The rest stays as it is.
    let (_, end) = y.split_mut(3);
    saxpy::launch(module, stream, Shape::linear(1, 32), (1.0, x.part(0..2), end)).unwrap();
    assert_eq!(host(&y), [12.0, 24.0, 36.0, 49.0, 62.0]);

    let mut unified = UnifiedBuffer::from_slice(&[1.0_f32, 1.0]).unwrap();
    let loaded = module.kernel::<saxpy>().unwrap();
    loaded.launch(stream, Shape::linear(1, 2), (3.0, x.part(3..5), &mut unified)).unwrap();
    assert_eq!(&*unified, [13.0, 16.0]);

    // Nothing at all.
    let (none, mut nothing) = (buffer(&[]), buffer(&[]));
    saxpy::launch(module, stream, Shape::linear(1, 32), (3.0, &none, &mut nothing)).unwrap();
}

#[test]
fn a_struct_crosses_by_its_bytes() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (x, mut y) = (buffer(&[1.0, 2.0, 3.0]), buffer(&[10.0, 20.0, 30.0]));
    let factors = Factors { x: 0.5, y: 2.0 };
    // SAFETY: both arrays have three elements, and the stream is waited for before they go.
    unsafe { blend::launch_unchecked(module, stream, Shape::linear(1, 32), (factors, &x, &mut y, 3)) }
        .unwrap();
    stream.synchronize().unwrap();
    assert_eq!(host(&y), [20.5, 41.0, 61.5]);

    // A launch that breaks the contract is refused here too.
    // SAFETY: nothing is launched.
    let broken =
        unsafe { blend::launch_unchecked(module, stream, Shape::linear(2, 32), (factors, &x, &mut y, 3)) };
    assert_eq!(
        refused(broken),
        "the kernel `blend` requires `grid.count() == 1`, and the launch has grid = 2"
    );
}

#[test]
fn launches_of_a_scope_follow_one_another() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let x = buffer(&[1.0, 2.0, 3.0]);
    let (mut y, mut z) = (buffer(&[10.0, 20.0, 30.0]), buffer(&[0.0; 3]));
    let shape = Shape::linear(1, 32);
    scope(stream, |scope| {
        let (x, mut y, mut z) = (scope.share(&x), scope.lend(&mut y), scope.lend(&mut z));
        saxpy::enqueue(module, scope, shape, (2.0, &x, &mut y))?;
        saxpy::enqueue(module, scope, shape, (1.0, &y, &mut z))?;
        saxpy::enqueue(module, scope, shape, (1.0, &z, &mut y))
    })
    .unwrap()
    .unwrap();
    assert_eq!(host(&y), [24.0, 48.0, 72.0]);
    assert_eq!(host(&z), [12.0, 24.0, 36.0]);
}

#[test]
fn a_launch_of_another_shape_is_refused() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (x, mut y) = (buffer(&[1.0]), buffer(&[1.0]));
    let plane = Shape::new([2, 2, 1], [16, 16, 1]);
    assert_eq!(
        refused(saxpy::launch(module, stream, plane, (2.0, &x, &mut y))),
        "the kernel `saxpy` takes blocks and a grid along x alone, and the launch has a grid of 2x2 with blocks of 16x16"
    );
    assert_eq!(
        refused(single::launch(module, stream, Shape::linear(2, 64), ())),
        "the kernel `single` takes one block of 64 threads along x, and the launch has a grid of 2 with blocks of 64"
    );
    assert_eq!(
        refused(tiled::launch(module, stream, Shape::new([1, 1, 1], [16, 8, 1]), (0,))),
        "the kernel `tiled` takes blocks of 256 threads, as in 16x16 or 32x8, and a grid along x and y, and the launch has a \
         grid of 1 with blocks of 16x8"
    );
    // More positions than 32 bits hold.
    let (m, mut turned_m) = (buffer(&[1.0]), buffer(&[1.0]));
    let wide = Shape::new([1 << 24, 1, 1], [256, 1, 1]);
    assert_eq!(
        refused(turned::launch(module, stream, wide, (&m, &mut turned_m, 1, 1))),
        "the kernel `turned` takes blocks and a grid along x and y, with less than 2^32 threads along each, and the launch has \
         a grid of 16777216 with blocks of 256"
    );
}

#[test]
fn a_length_that_does_not_fit_is_refused() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (x, mut y) = (buffer(&[1.0, 2.0, 3.0]), buffer(&[1.0, 2.0]));
    assert_eq!(
        refused(saxpy::launch(module, stream, Shape::linear(1, 32), (2.0, &x, &mut y))),
        "the kernel `saxpy` needs y.len() == x.len(), which is 3; it is 2"
    );
    let shape = Shape::new([1, 1, 1], [8, 8, 1]);
    assert_eq!(
        refused(turned::launch(module, stream, shape, (&x, &mut y, 2, 2))),
        "the kernel `turned` needs m.len() == ny * nx, which is 4; it is 3"
    );
    let mut a = buffer(&[0.0; 63]);
    let mut threads = buffer(&[0.0; 32]);
    assert_eq!(
        refused(particular::launch(module, stream, Shape::linear(1, 32), (&mut y, &mut a, 2, 32, 0))),
        "the kernel `particular` needs y.len() == threads.count(), which is 32; it is 2"
    );
    assert_eq!(
        refused(particular::launch(module, stream, Shape::linear(1, 32), (&mut threads, &mut a, 3, 32, 0))),
        "the kernel `particular` needs a.len() >= (threads.count() - 1) * s + 1, which is 94; it is 63"
    );
    particular::launch(module, stream, Shape::linear(1, 32), (&mut threads, &mut a, 2, 32, 0)).unwrap();
}

#[test]
fn a_value_that_the_type_does_not_allow_is_refused() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (mut y, mut a) = (buffer(&[0.0; 32]), buffer(&[0.0; 63]));
    let shape = Shape::linear(1, 32);
    assert_eq!(
        refused(particular::launch(module, stream, shape, (&mut y, &mut a, 0, 32, 0))),
        "the kernel `particular` takes a number from 1 to 2^31 as `s`, and it is 0"
    );
    assert_eq!(
        refused(particular::launch(module, stream, shape, (&mut y, &mut a, 2, 33, 0))),
        "the kernel `particular` takes 2, 4, 8, 16 or 32 as `width`, and it is 33"
    );
    // A type behind an alias is checked like the type itself.
    let x = buffer(&[1.0, 2.0]);
    hidden::launch(module, stream, shape, (&x, 2)).unwrap();
    assert_eq!(
        refused(hidden::launch(module, stream, shape, (&x, 1000))),
        "the kernel `hidden` takes the same number as `x.len()` as `n`, and it is 1000"
    );
    hidden_slices::launch(module, stream, shape, (5, 5)).unwrap();
    assert_eq!(
        refused(hidden_slices::launch(module, stream, shape, (5, 4))),
        "the kernel `hidden_slices` takes the same number as `one` as `other`, and it is 4"
    );
}

#[test]
fn a_clause_that_does_not_hold_is_refused() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (mut y, mut a) = (buffer(&[0.0; 32]), buffer(&[0.0; 63]));
    assert_eq!(
        refused(particular::launch(module, stream, Shape::linear(1, 32), (&mut y, &mut a, 2, 32, 4))),
        "the kernel `particular` requires `distance <= 3`, and the launch has distance = 4"
    );
    // A clause ends itself with `return`, and nothing else.
    let x = buffer(&[0.0; 6]);
    assert_eq!(
        refused(hasty::launch(module, stream, Shape::linear(1, 64), (&x,))),
        "the kernel `hasty` needs x.len() == 7, which is 7; it is 6"
    );
}

#[test]
fn a_kernel_that_the_module_does_not_have_is_named() {
    let device = device();
    let Device { module, stream, .. } = &device;
    assert_eq!(
        refused(saxpi::launch(module, stream, Shape::linear(1, 1), ())),
        "the module has no kernel `saxpi`; it has `saxpy`. Build the PTX from the same sources as the program, or load the \
         module that has it"
    );
    assert_eq!(
        refused(elsewhere::launch(module, stream, Shape::linear(1, 1), ())),
        "the module has no kernel `elsewhere`. Build the PTX from the same sources as the program, or load the module that \
         has it"
    );
    let x = buffer(&[1.0]);
    assert_eq!(
        refused(older::launch(module, stream, Shape::linear(1, 1), (1.0, &x))),
        "the module's kernel `older` takes (b32, b64), and the program's takes (f32, b64, b64), for `fn older(factor: f32, x: \
         In<f32, Each<N>>)`: they are not of one build. Build the PTX from the same sources as the program"
    );
}
