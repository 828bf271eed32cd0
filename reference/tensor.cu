// C = A * B^T on tensor cores, in bf16 with sums in f32; see gpu-kernels/src/unchecked/tensor.rs and beside it, under
// tensor/, the file of each kernel, which says how it works. A has m rows of k, B n rows of k, C m rows of n.
//
// Forms tried on an H200 at n = 4096, as rates relative to one of them. Three runs, each against the Rust kernels, whose
// own rates differ by 1% from run to run; so do those that are not named here.
//
//   matmul_wgmma        the ring's addresses held in registers        1.02    stands: 621 TFLOP/s
//                       computed again in each step                   1.00
//   all with wgmma      the first wgmma adds to nothing, no zeros     within 1%

#include "module.cuh"
#include "tensor.cuh"

// ---- matmul_mma: fragments in registers ----

namespace mma {

constexpr unsigned SIDE = 128, DEPTH = 32, STAGES = 4, THREADS = 128;
constexpr unsigned UNITS = DEPTH / 8, ROW = UNITS * 16; // of 16 bytes, in a row of a tile; bytes of a row
constexpr unsigned TILE = SIDE * ROW;

// What the numbers of a row's units are combined with, so that eight rows of one unit are in all 32 banks.
__device__ __forceinline__ unsigned swizzle(unsigned row) { return row / 2 % UNITS; }

__device__ __forceinline__ void copy_or_zero(unsigned to, const uint4 *from, bool is_there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0) : "memory");
}

