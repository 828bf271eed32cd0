// Walks through a table, `distinct` different words at a time; see gpu-kernels/src/constant.rs.

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
  for (unsigned turn = 0; turn < steps / UNROLLED; ++turn) {
    unsigned first = turn * UNROLLED % PERIOD + lane;
#pragma unroll
    for (unsigned step = 0; step < UNROLLED; ++step) sum += CONSTANT_TABLE[first + step];
  }
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
