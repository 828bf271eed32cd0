// The twin of the kernel for dependent launches; see gpu-kernels/src/launch.rs. Only for compute_90a.

#include "module.cuh"

extern "C" __global__ void launch_dependent() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
