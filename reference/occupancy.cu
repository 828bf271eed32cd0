// Reads with some bytes in flight per SM; see gpu-kernels/src/occupancy.rs.

#include "module.cuh"

__device__ __forceinline__ unsigned sum_of(unsigned word) { return word; }
__device__ __forceinline__ unsigned sum_of(uint4 vector) { return vector.x + vector.y + (vector.z + vector.w); }

template <int LOADS, typename T>
__device__ __forceinline__ void in_flight(const T *__restrict__ source, size_t length,
                                          unsigned *__restrict__ destination) {
  size_t thread = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  size_t step = static_cast<size_t>(gridDim.x) * blockDim.x * LOADS;
  size_t at = thread / 32 * 32 * LOADS + thread % 32;
  unsigned sum = 0;
  for (; at + 32 * (LOADS - 1) < length; at += step) {
    T loaded[LOADS];
#pragma unroll
    for (int nth = 0; nth < LOADS; ++nth) loaded[nth] = source[at + 32 * nth];
#pragma unroll
    for (int nth = 0; nth < LOADS; ++nth) sum += sum_of(loaded[nth]);
  }
  for (; at < length; at += 32) sum += sum_of(source[at]);
  destination[thread] = sum;
}

#define IN_FLIGHT(name, loads, T)                                                                  \
  extern "C" __global__ void name(const T *__restrict__ source, size_t length,                     \
                                  unsigned *__restrict__ destination) {                            \
    in_flight<loads>(source, length, destination);                                                 \
  }

IN_FLIGHT(in_flight_1, 1, uint4)
IN_FLIGHT(in_flight_2, 2, uint4)
IN_FLIGHT(in_flight_4, 4, uint4)
IN_FLIGHT(in_flight_8, 8, uint4)
IN_FLIGHT(in_flight_words, 4, unsigned)
