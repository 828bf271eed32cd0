//! The correct forms of what the other cases get wrong: this one must compile.

use cuda_launch::{Launch, LaunchError, Module, Parts, Shape, scope};
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

fn waiting(module: &Module, stream: &Stream, x: Buffer, mut y: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, &x, &mut y))?;
    saxpy::launch(module, stream, SHAPE, (2.0, x.part(0..1), y.part_mut(0..1)))
}

fn in_a_scope(module: &Module, stream: &Stream, x: Buffer, mut y: Buffer) -> Result<(), LaunchError> {
    scope(stream, |scope| {
        let (x, mut y) = (scope.share(&x), scope.lend(&mut y));
        saxpy::enqueue(module, scope, SHAPE, (2.0, &x, &mut y))
    })?
}

fn main() {
    let _ = (waiting, in_a_scope);
}
