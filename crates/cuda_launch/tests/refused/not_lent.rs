use cuda_launch::{InScope, Launch, LaunchError, Module, Shape, Slice, scope};
use cuda_safe::names::N;
use cuda_safe::{Each, In, Out, Thread, kernel};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;

#[kernel]
pub fn saxpy(thread: Thread, factor: f32, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) {
        y.update(i, |y| y + factor * x.at(i));
    }
}

const SHAPE: Shape = Shape::linear(1, 32);
type Buffer = DeviceBuffer<f32>;

fn not_shared(module: &Module, stream: &Stream, x: Buffer, mut y: Buffer) -> Result<(), LaunchError> {
    scope(stream, |scope| {
        let mut y = scope.lend(&mut y);
        saxpy::enqueue(module, scope, SHAPE, (2.0, &x, &mut y)) //~ ERROR `&DeviceBuffer<f32>` may be gone, or be used by something else, before the launch ends
    })?
}

/// Says of itself that it stays.
struct Stays<'a>(Slice<'a, f32>);

impl InScope<'_> for Stays<'_> {} //~ ERROR the trait `InScope<'_>` requires an `unsafe impl` declaration

/// Does what it likes.
#[kernel]
pub unsafe fn wild(y: *mut f32) {
    let _ = y;
}

fn unsafe_kernel(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    wild::launch(module, stream, SHAPE, (&mut y,)) //~ ERROR `wild` is an unsafe kernel, which no safe launch runs
}

fn unsafe_kernel_in_a_scope(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    scope(stream, |scope| {
        let mut y = scope.lend(&mut y);
        wild::enqueue(module, scope, SHAPE, (&mut y,)) //~ ERROR `wild` is an unsafe kernel, which no safe launch runs
//~^ ERROR `&mut Lent<'_, f32>` cannot be passed where the kernel takes `PointerMut<'_, f32>`
    })?
}

fn main() {}