__device__ __forceinline__ void load_matrices(unsigned (&fragments)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(fragments[0]), "=r"(fragments[1]), "=r"(fragments[2]), "=r"(fragments[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Starts to copy a thread's four units of a tile.
__device__ __forceinline__ void copy(unsigned tile, const uint4 *matrix, unsigned first, unsigned rows, unsigned k,
                                     unsigned step) {
  unsigned unit = threadIdx.x % UNITS, column = step * UNITS + unit;
#pragma unroll
  for (unsigned part = 0; part < 4; ++part) {
    unsigned row = threadIdx.x / UNITS + part * (THREADS / UNITS);
    const uint4 *from = matrix + static_cast<size_t>(first + row) * (k / 8) + column;
    copy_or_zero(tile + row * ROW + 16 * (unit ^ swizzle(row)), from, first + row < rows && column < k / 8);
  }
}

// What a warp multiplies at a time: 64 x 16 of A and 16 x 64 of B.
struct Fragments {
  unsigned a[4][4], b[4][4];

  // From a half of a stage, by the lane's rows in it and their units, swizzled.
  __device__ __forceinline__ void load(unsigned stage, unsigned half, unsigned row_of_a, unsigned unit_of_a,
                                       unsigned row_of_b, unsigned unit_of_b) {
#pragma unroll
    for (unsigned nth = 0; nth < 4; ++nth) {
      load_matrices(a[nth], stage + nth * 16 * ROW + row_of_a + 16 * (unit_of_a ^ 2 * half));
      load_matrices(b[nth], stage + nth * 16 * ROW + row_of_b + 16 * (unit_of_b ^ 2 * half));
    }
  }

  __device__ __forceinline__ void multiply(float (&sums)[4][8][4]) const {
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
      for (unsigned j = 0; j < 8; ++j) mma::multiply(sums[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }
};

extern "C" __global__ void __launch_bounds__(128, 2)
    matmul_mma(const uint4 *a, size_t, const uint4 *b, size_t, unsigned *c, unsigned m, unsigned n, unsigned k) {
  extern __shared__ unsigned char dynamic[];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned y = blockIdx.y * SIDE, x = blockIdx.x * SIDE, top = warp / 2 * 64, left = warp % 2 * 64;
  unsigned stages = shared_address(dynamic), steps = (k + DEPTH - 1) / DEPTH;
  auto stage = [&](unsigned step) { return stages + step % STAGES * 2 * TILE; };
  auto load = [&](unsigned step) {
    if (step < steps) {
      copy(stage(step), a, y, m, k, step);
      copy(stage(step) + TILE, b, x, n, k, step);
    }
    // Without copies an empty group, so that groups are counted by steps.
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  auto wait = [] {
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    __syncthreads();
  };
  unsigned of_a = top + lane % 16, of_b = left + lane / 16 * 8 + lane % 8;
  unsigned unit_of_a = lane / 16 ^ swizzle(of_a), unit_of_b = lane / 8 % 2 ^ swizzle(of_b);
  Fragments even, odd;
  auto fetch = [&](Fragments &into, unsigned step, unsigned half) {
    into.load(stage(step), half, of_a * ROW, unit_of_a, TILE + of_b * ROW, unit_of_b);
  };
#pragma unroll
  for (unsigned step = 0; step < 3; ++step) load(step);
  float sums[4][8][4] = {};
  wait();
  fetch(even, 0, 0);
  for (unsigned step = 0; step < steps; ++step) {
    fetch(odd, step, 1);
    load(step + STAGES - 1);
    even.multiply(sums);
    wait();
    fetch(even, min(step + 1, steps - 1), 0); // of the last step again, where there is no next one
    odd.multiply(sums);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
      unsigned row = y + top + i * 16 + lane / 4, column = x + left + j * 8 + lane % 4 * 2;
      put(c, m, n, row, column, pack_bf16(sums[i][j][0], sums[i][j][1]));
      put(c, m, n, row + 8, column, pack_bf16(sums[i][j][2], sums[i][j][3]));
    }
  }
}

} // namespace mma

// ---- matmul_wgmma: one warpgroup, fed by the copy engine ----

extern "C" __global__ void __launch_bounds__(128, 1)
    matmul_wgmma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, unsigned *c, unsigned m,
                 unsigned n, unsigned k, unsigned group) {
  constexpr unsigned ROWS = 64, COLUMNS = 256;
  bool first = threadIdx.x == 0;
  uint2 tile = Tiles(m, n, ROWS, COLUMNS, group).place(blockIdx.x);
  unsigned x = tile.x * COLUMNS, y = tile.y * ROWS, steps = ceil_div(k, DEPTH);
  prefetch(0, a, b);
  Ring<5 * BOX> ring(dynamic_shared(), 1);
  __syncthreads();
  auto filling = ring;
  auto load = [&](unsigned step) {
    if (!first || step >= steps) return;
    filling.wait_empty<false>();
    filling.load(0, a, step * DEPTH, y);
    filling.load(BOX, b, step * DEPTH, x);
    filling.advance();
  };
  for (unsigned step = 0; step < STAGES - 1; ++step) load(step);
  Sums sums;
  unsigned last = 0, step = 0;
  do {
    ring.wait_full();
    multiply<Order::COLUMNS>(sums, ring.stage(), ring.stage() + BOX);
    if (first && step > 0) ReleaseOwn()(last);
    last = ring.empty();
    ring.advance();
    load(step + STAGES - 1); // into the stage that was just released, or, in the first step, the last one
  } while (++step < steps);
  finish(sums);
  write(c, m, n, y, x, sums);
}

// ---- One warpgroup loads, two multiply ----

extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_ring(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, unsigned *c, unsigned m,
                unsigned n, unsigned k, unsigned group) {
  uint2 tile = Tiles(m, n, ROWS, COLUMNS, group).place(blockIdx.x);
  unsigned steps = ceil_div(k, DEPTH);
  prefetch(0, a, b);
  Stages ring(dynamic_shared(), 2);
  __syncthreads();
  divide([&] { load_tile(ring, a, b, tile, steps); },
         [&](unsigned half) {
           Sums sums;
           Multiplier<ReleaseOwn>{ring, half, {}}.tile(sums, steps);
           write(c, m, n, tile.y * ROWS + half * 64, tile.x * COLUMNS, sums);
         });
}

// ---- Blocks that stay ----

// Tile after tile of 128 x 256, whose sums go to `write`, with their first row and column.
template <class Write>
__device__ __forceinline__ void persistent(const TensorMap &a, const TensorMap &b, unsigned m, unsigned n, unsigned k,
                                           unsigned group, Write write) {
  Tiles tiles(m, n, ROWS, COLUMNS, group);
  unsigned steps = ceil_div(k, DEPTH);
  prefetch(0, a, b);
  Stages ring(dynamic_shared(), 2);
  __syncthreads();
  divide(
      [&] {
        for (unsigned nth = blockIdx.x; nth < tiles.count(); nth += gridDim.x)
          load_tile(ring, a, b, tiles.place(nth), steps);
      },
      [&](unsigned half) {
        for (unsigned nth = blockIdx.x; nth < tiles.count(); nth += gridDim.x) {
          uint2 tile = tiles.place(nth);
          Sums sums;
          Multiplier<ReleaseOwn>{ring, half, {}}.tile(sums, steps);
          write(sums, tile.y * ROWS + half * 64, tile.x * COLUMNS);
        }
      });
}

extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_persistent(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, unsigned *c, unsigned m,
                      unsigned n, unsigned k, unsigned group) {
  persistent(a, b, m, n, k, group,
             [&](const Sums &sums, unsigned row, unsigned column) { write(c, m, n, row, column, sums); });
}

// C = alpha * A * B^T + beta * C with C in f32. With a beta of 0, C is not read.
extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_to_f32(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c, unsigned m,
                  unsigned n, unsigned k, float alpha, float beta, unsigned group) {
  auto put = [&](unsigned row, unsigned column, float left, float right) {
    if (row >= m || column >= n) return;
    float2 *place = reinterpret_cast<float2 *>(c + static_cast<size_t>(row) * n + column);
    float2 rest = {0, 0};
    if (beta != 0) rest = {beta * place->x, beta * place->y};
    *place = {fmaf(alpha, left, rest.x), fmaf(alpha, right, rest.y)};
  };
  persistent(a, b, m, n, k, group, [&](const Sums &sums, unsigned row, unsigned column) {
    row += threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    column += threadIdx.x % 4 * 2;
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) {
      put(row, column + 8 * j, sums.of[4 * j], sums.of[4 * j + 1]);
      put(row + 8, column + 8 * j, sums.of[4 * j + 2], sums.of[4 * j + 3]);
    }
  });
}

// ---- The copy engine stores ----

extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_stored(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                  const __grid_constant__ TensorMap c, unsigned m, unsigned n, unsigned k, unsigned group) {
  Tiles tiles(m, n, ROWS, COLUMNS, group);
  unsigned steps = ceil_div(k, DEPTH);
  prefetch(0, a, b, c);
  Stages ring(dynamic_shared(), 2);
  __syncthreads();
  divide(
      [&] {
        for (unsigned nth = blockIdx.x; nth < tiles.count(); nth += gridDim.x)
          load_tile(ring, a, b, tiles.place(nth), steps);
      },
      [&](unsigned half) {
        Results results(c, half);
        for (unsigned nth = blockIdx.x; nth < tiles.count(); nth += gridDim.x) {
          Sums sums;
          Packed<> packed;
          Multiplier<ReleaseOwn>{ring, half, {}}.tile(sums, steps);
          packed = sums;
          results.are_at(tiles.place(nth));
          results.store_all(packed);
        }
        results.finish();
      });
}

// ---- Loading, multiplying and storing at the same time ----

// Tile after tile of a warpgroup, whose results are stored in the first four steps of the next one, so there are at least
// four. `corner` gives the row and the column (y and x) of the block's part of a tile.
template <class Release, Order ORDER, class Corner>
__device__ __forceinline__ void compute(Stages &ring, Release released, const TensorMap &c, unsigned half,
                                        unsigned first, unsigned count, unsigned stride, unsigned steps,
                                        Corner corner) {
  Results results(c, half);
  Packed<> packed;
  for (unsigned nth = first; nth < count; nth += stride) {
    Sums sums;
    Multiplier<Release, ORDER> multiplier{ring, half, released};
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) {
      multiplier.step(sums, part == 0);
      results.store(packed, part);
    }
    for (unsigned step = 4; step < steps; ++step) multiplier.step(sums, false);
    finish(sums);
    packed = sums;
    multiplier.release();
    results.are_at(corner(nth));
  }
  results.store_all(packed);
  results.finish();
}

template <Order ORDER>
__device__ __forceinline__ void overlapped(const TensorMap &a, const TensorMap &b, const TensorMap &c, unsigned m,
                                           unsigned n, unsigned k, unsigned group) {
  Tiles tiles(m, n, ROWS, COLUMNS, group);
  unsigned steps = max(ceil_div(k, DEPTH), 4);
  prefetch(0, a, b, c);
  Stages ring(dynamic_shared(), 2);
  __syncthreads();
  divide(
      [&] {
        for (unsigned nth = blockIdx.x; nth < tiles.count(); nth += gridDim.x)
          load_tile<ORDER>(ring, a, b, tiles.place(nth), steps);
      },
      [&](unsigned half) {
        compute<ReleaseOwn, ORDER>(ring, {}, c, half, blockIdx.x, tiles.count(), gridDim.x, steps,
                                   [&](unsigned nth) { return tiles.place(nth); });
      });
}

extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_overlapped(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                      const __grid_constant__ TensorMap c, unsigned m, unsigned n, unsigned k, unsigned group) {
  overlapped<Order::COLUMNS>(a, b, c, m, n, k, group);
}

// For B as k rows of n.
extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_rows_of_b(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                     const __grid_constant__ TensorMap c, unsigned m, unsigned n, unsigned k, unsigned group) {
  overlapped<Order::ROWS>(a, b, c, m, n, k, group);
}

// ---- An even last wave ----

// Some steps of a tile, of which the first comes behind the last; and what becomes of their sums.
enum class Fate { WHOLE, GIVEN, ADDED };
struct Part {
  unsigned tile, first, steps;
  Fate fate;
};

// The parts of one of so many blocks: its share of the first tiles, counted in steps, then whole tiles.
struct Parts {
  unsigned tiles, steps, blocks, start, end, turn, rest;

  __device__ __forceinline__ Parts(unsigned tiles, unsigned steps, unsigned block, unsigned blocks)
      : tiles(tiles), steps(steps), blocks(blocks) {
    unsigned left = tiles % blocks, shared = left == 0 || tiles < blocks ? 0 : left + blocks;
    unsigned each = shared * steps / blocks, more = shared * steps % blocks;
    auto bound = [&](unsigned block) {
      unsigned step = block * each + min(block, more), before = step % steps;
      return before < 4 ? step - before : steps - before < 4 ? step - before + steps : step;
    };
    start = bound(block), end = bound(block + 1), turn = (steps - start % steps) % steps, rest = shared + block;
  }

  __device__ __forceinline__ bool next(Part &part) {
    if (start >= end) {
      part = {rest, 0, steps, Fate::WHOLE};
      rest += blocks;
      return part.tile < tiles;
    }
    unsigned tile = start / steps, before = start % steps, from = start, behind = start - before + steps;
    start = behind;
    if (before > 0)
      part = {tile, 0, steps - before, Fate::GIVEN};
    else if (behind > end)
      part = {tile, behind - end, end - from, Fate::ADDED};
    else
      part = {tile, turn, steps, Fate::WHOLE};
    return true;
  }
};

// Sums of a tile's first steps go through memory to the block that has its last ones, with a word for each half.
extern "C" __global__ void __launch_bounds__(384, 1)
    matmul_even(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                const __grid_constant__ TensorMap c, float4 *handed_over, unsigned *arrived, unsigned m, unsigned n,
                unsigned k, unsigned group) {
  Tiles tiles(m, n, ROWS, COLUMNS, group);
  unsigned steps = max(ceil_div(k, DEPTH), 4), share = gridDim.x - 1 - blockIdx.x;
  Parts parts(tiles.count(), steps, share, gridDim.x);
  prefetch(0, a, b, c);
  Stages ring(dynamic_shared(), 2);
  __syncthreads();
  divide(
      [&] {
        for (Part part; parts.next(part);) load_tile(ring, a, b, tiles.place(part.tile), part.steps, part.first, steps);
      },
      [&](unsigned half) {
        Results results(c, half);
        Packed<> packed;
        unsigned lane = threadIdx.x % 128;
        auto place = [&](unsigned block) { return handed_over + (block * 2 + half) * 32 * 128 + lane; };
        for (Part part; parts.next(part);) {
          Sums sums;
          Multiplier<ReleaseOwn> multiplier{ring, half, {}};
#pragma unroll
          for (unsigned quarter = 0; quarter < 4; ++quarter) {
            multiplier.step(sums, quarter == 0);
            results.store(packed, quarter);
          }
          for (unsigned step = 4; step < part.steps; ++step) multiplier.step(sums, false);
          finish(sums);
          multiplier.release();
          if (part.fate == Fate::GIVEN) {
            float4 *to = place(share);
#pragma unroll
            for (unsigned four = 0; four < 32; ++four) {
              const float *of = &sums.of[4 * four];
              to[four * 128] = {of[0], of[1], of[2], of[3]};
            }
            results.meet();
            if (lane == 0)
              asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(arrived + share * 2 + half), "r"(1) : "memory");
          } else if (part.fate == Fate::ADDED) {
            if (lane == 0) {
              unsigned *word = arrived + (share + 1) * 2 + half, is_there;
              do asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(is_there) : "l"(word) : "memory");
              while (is_there == 0);
              *word = 0;
            }
            results.meet();
            const float4 *from = place(share + 1);
#pragma unroll
            for (unsigned four = 0; four < 32; ++four) {
              float4 other = from[four * 128];
              float *of = &sums.of[4 * four];
              of[0] += other.x, of[1] += other.y, of[2] += other.z, of[3] += other.w;
            }
          }
          packed = sums;
          results.are_at(tiles.place(part.tile));
          results.is_any = part.fate != Fate::GIVEN;
        }
        results.store_all(packed);
        results.finish();
      });
}

