// The twins of sums through rings of stages; see gpu-kernels/src/unchecked/staged.rs. Copies beside the threads have no plain
// C++, so they are inline PTX with the kernels' own instructions. Only for compute_90a.

#include "module.cuh"
#include "tensor.cuh"

namespace {

constexpr unsigned MOST_STAGES = 8, VECTOR = 16, ROW = 128;

// The stages that a block takes: every one that lies a grid further on.
struct Walk {
  unsigned steps;

  __device__ __forceinline__ explicit Walk(size_t vectors) {
    unsigned stages = static_cast<unsigned>(vectors / blockDim.x);
    steps = blockIdx.x < stages ? ceil_div(stages - blockIdx.x, gridDim.x) : 0;
  }

  __device__ __forceinline__ size_t first(unsigned step) const {
    return (blockIdx.x + static_cast<size_t>(step) * gridDim.x) * blockDim.x;
  }

  __device__ __forceinline__ unsigned opposite() const { return blockDim.x - 1 - threadIdx.x; }
};

__device__ __forceinline__ unsigned words(uint4 vector) { return vector.x + vector.y + (vector.z + vector.w); }

__device__ __forceinline__ void finish(unsigned *sums, unsigned sum) {
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__device__ __forceinline__ uint4 *dynamic_vectors() {
  extern __shared__ uint4 vectors[];
  return vectors;
}

template <unsigned STAGES> __device__ __forceinline__ unsigned plain(const uint4 *__restrict__ source, Walk walk) {
  uint4 *tiles = dynamic_vectors();
  auto load = [&](unsigned step) {
    return step < walk.steps ? source[walk.first(step) + threadIdx.x] : make_uint4(0, 0, 0, 0);
  };
  uint4 ahead[STAGES];
#pragma unroll
  for (unsigned nth = 0; nth < STAGES; ++nth) ahead[nth] = load(nth);
  unsigned sum = 0;
  for (unsigned first = 0; first < walk.steps; first += STAGES) {
#pragma unroll
    for (unsigned nth = 0; nth < STAGES; ++nth) {
      unsigned step = first + nth;
      if (step < walk.steps) {
        uint4 *tile = tiles + step % 2 * blockDim.x;
        tile[threadIdx.x] = ahead[nth];
        ahead[nth] = load(step + STAGES);
        __syncthreads();
        sum += words(tile[walk.opposite()]);
      }
    }
  }
  return sum;
}

template <unsigned STAGES> __device__ __forceinline__ unsigned copied(const uint4 *__restrict__ source, Walk walk) {
  uint4 *ring = dynamic_vectors();
  auto fill = [&](unsigned slot, unsigned step) {
    if (step < walk.steps)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       shared_address(ring + slot * blockDim.x + threadIdx.x)),
                   "l"(source + walk.first(step) + threadIdx.x)
                   : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (unsigned step = 0; step < STAGES; ++step) fill(step, step);
  unsigned sum = 0;
  for (unsigned step = 0; step < walk.steps; ++step) {
    unsigned slot = step % STAGES;
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncthreads();
    sum += words(ring[slot * blockDim.x + walk.opposite()]);
    __syncthreads();
    fill(slot, step + STAGES);
  }
  return sum;
}

// The sum of stages that the copy engine fills: fill(slot, step, barrier) asks for a stage, and read(slot) is the thread's
// vector of one.
template <class Fill, class Read>
__device__ __forceinline__ unsigned announced(Walk walk, unsigned stages, Fill fill, Read read) {
  __shared__ unsigned long long barriers[MOST_STAGES];
  unsigned full = shared_address(barriers);
  auto ask = [&](unsigned slot, unsigned step) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full + 8 * slot),
                 "r"(blockDim.x * VECTOR)
                 : "memory");
    fill(slot, step, full + 8 * slot);
  };
  if (threadIdx.x == 0) {
    for (unsigned slot = 0; slot < stages; ++slot)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full + 8 * slot) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (unsigned slot = 0; slot < min(stages, walk.steps); ++slot) ask(slot, slot);
  }
  __syncthreads();
  unsigned sum = 0, slot = 0, parity = 0;
  for (unsigned step = 0; step < walk.steps; ++step) {
    while (!is_phase_over(full + 8 * slot, parity)) continue;
    sum += words(read(slot));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0 && step + stages < walk.steps) ask(slot, step + stages);
    if (++slot == stages) slot = 0, parity ^= 1;
  }
  return sum;
}

} // namespace

#define BY_STAGES(SUM)                                                                                                 \
  Walk walk(length);                                                                                                   \
  finish(sums, stages == 1   ? SUM<1>(source, walk)                                                                    \
               : stages == 2 ? SUM<2>(source, walk)                                                                    \
               : stages == 4 ? SUM<4>(source, walk)                                                                    \
                             : SUM<8>(source, walk))

extern "C" __global__ void __launch_bounds__(1024)
    async_plain(const uint4 *__restrict__ source, size_t length, unsigned *sums, size_t, unsigned stages) {
  BY_STAGES(plain);
}

extern "C" __global__ void __launch_bounds__(1024)
    async_copy(const uint4 *__restrict__ source, size_t length, unsigned *sums, size_t, unsigned stages) {
  BY_STAGES(copied);
}

extern "C" __global__ void __launch_bounds__(1024)
    async_bulk(const uint4 *__restrict__ source, size_t length, unsigned *sums, size_t, unsigned stages) {
  Walk walk(length);
  uint4 *ring = dynamic_vectors();
  auto fill = [&](unsigned slot, unsigned step, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(ring + slot * blockDim.x)),
                 "l"(source + walk.first(step)), "r"(blockDim.x * VECTOR), "r"(barrier)
                 : "memory");
  };
  finish(sums, announced(walk, stages, fill, [&](unsigned slot) { return ring[slot * blockDim.x + walk.opposite()]; }));
}

extern "C" __global__ void __launch_bounds__(1024)
    async_tensor(const __grid_constant__ TensorMap source, unsigned *sums, size_t, unsigned stages, size_t vectors) {
  Walk walk(vectors);
  unsigned start = dynamic_shared();
  uint4 *ring = dynamic_vectors() + (start - shared_address(dynamic_vectors())) / VECTOR;
  unsigned opposite = walk.opposite(), swizzled = opposite ^ opposite / 8 % 8;
  auto fill = [&](unsigned slot, unsigned step, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(start + slot * blockDim.x * VECTOR),
                 "l"(&source), "r"(0), "r"(static_cast<unsigned>(walk.first(step) * VECTOR / ROW)), "r"(barrier)
                 : "memory");
  };
  finish(sums, announced(walk, stages, fill, [&](unsigned slot) { return ring[slot * blockDim.x + swizzled]; }));
}
