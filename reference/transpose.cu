// Copies and transposes of a matrix of ny rows of nx elements; see gpu-kernels/src/transpose.rs and the files below it,
// which also say with what blocks and grids each is launched. `length` is nx * ny and not used.

__device__ __forceinline__ size_t element(unsigned row, unsigned width, unsigned column) {
  return static_cast<size_t>(row) * width + column;
}

#define PARAMETERS \
  const float *__restrict__ source, size_t length, float *__restrict__ destination, unsigned nx, unsigned ny

extern "C" __global__ void copy_row(PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(row, nx, column)] = source[element(row, nx, column)];
}

extern "C" __global__ void copy_col(PARAMETERS) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < ny && column < nx) destination[element(row, nx, column)] = source[element(row, nx, column)];
}

extern "C" __global__ void naive_row(PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

extern "C" __global__ void naive_col(PARAMETERS) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < ny && column < nx) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

extern "C" __global__ void unroll4_row(PARAMETERS) {
  unsigned column = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
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

extern "C" __global__ void unroll4_col(PARAMETERS) {
  unsigned row = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  unsigned column = blockIdx.y * blockDim.y + threadIdx.y;
  size_t from = element(row, nx, column);
  size_t to = element(column, ny, row);
  if (row + 3 * blockDim.x < ny && column < nx) {
    destination[to] = source[from];
    destination[to + blockDim.x] = source[from + element(blockDim.x, nx, 0)];
    destination[to + 2 * blockDim.x] = source[from + 2 * element(blockDim.x, nx, 0)];
    destination[to + 3 * blockDim.x] = source[from + 3 * element(blockDim.x, nx, 0)];
  } else if (column < nx) {
    for (; row < ny; row += blockDim.x) destination[element(column, ny, row)] = source[element(row, nx, column)];
  }
}

// The block's place in diagonal order.
__device__ __forceinline__ uint2 diagonal_block() {
  if (gridDim.x == gridDim.y) return make_uint2((blockIdx.x + blockIdx.y) % gridDim.x, blockIdx.x);
  unsigned nth = blockIdx.x + gridDim.x * blockIdx.y;
  unsigned y = nth % gridDim.y;
  return make_uint2((nth / gridDim.y + y) % gridDim.x, y);
}

extern "C" __global__ void diagonal_row(PARAMETERS) {
  uint2 block = diagonal_block();
  unsigned column = block.x * blockDim.x + threadIdx.x;
  unsigned row = block.y * blockDim.y + threadIdx.y;
  if (column < nx && row < ny) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

extern "C" __global__ void diagonal_col(PARAMETERS) {
  uint2 block = diagonal_block();
  unsigned row = block.x * blockDim.x + threadIdx.x;
  unsigned column = block.y * blockDim.y + threadIdx.y;
  if (row < ny && column < nx) destination[element(column, ny, row)] = source[element(row, nx, column)];
}

constexpr unsigned TILE = 32;
constexpr unsigned ROWS = 8;

template <unsigned WIDTH, unsigned PADDING>
__device__ __forceinline__ void through_tile(PARAMETERS) {
  __shared__ float tile[TILE][WIDTH + PADDING];
  unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  unsigned lane = thread % TILE, warp = thread / TILE;
  unsigned left = blockIdx.x * WIDTH, top = blockIdx.y * TILE;
  for (unsigned down = 0; down < TILE; down += ROWS)
    for (unsigned right = 0; right < WIDTH; right += TILE) {
      unsigned x = right + lane, y = down + warp;
      if (left + x < nx && top + y < ny) tile[y][x] = source[element(top + y, nx, left + x)];
    }
  __syncthreads();
  for (unsigned down = 0; down < WIDTH; down += ROWS) {
    unsigned x = down + warp, y = lane;
    if (left + x < nx && top + y < ny) destination[element(left + x, ny, top + y)] = tile[y][x];
  }
}

extern "C" __global__ void tile(PARAMETERS) {
  through_tile<TILE, 0>(source, length, destination, nx, ny);
}

extern "C" __global__ void tile_padded(PARAMETERS) {
  through_tile<TILE, 1>(source, length, destination, nx, ny);
}

extern "C" __global__ void tile_padded_unrolled(PARAMETERS) {
  through_tile<2 * TILE, 1>(source, length, destination, nx, ny);
}

// The tile has the block's shape; the threads are counted anew, blockDim.y to a row, for the second half.
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
// the transpose are aligned; element by element elsewhere. The vectors are dealt out anew in shared memory, swizzled.
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