// ---- Two blocks share what they load ----

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same at a kernel's start, which orders nothing but the barriers.
__device__ __forceinline__ void cluster_start() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Each block of a cluster has one of two tiles, one above the other, and loads half of B for both. Every second tile is
// summed from the end of K, which is still in L2.
extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
    matmul_multicast(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                     const __grid_constant__ TensorMap c, unsigned m, unsigned n, unsigned k, unsigned group) {
  Tiles tiles(m, n, 2 * ROWS, COLUMNS, group);
  unsigned steps = max(ceil_div(k, DEPTH), 4), rank = blockIdx.x % 2;
  unsigned first = blockIdx.x / 2, stride = gridDim.x / 2;
  prefetch(0, a, b, c);
  Stages ring(dynamic_shared(), 4);
  cluster_start();
  divide(
      [&] {
        bool turned = false;
        for (unsigned nth = first; nth < tiles.count(); nth += stride, turned = !turned) {
          uint2 tile = tiles.place(nth);
          for (unsigned step = 0; step < steps; ++step, ring.advance()) {
            unsigned depth = (turned ? steps - 1 - step : step) * DEPTH;
            ring.wait_empty<true>();
            ring.load(0, a, depth, (tile.y * 2 + rank) * ROWS);
            ring.load_to_both(B + rank * 2 * BOX, b, depth, tile.x * COLUMNS + rank * 128);
          }
        }
      },
      [&](unsigned half) {
        compute<ReleasePeer, Order::COLUMNS>(ring, ReleasePeer(ring), c, half, first, tiles.count(), stride, steps,
                                             [&](unsigned nth) {
                                               uint2 tile = tiles.place(nth);
                                               return make_uint2(tile.x, tile.y * 2 + rank);
                                             });
      });
  // Neither block may end while the other still reaches into it.
  cluster_sync();
}

