// Histograms of bytes; see gpu-kernels/src/histogram.rs.
//
// These stand as first written. The source is read in vectors of 16 bytes.

#include "module.cuh"

constexpr unsigned BINS = 256;
constexpr unsigned WARPS = 8;
constexpr unsigned THREADS = 128;
constexpr unsigned VECTORS = 15;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
}

template <typename Take> __device__ __forceinline__ void for_each_byte(uint4 vector, Take take) {
  unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int word = 0; word < 4; ++word)
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8) take(words[word] >> shift & 0xff);
}

// Calls `take` with each vector that falls to the thread.
template <typename Take> __device__ __forceinline__ void for_each_vector(const uint4 *source, size_t length, Take take) {
  for (size_t i = grid_index(); i < length; i += static_cast<size_t>(gridDim.x) * blockDim.x) take(source[i]);
}

extern "C" __global__ void histogram_global(const uint4 *__restrict__ source, size_t length,
                                            unsigned *__restrict__ bins, size_t) {
  for_each_vector(source, length,
                  [&](uint4 vector) { for_each_byte(vector, [&](unsigned byte) { atomicAdd(bins + byte, 1u); }); });
}

extern "C" __global__ void histogram_shared(const uint4 *__restrict__ source, size_t length,
                                            unsigned *__restrict__ bins, size_t) {
  __shared__ unsigned counters[BINS];
  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) counters[bin] = 0;
  __syncthreads();
  for_each_vector(source, length,
                  [&](uint4 vector) { for_each_byte(vector, [&](unsigned byte) { atomicAdd(counters + byte, 1u); }); });
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(bins + bin, counters[bin]);
}

extern "C" __global__ void histogram_warps(const uint4 *__restrict__ source, size_t length,
                                           unsigned *__restrict__ bins, size_t) {
  __shared__ unsigned counters[WARPS * BINS];
  for (unsigned cell = threadIdx.x; cell < WARPS * BINS; cell += blockDim.x) counters[cell] = 0;
  __syncthreads();
  unsigned *own = counters + threadIdx.x / 32 * BINS;
  for_each_vector(source, length,
                  [&](uint4 vector) { for_each_byte(vector, [&](unsigned byte) { atomicAdd(own + byte, 1u); }); });
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
    unsigned sum = 0;
#pragma unroll
    for (unsigned warp = 0; warp < WARPS; ++warp) sum += counters[warp * BINS + bin];
    atomicAdd(bins + bin, sum);
  }
}

extern "C" __global__ void histogram_match(const uint4 *__restrict__ source, size_t length,
                                           unsigned *__restrict__ bins, size_t) {
  __shared__ unsigned counters[BINS];
  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) counters[bin] = 0;
  __syncthreads();
  // All threads of a block take as many turns.
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x; first < length; first += threads) {
    bool has = first + threadIdx.x < length;
    uint4 vector = has ? source[first + threadIdx.x] : make_uint4(0, 0, 0, 0);
    for_each_byte(vector, [&](unsigned byte) {
      unsigned peers = __match_any_sync(~0u, has ? byte : ~0u);
      if (has && threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(counters + byte, __popc(peers));
    });
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(bins + bin, counters[bin]);
}

// The four bytes of a word are those of one lane of the four warps.
extern "C" __global__ void __launch_bounds__(THREADS)
    histogram_threads(const uint4 *__restrict__ source, size_t length, unsigned *__restrict__ bins, size_t) {
  __shared__ alignas(16) unsigned char counters[BINS * THREADS];
  unsigned char *own = counters + threadIdx.x % 32 * 4 + threadIdx.x / 32;
  for (unsigned bin = 0; bin < BINS; ++bin) own[bin * THREADS] = 0;
  size_t first = static_cast<size_t>(blockIdx.x) * THREADS * VECTORS + threadIdx.x;
#pragma unroll
  for (unsigned nth = 0; nth < VECTORS; ++nth)
    if (first + nth * THREADS < length)
      for_each_byte(source[first + nth * THREADS], [&](unsigned byte) { ++own[byte * THREADS]; });
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < BINS; bin += THREADS) {
    const unsigned *words = reinterpret_cast<const unsigned *>(counters + bin * THREADS);
    unsigned sums = 0;
#pragma unroll
    for (unsigned turn = 0; turn < THREADS / 4; ++turn) {
      unsigned word = words[(turn + threadIdx.x) % (THREADS / 4)];
      sums += (word & 0x00ff00ff) + (word >> 8 & 0x00ff00ff);
    }
    atomicAdd(bins + bin, (sums & 0xffff) + (sums >> 16));
  }
}
