// Access by index; see gpu-kernels/src/gather.rs.
//
// These stand as first written. Both scatters store plainly: the indices are a permutation, and C++ asks for no proof.

#include "module.cuh"

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
}

extern "C" __global__ void gather(const unsigned *__restrict__ indices, size_t length,
                                  const unsigned *__restrict__ source, size_t, unsigned *__restrict__ destination) {
  size_t i = grid_index();
  if (i < length) destination[i] = source[indices[i]];
}

extern "C" __global__ void scatter(const unsigned *__restrict__ indices, size_t length,
                                   const unsigned *__restrict__ source, size_t, unsigned *__restrict__ destination,
                                   size_t) {
  size_t i = grid_index();
  if (i < length) destination[indices[i]] = source[i];
}

extern "C" __global__ void scatter_unchecked(const unsigned *__restrict__ indices, size_t length,
                                             const unsigned *__restrict__ source, size_t,
                                             unsigned *__restrict__ destination, size_t) {
  size_t i = grid_index();
  if (i < length) destination[indices[i]] = source[i];
}
