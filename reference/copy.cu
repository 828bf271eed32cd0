// Copies; see gpu-kernels/src/copy.rs. `length` counts the elements that a thread moves at a time: words for
// copy_scalar, 16-byte vectors for the others.
//
// Forms tried on an H200 (256 MiB, blocks of 256), as rates relative to `blockIdx.x * blockDim.x` in 64 bits with
// `__restrict__`:
//
//                                              copy_scalar  copy_vector
//   blockDim.x * blockIdx.x                    1.013        0.999         copy_scalar: 2675 GB/s
//   blockIdx.x * blockDim.x                    1.000        1.000         copy_vector: 4170 GB/s
//   without `__restrict__`                     0.999        1.001
//   32 bits, unsigned                          1.000        1.000
//   32 bits, int                               0.987        1.001
//   32 bits where the length allows            0.986        1.001
//   256 in place of blockDim.x                 1.010        1.001
//   256 where `blockDim.x == 256`              0.982        1.000
//   pointers to the block's first element      0.996        1.001
//
// What coalescing.cu says of the order of the factors holds for copy_scalar. Vectors are at the memory's bandwidth,
// and no form of the index changes that.
//
//                                              copy_unrolled
//   all loads first, any block                 1.000
//   all loads first, 256 where it is 256       1.010         stands: 4002 GB/s
//   each load before its store                 1.036         another algorithm: one load in flight per thread
//
// Where the block is a constant, the distances between the vectors are immediate offsets of the loads and the stores.

#include "module.cuh"

constexpr int LOADS_IN_FLIGHT = 4;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

extern "C" __global__ void copy_scalar(const unsigned *__restrict__ source, size_t length,
                                       unsigned *__restrict__ destination) {
  size_t i = static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
  if (i < length) destination[i] = source[i];
}

extern "C" __global__ void copy_vector(const uint4 *__restrict__ source, size_t length,
                                       uint4 *__restrict__ destination) {
  size_t i = grid_index();
  if (i < length) destination[i] = source[i];
}

extern "C" __global__ void copy_streaming(const uint4 *__restrict__ source, size_t length,
                                          uint4 *__restrict__ destination) {
  size_t i = grid_index();
  if (i < length) __stcs(destination + i, __ldcs(source + i));
}

// A block owns block * LOADS_IN_FLIGHT neighbouring vectors; a thread takes every block-th of them.
__device__ __forceinline__ void copy_in_flight(const uint4 *__restrict__ source, size_t length,
                                               uint4 *__restrict__ destination, unsigned block) {
  size_t first = static_cast<size_t>(blockIdx.x) * block * LOADS_IN_FLIGHT + threadIdx.x;
  if (first + (LOADS_IN_FLIGHT - 1) * static_cast<size_t>(block) < length) {
    uint4 in_flight[LOADS_IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; ++k) in_flight[k] = source[first + k * block];
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; ++k) destination[first + k * block] = in_flight[k];
  } else {
    for (size_t i = first; i < length; i += block) destination[i] = source[i];
  }
}

extern "C" __global__ void copy_unrolled(const uint4 *__restrict__ source, size_t length,
                                         uint4 *__restrict__ destination) {
  if (blockDim.x == 256)
    copy_in_flight(source, length, destination, 256);
  else
    copy_in_flight(source, length, destination, blockDim.x);
}

extern "C" __global__ void copy_persistent(const uint4 *__restrict__ source, size_t length,
                                           uint4 *__restrict__ destination) {
  for (size_t i = grid_index(); i < length; i += static_cast<size_t>(gridDim.x) * blockDim.x)
    destination[i] = source[i];
}
