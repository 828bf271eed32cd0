// The twins of kernels in clusters; see gpu-kernels/src/unchecked/cluster.rs. Addresses of other blocks' shared memory, and copies
// that write to them, are inline PTX with the kernels' own instructions. Only for compute_90a.

#include "module.cuh"
#include "tensor.cuh"

namespace {

constexpr unsigned CHAIN = 1024, READERS = 1024, EACH = 2, STAGE = 8 << 10, CONSUMERS = 256;

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ unsigned cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ unsigned map_to_rank(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ __forceinline__ unsigned neighbour() { return (cluster_rank() + 1) % cluster_size(); }

template <bool NEIGHBOURS> __device__ __forceinline__ unsigned load_word(unsigned address) {
  unsigned word;
  if (NEIGHBOURS)
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(word) : "r"(address));
  else
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

template <bool NEIGHBOURS> __device__ __forceinline__ uint4 load_vector(unsigned address) {
  uint4 v;
  if (NEIGHBOURS)
    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
  else
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
  return v;
}

__device__ __forceinline__ unsigned words(uint4 vector) { return vector.x + vector.y + (vector.z + vector.w); }

__device__ __forceinline__ unsigned value(unsigned number) { return (number ^ number >> 15) * 2654435761u; }

template <bool NEIGHBOURS> __device__ __forceinline__ void chase(unsigned *ends, unsigned steps) {
  __shared__ unsigned chain[CHAIN];
  unsigned link = 37 + 2 * (blockIdx.x % 64);
  for (unsigned word = threadIdx.x; word < CHAIN; word += 32) chain[word] = (word + link) % CHAIN * 4;
  cluster_sync();
  unsigned start = shared_address(chain), at = 0;
  if (NEIGHBOURS) start = map_to_rank(start, neighbour());
  for (unsigned step = 0; step < steps; ++step) at = load_word<NEIGHBOURS>(start + at);
  if (threadIdx.x == 0) ends[blockIdx.x] = at;
  cluster_sync();
}

template <bool NEIGHBOURS> __device__ __forceinline__ void read(unsigned *sums, unsigned rounds) {
  __shared__ uint4 tile[READERS * EACH];
#pragma unroll
  for (unsigned nth = 0; nth < EACH; ++nth) {
    unsigned vector = threadIdx.x + nth * READERS, word = (blockIdx.x * READERS * EACH + vector) * 4;
    tile[vector] = {value(word), value(word + 1), value(word + 2), value(word + 3)};
  }
  cluster_sync();
  unsigned start = shared_address(tile), sum = 0;
  if (NEIGHBOURS) start = map_to_rank(start, neighbour());
  for (unsigned left = rounds / 4; left-- > 0;) {
    uint4 vectors[8];
#pragma unroll
    for (unsigned nth = 0; nth < 8; ++nth) {
      unsigned vector = (threadIdx.x + nth % EACH * READERS) ^ (nth ^ left) % 32 * 32;
      vectors[nth] = load_vector<NEIGHBOURS>(start + vector * 16);
    }
#pragma unroll
    for (unsigned nth = 0; nth < 8; ++nth) sum += words(vectors[nth]);
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  cluster_sync();
}

template <bool MULTICAST> __device__ __forceinline__ void sum_of(const uint4 *source, size_t length, unsigned *sums) {
  constexpr unsigned VECTORS = STAGE / 16;
  unsigned own = threadIdx.x, lane = own % 32, size = cluster_size(), rank = cluster_rank();
  unsigned clusters = gridDim.x / size, stages = static_cast<unsigned>(length / VECTORS);
  Ring<STAGE> ring(dynamic_shared(), CONSUMERS / 32 * (MULTICAST ? size : 1));
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  unsigned there = MULTICAST ? map_to_rank(ring.barriers, lane % size) - ring.barriers : 0, sum = 0;
  for (unsigned stage = blockIdx.x / size; stage < stages; stage += clusters, ring.advance()) {
    if (own == CONSUMERS) {
      const unsigned char *from = reinterpret_cast<const unsigned char *>(source + static_cast<size_t>(stage) * VECTORS);
      ring.wait_empty<true>();
      unsigned part = STAGE / size;
      if (MULTICAST)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1], %2, [%3], %4;" ::"r"(ring.stage() + rank * part),
                     "l"(from + rank * part), "r"(part), "r"(ring.full()), "h"(static_cast<unsigned short>((1 << size) - 1))
                     : "memory");
      else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         ring.stage()),
                     "l"(from), "r"(STAGE), "r"(ring.full())
                     : "memory");
    } else if (own < CONSUMERS) {
      ring.wait_full();
      uint4 near = load_vector<false>(ring.stage() + own * 16), far = load_vector<false>(ring.stage() + (own + CONSUMERS) * 16);
      sum += words(near) + words(far);
      __syncwarp();
      if (MULTICAST && lane < size)
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(ring.empty() + there) : "memory");
      if (!MULTICAST && lane == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(ring.empty()) : "memory");
    }
  }
  if (own < CONSUMERS) sums[blockIdx.x * CONSUMERS + own] = sum;
  __syncwarp();
  cluster_sync();
}

} // namespace

extern "C" __global__ void cluster_chase(unsigned *ends, size_t, unsigned steps) { chase<true>(ends, steps); }
extern "C" __global__ void cluster_chase_own(unsigned *ends, size_t, unsigned steps) { chase<false>(ends, steps); }

extern "C" __global__ void __launch_bounds__(1024) cluster_read(unsigned *sums, size_t, unsigned rounds) {
  read<true>(sums, rounds);
}
extern "C" __global__ void __launch_bounds__(1024) cluster_read_own(unsigned *sums, size_t, unsigned rounds) {
  read<false>(sums, rounds);
}

extern "C" __global__ void cluster_each(const uint4 *source, size_t length, unsigned *sums, size_t) {
  sum_of<false>(source, length, sums);
}
extern "C" __global__ void cluster_multicast(const uint4 *source, size_t length, unsigned *sums, size_t) {
  sum_of<true>(source, length, sums);
}
