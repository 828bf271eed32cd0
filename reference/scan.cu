// Prefix sums; see gpu-kernels/src/scan.rs.
//
// These stand as first written. A block's state is one word of 64 bits, read and written as a volatile one: it is never
// seen in part.

#include "module.cuh"

constexpr unsigned WARP = ~0u;
constexpr unsigned THREADS = 256;
constexpr int VECTORS = 4;
constexpr unsigned long long SUM = 1ull << 32;
constexpr unsigned long long PREFIX = 2ull << 32;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
}

__device__ __forceinline__ unsigned scan_of_warp(unsigned sum) {
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    unsigned below = __shfl_up_sync(WARP, sum, distance);
    if (threadIdx.x % 32 >= distance) sum += below;
  }
  return sum;
}

// The sum of the warps before the thread's, and of all, from each warp's total.
struct Warps {
  unsigned before, total;
};

__device__ __forceinline__ Warps warps_before(unsigned total_of_warp) {
  __shared__ unsigned totals[32];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) totals[warp] = total_of_warp;
  __syncthreads();
  unsigned total = lane < blockDim.x / 32 ? totals[lane] : 0;
  unsigned sum = scan_of_warp(total);
  return {__shfl_sync(WARP, sum - total, warp), __shfl_sync(WARP, sum, 31)};
}

extern "C" __global__ void scan_hillis_steele(const unsigned *__restrict__ source, size_t length,
                                              unsigned *__restrict__ destination) {
  extern __shared__ unsigned words[];
  size_t i = grid_index();
  unsigned sum = i < length ? source[i] : 0;
  unsigned *full = words, *fresh = words + blockDim.x;
  full[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    if (threadIdx.x >= distance) sum += full[threadIdx.x - distance];
    fresh[threadIdx.x] = sum;
    __syncthreads();
    unsigned *other = full;
    full = fresh;
    fresh = other;
  }
  if (i < length) destination[i] = sum;
}

extern "C" __global__ void scan_blelloch(const unsigned *__restrict__ source, size_t length,
                                         unsigned *__restrict__ destination) {
  extern __shared__ unsigned words[];
  size_t i = grid_index();
  unsigned value = i < length ? source[i] : 0;
  words[threadIdx.x] = value;
  unsigned distance = 1;
  for (; distance < blockDim.x / 2; distance *= 2) {
    __syncthreads();
    unsigned left = threadIdx.x * 2 * distance + distance - 1;
    if (left + distance < blockDim.x) words[left + distance] += words[left];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    words[blockDim.x - 1] = words[blockDim.x / 2 - 1];
    words[blockDim.x / 2 - 1] = 0;
  }
  while (distance > 1) {
    distance /= 2;
    __syncthreads();
    unsigned left = threadIdx.x * 2 * distance + distance - 1;
    if (left + distance < blockDim.x) {
      unsigned sum = words[left], prefix = words[left + distance];
      words[left] = prefix;
      words[left + distance] = prefix + sum;
    }
  }
  __syncthreads();
  if (i < length) destination[i] = words[threadIdx.x] + value;
}

extern "C" __global__ void scan_shuffle(const unsigned *__restrict__ source, size_t length,
                                        unsigned *__restrict__ destination) {
  size_t i = grid_index();
  unsigned sum = scan_of_warp(i < length ? source[i] : 0);
  Warps warps = warps_before(__shfl_sync(WARP, sum, 31));
  if (i < length) destination[i] = sum + warps.before;
}

// A thread's vectors, each with its running sums: a warp has 32 * VECTORS in a row, and a thread every 32nd of them.
struct Vectors {
  uint4 vectors[VECTORS];
  size_t first;
};

__device__ __forceinline__ Vectors load(const uint4 *__restrict__ source, size_t length) {
  Vectors own;
  size_t i = grid_index();
  own.first = i / 32 * 32 * VECTORS + i % 32;
  if (own.first + (VECTORS - 1) * 32 < length) {
#pragma unroll
    for (int nth = 0; nth < VECTORS; ++nth) own.vectors[nth] = source[own.first + nth * 32];
  } else {
#pragma unroll
    for (int nth = 0; nth < VECTORS; ++nth)
      own.vectors[nth] = own.first + nth * 32 < length ? source[own.first + nth * 32] : make_uint4(0, 0, 0, 0);
  }
#pragma unroll
  for (int nth = 0; nth < VECTORS; ++nth) {
    uint4 &vector = own.vectors[nth];
    vector.y += vector.x;
    vector.z += vector.y;
    vector.w += vector.z;
  }
  return own;
}