// ---- Larger tiles ----

// 256 x 192 of C a block, beside that of the cluster's other block, whose rows of A it shares.
extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
    matmul_wide(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                const __grid_constant__ TensorMap c, unsigned m, unsigned n, unsigned k, unsigned group) {
  constexpr unsigned ROWS = 256, COLUMNS = 192, B = 4 * BOX, STAGE = B + 3 * BOX, STAGES = 3;
  Tiles tiles(m, n, ROWS, 2 * COLUMNS, group);
  unsigned steps = ceil_div(k, DEPTH), rank = blockIdx.x % 2;
  unsigned first = blockIdx.x / 2, stride = gridDim.x / 2;
  prefetch(0, a, b, c);
  Ring<STAGE, STAGES> ring(dynamic_shared(), 4);
  cluster_start();
  divide(
      [&] {
        bool turned = false;
        for (unsigned nth = first; nth < tiles.count(); nth += stride, turned = !turned) {
          uint2 tile = tiles.place(nth);
          for (unsigned step = 0; step < steps; ++step, ring.advance()) {
            unsigned depth = (turned ? steps - 1 - step : step) * DEPTH;
            ring.wait_empty<true>();
            ring.load_to_both(rank * 2 * BOX, a, depth, tile.y * ROWS + rank * 128);
            ring.load(B, b, depth, (tile.x * 2 + rank) * COLUMNS);
          }
        }
      },
      [&](unsigned half) {
        Results results(c, half, STAGES * STAGE);
        ReleasePeer released(ring);
        for (unsigned nth = first; nth < tiles.count(); nth += stride) {
          Sums192 upper, lower;
          unsigned last = 0, step = 0;
          auto release = [&] {
            if (threadIdx.x % 128 < ReleasePeer::THREADS) released(last);
          };
          do {
            ring.wait_full();
            multiply(upper, ring.stage() + 2 * half * BOX, ring.stage() + B);
            if (step > 0) release();
            multiply(lower, ring.stage() + (2 * half + 1) * BOX, ring.stage() + B);
            last = ring.empty();
            ring.advance();
          } while (++step < steps);
          finish(upper);
          finish(lower);
          Packed<48> above, below;
          above = upper;
          below = lower;
          release();
          uint2 tile = tiles.place(nth);
          results.row = tile.y * ROWS + half * 128, results.column = (tile.x * 2 + rank) * COLUMNS;
          results.is_any = true;
#pragma unroll
          for (unsigned part = 0; part < 3; ++part) results.store_box(&above.of[part * 16], part, part * 64, 0);
#pragma unroll
          for (unsigned part = 0; part < 3; ++part) results.store_box(&below.of[part * 16], part + 1, part * 64, 64);
        }
        results.finish();
      });
  cluster_sync();
}

