use cuda_launch::{Launch, LaunchError, Module, Shape};
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

fn wrong_element(module: &Module, stream: &Stream, x: DeviceBuffer<f64>, mut y: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, &x, &mut y)) //~ ERROR `&DeviceBuffer<f64>` cannot be passed where the kernel takes `cuda_launch::Slice<'_, f32>`
}

fn wrong_number(module: &Module, stream: &Stream, x: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, &x)) //~ ERROR the kernel does not take `({float}, &DeviceBuffer<f32>)`
}

fn wrong_order(module: &Module, stream: &Stream, x: Buffer, mut y: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, &mut y, &x)) //~ ERROR `&mut DeviceBuffer<f32>` cannot be passed where the kernel takes `cuda_launch::Slice<'_, f32>`
//~^ ERROR `&DeviceBuffer<f32>` cannot be passed where the kernel takes `SliceMut<'_, f32>`
}

fn shared_output(module: &Module, stream: &Stream, x: Buffer, y: Buffer) -> Result<(), LaunchError> {
    saxpy::launch(module, stream, SHAPE, (2.0, &x, &y)) //~ ERROR `&DeviceBuffer<f32>` cannot be passed where the kernel takes `SliceMut<'_, f32>`
}

fn slice_that_borrows_nothing(module: &Module, stream: &Stream, x: Buffer, y: Buffer) -> Result<(), LaunchError> {
    let (x, mut y) = (*x, *y);
    saxpy::launch(module, stream, SHAPE, (2.0, &x, &mut y)) //~ ERROR `&DeviceSlice<f32>` cannot be passed where the kernel takes `cuda_launch::Slice<'_, f32>`
//~^ ERROR `&mut DeviceSlice<f32>` cannot be passed where the kernel takes `SliceMut<'_, f32>`
}

fn main() {}
