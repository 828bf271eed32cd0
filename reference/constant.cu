// Walks through a table, `distinct` different words at a time; see gpu-kernels/src/constant.rs.
//
// Forms of constant_broadcast tried on an H200 (2048 threads per SM, blocks of 256, distinct = 1), as rates relative
// to turns of 32 steps whose first word is computed again in each of them:
//
//   one loop over the steps, unrolled by 32      1.117   stands: 15130 GB/s to the lanes
//   the same, unrolled by 64                     1.107
//   turns of 32, the first word counted up       1.095
//   the same with the word's index in 64 bits    1.034
//   turns of 32, a pointer counted up            1.026
//   two nested loops, by period and by turn      1.025
//
// With 32 distinct words the constant cache serves one after the other, and every form has the same 522 GB/s.

constexpr unsigned PERIOD = 1024;
constexpr unsigned TABLE = PERIOD + 32;
constexpr unsigned UNROLLED = 32;

__constant__ unsigned CONSTANT_TABLE[TABLE];

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

extern "C" __global__ void constant_broadcast(unsigned *__restrict__ destination, unsigned distinct, unsigned steps) {
  unsigned lane = threadIdx.x % 32 & (distinct - 1);
  unsigned sum = 0;
#pragma unroll UNROLLED
  for (unsigned step = 0; step < steps; ++step) sum += CONSTANT_TABLE[step % PERIOD + lane];
  destination[grid_index()] = sum;
}

extern "C" __global__ void read_only_broadcast(const unsigned *__restrict__ table, size_t,
                                               unsigned *__restrict__ destination, unsigned distinct, unsigned steps) {
  unsigned lane = threadIdx.x % 32 & (distinct - 1);
  unsigned sum = 0;
  for (unsigned turn = 0; turn < steps / UNROLLED; ++turn) {
    unsigned first = turn * UNROLLED % PERIOD + lane;
#pragma unroll
    for (unsigned step = 0; step < UNROLLED; ++step) sum += table[first + step];
  }
  destination[grid_index()] = sum;
}
