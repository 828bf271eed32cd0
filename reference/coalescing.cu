// Misaligned and strided access; see gpu-kernels/src/coalescing.rs. One thread an element, an exact grid.

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
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
