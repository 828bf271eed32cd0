// Copies; see gpu-kernels/src/copy.rs. `length` counts the elements that a thread moves at a time: words for
// copy_scalar, 16-byte vectors for the others.

constexpr int LOADS_IN_FLIGHT = 4;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

extern "C" __global__ void copy_scalar(const unsigned *__restrict__ source, size_t length,
                                       unsigned *__restrict__ destination) {
  size_t i = grid_index();
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

// A block owns blockDim.x * LOADS_IN_FLIGHT neighbouring vectors; a thread takes every blockDim.x-th of them.
extern "C" __global__ void copy_unrolled(const uint4 *__restrict__ source, size_t length,
                                         uint4 *__restrict__ destination) {
  size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x * LOADS_IN_FLIGHT + threadIdx.x;
  if (first + (LOADS_IN_FLIGHT - 1) * static_cast<size_t>(blockDim.x) < length) {
    uint4 in_flight[LOADS_IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; ++k) in_flight[k] = source[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < LOADS_IN_FLIGHT; ++k) destination[first + k * blockDim.x] = in_flight[k];
  } else {
    for (size_t i = first; i < length; i += blockDim.x) destination[i] = source[i];
  }
}

extern "C" __global__ void copy_persistent(const uint4 *__restrict__ source, size_t length,
                                           uint4 *__restrict__ destination) {
  for (size_t i = grid_index(); i < length; i += static_cast<size_t>(gridDim.x) * blockDim.x)
    destination[i] = source[i];
}
