// The twin of a step of a sum over cards; see gpu-kernels/src/link.rs. The steps of a whole sum are the host's to order.
// It has not been compiled or timed yet.

#include "module.cuh"

extern "C" __global__ void ring_add(const float4 *__restrict__ own, size_t own_length,
                                    const float4 *__restrict__ passed, size_t passed_length,
                                    float4 *__restrict__ sum) {
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < own_length) {
    float4 a = own[i], b = passed[i];
    sum[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }
}