// ---- Products of one wave ----

namespace wave {

constexpr unsigned LOADER = 256, LAST = 3; // the first thread of the warp that loads; steps of which the halves are apart

// A thread's part of 64 x N sums.
template <unsigned N> struct Sums {
  float of[N / 2] = {};
};

#define SUMS_64 "{" TEN() TEN(1) TEN(2) "%30, %31}"
#define SUMS_128 "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63}"
#define SUMS_144 "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) "%70, %71}"
#define SUMS_160                                                                                                       \
  "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) "%70, %71, %72, %73, %74, %75, %76, %77, %78, %79}"
#define OPERANDS_64 SIXTEEN(0), SIXTEEN(16)
#define OPERANDS_144 OPERANDS_128, FOUR(64), FOUR(68)
#define OPERANDS_160 OPERANDS_128, SIXTEEN(64)
#define OPERANDS_128 SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)
#define WGMMA_WAVE(N, A, B)                                                                                            \
  "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 " SUMS_##N ", " A ", " B ", add, 1, 1, 0, 0;\n"

// Adds the product of 64 rows of A and N columns of B, and leaves so many such groups unfinished.
#define MULTIPLY(N, A0, B0, A1, B1, A2, B2, A3, B3, P)                                                                 \
  template <unsigned PENDING>                                                                                          \
  __device__ __forceinline__ void multiply(Sums<N> &sums, unsigned a_tile, unsigned b_tile) {                          \
    unsigned long long a = descriptor(a_tile, 1), b = descriptor(b_tile, 1);                                           \
    asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0;\n"                                                          \
                 "wgmma.fence.sync.aligned;\n" WGMMA_WAVE(N, A0, B0) WGMMA_WAVE(N, A1, B1) WGMMA_WAVE(N, A2, B2)       \
                     WGMMA_WAVE(N, A3, B3) "wgmma.commit_group.sync.aligned;\n"                                        \
                                           "wgmma.wait_group.sync.aligned " P "; }"                                    \
                 : OPERANDS_##N                                                                                        \
                 : "l"(a), "l"(b), "l"(a + 2), "l"(b + 2), "l"(a + 4), "l"(b + 4), "l"(a + 6), "l"(b + 6),             \
                   "n"(PENDING)                                                                                        \
                 : "memory");                                                                                          \
  }
