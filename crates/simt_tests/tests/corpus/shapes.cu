// What the kernels of this repository do not make a compiler emit: jump tables, calls through pointers, functions that
// never return, initialised tables of addresses, managed memory, vectors in constant memory, inlined functions by name.
#include <cstdio>

__constant__ float4 weights[2] = {{1.0f, 2.0f, 3.0f, 4.0f}, {0.5f, -0.5f, 0.25f, -0.25f}};
__managed__ int counter = 7;
__device__ int table[4] = {1, -2, 3, -4};
__device__ int *middle = &table[1];
extern __shared__ double dynamic[];

typedef int (*binary)(int, int);

__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ binary operations[2] = {sum, product};

struct Pair {
  int first;
  double second;
};

__device__ __noinline__ Pair swap_signs(Pair pair) { return {-pair.first, -pair.second}; }

extern "C" __global__ void __launch_bounds__(128, 2) calls(int *out, int which, Pair pair) {
  Pair other = swap_signs(pair);
  out[threadIdx.x] = operations[which](other.first, *middle) + (int)other.second;
  if (out[0] == 1 << 20) {
    printf("%d\n", out[0]);
    __trap();
  }
}

extern "C" __global__ void jumps(int *out, int which, int value) {
  switch (which) {
    case 0: value = __popc(value); break;
    case 1: value = value * value + 3; break;
    case 2: out[1] = value; value ^= 77; break;
    case 3: value = atomicAdd(&counter, value); break;
    case 4: __syncthreads(); value = __shfl_xor_sync(~0u, value, 1); break;
    case 5: value /= out[2]; break;
    case 6: asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, 4; @!p trap; }" ::"r"(value)); break;
    case 7: value = __clz(value) + (int)weights[out[3] & 1].z; break;
    default: return;
  }
  out[threadIdx.x] = value;
}

extern "C" __global__ void reverse(double *data, int count) {
  dynamic[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) data[i] = dynamic[count - 1 - i] * 1.5;
}
