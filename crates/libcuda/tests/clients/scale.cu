// The source of scale_*.fatbin and scale.cubin, for CUDA 13.0:
//   nvcc -fatbin -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90 \
//       --compress-mode=MODE scale.cu -o scale_NAME.fatbin    (none: plain, size: zstd, speed: lz4)
//   nvcc -cubin -arch=sm_90 scale.cu -o scale.cubin
extern "C" __global__ void scale(int *values, int count, int factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= factor;
}
__device__ int counter = 5;
