// Structures and arrays of fields; see gpu-kernels/src/layout.rs.
//
// These stand as first written: one thread per structure, updated field by field. A float3 is three scalars of alignment
// 4, as is the struct of four; a float4 is one access of 16 bytes.

#include "module.cuh"

struct Three {
  float x, y, z;
};

struct Four {
  float x, y, z, w;
};

__device__ __forceinline__ size_t grid_index() {
  return static_cast<size_t>(blockDim.x) * blockIdx.x + threadIdx.x;
}

extern "C" __global__ void layout_aos3_one(Three *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i < length) a[i].x += 1.0f;
}

extern "C" __global__ void layout_aos3_all(Three *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  Three fields = a[i];
  a[i] = {fields.x + 1.0f, fields.y + 1.0f, fields.z + 1.0f};
}

extern "C" __global__ void layout_padded_one(float4 *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  float4 fields = a[i];
  a[i] = make_float4(fields.x + 1.0f, fields.y, fields.z, fields.w);
}

extern "C" __global__ void layout_padded_all(float4 *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  float4 fields = a[i];
  a[i] = make_float4(fields.x + 1.0f, fields.y + 1.0f, fields.z + 1.0f, fields.w);
}

extern "C" __global__ void layout_soa3_one(float *__restrict__ x, size_t length) {
  size_t i = grid_index();
  if (i < length) x[i] += 1.0f;
}

extern "C" __global__ void layout_soa3_all(float *__restrict__ x, float *__restrict__ y, float *__restrict__ z,
                                           size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  float fields[3] = {x[i], y[i], z[i]};
  x[i] = fields[0] + 1.0f;
  y[i] = fields[1] + 1.0f;
  z[i] = fields[2] + 1.0f;
}

extern "C" __global__ void layout_aos4_one(Four *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i < length) a[i].x += 1.0f;
}

extern "C" __global__ void layout_aos4_all(Four *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  Four fields = a[i];
  a[i] = {fields.x + 1.0f, fields.y + 1.0f, fields.z + 1.0f, fields.w + 1.0f};
}

extern "C" __global__ void layout_vector_one(float4 *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  float4 fields = a[i];
  a[i] = make_float4(fields.x + 1.0f, fields.y, fields.z, fields.w);
}

extern "C" __global__ void layout_vector_all(float4 *__restrict__ a, size_t length) {
  size_t i = grid_index();
  if (i >= length) return;
  float4 fields = a[i];
  a[i] = make_float4(fields.x + 1.0f, fields.y + 1.0f, fields.z + 1.0f, fields.w + 1.0f);
}
