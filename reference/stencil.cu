// The nine-point first derivative; see gpu-kernels/src/stencil.rs. `length` is that of the source: RADIUS more
// elements than the destination on either side. For stencil_constant and stencil_read_only a block has (blockDim.x +
// 2 * RADIUS) words of dynamic shared memory; stencil_vector takes vectors of four, one thread for each of the
// destination, in one-dimensional blocks of any size, and no shared memory.
//
// Forms of the first two tried on an H200 (2^27 elements, blocks of 256), as rates relative to the first line:
//
//                                                            stencil_constant  stencil_read_only
//   a tile with a halo on either side, a guard for each load 1.000             1.000
//   the same, blockDim.x * blockIdx.x                        1.006             1.015
//   the same, the coefficients loaded before the tile                          1.053
//   the same, 256 in place of blockDim.x                     1.017             1.013   serves no other block
//   the same, 256 where it is 256, in a static tile          0.992             0.996
//   both halos behind the tile, a guard for each load        0.990             0.974
//   both halos behind, whole blocks without guards           1.003             1.070   stands: 2239 and 2213 GB/s
//   the same, 256 where it is 256, in a static tile          0.993             1.058
//   whole blocks without guards, a halo on either side       0.989             1.052
//   unsigned indices of 32 bits                              0.985             0.987
//
// With both halos behind the tile, thread t loads element t: the loads begin where the source does, on a line, and
// there are two of them instead of three. Without guards, nvcc loads the coefficients together with the tile and not
// after the barrier, which is where stencil_read_only gains. `__restrict__` makes no difference. In blocks of 32,
// every form has 425 GB/s.
//
// stencil_vector, in steps, as shares of cudaMemcpyAsync from device to device at the same size and in the same run
// (4195 to 4224 GB/s; 2^27 elements, blocks of 256 unless said):
//
//   one element per thread, from a tile                       53%   stencil_constant
//   one element per thread, eight loads by way of L1          58%   no tile, no barrier
//   four elements, scalars, from a tile filled by vectors     86%   a quarter of the loads
//   two elements per thread, five float2 by way of L1         87%
//   four elements per thread, three float4 by way of L1      101%   stands: 4236 GB/s with blocks of 128, 4219 with 256
//     blocks of 64; 512; 1024                                 80%; 98%; 95%
//     neighbours' vectors by shuffle, not L1                 100%   101% with blocks of 128
//     a tile filled and read by vectors                       97%   100% with blocks of 128
//     stores that are evicted first (__stcs)                 100%
//     loads too (__ldcs)                                      99%   101% with plain pointers
//     two vectors in flight; four                             97%; 97%   neighbours' by shuffle: 98%; 98%
//     eight elements in a row per thread, four float4         93%   half of each line with each load
//     blocks that stay and stride through the array           91%
//
// A vector of results needs three vectors of the source, all aligned: destination[i] belongs to source[i + RADIUS],
// and both arrays begin at a multiple of 16 bytes, as every allocation does. Two of the three are the neighbours' and
// come from L1. At 2^24 elements, of which L2 holds a part, __ldcs and __stcs are 2% faster than the form that stands
// (3914 to 3826 GB/s).

constexpr unsigned RADIUS = 4;

// c[1] to c[4], written by the host.
__constant__ float STENCIL_COEFFICIENTS[RADIUS];

struct ConstantCoefficients {
  __device__ __forceinline__ float operator[](int nth) const { return STENCIL_COEFFICIENTS[nth]; }
};

// The derivative at a point of the tile, of the source, or of a thread's registers.
template <typename Coefficients>
__device__ __forceinline__ float nine_points(const float *here, Coefficients coefficients) {
  float sum = 0;
#pragma unroll
  for (int j = 1; j <= static_cast<int>(RADIUS); ++j) sum += coefficients[j - 1] * (here[j] - here[-j]);
  return sum;
}

// One element per thread. The tile has the block's elements of the source from the first one that it needs.
template <typename Coefficients>
__device__ __forceinline__ void derive(const float *__restrict__ source, size_t length,
                                       float *__restrict__ destination, Coefficients coefficients) {
  extern __shared__ float tile[];
  size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x;
  if (first + blockDim.x + 2 * RADIUS <= length) {
    tile[threadIdx.x] = source[first + threadIdx.x];
    if (threadIdx.x < 2 * RADIUS) tile[threadIdx.x + blockDim.x] = source[first + threadIdx.x + blockDim.x];
    __syncthreads();
    destination[first + threadIdx.x] = nine_points(tile + threadIdx.x + RADIUS, coefficients);
    return;
  }
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < length) tile[threadIdx.x] = source[i];
  if (threadIdx.x < 2 * RADIUS && i + blockDim.x < length) tile[threadIdx.x + blockDim.x] = source[i + blockDim.x];
  __syncthreads();
  if (i + 2 * RADIUS < length) destination[i] = nine_points(tile + threadIdx.x + RADIUS, coefficients);
}

extern "C" __global__ void stencil_constant(const float *__restrict__ source, size_t length,
                                            float *__restrict__ destination) {
  derive(source, length, destination, ConstantCoefficients());
}

extern "C" __global__ void stencil_read_only(const float *__restrict__ source, size_t length,
                                             float *__restrict__ destination,
                                             const float *__restrict__ coefficients, size_t) {
  derive(source, length, destination, coefficients);
}

// Four elements per thread; both arrays are counted in vectors.
extern "C" __global__ void stencil_vector(const float4 *__restrict__ source, size_t length,
                                          float4 *__restrict__ destination) {
  size_t nth = static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
  if (nth + 2 < length) {
    ConstantCoefficients coefficients;
    float4 a = source[nth], b = source[nth + 1], c = source[nth + 2];
    float points[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
    destination[nth] = make_float4(nine_points(points + 4, coefficients), nine_points(points + 5, coefficients),
                                   nine_points(points + 6, coefficients), nine_points(points + 7, coefficients));
  }
}
