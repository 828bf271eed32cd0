// The twin of stores of parts of sectors; see gpu-kernels/src/unchecked/l2.rs.

#include "module.cuh"

extern "C" __global__ void l2_store(unsigned *destination, size_t length, unsigned used, unsigned pitch) {
  unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
  size_t place = static_cast<size_t>(own >> (__ffs(used) - 1)) * pitch + (own & (used - 1));
  if (place < length) destination[place] = own;
}
