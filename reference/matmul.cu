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

//
// `matmul_register_wide` has the Rust kernel's steps in their order. With the next tiles of A loaded before the first products
// of a step, and those of B after the seventh, it took 1.02 times the Rust kernel's time in the same form.

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

// 8 x 16 elements per thread in registers, 128 x 256 per block of 256 threads, 16 columns of A and rows of B at a time.
// Two tiles of each matrix: one is multiplied while the next is loaded. See unchecked/register/wide.rs.
namespace wide {

constexpr unsigned ROWS = 128, COLUMNS = 256, THREADS = 256, DEPTH = 16, BAND = 8;
// Vectors of a column of A's tile and of a row of B's, of the tiles, and of what a thread loads of them.
constexpr unsigned DOWN = ROWS / 4, ACROSS = COLUMNS / 4, A_TILE = DEPTH * DOWN, B_TILE = DEPTH * ACROSS;
constexpr unsigned A_SHARE = A_TILE / THREADS, B_SHARE = B_TILE / THREADS;

struct Place {
  unsigned row, column;
};

// The thread's first vector in A's tile and in B's.
__device__ __forceinline__ Place in_a(unsigned thread) { return {thread / 4, thread % 4 * 4}; }
__device__ __forceinline__ Place in_b(unsigned thread) { return {thread / ACROSS, thread % ACROSS * 4}; }

// What the numbers of vectors in a column of A's tile are combined with.
__device__ __forceinline__ constexpr unsigned swizzle(unsigned depth) { return depth / 4 % 4 * 2; }

// Four elements of a row, with zeros beyond the matrix.
__device__ __forceinline__ float4 at_edge(const float *__restrict__ matrix, unsigned height, unsigned width,
                                          unsigned row, unsigned column) {
  const float *from = matrix + element(row, width, column);
  auto one = [&](unsigned right) { return row < height && column + right < width ? from[right] : 0.0f; };
  return make_float4(one(0), one(1), one(2), one(3));
}

__device__ __forceinline__ void store_a(float4 *tile, const float4 (&of_a)[A_SHARE], unsigned thread) {
  Place place = in_a(thread);
  unsigned row = place.row, depth = place.column;
  float *column = reinterpret_cast<float *>(tile + depth * DOWN + ((row / 4) ^ swizzle(depth))) + row % 4;
#pragma unroll
  for (unsigned nth = 0; nth < A_SHARE; ++nth) {
    column[nth * 64] = of_a[nth].x;
    column[nth * 64 + 4 * DOWN] = of_a[nth].y;
    column[nth * 64 + 8 * DOWN] = of_a[nth].z;
    column[nth * 64 + 12 * DOWN] = of_a[nth].w;
  }
}

__device__ __forceinline__ void store_b(float4 *tile, const float4 (&of_b)[B_SHARE], unsigned thread) {
#pragma unroll
  for (unsigned nth = 0; nth < B_SHARE; ++nth) tile[thread + nth * THREADS] = of_b[nth];
}

}  // namespace wide