MULTIPLY(64, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39", "%40")
MULTIPLY(128, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71", "%72")
MULTIPLY(144, "%72", "%73", "%74", "%75", "%76", "%77", "%78", "%79", "%80")
MULTIPLY(160, "%80", "%81", "%82", "%83", "%84", "%85", "%86", "%87", "%88")

// Waits for all groups but the newest.
#define FINISH(N, P)                                                                                                   \
  template <unsigned PENDING> __device__ __forceinline__ void finish(Sums<N> &sums) {                                  \
    asm volatile("wgmma.wait_group.sync.aligned " P ";" : OPERANDS_##N : "n"(PENDING) : "memory");                     \
  }
FINISH(64, "%32")
FINISH(128, "%64")
FINISH(144, "%72")
FINISH(160, "%80")

// Writes a warpgroup's 64 x N results to C from this row and column on, warp by warp through buffers of its own.
template <unsigned N>
__device__ __forceinline__ void store(uint4 *c, unsigned m, unsigned n, unsigned row, unsigned column, unsigned buffer,
                                      const Sums<N> &sums) {
  unsigned thread = threadIdx.x % 128, lane = threadIdx.x % 32, first = thread / 32 * 16;
#pragma unroll
  for (unsigned pair = 0; pair < N / 16; ++pair) {
    const float *of = &sums.of[8 * pair];
    unsigned in_tile = first + lane % 16, unit = pair % 4 * 2 + lane / 16;
    unsigned to = buffer + pair / 4 * BOX + in_tile * 128 + ((unit ^ in_tile % 8) << 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(pack_bf16(of[0], of[1])), "r"(pack_bf16(of[2], of[3])), "r"(pack_bf16(of[4], of[5])),
                 "r"(pack_bf16(of[6], of[7]))
                 : "memory");
  }
  __syncwarp();
#pragma unroll
  for (unsigned part = 0; part < N / 16; ++part) {
    unsigned in_tile = first + part % 4 * 4 + lane / 8, unit = lane % 8;
    unsigned from = buffer + part / 4 * BOX + in_tile * 128 + ((unit ^ in_tile % 8) << 4);
    uint4 results;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(results.x), "=r"(results.y), "=r"(results.z), "=r"(results.w)
                 : "r"(from)
                 : "memory");
    unsigned y = row + in_tile, x = column + part / 4 * 64 + unit * 8;
    if (y < m && x < n) c[(static_cast<size_t>(y) * n + x) / 8] = results;
  }
  __syncwarp();
}

// Writes WIDTH columns of a warpgroup's 64 rows of results, which it has packed, through a buffer of its own.
template <unsigned WIDTH>
__device__ __forceinline__ void store_part(uint4 *c, unsigned m, unsigned n, unsigned row, unsigned column,
                                           unsigned buffer, const unsigned *words) {
  unsigned thread = threadIdx.x % 128, lane = threadIdx.x % 32, first = thread / 32 * 16;
#pragma unroll
  for (unsigned pair = 0; pair < WIDTH / 16; ++pair) {
    unsigned in_tile = first + lane % 16, unit = pair * 2 + lane / 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     buffer + in_tile * 128 + ((unit ^ in_tile % 8) << 4)),
                 "r"(words[4 * pair]), "r"(words[4 * pair + 1]), "r"(words[4 * pair + 2]), "r"(words[4 * pair + 3])
                 : "memory");
  }
  __syncwarp();
#pragma unroll
  for (unsigned part = 0; part < 4; ++part) {
    unsigned in_tile = first + part * 4 + lane / 8, unit = lane % 8, y = row + in_tile, x = column + unit * 8;
    uint4 results;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(results.x), "=r"(results.y), "=r"(results.z), "=r"(results.w)
                 : "r"(buffer + in_tile * 128 + ((unit ^ in_tile % 8) << 4))
                 : "memory");
    if (y < m && x < n && unit * 8 < WIDTH) c[(static_cast<size_t>(y) * n + x) / 8] = results;
  }
  __syncwarp();
}

