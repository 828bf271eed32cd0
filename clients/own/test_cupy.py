"""CuPy's ways to a kernel, each by itself."""

import cupy
import numpy


def test_elementwise():
    values = cupy.arange(1000, dtype=cupy.float32)
    assert (cupy.asnumpy(2 * values + 1) == 2 * numpy.arange(1000, dtype=numpy.float32) + 1).all()


def test_reduction():
    assert int(cupy.arange(1000).sum()) == 499500


def test_raw_kernel():
    code = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'
    values = cupy.ones(32, dtype=cupy.float32)
    cupy.RawKernel(code, "twice")((1,), (32,), (values,))
    assert (cupy.asnumpy(values) == 2).all()


def test_driver_version():
    assert cupy.cuda.runtime.driverGetVersion() >= 13000
