// C = alpha * A * B + beta * C; see gpu-kernels/src/matmul.rs. A has m rows of k, B k rows of n. With a beta of 0, C is not
// read.

#define PARAMETERS                                                                                         \
  const float *__restrict__ a, size_t, const float *__restrict__ b, size_t, float *__restrict__ c, unsigned m, \
      unsigned n, unsigned k, float alpha, float beta

__device__ __forceinline__ size_t element(unsigned row, unsigned width, unsigned column) {
  return static_cast<size_t>(row) * width + column;
}

__device__ __forceinline__ float finished(float alpha, float sum, float beta, const float *place) {
  return alpha * sum + (beta == 0 ? 0 : beta * *place);
}

extern "C" __global__ void matmul_naive(PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < n && row < m) {
    float sum = 0;
    for (unsigned i = 0; i < k; ++i) sum += a[element(row, k, i)] * b[element(i, n, column)];
    float *place = c + element(row, n, column);
    *place = finished(alpha, sum, beta, place);
  }
}

__device__ __forceinline__ void by_tiles(unsigned width, float *a_tile, float *b_tile, const float *__restrict__ a,
                                         const float *__restrict__ b, float *__restrict__ c, unsigned m, unsigned n,
                                         unsigned k, float alpha, float beta) {
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
  if (row < m && column < n) {
    float *place = c + element(row, n, column);
    *place = finished(alpha, sum, beta, place);
  }
}

extern "C" __global__ void matmul_tiled_16(PARAMETERS) {
  __shared__ float a_tile[16][16], b_tile[16][16];
  by_tiles(16, &a_tile[0][0], &b_tile[0][0], a, b, c, m, n, k, alpha, beta);
}

extern "C" __global__ void matmul_tiled_32(PARAMETERS) {
  __shared__ float a_tile[32][32], b_tile[32][32];
  by_tiles(32, &a_tile[0][0], &b_tile[0][0], a, b, c, m, n, k, alpha, beta);
}

extern "C" __global__ void matmul_tiled_dynamic(PARAMETERS) {
  extern __shared__ float tiles[];
  by_tiles(blockDim.x, tiles, tiles + blockDim.x * blockDim.x, a, b, c, m, n, k, alpha, beta);
}