// The number of the warp, of which the compiler knows that it is one for all lanes.
__device__ __forceinline__ unsigned warp() { return __shfl_sync(~0u, threadIdx.x / 32, 0); }

// Launches that overlap: the next one may place its blocks, and waits for this one's end.
__device__ __forceinline__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_predecessor() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// 128 x N of C a block, by COUNT stages.
template <unsigned N, unsigned COUNT>
__device__ __forceinline__ void small(const TensorMap &a, const TensorMap &b, uint4 *c, unsigned m, unsigned n,
                                      unsigned k) {
  constexpr unsigned STAGE = B + N * 128;
  unsigned x = blockIdx.x * N, y = blockIdx.y * 128, steps = ceil_div(k, DEPTH);
  unsigned number = warp(), lane = threadIdx.x % 128, shared = dynamic_shared();
  prefetch(LOADER, a, b);
  Ring<STAGE, COUNT> ring(shared, 2, LOADER);
  launch_dependents();
  __syncthreads();
  wait_for_predecessor();
  if (number == LOADER / 32) {
    if (threadIdx.x != LOADER) return;
    for (unsigned step = 0; step < steps; ++step, ring.advance()) {
      ring.template wait_empty<true>();
      ring.load(0, a, step * DEPTH, y);
      ring.load(B, b, step * DEPTH, x);
    }
    return;
  }
  unsigned half = number / 4, last = 0, step = 0;
  Sums<N> sums;
  do {
    ring.wait_full();
    multiply<1>(sums, ring.stage() + half * BOX, ring.stage() + B);
    // Nobody fills the last stages again.
    if (step > 0 && step - 1 + COUNT < steps && lane == 0) ReleaseOwn()(last);
    last = ring.empty();
    ring.advance();
  } while (++step < steps);
  finish<0>(sums);
  unsigned row = y + half * 64, buffer = shared + COUNT * STAGE + half * BOX;
  if constexpr (N == 64) {
    store(c, m, n, row, x, buffer, sums);
  } else {
    Packed<N / 4> packed;
    packed = sums;
    store_part<64>(c, m, n, row, x, buffer, packed.of);
    store_part<64>(c, m, n, row, x + 64, buffer, packed.of + 16);
    store_part<N - 128>(c, m, n, row, x + 128, buffer, packed.of + 32);
  }
}

