// The twins of loads with policies for L2; see gpu-kernels/src/unchecked/l2.rs. CUDA C++ has neither these policies nor these
// fetch sizes as plain loads, so they are inline PTX with the kernels' own instructions. Only for compute_90a.

#include "module.cuh"

namespace {

__device__ __forceinline__ unsigned words(uint4 vector) { return vector.x + vector.y + (vector.z + vector.w); }

__device__ __forceinline__ uint4 load(const uint4 *pointer) {
  uint4 v;
  asm("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(pointer));
  return v;
}

__device__ __forceinline__ uint4 load(const uint4 *pointer, unsigned long long policy) {
  uint4 v;
  asm("ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(pointer), "l"(policy));
  return v;
}

template <bool FIRST, bool LAST>
__device__ __forceinline__ void beside(const uint4 *stream, size_t vectors, const uint4 *table, size_t length, unsigned *sums) {
  unsigned long long first, last;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x, own = blockIdx.x * blockDim.x + threadIdx.x;
  size_t at = own % length, step = threads % length;
  unsigned sum = 0;
  for (size_t nth = own; nth < vectors; nth += threads) {
    uint4 near = FIRST ? load(stream + nth, first) : load(stream + nth);
    uint4 far = LAST ? load(table + at, last) : load(table + at);
    sum += words(near) + __funnelshift_l(words(far), words(far), 1);
    at += step;
    if (at >= length) at -= length;
  }
  sums[own] = sum;
}

} // namespace

extern "C" __global__ void l2_plain(const uint4 *stream, size_t vectors, const uint4 *table, size_t length,
                                    unsigned *sums, size_t) {
  beside<false, false>(stream, vectors, table, length, sums);
}
extern "C" __global__ void l2_evict_first(const uint4 *stream, size_t vectors, const uint4 *table, size_t length,
                                          unsigned *sums, size_t) {
  beside<true, false>(stream, vectors, table, length, sums);
}
extern "C" __global__ void l2_evict_last(const uint4 *stream, size_t vectors, const uint4 *table, size_t length,
                                         unsigned *sums, size_t) {
  beside<true, true>(stream, vectors, table, length, sums);
}

#define FETCH(LOAD)                                                                                                    \
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x, own = blockIdx.x * blockDim.x + threadIdx.x;           \
  unsigned sum = 0;                                                                                                    \
  for (size_t at = own * distance; at < length; at += threads * distance) {                                            \
    unsigned word;                                                                                                     \
    asm(LOAD ".b32 %0, [%1];" : "=r"(word) : "l"(source + at));                                                        \
    sum += word;                                                                                                       \
  }                                                                                                                    \
  sums[own] = sum

extern "C" __global__ void l2_fetch(const unsigned *source, size_t length, unsigned *sums, size_t, unsigned distance) {
  FETCH("ld.global.L1::no_allocate");
}
extern "C" __global__ void l2_fetch_128(const unsigned *source, size_t length, unsigned *sums, size_t,
                                        unsigned distance) {
  FETCH("ld.global.L2::128B");
}
extern "C" __global__ void l2_fetch_256(const unsigned *source, size_t length, unsigned *sums, size_t,
                                        unsigned distance) {
  FETCH("ld.global.L2::256B");
}
