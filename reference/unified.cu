// Three ways through one allocation; see gpu-kernels/src/unified.rs.

#include "module.cuh"

constexpr unsigned SEGMENT = 32;
constexpr int IN_FLIGHT = 4;

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ float value_at(size_t i) { return static_cast<float>(static_cast<unsigned>(i) & 0xfffff); }

// A warp's random walk over segments.
struct Walk {
  unsigned state, pages, segments;

  __device__ __forceinline__ Walk(unsigned seed, unsigned warp, unsigned pages, unsigned page)
      : state((seed + warp) * 2654435761u), pages(pages), segments(page / SEGMENT) {}

  __device__ __forceinline__ unsigned draw(unsigned below) {
    state = state * 1664525u + 1013904223u;
    return __umulhi(state, below);
  }

  __device__ __forceinline__ size_t next_segment() {
    unsigned page = draw(pages);
    unsigned segment = draw(segments);
    return (static_cast<size_t>(page) * segments + segment) * SEGMENT;
  }
};

extern "C" __global__ void grid_stride(const float *__restrict__ source, size_t length,
                                       float *__restrict__ destination) {
  float sum = 0;
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x; first < length; first += threads) {
    if (first + threadIdx.x < length) sum += source[first + threadIdx.x];
    __syncthreads();
  }
  destination[grid_index()] = sum;
}

extern "C" __global__ void block_stride(const float *__restrict__ source, size_t length,
                                        float *__restrict__ destination, size_t slice) {
  float sum = 0;
  size_t first = blockIdx.x * slice;
  size_t end = min(length, first + slice);
  for (; first < end; first += blockDim.x) {
    if (first + threadIdx.x < end) sum += source[first + threadIdx.x];
    __syncthreads();
  }
  destination[grid_index()] = sum;
}

extern "C" __global__ void random_warp(const float *__restrict__ source, size_t, float *__restrict__ destination,
                                       unsigned pages, unsigned page, unsigned steps, unsigned seed) {
  Walk walk(seed, static_cast<unsigned>(grid_index() / 32), pages, page);
  float sum = 0;
  for (unsigned step = 0; step < steps; ++step) sum += source[walk.next_segment() + threadIdx.x % 32];
  destination[grid_index()] = sum;
}

extern "C" __global__ void grid_stride_write(float *__restrict__ destination, size_t length) {
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x; first < length; first += threads) {
    size_t i = first + threadIdx.x;
    if (i < length) destination[i] = value_at(i);
    __syncthreads();
  }
}

extern "C" __global__ void block_stride_write(float *__restrict__ destination, size_t length, size_t slice) {
  size_t first = blockIdx.x * slice;
  size_t end = min(length, first + slice);
  for (; first < end; first += blockDim.x) {
    size_t i = first + threadIdx.x;
    if (i < end) destination[i] = value_at(i);
    __syncthreads();
  }
}

extern "C" __global__ void random_warp_write(float *__restrict__ destination, size_t, unsigned pages, unsigned page,
                                             unsigned steps, unsigned seed) {
  Walk walk(seed, static_cast<unsigned>(grid_index() / 32), pages, page);
  for (unsigned step = 0; step < steps; ++step) {
    size_t i = walk.next_segment() + threadIdx.x % 32;
    // Warps may meet in a segment.
    asm volatile("st.relaxed.sys.global.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(destination + i)),
                 "f"(value_at(i))
                 : "memory");
  }
}

__device__ __forceinline__ float sum_of_vector(float4 vector) { return (vector.x + vector.y) + (vector.z + vector.w); }

// A warp has 32 * IN_FLIGHT vectors in a row, and a thread every 32nd of them.
extern "C" __global__ void grid_stride_vector(const float4 *__restrict__ source, size_t length,
                                              float *__restrict__ destination) {
  size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  size_t first = grid_index() / 32 * 32 * IN_FLIGHT + grid_index() % 32;
  float sum = 0;
  for (; first + (IN_FLIGHT - 1) * 32 < length; first += IN_FLIGHT * threads) {
    float4 vectors[IN_FLIGHT];
#pragma unroll
    for (int turn = 0; turn < IN_FLIGHT; ++turn) vectors[turn] = source[first + turn * 32];
#pragma unroll
    for (int turn = 0; turn < IN_FLIGHT; ++turn) sum += sum_of_vector(vectors[turn]);
  }
  for (int turn = 0; turn < IN_FLIGHT; ++turn)
    if (first + turn * 32 < length) sum += sum_of_vector(source[first + turn * 32]);
  destination[grid_index()] = sum;
}