// Adds to each vector the sum of the warp's elements before it; returns the warp's total.
__device__ __forceinline__ unsigned scan_of_rows(unsigned (&firsts)[VECTORS], const Vectors &own) {
  unsigned total = 0;
#pragma unroll
  for (int nth = 0; nth < VECTORS; ++nth) {
    unsigned sum = scan_of_warp(own.vectors[nth].w);
    firsts[nth] = sum - own.vectors[nth].w + total;
    total += __shfl_sync(WARP, sum, 31);
  }
  return total;
}

__device__ __forceinline__ void finish(uint4 *__restrict__ destination, size_t length, const Vectors &own,
                                       const unsigned (&firsts)[VECTORS], unsigned before) {
#pragma unroll
  for (int nth = 0; nth < VECTORS; ++nth) {
    uint4 vector = own.vectors[nth];
    unsigned first = firsts[nth] + before;
    if (own.first + nth * 32 < length)
      destination[own.first + nth * 32] =
          make_uint4(vector.x + first, vector.y + first, vector.z + first, vector.w + first);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    scan_sums(const uint4 *__restrict__ source, size_t length, unsigned *__restrict__ sums) {
  Vectors own = load(source, length);
  unsigned sum = 0;
#pragma unroll
  for (int nth = 0; nth < VECTORS; ++nth) sum += own.vectors[nth].w;
#if __CUDA_ARCH__ >= 800
  sum = __reduce_add_sync(WARP, sum);
#else
  for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(WARP, sum, bits);
#endif
  Warps warps = warps_before(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = warps.total;
}

extern "C" __global__ void scan_offsets(const unsigned *__restrict__ sums, size_t length,
                                        unsigned *__restrict__ offsets) {
  unsigned carry = 0;
  for (size_t first = 0; first < length; first += blockDim.x) {
    size_t i = first + threadIdx.x;
    unsigned value = i < length ? sums[i] : 0;
    unsigned sum = scan_of_warp(value);
    Warps warps = warps_before(__shfl_sync(WARP, sum, 31));
    __syncthreads();
    if (i < length) offsets[i] = carry + sum + warps.before - value;
    carry += warps.total;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    scan_apply(const uint4 *__restrict__ source, size_t length, const unsigned *__restrict__ offsets, size_t,
               uint4 *__restrict__ destination) {
  Vectors own = load(source, length);
  unsigned firsts[VECTORS];
  Warps warps = warps_before(scan_of_rows(firsts, own));
  finish(destination, length, own, firsts, warps.before + offsets[blockIdx.x]);
}

extern "C" __global__ void scan_clear(unsigned long long *__restrict__ states, size_t length) {
  size_t i = grid_index();
  if (i < length) states[i] = 0;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    scan_lookback(const uint4 *__restrict__ source, size_t length, unsigned long long *states_of_blocks, size_t,
                  uint4 *__restrict__ destination) {
  __shared__ unsigned first_of_block;
  volatile unsigned long long *states = states_of_blocks;
  Vectors own = load(source, length);
  unsigned firsts[VECTORS];
  Warps warps = warps_before(scan_of_rows(firsts, own));
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) states[blockIdx.x] = (blockIdx.x == 0 ? PREFIX : SUM) | warps.total;
    unsigned prefix = 0;
    for (long long nearest = static_cast<long long>(blockIdx.x) - 1; nearest >= 0; nearest -= 32) {
      long long other = nearest - threadIdx.x;
      unsigned long long state = PREFIX;
      if (other >= 0)
        do state = states[other];
        while (state == 0);
      unsigned complete = __ballot_sync(WARP, state >= PREFIX);
      unsigned last = complete == 0 ? 31 : __ffs(complete) - 1;
      unsigned sum = threadIdx.x <= last ? static_cast<unsigned>(state) : 0;
#if __CUDA_ARCH__ >= 800
      prefix += __reduce_add_sync(WARP, sum);
#else
      for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(WARP, sum, bits);
      prefix += sum;
#endif
      if (complete != 0) break;
    }
    if (threadIdx.x == 0) {
      states[blockIdx.x] = PREFIX | (prefix + warps.total);
      first_of_block = prefix;
    }
  }
  __syncthreads();
  finish(destination, length, own, firsts, warps.before + first_of_block);
}
