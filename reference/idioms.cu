// The twins of the same tasks written in five ways; see gpu-kernels/src/idioms.rs. C++ has one way, under five names.
//
// A twin has its kernel's parameters. A typed kernel writes through a pointer, whose length follows from its other
// parameters; the other ways take an output as a slice, with a length that C++ does not use: WITHOUT and WITH say which.

#include "module.cuh"

#define WITHOUT
#define WITH , size_t

__device__ __forceinline__ size_t element(unsigned row, unsigned width, unsigned column) {
  return static_cast<size_t>(row) * width + column;
}

__device__ __forceinline__ void copy(const float *__restrict__ source, float *__restrict__ destination, size_t n) {
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) destination[i] = source[i];
}

#define COPY(NAME)                                                                                                   \
  extern "C" __global__ void NAME(const float *__restrict__ source, size_t, float *__restrict__ destination, size_t, \
                                  size_t n) {                                                                        \
    copy(source, destination, n);                                                                                    \
  }

extern "C" __global__ void typed_copy(const float *__restrict__ source, size_t length,
                                      float *__restrict__ destination) {
  copy(source, destination, length);
}
COPY(checked_copy)
COPY(iterated_copy)
COPY(asserted_copy)
COPY(unchecked_copy)

constexpr unsigned TILE = 32;
constexpr unsigned ROWS = 8;

#define TRANSPOSE(NAME, LENGTH)                                                                                      \
  extern "C" __global__ void NAME(const float *__restrict__ source, size_t, float *__restrict__ destination LENGTH,  \
                                  unsigned nx, unsigned ny) {                                                        \
    __shared__ float tile[TILE][TILE + 1];                                                                           \
    unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;                                                        \
    unsigned lane = thread % TILE, warp = thread / TILE;                                                             \
    unsigned left = blockIdx.x * TILE, top = blockIdx.y * TILE;                                                      \
    for (unsigned down = 0; down < TILE; down += ROWS) {                                                             \
      unsigned y = down + warp;                                                                                      \
      if (left + lane < nx && top + y < ny) tile[y][lane] = source[element(top + y, nx, left + lane)];               \
    }                                                                                                                \
    __syncthreads();                                                                                                 \
    for (unsigned down = 0; down < TILE; down += ROWS) {                                                             \
      unsigned x = down + warp;                                                                                      \
      if (left + x < nx && top + lane < ny) destination[element(left + x, ny, top + lane)] = tile[lane][x];          \
    }                                                                                                                \
  }

TRANSPOSE(typed_transpose, WITHOUT)
TRANSPOSE(checked_transpose, WITH)
TRANSPOSE(iterated_transpose, WITH)
TRANSPOSE(asserted_transpose, WITH)
TRANSPOSE(unchecked_transpose, WITH)

#define MATMUL(NAME, LENGTH)                                                                                         \
  extern "C" __global__ void NAME(const float *__restrict__ a, size_t, const float *__restrict__ b, size_t,          \
                                  float *__restrict__ c LENGTH, unsigned m, unsigned n, unsigned k) {                \
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;                                                            \
    if (row < m && column < n) {                                                                                     \
      float sum = 0;                                                                                                 \
      for (unsigned i = 0; i < k; ++i) sum += a[element(row, k, i)] * b[element(i, n, column)];                      \
      c[element(row, n, column)] = sum;                                                                              \
    }                                                                                                                \
  }

MATMUL(typed_matmul, WITHOUT)
MATMUL(checked_matmul, WITH)
MATMUL(iterated_matmul, WITH)
MATMUL(asserted_matmul, WITH)
MATMUL(unchecked_matmul, WITH)
