// Misaligned and strided access; see gpu-kernels/src/coalescing.rs. One thread per element, an exact grid.
//
// Forms tried on an H200 (256 MiB, blocks of 256), as rates relative to `blockIdx.x * blockDim.x` in 64 bits:
//
//                                            offset_f32      offset_f64  stride_f32
//                                            s = 0   s = 1   s = 1       s = 2
//   blockDim.x * blockIdx.x, 64 bits         1.012   1.016   1.003       1.001   stands: 2730, 2567, 3555, 1934 GB/s
//   256 in place of blockDim.x               1.011   1.017   1.004       1.000   serves no other block
//   256 where `blockDim.x == 256`            0.995   0.994   0.997       0.999
//   32 bits, unsigned                        0.994   0.995   0.997       1.001   wraps at 2^32 elements
//   32 bits, int                             0.995   0.995   0.998       1.000   wraps at 2^31 elements
//
// In SASS, the order of the two factors decides how a warp gets its block's index: written this way round, by S2R
// into a vector register, with blockDim.x as a uniform operand; the other way round by S2UR into a uniform register,
// which takes longer, and each load starts later. A thread does little else, so that shows. `__restrict__`, an addition
// to the pointer instead of the index, and a base pointer per block compile to the same instructions.

#include "module.cuh"

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
}

template <typename T>
__device__ __forceinline__ void offset(T *a, unsigned s) {
  size_t i = grid_index() + s;
  a[i] = a[i] + 1;
}

template <typename T>
__device__ __forceinline__ void stride(T *a, unsigned s) {
  size_t i = grid_index() * s;
  a[i] = a[i] + 1;
}

extern "C" __global__ void offset_f32(float *a, unsigned s) { offset(a, s); }
extern "C" __global__ void offset_f64(double *a, unsigned s) { offset(a, s); }
extern "C" __global__ void stride_f32(float *a, unsigned s) { stride(a, s); }
extern "C" __global__ void stride_f64(double *a, unsigned s) { stride(a, s); }
