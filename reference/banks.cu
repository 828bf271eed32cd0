// Shared memory by stride and width; see gpu-kernels/src/banks.rs.

#include "module.cuh"

constexpr unsigned THREADS = 1024;
constexpr unsigned UNROLLED = 16;

__device__ __forceinline__ unsigned vector_of(unsigned unit, unsigned) { return unit; }
__device__ __forceinline__ uint2 vector_of(unsigned unit, uint2) { return {unit, 2 * unit}; }
__device__ __forceinline__ uint4 vector_of(unsigned unit, uint4) { return {unit, 2 * unit, 3 * unit, 4 * unit}; }
__device__ __forceinline__ unsigned sum_of(unsigned vector) { return vector; }
__device__ __forceinline__ unsigned sum_of(uint2 vector) { return vector.x + vector.y; }
__device__ __forceinline__ unsigned sum_of(uint4 vector) { return vector.x + vector.y + (vector.z + vector.w); }

template <typename T>
__device__ __forceinline__ void banks(unsigned *destination, unsigned *cycles, unsigned stride, unsigned accesses) {
  __shared__ T tile[THREADS];
  tile[threadIdx.x] = vector_of(threadIdx.x + 1, T{});
  __syncthreads();
  unsigned lane = threadIdx.x % 32 * stride;
  long long begin = clock64();
  unsigned sum = 0;
  for (unsigned left = accesses; left >= UNROLLED; left -= UNROLLED) {
    unsigned first = lane ^ 32 * (left / UNROLLED);
#pragma unroll
    for (unsigned nth = 0; nth < UNROLLED; ++nth) sum += sum_of(tile[(first ^ (32 * nth)) % THREADS]);
  }
  cycles[threadIdx.x] = clock64() - begin;
  destination[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) banks_4(unsigned *destination, unsigned *cycles, unsigned stride, unsigned accesses) {
  banks<unsigned>(destination, cycles, stride, accesses);
}

extern "C" __global__ void __launch_bounds__(THREADS) banks_8(unsigned *destination, unsigned *cycles, unsigned stride, unsigned accesses) {
  banks<uint2>(destination, cycles, stride, accesses);
}

extern "C" __global__ void __launch_bounds__(THREADS) banks_16(unsigned *destination, unsigned *cycles, unsigned stride, unsigned accesses) {
  banks<uint4>(destination, cycles, stride, accesses);
}
