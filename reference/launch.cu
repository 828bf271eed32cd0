// The twins of kernels that do next to nothing; see gpu-kernels/src/launch.rs.

#include "module.cuh"

template <unsigned WORDS> struct Parameters {
  unsigned long long words[WORDS];
};

extern "C" __global__ void launch_empty() {}

#define WITH_PARAMETERS(NAME, WORDS)                                                                                   \
  extern "C" __global__ void NAME(const __grid_constant__ Parameters<WORDS> parameters, unsigned long long *destination, \
                                  size_t) {                                                                            \
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) *destination = parameters.words[WORDS - 1];                        \
  }

WITH_PARAMETERS(launch_parameters_64, 8)
WITH_PARAMETERS(launch_parameters_512, 64)
WITH_PARAMETERS(launch_parameters_4080, 510)