extern "C" __global__ void __launch_bounds__(288, 1)
    matmul_small(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint4 *c, unsigned m,
                 unsigned n, unsigned k) {
  small<64, 8>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(288, 1)
    matmul_between(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint4 *c, unsigned m,
                   unsigned n, unsigned k) {
  small<144, 6>(a, b, c, m, n, k);
}

// 256 x 128 of C a block. Half of a warpgroup's results are stored while the last steps of the other half are multiplied.
extern "C" __global__ void __launch_bounds__(288, 1)
    matmul_medium(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint4 *c, unsigned m,
                  unsigned n, unsigned k) {
  constexpr unsigned STAGE = 6 * BOX, OF_B = 4 * BOX;
  unsigned x = blockIdx.x * 128, y = blockIdx.y * 256, steps = max(ceil_div(k, DEPTH), LAST);
  unsigned number = warp(), lane = threadIdx.x % 128, shared = dynamic_shared();
  prefetch(LOADER, a, b);
  Ring<STAGE> ring(shared, 2, LOADER);
  launch_dependents();
  __syncthreads();
  wait_for_predecessor();
  if (number == LOADER / 32) {
    if (threadIdx.x != LOADER) return;
    for (unsigned step = 0; step < steps; ++step, ring.advance()) {
      ring.template wait_empty<true>();
      ring.load(0, a, step * DEPTH, y);
      ring.load(OF_B, b, step * DEPTH, x);
    }
    return;
  }
  unsigned half = number / 4, last = 0, of_a = half * 2 * BOX;
  Sums<128> first, second;
  for (unsigned step = 0; step < steps - LAST; ++step, ring.advance()) {
    ring.wait_full();
    multiply<1>(first, ring.stage() + of_a, ring.stage() + OF_B);
    if (step > 0 && lane == 0) ReleaseOwn()(last);
    multiply<1>(second, ring.stage() + of_a + BOX, ring.stage() + OF_B);
    last = ring.empty();
  }
  unsigned stages[LAST];
#pragma unroll
  for (unsigned nth = 0; nth < LAST; ++nth, ring.advance()) {
    ring.wait_full();
    stages[nth] = ring.stage();
    if (nth == 0) {
      multiply<1>(first, stages[nth] + of_a, stages[nth] + OF_B);
      if (steps > LAST && lane == 0) ReleaseOwn()(last);
    } else {
      multiply<LAST>(first, stages[nth] + of_a, stages[nth] + OF_B);
    }
  }
#pragma unroll
  for (unsigned nth = 0; nth < LAST; ++nth)
    multiply<LAST>(second, stages[nth] + of_a + BOX, stages[nth] + OF_B);
  unsigned buffer = shared + STAGES * STAGE + half * 2 * BOX;
  finish<LAST>(first);
  store(c, m, n, y + half * 128, x, buffer, first);
  finish<0>(second);
  store(c, m, n, y + half * 128 + 64, x, buffer, second);
}

// ---- Larger tiles whose results are stored while nobody waits ----

// 256 x 160 of C a block, beside that of the cluster's other block, whose rows of A it shares. A warpgroup has 64 rows and
// the 64 below. At a tile's end the upper ones go through the last two steps, then the lower ones, while the upper results
// are stored; the lower results are stored in the first three steps of the next tile.
extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
    matmul_staggered(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint4 *c, unsigned m,
                     unsigned n, unsigned k, unsigned group) {
  constexpr unsigned ROWS = 256, COLUMNS = 160, OF_B = 4 * BOX, STAGE = OF_B + COLUMNS * 128, NO_WAIT = 7;
  Tiles tiles(m, n, ROWS, 2 * COLUMNS, group);
  unsigned steps = max(ceil_div(k, DEPTH), 5), rank = blockIdx.x % 2, first = blockIdx.x / 2, stride = gridDim.x / 2;
  prefetch(0, a, b);
  Ring<STAGE> ring(dynamic_shared(), 4);
  cluster_start();
  divide(
      [&] {
        auto load = [&](unsigned depth, unsigned row, unsigned column) {
          ring.template wait_empty<true>();
          ring.load_to_both(rank * 2 * BOX, a, depth, row + rank * 128);
          ring.load(OF_B, b, depth, column);
          ring.advance();
        };
        bool turned = false;
        for (unsigned nth = first; nth < tiles.count(); nth += stride, turned = !turned) {
          uint2 tile = tiles.place(nth);
          for (unsigned step = 0; step < steps; ++step)
            load((turned ? steps - 1 - step : step) * DEPTH, tile.y * ROWS, (tile.x * 2 + rank) * COLUMNS);
        }
      },
      [&](unsigned half) {
        unsigned upper_at = 2 * half * BOX, lower_at = upper_at + BOX, lane = threadIdx.x % 128;
        unsigned buffer = dynamic_shared() + STAGES * STAGE + half * BOX, row = m, column = 0, last = 0;
        ReleasePeer released(ring);
        auto release = [&](unsigned barrier) {
          if (lane < ReleasePeer::THREADS) released(barrier);
        };
        Packed<40> packed;
        auto store = [&](unsigned part) {
          if (part < 2)
            store_part<64>(c, m, n, row, column + 64 * part, buffer, packed.of + 16 * part);
          else
            store_part<32>(c, m, n, row, column + 128, buffer, packed.of + 32);
        };
        auto step = [&](Sums<160> &upper, Sums<160> &lower) {
          ring.wait_full();
          multiply<1>(upper, ring.stage() + upper_at, ring.stage() + OF_B);
          release(last);
          multiply<1>(lower, ring.stage() + lower_at, ring.stage() + OF_B);
          last = ring.empty();
          ring.advance();
        };
        for (unsigned nth = first; nth < tiles.count(); nth += stride) {
          Sums<160> upper, lower;
          ring.wait_full();
          multiply<NO_WAIT>(upper, ring.stage() + upper_at, ring.stage() + OF_B);
          multiply<NO_WAIT>(lower, ring.stage() + lower_at, ring.stage() + OF_B);
          last = ring.empty();
          ring.advance();
          store(0);
#pragma unroll
          for (unsigned part = 1; part < 3; ++part) {
            step(upper, lower);
            store(part);
          }
          for (unsigned left = steps - 5; left > 0; --left) step(upper, lower);
          unsigned stage0, stage1, empty0, empty1;
          ring.wait_full();
          stage0 = ring.stage(), empty0 = ring.empty();
          ring.advance();
          multiply<1>(upper, stage0 + upper_at, stage0 + OF_B);
          release(last);
          ring.wait_full();
          stage1 = ring.stage(), empty1 = ring.empty();
          ring.advance();
          multiply<2>(upper, stage1 + upper_at, stage1 + OF_B);
          multiply<2>(lower, stage0 + lower_at, stage0 + OF_B);
          multiply<2>(lower, stage1 + lower_at, stage1 + OF_B);
          finish<2>(upper);
          packed = upper;
          uint2 tile = tiles.place(nth);
          row = tile.y * ROWS + half * 128, column = (tile.x * 2 + rank) * COLUMNS;
#pragma unroll
          for (unsigned part = 0; part < 3; ++part) store(part);
          row += 64;
          finish<0>(lower);
          packed = lower;
          release(empty0);
          release(empty1);
        }
#pragma unroll
        for (unsigned part = 0; part < 3; ++part) store(part);
      });
  cluster_sync();
}

} // namespace wave
