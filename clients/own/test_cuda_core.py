"""cuda.core's objects at work: kernels from CUDA C++ by NVRTC, linked PTX, streams, events, memory, graphs."""

import ctypes

import numpy
import pytest
from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

SCALE = r"""
extern "C" __global__ void scale(float *values, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= factor;
}
template <typename T> __global__ void fill(T *values, T value) { values[threadIdx.x] = value; }
"""


@pytest.fixture
def device():
    device = Device()
    device.set_current()
    return device


@pytest.fixture
def stream(device):
    return device.create_stream()


def compiled(device, names=()):
    options = ProgramOptions(std="c++17", arch=f"compute_{device.arch}")
    return Program(SCALE, code_type="c++", options=options).compile("ptx", name_expressions=names)


def pinned(device, count):
    from cuda.core import LegacyPinnedMemoryResource

    buffer = LegacyPinnedMemoryResource().allocate(4 * count)
    values = numpy.ctypeslib.as_array(ctypes.cast(int(buffer.handle), ctypes.POINTER(ctypes.c_float)), (count,))
    return buffer, values


def test_a_kernel_runs(device, stream):
    kernel = compiled(device).get_kernel("scale")
    buffer, values = pinned(device, 1000)
    values[:] = numpy.arange(1000)
    launch(stream, LaunchConfig(grid=8, block=128), kernel, buffer, numpy.float32(3), numpy.int32(1000))
    stream.sync()
    assert (values == 3 * numpy.arange(1000)).all()


def test_a_template_runs(device, stream):
    kernel = compiled(device, ["fill<float>"]).get_kernel("fill<float>")
    buffer, values = pinned(device, 64)
    launch(stream, LaunchConfig(grid=1, block=64), kernel, buffer, numpy.float32(7))
    stream.sync()
    assert (values == 7).all()


def test_a_kernel_tells_its_attributes(device):
    kernel = compiled(device).get_kernel("scale")
    assert kernel.attributes.max_threads_per_block == 1024
    assert kernel.num_arguments == 3


def test_linked_ptx_runs(device, stream):
    linked = Linker(compiled(device), options=LinkerOptions(arch=f"sm_{device.arch}")).link("cubin")
    kernel = linked.get_kernel("scale")
    buffer, values = pinned(device, 10)
    values[:] = 1
    launch(stream, LaunchConfig(grid=1, block=32), kernel, buffer, numpy.float32(5), numpy.int32(10))
    stream.sync()
    assert (values == 5).all()


def test_device_memory_is_copied(device, stream):
    host, values = pinned(device, 256)
    back, copied = pinned(device, 256)
    values[:] = numpy.arange(256)
    buffer = device.allocate(1024, stream=stream)
    buffer.copy_from(host, stream=stream)
    buffer.copy_to(back, stream=stream)
    stream.sync()
    assert (copied == values).all()
    buffer.close(stream)


def test_events_measure(device, stream):
    from cuda.core import EventOptions

    timed = EventOptions(timing_enabled=True)
    start = stream.record(options=timed)
    test_a_kernel_runs(device, stream)
    end = stream.record(options=timed)
    end.sync()
    assert end - start >= 0


def built(device, *launches):
    """A graph of launches, one after another, not completed yet."""
    builder = device.create_graph_builder().begin_building()
    for kernel, *arguments in launches:
        launch(builder, LaunchConfig(grid=1, block=32), kernel, *arguments)
    return builder.end_building()


def test_a_graph_forks_and_joins(device, stream):
    kernel = compiled(device).get_kernel("scale")
    buffers = [pinned(device, 32) for _ in range(2)]
    for _, values in buffers:
        values[:] = 1
    builder = device.create_graph_builder().begin_building()
    for buffer, _ in buffers:
        launch(builder, LaunchConfig(grid=1, block=32), kernel, buffer, numpy.float32(2), numpy.int32(32))
    branches = builder.split(2)
    for branch, (buffer, _), factor in zip(branches, buffers, (3, 5)):
        launch(branch, LaunchConfig(grid=1, block=32), kernel, buffer, numpy.float32(factor), numpy.int32(32))
    graph = type(builder).join(*branches).end_building().complete()
    graph.launch(stream)
    graph.launch(stream)
    stream.sync()
    assert [values[0] for _, values in buffers] == [36, 100]


def test_a_graph_is_updated(device, stream):
    kernel = compiled(device).get_kernel("scale")
    buffer, values = pinned(device, 32)
    values[:] = 1
    first, second = (built(device, (kernel, buffer, numpy.float32(factor), numpy.int32(32))) for factor in (3, 7))
    graph = first.complete()
    graph.launch(stream)
    graph.update(second)
    graph.launch(stream)
    stream.sync()
    assert (values == 21).all()


def test_a_graph_is_part_of_another(device, stream):
    kernel = compiled(device).get_kernel("scale")
    buffer, values = pinned(device, 32)
    values[:] = 1
    child = built(device, (kernel, buffer, numpy.float32(3), numpy.int32(32)))
    builder = device.create_graph_builder().begin_building()
    builder.embed(child)
    launch(builder, LaunchConfig(grid=1, block=32), kernel, buffer, numpy.float32(5), numpy.int32(32))
    builder.end_building().complete().launch(stream)
    stream.sync()
    assert (values == 15).all()
