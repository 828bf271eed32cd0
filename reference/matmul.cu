// C = alpha * A * B + beta * C; see gpu-kernels/src/matmul.rs. A has m rows of k, B k rows of n. With a beta of 0, C
// is not read.
//
// Forms tried on an H200, as rates relative to the twins before, at n = 4096 and, after the comma, 1024:
//
//   matmul_naive, blocks of                       16 x 16       32 x 32
//   a pointer down B, unrolled by 64              0.999, 1.029  1.205, 1.087   stands: 5386, 5206; 6621, 6586 GFLOP/s
//   a pointer down B, unrolled by 32              0.969, 1.033  1.176, 1.057
//   a pointer down B, unrolled by 16              1.002, 1.018  1.061, 1.032
//   two indices, unrolled by 32                   1.014, 1.019  1.121, 1.055
//   two indices, unrolled as nvcc sees fit        1.000, 1.000  1.000, 1.000
//   32 factors of either loaded before the first  0.994, 1.016  1.134, 1.065
//   two unsigned indices of 32 bits               0.853, 0.885  0.753, 0.745
//
// A long unrolling leaves little beside the loads but the additions to B's address: A's is one register and immediate
// offsets. Unsigned indices of 32 bits may wrap, so that each address, of A as of B, is a multiplication of its own.
//
//   matmul_tiled                                  16            32
//   pointers, whole tiles without guards          1.032, 1.026  1.104, 1.042   stands: 8318, 7918; 9087, 9174 GFLOP/s
//   the same, tiles unrolled by two               1.008, 1.003  1.090, 1.034
//   indices, whole tiles without guards           1.025, 1.017  1.075, 1.010
//   pointers, a guard for each load               1.006, 1.002  1.055, 1.005
//   indices in int, a guard for each load         1.006, 1.001  1.074, 1.023   as articles print it
//   indices in 64 bits, a guard for each load     1.000, 1.000  1.000, 1.000
//   the next tile loaded before the products      1.025, 1.020  1.207, 1.084   another algorithm: a pipeline of two tiles
//
// `__restrict__` changes nothing, since nothing is stored before the end.

#include "module.cuh"

#define PARAMETERS                                                                                         \
  const float *__restrict__ a, size_t, const float *__restrict__ b, size_t, float *__restrict__ c, unsigned m, \
      unsigned n, unsigned k, float alpha, float beta

__device__ __forceinline__ size_t element(unsigned row, unsigned width, unsigned column) {
  return static_cast<size_t>(row) * width + column;
}

__device__ __forceinline__ void finish(float *c, unsigned row, unsigned column, unsigned n, float alpha, float beta,
                                       float sum) {
  size_t at = element(row, n, column);
  c[at] = alpha * sum + (beta == 0 ? 0 : beta * c[at]);
}

extern "C" __global__ void matmul_naive(PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  const float *left = a + element(row, k, 0), *right = b + column;
  float sum = 0;
#pragma unroll 64
  for (unsigned i = 0; i < k; ++i, right += n) sum += left[i] * *right;
  finish(c, row, column, n, alpha, beta, sum);
}

// One element per thread, from tiles of WIDTH x WIDTH. Blocks whose tiles all lie within the matrices load without
// guards; elsewhere a tile has zeros past a matrix's edge, which add nothing.
template <unsigned WIDTH>
__device__ __forceinline__ void by_tiles(const float *__restrict__ a, const float *__restrict__ b,
                                         float *__restrict__ c, unsigned m, unsigned n, unsigned k, float alpha,
                                         float beta) {
  // Aligned, so that four elements of a row of A are one load.
  __shared__ __align__(16) float a_tile[WIDTH][WIDTH];
  __shared__ __align__(16) float b_tile[WIDTH][WIDTH];
  unsigned x = threadIdx.x, y = threadIdx.y;
  unsigned column = blockIdx.x * WIDTH + x, row = blockIdx.y * WIDTH + y;
  const float *from_a = a + element(row, k, x), *from_b = b + element(y, n, column);
  float sum = 0;
  if (k % WIDTH == 0 && (blockIdx.x + 1) * WIDTH <= n && (blockIdx.y + 1) * WIDTH <= m) {
    for (unsigned first = 0; first < k; first += WIDTH, from_a += WIDTH, from_b += element(WIDTH, n, 0)) {
      a_tile[y][x] = *from_a;
      b_tile[y][x] = *from_b;
      __syncthreads();
#pragma unroll
      for (unsigned i = 0; i < WIDTH; ++i) sum += a_tile[y][i] * b_tile[i][x];
      __syncthreads();
    }
    finish(c, row, column, n, alpha, beta, sum);
    return;
  }
  for (unsigned first = 0; first < k; first += WIDTH, from_a += WIDTH, from_b += element(WIDTH, n, 0)) {
    a_tile[y][x] = row < m && first + x < k ? *from_a : 0;
    b_tile[y][x] = first + y < k && column < n ? *from_b : 0;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < WIDTH; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && column < n) finish(c, row, column, n, alpha, beta, sum);
}

extern "C" __global__ void matmul_tiled_16(PARAMETERS) { by_tiles<16>(a, b, c, m, n, k, alpha, beta); }

extern "C" __global__ void matmul_tiled_32(PARAMETERS) { by_tiles<32>(a, b, c, m, n, k, alpha, beta); }

// The same with a width that is known at the launch only.
extern "C" __global__ void matmul_tiled_dynamic(PARAMETERS) {
  extern __shared__ float tiles[];
  unsigned width = blockDim.x;
  float *a_tile = tiles, *b_tile = tiles + width * width;
  unsigned x = threadIdx.x, y = threadIdx.y;
  unsigned column = blockIdx.x * width + x, row = blockIdx.y * width + y;
  float sum = 0;
  for (unsigned first = 0; first < k; first += width) {
    a_tile[y * width + x] = row < m && first + x < k ? a[element(row, k, first + x)] : 0;
    b_tile[y * width + x] = first + y < k && column < n ? b[element(first + y, n, column)] : 0;
    __syncthreads();
    for (unsigned i = 0; i < width; ++i) sum += a_tile[y * width + i] * b_tile[i * width + x];
    __syncthreads();
  }
  if (row < m && column < n) finish(c, row, column, n, alpha, beta, sum);
}
