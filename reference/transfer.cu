// The twin of the kernel between two copies; see gpu-kernels/src/transfer.rs. The copies are the driver's in either language.

#include "module.cuh"

extern "C" __global__ void transfer_increment(float *__restrict__ a, size_t length) {
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < length) a[i] += 1.0f;
}
