// One kernel for each place where a variable can be; see gpu-kernels/src/storage.rs. One block of LENGTH threads.

#include "module.cuh"

constexpr unsigned LENGTH = 256;
constexpr unsigned OWN = 16;

extern "C" {
__device__ float STORAGE_GLOBAL[LENGTH];
__constant__ float STORAGE_CONSTANT[4] = {1, 2, 3, 4};
__managed__ float STORAGE_MANAGED[LENGTH];
}

extern "C" __global__ void storage_global() { STORAGE_GLOBAL[threadIdx.x] += 2; }

extern "C" __global__ void storage_shared_static(const float *__restrict__ source, size_t,
                                                 float *__restrict__ destination) {
  __shared__ float array[LENGTH];
  array[threadIdx.x] = source[threadIdx.x];
  __syncthreads();
  destination[threadIdx.x] = array[LENGTH - 1 - threadIdx.x];
}

extern "C" __global__ void storage_shared_dynamic(const float *__restrict__ source, size_t,
                                                  float *__restrict__ destination) {
  extern __shared__ float dynamic_array[];
  dynamic_array[threadIdx.x] = source[threadIdx.x];
  __syncthreads();
  destination[threadIdx.x] = dynamic_array[LENGTH - 1 - threadIdx.x];
}

extern "C" __global__ void storage_constant(const float *__restrict__ source, size_t,
                                            float *__restrict__ destination) {
  destination[threadIdx.x] = source[threadIdx.x] * STORAGE_CONSTANT[threadIdx.x % 4];
}

extern "C" __global__ void storage_local(const float *__restrict__ source, size_t, float *__restrict__ destination) {
  unsigned first = threadIdx.x / 32 * 32;
  float counts[OWN] = {};
  for (unsigned i = first; i < first + 32; ++i) counts[static_cast<unsigned>(source[i]) % OWN] += 1;
  destination[threadIdx.x] = counts[static_cast<unsigned>(source[threadIdx.x]) % OWN];
}

extern "C" __global__ void storage_managed() { STORAGE_MANAGED[threadIdx.x] += 2; }
