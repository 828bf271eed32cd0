use cuda_launch::{Launch, LaunchError, Module, Shape, scope};
use cuda_safe::names::N;
use cuda_safe::{Each, In, Out, Thread, kernel};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;

#[kernel]
pub fn saxpy(thread: Thread, factor: f32, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) {
        y.update(i, |y| y + factor * x.at(i));
    }
}

const SHAPE: Shape = Shape::linear(1, 32);
type Buffer = DeviceBuffer<f32>;

fn dropped_in_the_scope(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    scope(stream, |scope| {
        let x = DeviceBuffer::from_slice(&[1.0_f32])?;
        let (x, mut y) = (scope.share(&x), scope.lend(&mut y)); //~ ERROR `x` does not live long enough
        saxpy::enqueue(module, scope, SHAPE, (2.0, &x, &mut y))
    })?
}

fn read_in_flight(module: &Module, stream: &Stream, x: Buffer, mut y: Buffer) -> Result<(), LaunchError> {
    let mut seen = [0.0];
    scope(stream, |scope| {
        let (x, mut lent) = (scope.share(&x), scope.lend(&mut y));
        saxpy::enqueue(module, scope, SHAPE, (2.0, &x, &mut lent))?;
        Ok(y.copy_to(&mut seen)?) //~ ERROR cannot borrow `y` as immutable because it is also borrowed as mutable
    })?
}

fn loan_kept_behind_the_scope(stream: &Stream, x: Buffer) -> Result<usize, LaunchError> {
    let kept = scope(stream, |scope| scope.share(&x))?; //~ ERROR lifetime may not live long enough
    drop(x); //~ ERROR cannot move out of `x` because it is borrowed
    Ok(kept.len())
}

fn loan_of_another_scope(module: &Module, one: &Stream, two: &Stream, x: Buffer, mut y: Buffer) -> Result<(), LaunchError> {
    scope(one, |one| {
        let (x, mut y) = (one.share(&x), one.lend(&mut y));
        scope(two, |two| saxpy::enqueue(module, two, SHAPE, (2.0, &x, &mut y)))? //~ ERROR borrowed data escapes outside of closure
    })?
}

fn input_and_output(module: &Module, stream: &Stream, mut y: Buffer) -> Result<(), LaunchError> {
    scope(stream, |scope| {
        let (x, mut y) = (scope.share(&y), scope.lend(&mut y)); //~ ERROR cannot borrow `y` as mutable because it is also borrowed as immutable
        saxpy::enqueue(module, scope, SHAPE, (2.0, &x, &mut y))
    })?
}

fn main() {}
