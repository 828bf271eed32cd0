// Reads every stride-th vector of a footprint; see gpu-kernels/src/mountain.rs.

#include "module.cuh"

constexpr unsigned IN_FLIGHT = 8;

extern "C" __global__ void mountain(const uint4 *__restrict__ source, size_t length, unsigned *__restrict__ destination,
                                    unsigned stride, unsigned threads, unsigned reads) {
  size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  size_t mask = length - 1, step = static_cast<size_t>(threads) * stride, at = thread * stride;
  unsigned sum = 0;
  for (unsigned read = 0; read < reads; read += IN_FLIGHT, at += IN_FLIGHT * step) {
    uint4 vectors[IN_FLIGHT];
#pragma unroll
    for (unsigned nth = 0; nth < IN_FLIGHT; ++nth) vectors[nth] = source[(at + nth * step) & mask];
#pragma unroll
    for (unsigned nth = 0; nth < IN_FLIGHT; ++nth)
      sum += vectors[nth].x + vectors[nth].y + (vectors[nth].z + vectors[nth].w);
  }
  destination[thread] = sum;
}
