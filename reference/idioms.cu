// The twins of the same task written in four ways; see gpu-kernels/src/idioms.rs. C++ has one way, under four names.

__device__ __forceinline__ size_t element(unsigned row, unsigned width, unsigned column) {
  return static_cast<size_t>(row) * width + column;
}

#define COPY(NAME)                                                                                             \
  extern "C" __global__ void NAME(const float *__restrict__ source, size_t, float *__restrict__ destination, size_t, \
                                  size_t n) {                                                                  \
    size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;                                     \
    if (i < n) destination[i] = source[i];                                                                     \
  }

COPY(checked_copy)
COPY(iterated_copy)
COPY(asserted_copy)
COPY(unchecked_copy)

constexpr unsigned TILE = 32;
constexpr unsigned ROWS = 8;

#define TRANSPOSE(NAME)                                                                                        \
  extern "C" __global__ void NAME(const float *__restrict__ source, size_t, float *__restrict__ destination, size_t, \
                                  unsigned nx, unsigned ny) {                                                  \
    __shared__ float tile[TILE][TILE + 1];                                                                     \
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;                                                  \
    unsigned lane = thread % TILE, warp = thread / TILE;                                                       \
    unsigned left = blockIdx.x * TILE, top = blockIdx.y * TILE;                                                \
    for (unsigned down = 0; down < TILE; down += ROWS) {                                                       \
      unsigned y = down + warp;                                                                                \
      if (left + lane < nx && top + y < ny) tile[y][lane] = source[element(top + y, nx, left + lane)];         \
    }                                                                                                          \
    __syncthreads();                                                                                           \
    for (unsigned down = 0; down < TILE; down += ROWS) {                                                       \
      unsigned x = down + warp;                                                                                \
      if (left + x < nx && top + lane < ny) destination[element(left + x, ny, top + lane)] = tile[lane][x];    \
    }                                                                                                          \
  }

TRANSPOSE(checked_transpose)
TRANSPOSE(iterated_transpose)
TRANSPOSE(asserted_transpose)
TRANSPOSE(unchecked_transpose)

#define MATMUL(NAME)                                                                                           \
  extern "C" __global__ void NAME(const float *__restrict__ a, size_t, const float *__restrict__ b, size_t,    \
                                  float *__restrict__ c, size_t, unsigned m, unsigned n, unsigned k) {         \
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;                                                   \
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;                                                      \
    if (row < m && column < n) {                                                                               \
      float sum = 0;                                                                                           \
      for (unsigned i = 0; i < k; ++i) sum += a[element(row, k, i)] * b[element(i, n, column)];                \
      c[element(row, n, column)] = sum;                                                                        \
    }                                                                                                          \
  }

MATMUL(checked_matmul)
MATMUL(iterated_matmul)
MATMUL(asserted_matmul)
MATMUL(unchecked_matmul)
