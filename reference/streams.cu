// The twin of the kernel that runs side by side with itself; see gpu-kernels/src/streams.rs.

#include "module.cuh"

extern "C" __global__ void stream_chain(unsigned steps, float *__restrict__ destination) {
  size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float value = static_cast<float>(thread);
  for (unsigned step = 0; step < steps; ++step) value = __fadd_rn(__fmul_rn(value, 0.999f), 1.0f);
  destination[thread] = value;
}
