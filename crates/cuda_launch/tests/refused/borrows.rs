use cuda_launch::{Launch, LaunchError, Module, Parts, Shape};
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

fn input_and_output(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, &y, &mut y)) //~ ERROR cannot borrow `y` as mutable because it is also borrowed as immutable
}

fn parts_that_overlap(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, y.part(0..5), y.part_mut(3..8))) //~ ERROR cannot borrow `y` as mutable because it is also borrowed as immutable
}

fn part_of_a_buffer_that_is_gone(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    let x = {
        let x = DeviceBuffer::from_slice(&[1.0_f32])?;
        x.part(0..1) //~ ERROR `x` does not live long enough
    };
    saxpy::launch(module, stream, SHAPE, (2.0, x, &mut y))
}

fn main() {}
