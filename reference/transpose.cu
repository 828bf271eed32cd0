// Copies and transposes of a matrix of ny rows of nx elements; see gpu-kernels/src/transpose.rs and the files below
// it, which also say with what blocks and grids each is launched. `length` is nx * ny and not used.
//
// Forms tried on an H200, as rates relative to the twins before (`blockIdx * blockDim` for both coordinates, 64 bits,
// `__restrict__`), at 16384 x 16384 and, after the comma, at 2048 x 2048, in blocks of 16 x 16:
//
//   factors of x; of y                  copy_row      copy_col      naive_row     naive_col
//   blockDim, blockIdx; blockIdx, ..    1.014, 1.009  0.999, 0.986  0.999, 0.994  1.004, 1.001
//   blockIdx, blockDim; blockDim, ..    0.987, 0.993  1.000, 1.006  1.001, 1.008  0.995, 0.994
//   without `__restrict__`              1.000, 0.999  1.000, 1.001  1.000, 1.001  1.000, 1.001
//   32 bits, unsigned                   0.986, 0.989  0.999, 0.998  1.000, 1.002  0.996, 0.998
//   32 bits where the length allows     1.004, 0.998  0.997, 0.982  1.000, 0.996  1.001, 0.996
//   16 in place of blockDim             1.014, 1.009  0.999, 0.992  1.000, 0.999  1.005, 1.003   serves no other block
//   16 where the block is 16 x 16       0.969, 0.983  0.990, 0.991  1.000, 1.005  0.986, 0.989
//   GB/s of the form that stands        2348, 2591    1604, 1638    1002, 1105    1858, 2339
//
// In SASS, the order of the factors decides how a warp gets its block's index: by S2R into a vector register, or by
// S2UR into a uniform one, which takes longer. The first line has S2R for both coordinates, the second S2UR. copy_row
// and naive_col wait for memory, and are better the sooner their warps start; copy_col and naive_row wait for the
// many requests that an access across the grain is split into, and starting later costs them nothing.
//
//                                                 unroll4_row   unroll4_col
//   each load before its store                    1.066, 1.019  0.669, 0.940   814, 1014 GB/s: unroll4_row
//   a loop over the four with a guard for each    1.081, 1.000  0.823, 0.965
//   three loads, their stores, the fourth         1.061, 0.998
//   three loads, a store, the fourth load, ..     1.041, 1.005  0.845, 0.966
//   two loads, their stores, twice                1.049, 1.001
//   four loads, four stores                       1.000, 1.001  1.003, 1.006   3178, 2706 GB/s: unroll4_col
//
// unroll4_row is bound by its stores and better if they do not come four at a time; unroll4_col waits for its loads.
// With plain pointers nvcc keeps the order that is written, since a store might change what is loaded after it; with
// `__restrict__` it moves all loads to the front. So these two have plain pointers. Whether a load is ld.global.nc or
// ld.global makes no difference in any kernel here.
//
//   diagonal_row  diagonal_col
//   1.000, 1.000  1.000, 1.000   the remainder on division by gridDim.x     986, 1251 GB/s: diagonal_row
//   0.996, 0.968  1.039, 1.058   a subtraction where the sum exceeds it     1753, 2278 GB/s: diagonal_col
//   0.998, 0.987  1.024, 1.032   the remainder, for square grids only
//
//   tile    tile_padded  tile_padded_unrolled   (16384 x 16384, 256 threads)
//   1.000   1.000        1.000   a guarded load and its store to the tile, in a loop; rows and columns in 32 bits
//   1.000   1.000        1.169   the same, columns added to the row in 64 bits
//   1.000   1.002        1.176   all loads first, then the tile, each with its guard   1765, 3717 GB/s: the outer two
//   0.928   1.016        1.175   whole tiles without guards, others as before          3571 GB/s: tile_padded
//   0.933   1.013        1.169   32 bits, unsigned, throughout
//
// In the first line's SASS, the unrolled kernel's eighth load is issued behind a store to the tile, which waits for
// the first.
//
//   tile_dynamic, blocks of 16 x 16 with a padding of 1
//   1.000   divided by blockDim.y   stands: 1989 GB/s
//   0.991   not divided where the block is square
//   0.979   shifted where blockDim.y is a power of two
//   0.975   16 where the block is 16 x 16; 1.009 for a kernel that serves no other

#include "module.cuh"

__device__ __forceinline__ size_t element(unsigned row, unsigned width, unsigned column) {
  return static_cast<size_t>(row) * width + column;
}

#define PARAMETERS \
  const float *__restrict__ source, size_t length, float *__restrict__ destination, unsigned nx, unsigned ny

