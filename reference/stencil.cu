// The nine-point first derivative; see gpu-kernels/src/stencil.rs. `length` is that of the source: RADIUS more elements
// than the destination on either side. A block has (blockDim.x + 2 * RADIUS) words of dynamic shared memory.

constexpr unsigned RADIUS = 4;

// c[1] to c[4], written by the host.
__constant__ float STENCIL_COEFFICIENTS[RADIUS];

__device__ __forceinline__ void load_tile(float *tile, const float *__restrict__ source, size_t length, size_t i) {
  unsigned centre = threadIdx.x + RADIUS;
  if (i + RADIUS < length) tile[centre] = source[i + RADIUS];
  if (threadIdx.x < RADIUS) {
    if (i < length) tile[centre - RADIUS] = source[i];
    if (i + RADIUS + blockDim.x < length) tile[centre + blockDim.x] = source[i + RADIUS + blockDim.x];
  }
  __syncthreads();
}

extern "C" __global__ void stencil_constant(const float *__restrict__ source, size_t length,
                                            float *__restrict__ destination) {
  extern __shared__ float tile[];
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  load_tile(tile, source, length, i);
  if (i + 2 * RADIUS < length) {
    const float *here = tile + threadIdx.x + RADIUS;
    float sum = 0;
#pragma unroll
    for (int j = 1; j <= static_cast<int>(RADIUS); ++j) sum += STENCIL_COEFFICIENTS[j - 1] * (here[j] - here[-j]);
    destination[i] = sum;
  }
}

extern "C" __global__ void stencil_read_only(const float *__restrict__ source, size_t length,
                                             float *__restrict__ destination,
                                             const float *__restrict__ coefficients, size_t) {
  extern __shared__ float tile[];
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  load_tile(tile, source, length, i);
  if (i + 2 * RADIUS < length) {
    const float *here = tile + threadIdx.x + RADIUS;
    float sum = 0;
#pragma unroll
    for (int j = 1; j <= static_cast<int>(RADIUS); ++j) sum += coefficients[j - 1] * (here[j] - here[-j]);
    destination[i] = sum;
  }
}
