// Shuffles and reductions; see gpu-kernels/src/shuffle.rs and shuffle/reduction.rs. `length` counts elements, or
// vectors of four for reduce_vector and reduce_persistent. Blocks are whole warps.
//
// Forms of two reductions tried on an H200 (256 MiB, blocks of 256), as rates relative to the twins before: indices
// `blockIdx.x * blockDim.x` in 64 bits, and a function for the block's sum that returns 0 in all warps but the first.
//
//                                         reduce_warp_shuffle  reduce_block_shuffle, other warps return early
//   blockIdx.x * blockDim.x               1.000                1.031
//   the same, no steps without an addend                       1.059   stands: 1319 GB/s
//   blockDim.x * blockIdx.x               1.011                1.047   reduce_warp_shuffle: 1501 GB/s
//   32 bits where the length allows       1.005                1.037
//   32 bits, unsigned                     1.024                1.057   wraps at 2^32 elements
//   the butterfly (__shfl_xor_sync)       1.000                1.032
//   the first warp adds, none leaves                           1.009
//   __reduce_add_sync, no shuffles        1.052                1.144
//
// Where warps that skip the second sum come back for what follows it, nvcc adds a path for lanes that diverged; where
// they leave, it does not. The first warp has one sum for each warp of the block: with at most 8, two of the five
// steps add nothing. coalescing.cu says what the order of the factors does. `__restrict__` makes no difference.

#include "module.cuh"

constexpr unsigned WARP = 0xffffffff;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

#define SHUFFLE(NAME, TYPE, SHUFFLED)                                                                     \
  extern "C" __global__ void NAME(const TYPE *__restrict__ source, size_t length,                         \
                                  TYPE *__restrict__ destination, unsigned operand, unsigned width) {     \
    size_t i = grid_index();                                                                              \
    TYPE value = i < length ? source[i] : 0;                                                              \
    value = SHUFFLED(WARP, value, operand, width);                                                        \
    if (i < length) destination[i] = value;                                                               \
  }

__device__ __forceinline__ unsigned lane() { return threadIdx.x % 32; }

#define SHUFFLE_WRAP(MASK, VALUE, OPERAND, WIDTH) __shfl_sync(MASK, VALUE, lane() + OPERAND, WIDTH)

SHUFFLE(shuffle_idx_i32, int, __shfl_sync)
SHUFFLE(shuffle_up_i32, int, __shfl_up_sync)
SHUFFLE(shuffle_down_i32, int, __shfl_down_sync)
SHUFFLE(shuffle_xor_i32, int, __shfl_xor_sync)
SHUFFLE(shuffle_wrap_i32, int, SHUFFLE_WRAP)
SHUFFLE(shuffle_idx_f32, float, __shfl_sync)
SHUFFLE(shuffle_up_f32, float, __shfl_up_sync)
SHUFFLE(shuffle_down_f32, float, __shfl_down_sync)
SHUFFLE(shuffle_xor_f32, float, __shfl_xor_sync)
SHUFFLE(shuffle_wrap_f32, float, SHUFFLE_WRAP)

__device__ __forceinline__ int sum_of_warp(int sum) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(WARP, sum, distance);
  return sum;
}

// In thread 0.
__device__ __forceinline__ int sum_of_block(int value) {
  __shared__ int sums[32];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = sum_of_warp(value);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return 0;
  return sum_of_warp(lane < blockDim.x / 32 ? sums[lane] : 0);
}

extern "C" __global__ void reduce_warp_shuffle(const int *__restrict__ source, size_t length,
                                               int *__restrict__ destination) {
  size_t i = static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
  int sum = sum_of_warp(i < length ? source[i] : 0);
  if (threadIdx.x % 32 == 0 && i < length) destination[i / 32] = sum;
}

extern "C" __global__ void reduce_warp_shared(const int *__restrict__ source, size_t length,
                                              int *__restrict__ destination) {
  extern __shared__ int words[];
  size_t i = grid_index();
  unsigned lane = threadIdx.x % 32;
  int sum = i < length ? source[i] : 0;
  words[threadIdx.x] = sum;
#pragma unroll
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    __syncwarp();
    if (lane < distance) words[threadIdx.x] = sum += words[threadIdx.x + distance];
  }
  if (lane == 0 && i < length) destination[i / 32] = sum;
}

extern "C" __global__ void reduce_block_shuffle(const int *__restrict__ source, size_t length,
                                                int *__restrict__ destination) {
  __shared__ int sums[32];
  size_t i = grid_index();
  int value = i < length ? source[i] : 0;
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = sum_of_warp(value);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  sum = lane < blockDim.x / 32 ? sums[lane] : 0;
  // Blocks of at most 256 threads have at most 8 sums.
  if (blockDim.x > 256) {
    sum += __shfl_down_sync(WARP, sum, 16);
    sum += __shfl_down_sync(WARP, sum, 8);
  }
  sum += __shfl_down_sync(WARP, sum, 4);
  sum += __shfl_down_sync(WARP, sum, 2);
  sum += __shfl_down_sync(WARP, sum, 1);
  if (lane == 0) destination[blockIdx.x] = sum;
}

extern "C" __global__ void reduce_block_shared(const int *__restrict__ source, size_t length,
                                               int *__restrict__ destination) {
  extern __shared__ int words[];
  size_t i = grid_index();
  int sum = i < length ? source[i] : 0;
  words[threadIdx.x] = sum;
  for (unsigned distance = (1u << (32 - __clz(blockDim.x - 1))) / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance && threadIdx.x + distance < blockDim.x)
      words[threadIdx.x] = sum += words[threadIdx.x + distance];
  }
  if (threadIdx.x == 0) destination[blockIdx.x] = sum;
}

__device__ __forceinline__ int sum_of_vector(int4 vector) { return (vector.x + vector.y) + (vector.z + vector.w); }

// A warp has 32 * IN_FLIGHT vectors in a row, and a thread every 32nd of them.
constexpr int IN_FLIGHT = 4;
constexpr size_t LAST = (IN_FLIGHT - 1) * 32;

__device__ __forceinline__ size_t first_vector() {
  size_t i = grid_index();
  return i / 32 * 32 * IN_FLIGHT + i % 32;
}

__device__ __forceinline__ int sum_of_vectors(const int4 *__restrict__ source, size_t first) {
  int4 vectors[IN_FLIGHT];
#pragma unroll
  for (int turn = 0; turn < IN_FLIGHT; ++turn) vectors[turn] = source[first + turn * 32];
  int sum = 0;
#pragma unroll
  for (int turn = 0; turn < IN_FLIGHT; ++turn) sum += sum_of_vector(vectors[turn]);
  return sum;
}

__device__ __forceinline__ int sum_of_rest(const int4 *__restrict__ source, size_t length, size_t first) {
  int sum = 0;
  for (int turn = 0; turn < IN_FLIGHT; ++turn)
    if (first + turn * 32 < length) sum += sum_of_vector(source[first + turn * 32]);
  return sum;
}

extern "C" __global__ void reduce_vector(const int4 *__restrict__ source, size_t length,
                                         int *__restrict__ destination) {
  size_t first = first_vector();
  int sum = first + LAST < length ? sum_of_vectors(source, first) : sum_of_rest(source, length, first);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) atomicAdd(destination, sum);
}

extern "C" __global__ void reduce_persistent(const int4 *__restrict__ source, size_t length,
                                             int *__restrict__ destination) {
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t first = first_vector();
  int sum = 0;
  for (; first + LAST < length; first += IN_FLIGHT * threads) sum += sum_of_vectors(source, first);
  sum += sum_of_rest(source, length, first);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) atomicAdd(destination, sum);
}