extern "C" __global__ void copy_row(PARAMETERS) {
  unsigned column = blockDim.x * blockIdx.x + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(row, nx, column)] = source[element(row, nx, column)];
}

extern "C" __global__ void copy_col(PARAMETERS) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned column = blockDim.y * blockIdx.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(row, nx, column)] = source[element(row, nx, column)];
}

extern "C" __global__ void naive_row(PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = blockDim.y * blockIdx.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

extern "C" __global__ void naive_col(PARAMETERS) {
  unsigned row = blockDim.x * blockIdx.x + threadIdx.x;
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

#define PLAIN_PARAMETERS const float *source, size_t length, float *destination, unsigned nx, unsigned ny

extern "C" __global__ void unroll4_row(PLAIN_PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  unsigned row = blockDim.y * blockIdx.y + threadIdx.y;
  size_t from = element(row, nx, column);
  size_t to = element(column, ny, row);
  if (column + 3 * blockDim.x < nx && row < ny) {
    destination[to] = source[from];
    destination[to + element(blockDim.x, ny, 0)] = source[from + blockDim.x];
    destination[to + 2 * element(blockDim.x, ny, 0)] = source[from + 2 * blockDim.x];
    destination[to + 3 * element(blockDim.x, ny, 0)] = source[from + 3 * blockDim.x];
  } else if (row < ny) {
    for (; column < nx; column += blockDim.x) destination[element(column, ny, row)] = source[element(row, nx, column)];
  }
}

extern "C" __global__ void unroll4_col(PLAIN_PARAMETERS) {
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned row = blockDim.x * blockIdx.x * 4 + threadIdx.x;
  size_t from = element(row, nx, column);
  size_t to = element(column, ny, row);
  if (row + 3 * blockDim.x < ny && column < nx) {
    float first = source[from];
    float second = source[from + element(blockDim.x, nx, 0)];
    float third = source[from + 2 * element(blockDim.x, nx, 0)];
    float fourth = source[from + 3 * element(blockDim.x, nx, 0)];
    destination[to] = first;
    destination[to + blockDim.x] = second;
    destination[to + 2 * blockDim.x] = third;
    destination[to + 3 * blockDim.x] = fourth;
  } else if (column < nx) {
    for (; row < ny; row += blockDim.x) destination[element(column, ny, row)] = source[element(row, nx, column)];
  }
}

// The block's place in diagonal order. Where the grid is not square, blocks are counted through first.
template <bool DIVIDE>
__device__ __forceinline__ uint2 diagonal_block() {
  if (gridDim.x == gridDim.y) {
    unsigned x = blockIdx.x + blockIdx.y;
    return make_uint2(DIVIDE ? x % gridDim.x : x < gridDim.x ? x : x - gridDim.x, blockIdx.x);
  }
  unsigned nth = blockIdx.x + gridDim.x * blockIdx.y;
  unsigned y = nth % gridDim.y;
  return make_uint2((nth / gridDim.y + y) % gridDim.x, y);
}

extern "C" __global__ void diagonal_row(PARAMETERS) {
  uint2 block = diagonal_block<true>();
  unsigned column = block.x * blockDim.x + threadIdx.x;
  unsigned row = block.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

extern "C" __global__ void diagonal_col(PARAMETERS) {
  uint2 block = diagonal_block<false>();
  unsigned row = block.x * blockDim.x + threadIdx.x;
  unsigned column = block.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

constexpr unsigned TILE = 32;
constexpr unsigned ROWS = 8;

template <unsigned WIDTH, unsigned PADDING, bool WHOLE>
__device__ __forceinline__ void through_tile(PARAMETERS) {
  __shared__ float tile[TILE][WIDTH + PADDING];
  unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  unsigned lane = thread % TILE, warp = thread / TILE;
  unsigned left = blockIdx.x * WIDTH, top = blockIdx.y * TILE;
  if (WHOLE && left + WIDTH <= nx && top + TILE <= ny) {
    size_t from = element(top + warp, nx, left) + lane, to = element(left + warp, ny, top) + lane;
#pragma unroll
    for (unsigned down = 0; down < TILE; down += ROWS)
#pragma unroll
      for (unsigned right = 0; right < WIDTH; right += TILE)
        tile[down + warp][right + lane] = source[from + element(down, nx, 0) + right];
    __syncthreads();
#pragma unroll
    for (unsigned down = 0; down < WIDTH; down += ROWS)
      destination[to + element(down, ny, 0)] = tile[lane][down + warp];
    return;
  }
  // What lies outside the matrix is not loaded, and what the tile has in its place is not stored.
  float in_flight[TILE / ROWS][WIDTH / TILE];
#pragma unroll
  for (unsigned j = 0; j < TILE / ROWS; ++j)
#pragma unroll
    for (unsigned k = 0; k < WIDTH / TILE; ++k)
      if (left + lane + k * TILE < nx && top + warp + j * ROWS < ny)
        in_flight[j][k] = source[element(top + warp + j * ROWS, nx, left) + lane + k * TILE];
#pragma unroll
  for (unsigned j = 0; j < TILE / ROWS; ++j)
#pragma unroll
    for (unsigned k = 0; k < WIDTH / TILE; ++k) tile[warp + j * ROWS][lane + k * TILE] = in_flight[j][k];
  __syncthreads();
#pragma unroll
  for (unsigned down = 0; down < WIDTH; down += ROWS)
    if (left + warp + down < nx && top + lane < ny)
      destination[element(left + warp + down, ny, top) + lane] = tile[lane][warp + down];
}

extern "C" __global__ void tile(PARAMETERS) {
  through_tile<TILE, 0, false>(source, length, destination, nx, ny);
}

extern "C" __global__ void tile_padded(PARAMETERS) {
  through_tile<TILE, 1, true>(source, length, destination, nx, ny);
}

extern "C" __global__ void tile_padded_unrolled(PARAMETERS) {
  through_tile<2 * TILE, 1, false>(source, length, destination, nx, ny);
}

// The tile has the block's shape; the threads are counted again, blockDim.y to a row, for the second half.
extern "C" __global__ void tile_dynamic(PARAMETERS, unsigned padding) {
  extern __shared__ float shared[];
  unsigned pitch = blockDim.x + padding;
  unsigned left = blockIdx.x * blockDim.x, top = blockIdx.y * blockDim.y;
  unsigned x = threadIdx.x, y = threadIdx.y;
  if (left + x < nx && top + y < ny) shared[y * pitch + x] = source[element(top + y, nx, left + x)];
  __syncthreads();
  unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  x = thread / blockDim.y, y = thread % blockDim.y;
  if (left + x < nx && top + y < ny) destination[element(left + x, ny, top + y)] = shared[y * pitch + x];
}

// 64 x 64 elements a block, 4 x 4 a thread, by vectors both ways, where the matrix fills the tile and its rows and those of
// the transpose are aligned; element by element elsewhere. The vectors are distributed again in shared memory, swizzled.
constexpr unsigned SIDE = 64;

__device__ __forceinline__ unsigned place(unsigned across, unsigned down, unsigned nth) {
  return (across * 4 + nth) * (SIDE / 4) + (down ^ across % 8);
}

extern "C" __global__ void tile_vector(PARAMETERS) {
  __shared__ float4 exchange[SIDE * SIDE / 4];
  unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  unsigned left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;
  unsigned across = thread % 16, down = thread / 16;
  if (left + SIDE <= nx && top + SIDE <= ny && (nx | ny) % 4 == 0) {
    const float *first = source + element(top + down * 4, nx, left + across * 4);
    float4 rows[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      rows[i] = *reinterpret_cast<const float4 *>(first + static_cast<size_t>(i) * nx);
    exchange[place(across, down, 0)] = make_float4(rows[0].x, rows[1].x, rows[2].x, rows[3].x);
    exchange[place(across, down, 1)] = make_float4(rows[0].y, rows[1].y, rows[2].y, rows[3].y);
    exchange[place(across, down, 2)] = make_float4(rows[0].z, rows[1].z, rows[2].z, rows[3].z);
    exchange[place(across, down, 3)] = make_float4(rows[0].w, rows[1].w, rows[2].w, rows[3].w);
    __syncthreads();
    across = thread / 16, down = thread % 16;
    float *to = destination + element(left + across * 4, ny, top + down * 4);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      *reinterpret_cast<float4 *>(to + static_cast<size_t>(i) * ny) = exchange[place(across, down, i)];
  } else {
    float *words = reinterpret_cast<float *>(exchange);
    for (unsigned i = 0; i < 16; ++i) {
      unsigned x = i / 4, y = i % 4, column = left + across * 4 + x, row = top + down * 4 + y;
      if (column < nx && row < ny) words[place(across, down, x) * 4 + y] = source[element(row, nx, column)];
    }
    __syncthreads();
    across = thread / 16, down = thread % 16;
    for (unsigned i = 0; i < 16; ++i) {
      unsigned x = i / 4, y = i % 4, column = left + across * 4 + x, row = top + down * 4 + y;
      if (column < nx && row < ny) destination[element(column, ny, row)] = words[place(across, down, x) * 4 + y];
    }
  }
}
