// Atomic operations on one address to one per thread; see gpu-kernels/src/atomics.rs.
//
// These stand as first written. What is added comes from a parameter where the compiler might otherwise add up for the warp.

#include "module.cuh"

constexpr unsigned SHARED = 1024;
constexpr unsigned WARP = ~0u;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
}

__device__ __forceinline__ unsigned add_by_swaps(unsigned *counter) {
  unsigned old = *static_cast<volatile unsigned *>(counter), expected;
  do {
    expected = old;
    old = atomicCAS(counter, expected, expected + 1);
  } while (old != expected);
  return old;
}

__device__ __forceinline__ unsigned long long add_by_swaps(unsigned long long *counter) {
  unsigned long long old = *static_cast<volatile unsigned long long *>(counter), expected;
  do {
    expected = old;
    old = atomicCAS(counter, expected, expected + 1);
  } while (old != expected);
  return old;
}

template <typename T> __device__ __forceinline__ void global_add(T *counters, unsigned addresses, unsigned repeats) {
  T *counter = counters + (grid_index() & (addresses - 1));
  for (unsigned turn = 0; turn < repeats; ++turn) atomicAdd(counter, static_cast<T>(1));
}

template <typename T> __device__ __forceinline__ void global_cas(T *counters, unsigned addresses, unsigned repeats) {
  T *counter = counters + (grid_index() & (addresses - 1));
  for (unsigned turn = 0; turn < repeats; ++turn) add_by_swaps(counter);
}

// Zeros a block's counters and has `work` change them; returns the thread's.
template <typename T, typename Work> __device__ __forceinline__ T in_shared_memory(Work work) {
  __shared__ T counters[SHARED];
  for (unsigned cell = threadIdx.x; cell < SHARED; cell += blockDim.x) counters[cell] = 0;
  __syncthreads();
  work(counters);
  __syncthreads();
  return counters[threadIdx.x];
}

template <typename T>
__device__ __forceinline__ void shared_add(T *results, unsigned addresses, unsigned repeats) {
  results[grid_index()] = in_shared_memory<T>([&](T *counters) {
    T *counter = counters + (threadIdx.x & (addresses - 1));
    for (unsigned turn = 0; turn < repeats; ++turn) atomicAdd(counter, static_cast<T>(1));
  });
}

template <typename T>
__device__ __forceinline__ void shared_cas(T *results, unsigned addresses, unsigned repeats) {
  results[grid_index()] = in_shared_memory<T>([&](T *counters) {
    T *counter = counters + (threadIdx.x & (addresses - 1));
    for (unsigned turn = 0; turn < repeats; ++turn) add_by_swaps(counter);
  });
}

extern "C" __global__ void atomics_global_add_u32(unsigned *counters, size_t, unsigned addresses, unsigned repeats) {
  global_add(counters, addresses, repeats);
}

extern "C" __global__ void atomics_global_add_u64(unsigned long long *counters, size_t, unsigned addresses,
                                                  unsigned repeats) {
  global_add(counters, addresses, repeats);
}

extern "C" __global__ void atomics_global_add_f32(float *counters, size_t, unsigned addresses, unsigned repeats) {
  global_add(counters, addresses, repeats);
}

extern "C" __global__ void atomics_global_fetch_u32(unsigned *counters, size_t, unsigned *results, unsigned addresses,
                                                    unsigned repeats) {
  unsigned *counter = counters + (grid_index() & (addresses - 1));
  unsigned sum = 0;
  for (unsigned turn = 0; turn < repeats; ++turn) sum += atomicAdd(counter, 1u);
  results[grid_index()] = sum;
}

extern "C" __global__ void atomics_global_cas_u32(unsigned *counters, size_t, unsigned addresses, unsigned repeats) {
  global_cas(counters, addresses, repeats);
}

extern "C" __global__ void atomics_global_cas_u64(unsigned long long *counters, size_t, unsigned addresses,
                                                  unsigned repeats) {
  global_cas(counters, addresses, repeats);
}

extern "C" __global__ void atomics_global_match_u32(unsigned *counters, size_t, unsigned addresses, unsigned repeats) {
  unsigned index = static_cast<unsigned>(grid_index()) & (addresses - 1);
  for (unsigned turn = 0; turn < repeats; ++turn) {
    unsigned peers = __match_any_sync(WARP, index);
    if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(counters + index, __popc(peers));
  }
}

extern "C" __global__ void atomics_global_redux_u32(unsigned *counters, size_t, unsigned addresses, unsigned repeats) {
  unsigned one = addresses > 0;
  unsigned *counter = counters + (grid_index() / 32 & (addresses - 1));
  for (unsigned turn = 0; turn < repeats; ++turn) {
#if __CUDA_ARCH__ >= 800
    unsigned sum = __reduce_add_sync(WARP, one);
#else
    unsigned sum = one;
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(WARP, sum, bits);
#endif
    if (threadIdx.x % 32 == 0) atomicAdd(counter, sum);
  }
}

extern "C" __global__ void atomics_global_tree_f32(float *counters, size_t, unsigned addresses, unsigned repeats) {
  float one = addresses > 0 ? 1.0f : 0.0f;
  float *counter = counters + (grid_index() / 32 & (addresses - 1));
  for (unsigned turn = 0; turn < repeats; ++turn) {
    float sum = one;
#pragma unroll
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(WARP, sum, bits);
    if (threadIdx.x % 32 == 0) atomicAdd(counter, sum);
  }
}

extern "C" __global__ void atomics_shared_add_u32(unsigned *results, unsigned addresses, unsigned repeats) {
  shared_add(results, addresses, repeats);
}

extern "C" __global__ void atomics_shared_add_u64(unsigned long long *results, unsigned addresses, unsigned repeats) {
  shared_add(results, addresses, repeats);
}

extern "C" __global__ void atomics_shared_add_f32(float *results, unsigned addresses, unsigned repeats) {
  shared_add(results, addresses, repeats);
}

extern "C" __global__ void atomics_shared_fetch_u32(unsigned *results, unsigned addresses, unsigned repeats) {
  unsigned sum = 0;
  unsigned count = in_shared_memory<unsigned>([&](unsigned *counters) {
    unsigned *counter = counters + (threadIdx.x & (addresses - 1));
    for (unsigned turn = 0; turn < repeats; ++turn) sum += atomicAdd(counter, 1u);
  });
  // The sum is small, so this adds 0, which the compiler does not know.
  results[grid_index()] = count + (sum >> 31);
}

extern "C" __global__ void atomics_shared_cas_u32(unsigned *results, unsigned addresses, unsigned repeats) {
  shared_cas(results, addresses, repeats);
}

extern "C" __global__ void atomics_shared_cas_u64(unsigned long long *results, unsigned addresses, unsigned repeats) {
  shared_cas(results, addresses, repeats);
}

extern "C" __global__ void atomics_shared_match_u32(unsigned *results, unsigned addresses, unsigned repeats) {
  results[grid_index()] = in_shared_memory<unsigned>([&](unsigned *counters) {
    unsigned index = threadIdx.x & (addresses - 1);
    for (unsigned turn = 0; turn < repeats; ++turn) {
      unsigned peers = __match_any_sync(WARP, index);
      if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(counters + index, __popc(peers));
    }
  });
}
