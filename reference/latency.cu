// Chains of dependent loads; see gpu-kernels/src/unchecked/latency.rs.

#include <cuda_runtime.h>

constexpr unsigned UNROLLED = 16;
constexpr unsigned TABLE = 8192;

extern "C" {
__constant__ unsigned CHASE_TABLE[TABLE];
}

using word = unsigned long long;

// Takes `warm` steps, then `steps` more, and counts the clock cycles of these.
template <typename At, typename Next>
__device__ __forceinline__ word timed(At &at, unsigned warm, unsigned steps, Next next) {
  for (unsigned step = 0; step < warm; step += UNROLLED) {
#pragma unroll
    for (unsigned nth = 0; nth < UNROLLED; ++nth) at = next(at);
  }
  long long begin = clock64();
  for (unsigned step = 0; step < steps; step += UNROLLED) {
#pragma unroll
    for (unsigned nth = 0; nth < UNROLLED; ++nth) at = next(at);
  }
  return clock64() - begin;
}

template <typename Load>
__device__ __forceinline__ void chase(const word *chain, word *state, unsigned warm, unsigned steps, Load load) {
  if (threadIdx.x != 0) return;
  const char *first = reinterpret_cast<const char *>(chain);
  const char *at = first + state[0];
  word cycles = timed(at, warm, steps, [&](const char *at) {
    return reinterpret_cast<const char *>(load(reinterpret_cast<const word *>(at)));
  });
  state[0] = at - first;
  state[1] = cycles;
}

extern "C" __global__ void chase_cached(const word *chain, size_t, word *state, unsigned warm, unsigned steps) {
  chase(chain, state, warm, steps, [](const word *at) { return __ldca(at); });
}

extern "C" __global__ void chase_l2(const word *chain, size_t, word *state, unsigned warm, unsigned steps) {
  chase(chain, state, warm, steps, [](const word *at) { return __ldcg(at); });
}

__device__ __forceinline__ void walk_bytes(const unsigned *first, word *state, unsigned warm, unsigned steps) {
  unsigned at = state[0];
  word cycles = timed(at, warm, steps, [&](unsigned at) {
    return *reinterpret_cast<const unsigned *>(reinterpret_cast<const char *>(first) + at);
  });
  state[0] = at;
  state[1] = cycles;
}

extern "C" __global__ void chase_shared(const unsigned *chain, size_t length, word *state, unsigned warm,
                                        unsigned steps) {
  extern __shared__ unsigned chain_tile[];
  for (size_t slot = threadIdx.x; slot < length; slot += 32) chain_tile[slot] = chain[slot];
  __syncthreads();
  if (threadIdx.x == 0) walk_bytes(chain_tile, state, warm, steps);
}

extern "C" __global__ void chase_constant(word *state, unsigned warm, unsigned steps) {
  if (threadIdx.x == 0) walk_bytes(CHASE_TABLE, state, warm, steps);
}

extern "C" __global__ void chase_each(const word *chain, size_t, word *state, word *visited, unsigned *cycles,
                                      unsigned steps) {
  if (threadIdx.x != 0) return;
  const char *first = reinterpret_cast<const char *>(chain);
  const char *at = first + state[0];
  word sum = 0;
  for (unsigned step = 0; step < steps; ++step) {
    long long begin = clock64();
    word next = __ldcg(reinterpret_cast<const word *>(at));
    // Volatile, so that it stays between the readings of the clock: it waits for the load.
    *const_cast<volatile word *>(visited + step) = next;
    unsigned took = clock64() - begin;
    cycles[step] = took;
    sum += took;
    at = reinterpret_cast<const char *>(next);
  }
  state[0] = at - first;
  state[1] = sum;
}