extern "C" __global__ void __launch_bounds__(wide::THREADS) matmul_register_wide(PARAMETERS) {
  using namespace wide;
  __shared__ float4 a_tiles[2][A_TILE];
  __shared__ float4 b_tiles[2][B_TILE];

  // Blocks in bands of rows, column by column.
  unsigned number = blockIdx.y * gridDim.x + blockIdx.x;
  unsigned band = number / (BAND * gridDim.x), within = number % (BAND * gridDim.x);
  unsigned height = min(BAND, gridDim.y - band * BAND);
  unsigned top = (band * BAND + within % height) * ROWS, left = within / height * COLUMNS;

  unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, lane = thread % 32, warp = thread / 32;
  unsigned lane_row = lane / 2 % 8 * 4, lane_column = (lane % 2 + lane / 16 * 2) * 4;
  unsigned warp_row = warp % 2 * 64, warp_column = warp / 2 * 64;
  bool is_whole = top + ROWS <= m && left + COLUMNS <= n && k % 4 == 0 && n % 4 == 0;
  Place mine_a = in_a(thread), mine_b = in_b(thread);
  const float *from_a = a + element(top + mine_a.row, k, mine_a.column);
  const float *from_b = b + element(mine_b.row, n, left + mine_b.column);

  auto load_a = [&](float4(&to)[A_SHARE], unsigned first) {
    bool vectors = is_whole && first + DEPTH <= k;
#pragma unroll
    for (unsigned nth = 0; nth < A_SHARE; ++nth)
      to[nth] = vectors ? *reinterpret_cast<const float4 *>(from_a + first + element(nth * 64, k, 0))
                        : at_edge(a, m, k, top + mine_a.row + nth * 64, first + mine_a.column);
  };
  auto load_b = [&](float4(&to)[B_SHARE], unsigned first) {
    bool vectors = is_whole && first + DEPTH <= k;
#pragma unroll
    for (unsigned nth = 0; nth < B_SHARE; ++nth)
      to[nth] = vectors ? *reinterpret_cast<const float4 *>(from_b + element(first + nth * 4, n, 0))
                        : at_edge(b, k, n, first + mine_b.row + nth * 4, left + mine_b.column);
  };

  float sums[8][16] = {}, of_a[2][8] = {}, of_b[2][16] = {};
  auto multiply = [&](unsigned which) {
#pragma unroll
    for (unsigned column = 0; column < 16; ++column)
#pragma unroll
      for (unsigned nth = 0; nth < 8; ++nth) {
        unsigned row = column % 2 == 0 ? nth : 7 - nth;
        sums[row][column] += of_a[which][row] * of_b[which][column];
      }
  };
  float4 next_a[A_SHARE], next_b[B_SHARE];
  load_a(next_a, 0);
  load_b(next_b, 0);
  store_a(a_tiles[0], next_a, thread);
  store_b(b_tiles[0], next_b, thread);
  unsigned now = 0;
  for (unsigned first = 0; first < k; now ^= 1) {
    __syncthreads();
    first += DEPTH;
    const float4 *rows = a_tiles[now] + warp_row / 4, *columns = b_tiles[now] + (warp_column + lane_column) / 4;
#pragma unroll
    for (unsigned depth = 0; depth < DEPTH; ++depth) {
      // The factors at this depth are loaded while those before them are multiplied.
#pragma unroll
      for (unsigned nth = 0; nth < 2; ++nth)
        *reinterpret_cast<float4 *>(&of_a[depth % 2][nth * 4]) =
            rows[depth * DOWN + ((lane_row / 4) ^ swizzle(depth)) + nth * 8];
#pragma unroll
      for (unsigned nth = 0; nth < 4; ++nth)
        *reinterpret_cast<float4 *>(&of_b[depth % 2][nth * 4]) = columns[depth * ACROSS + nth * 4];
      multiply(1 - depth % 2);
      if (depth == 2) load_a(next_a, first);
      if (depth == 8) {
        store_a(a_tiles[now ^ 1], next_a, thread);
        load_b(next_b, first);
      }
      if (depth == 14) store_b(b_tiles[now ^ 1], next_b, thread);
    }
  }
  multiply(1);

#pragma unroll
  for (unsigned nth = 0; nth < 8; ++nth) {
    unsigned row = top + warp_row + lane_row + nth / 4 * 32 + nth % 4;
#pragma unroll
    for (unsigned vector = 0; vector < 4; ++vector) {
      unsigned column = left + warp_column + lane_column + vector * 16;
      const float *sum = sums[nth] + vector * 4;
      if (is_whole) {
        float4 *place = reinterpret_cast<float4 *>(c + element(row, n, column));
        float4 old = beta == 0 ? make_float4(0, 0, 0, 0) : *place;
        *place = make_float4(alpha * sum[0] + beta * old.x, alpha * sum[1] + beta * old.y,
                             alpha * sum[2] + beta * old.z, alpha * sum[3] + beta * old.w);
      } else {
#pragma unroll
        for (unsigned right = 0; right < 4; ++right)
          if (row < m && column + right < n) finish(c, row, column + right, n, alpha, beta, sum[right]);
      }
    }
  }
}
