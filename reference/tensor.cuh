// What the twins of the products on tensor cores have in common: tiles, the ring of stages, sums and results.
//
// Tensor cores, the copy engine and its barriers have no C++ that says all of this, so it is inline PTX, as in the
// kernels. Only for compute_90a. Tensor maps lie in device memory, as the kernels take them.

struct alignas(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ unsigned shared_address(const void *shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// Writes two neighbouring results, if C has them.
__device__ __forceinline__ void put(unsigned *c, unsigned m, unsigned n, unsigned row, unsigned column, unsigned both) {
  if (row < m && column < n) c[(static_cast<size_t>(row) * n + column) / 2] = both;
}

constexpr unsigned DEPTH = 64, STAGES = 4;    // columns of a stage, and stages
constexpr unsigned BOX = 64 * 128;            // bytes of 64 rows of a stage
constexpr unsigned LOADER = 40, OTHERS = 232; // registers of a thread

// How B lies in memory: its columns, as n rows of k, or its rows, k of n.
enum class Order { COLUMNS, ROWS };

__device__ __forceinline__ unsigned ceil_div(unsigned dividend, unsigned divisor) {
  return (dividend + divisor - 1) / divisor;
}

// The dynamic shared memory from the first multiple of 1024 on, which the swizzle needs.
__device__ __forceinline__ unsigned dynamic_shared() {
  extern __shared__ unsigned char dynamic[];
  return (shared_address(dynamic) + 1023) & ~1023u;
}

// The order of the tiles of C: bands of `group` rows of tiles, column by column, every second one from right to left.
struct Tiles {
  unsigned rows, columns, group;

  __device__ __forceinline__ Tiles(unsigned m, unsigned n, unsigned height, unsigned width, unsigned group)
      : rows(ceil_div(m, height)), columns(ceil_div(n, width)), group(group) {}

  __device__ __forceinline__ unsigned count() const { return rows * columns; }

  __device__ __forceinline__ uint2 place(unsigned number) const {
    unsigned in_band = group * columns, band = number / in_band, first = band * group, within = number - band * in_band;
    unsigned height = min(rows - first, group), column = within / height, row = first + within - column * height;
    return {band % 2 ? columns - 1 - column : column, row};
  }
};

__device__ __forceinline__ void prefetch_one(const TensorMap &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// One thread asks for the maps that the copy engine will need.
template <class... Maps> __device__ __forceinline__ void prefetch(unsigned thread, const Maps &...maps) {
  if (threadIdx.x == thread) (prefetch_one(maps), ...);
}

__device__ __forceinline__ bool is_phase_over(unsigned barrier, unsigned parity) {
  unsigned answer;
  asm volatile("{ .reg .pred over;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
               "selp.b32 %0, 1, 0, over; }"
               : "=r"(answer)
               : "r"(barrier), "r"(parity)
               : "memory");
  return answer;
}

// A ring of SLOTS stages of BYTES bytes: the next one to fill or to read. Each thread that fills or reads has its own copy.
template <unsigned BYTES, unsigned SLOTS = STAGES> struct Ring {
  unsigned stages, barriers, slot = 0, parity = 0;

  // One thread fills, and so many threads release. This thread initialises the barriers.
  __device__ __forceinline__ Ring(unsigned stages, unsigned releases, unsigned thread = 0) : stages(stages) {
    __shared__ unsigned long long of_block[2 * SLOTS];
    barriers = shared_address(of_block);
    // Held in registers: nvcc would compute both again in each step.
    asm volatile("" : "+r"(this->stages), "+r"(barriers));
    if (threadIdx.x != thread) return;
    for (unsigned slot = 0; slot < SLOTS; ++slot) {
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * slot) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barriers + 8 * (SLOTS + slot)), "r"(releases)
                   : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }

  __device__ __forceinline__ unsigned stage() const { return stages + BYTES * slot; }
  __device__ __forceinline__ unsigned full() const { return barriers + 8 * slot; }
  __device__ __forceinline__ unsigned empty() const { return barriers + 8 * (SLOTS + slot); }

  __device__ __forceinline__ void advance() {
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }

  // Waits until the stage has been read, and announces its bytes. A thread that only fills traps when it has waited for
  // some hundred milliseconds: a kernel that hangs takes the device with it.
  template <bool TRAPS> __device__ __forceinline__ void wait_empty() const {
    for (unsigned tries = 0; !is_phase_over(empty(), parity ^ 1);)
      if (TRAPS && ++tries == 1u << 22) __trap();
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full()), "n"(BYTES) : "memory");
  }

  __device__ __forceinline__ void wait_full() const {
    while (!is_phase_over(full(), parity)) continue;
  }

  // Starts to copy the box at this column and row to so many bytes into the stage.
  __device__ __forceinline__ void load(unsigned offset, const TensorMap &map, unsigned column, unsigned row) const {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(stage() + offset),
                 "l"(&map), "r"(column), "r"(row), "r"(full())
                 : "memory");
  }

  // The same into both blocks of a cluster of two.
  __device__ __forceinline__ void load_to_both(unsigned offset, const TensorMap &map, unsigned column,
                                               unsigned row) const {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(stage() + offset),
                 "l"(&map), "r"(column), "r"(row), "r"(full()), "h"(static_cast<unsigned short>(3))
                 : "memory");
  }
};

// Tells the thread that fills that a stage has been read, by the stage's barrier.
struct ReleaseOwn {
  static constexpr unsigned THREADS = 1;

  __device__ __forceinline__ void operator()(unsigned barrier) const {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
  }
};

// The same in both blocks of a cluster of two: threads 0 and 1 of a warpgroup speak to one block each. Without
// .release.cluster, which the reads of wgmma do not need and which costs a fence of the whole GPU's memory.
struct ReleasePeer {
  static constexpr unsigned THREADS = 2;
  unsigned distance; // from the block's own barriers to those of the peer

  template <class Ring> __device__ __forceinline__ explicit ReleasePeer(const Ring &ring) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(ring.barriers), "r"(threadIdx.x % 2));
    distance = there - ring.barriers;
  }

  __device__ __forceinline__ void operator()(unsigned barrier) const {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier + distance) : "memory");
  }
};

// A thread's part of 64 x 256 sums. A warp has sixteen rows; registers 4 j and 4 j + 1 are of its row lane / 4, columns
// 8 j + 2 (lane % 4) and the next, and the two that follow of the row eight below.
struct Sums {
  float of[128] = {};
};

// The registers' numbers in asm, and its operands.
#define TEN(TENS)                                                                                                      \
  "%" #TENS "0, %" #TENS "1, %" #TENS "2, %" #TENS "3, %" #TENS "4, %" #TENS "5, %" #TENS "6, %" #TENS "7, %" #TENS    \
  "8, %" #TENS "9, "
#define ALL_SUMS                                                                                                       \
  "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10)                                     \
      TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127}"
#define FOUR(I) "+f"(sums.of[I]), "+f"(sums.of[I + 1]), "+f"(sums.of[I + 2]), "+f"(sums.of[I + 3])
#define SIXTEEN(I) FOUR(I), FOUR(I + 4), FOUR(I + 8), FOUR(I + 12)
#define OPERANDS SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64), SIXTEEN(80), SIXTEEN(96), SIXTEEN(112)
#define WGMMA(A, B)                                                                                                    \
  "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " ALL_SUMS ", " A ", " B ", add, 1, 1, 0, %136;\n"

// What tells wgmma where rows of 128 bytes in the 128-byte swizzle lie, and how far apart, in units of 16 bytes, parts
// of 64 columns are if the tile is transposed; else 1.
__device__ __forceinline__ unsigned long long descriptor(unsigned tile, unsigned parts) {
  return 1ull << 62 | 64ull << 32 | static_cast<unsigned long long>(parts) << 16 | (tile >> 4 & 0x3fff);
}

// Adds the product of 64 rows of A and a stage's part of B, and waits for all products but this one. One statement, so
// that the compiler leaves the registers alone that the tensor cores still work on.
template <Order ORDER> __device__ __forceinline__ void multiply(Sums &sums, unsigned a_tile, unsigned b_tile) {
  constexpr bool TRANSPOSED = ORDER == Order::ROWS;
  constexpr unsigned NEXT = TRANSPOSED ? 16 * 128 / 16 : 2; // 16 rows, or 16 columns
  unsigned long long a = descriptor(a_tile, 1), b = descriptor(b_tile, TRANSPOSED ? BOX / 16 : 1);
  asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0;\n"
               "wgmma.fence.sync.aligned;\n"
               WGMMA("%128", "%129") WGMMA("%130", "%131") WGMMA("%132", "%133") WGMMA("%134", "%135")
               "wgmma.commit_group.sync.aligned;\n"
               "wgmma.wait_group.sync.aligned 1; }"
               : OPERANDS
               : "l"(a), "l"(b), "l"(a + 2), "l"(b + NEXT), "l"(a + 4), "l"(b + 2 * NEXT), "l"(a + 6),
                 "l"(b + 3 * NEXT), "n"(TRANSPOSED)
               : "memory");
}

// Waits for all products.
__device__ __forceinline__ void finish(Sums &sums) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : OPERANDS::"memory");
}

// The same for 64 x 192 sums.
struct Sums192 {
  float of[96] = {};
};

#define ALL_192                                                                                                        \
  "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) "%90, %91, %92, %93, %94, %95}"
#define OPERANDS_192 SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64), SIXTEEN(80)
#define WGMMA_192(A, B) "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 " ALL_192 ", " A ", " B ", add, 1, 1, 0, 0;\n"

__device__ __forceinline__ void multiply(Sums192 &sums, unsigned a_tile, unsigned b_tile) {
  unsigned long long a = descriptor(a_tile, 1), b = descriptor(b_tile, 1);
  asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0;\n"
               "wgmma.fence.sync.aligned;\n"
               WGMMA_192("%96", "%97") WGMMA_192("%98", "%99") WGMMA_192("%100", "%101") WGMMA_192("%102", "%103")
               "wgmma.commit_group.sync.aligned;\n"
               "wgmma.wait_group.sync.aligned 1; }"
               : OPERANDS_192
               : "l"(a), "l"(b), "l"(a + 2), "l"(b + 2), "l"(a + 4), "l"(b + 4), "l"(a + 6), "l"(b + 6)
               : "memory");
}

__device__ __forceinline__ void finish(Sums192 &sums) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : OPERANDS_192::"memory");
}

// Writes a warpgroup's sums to C in bf16 from this row and column on, what C has of them.
__device__ __forceinline__ void write(unsigned *c, unsigned m, unsigned n, unsigned row, unsigned column,
                                      const Sums &sums) {
  row += threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  column += threadIdx.x % 4 * 2;
#pragma unroll
  for (unsigned j = 0; j < 32; ++j) {
    put(c, m, n, row, column + 8 * j, pack_bf16(sums.of[4 * j], sums.of[4 * j + 1]));
    put(c, m, n, row + 8, column + 8 * j, pack_bf16(sums.of[4 * j + 2], sums.of[4 * j + 3]));
  }
}

// ---- A block of which one warpgroup loads and two multiply: 128 x 256 of C ----

constexpr unsigned ROWS = 128, COLUMNS = 256, B = 2 * BOX; // B begins behind two boxes of A
using Stages = Ring<6 * BOX>;

// Divides the block: thread 0 does `load`, warpgroups 1 and 2 do `compute`, with their number from 0.
template <class Load, class Compute> __device__ __forceinline__ void divide(Load load, Compute compute) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(LOADER));
    if (threadIdx.x == 0) load();
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(OTHERS));
    compute(threadIdx.x / 128 - 1);
  }
}

// Loads so many steps of a tile, from this one on; behind its last step comes its first.
template <Order ORDER = Order::COLUMNS>
__device__ __forceinline__ void load_tile(Stages &ring, const TensorMap &a, const TensorMap &b, uint2 tile,
                                          unsigned steps, unsigned first = 0, unsigned of_tile = 0) {
  for (unsigned nth = first; nth < first + steps; ++nth, ring.advance()) {
    unsigned step = of_tile && nth >= of_tile ? nth - of_tile : nth;
    ring.wait_empty<true>();
    ring.load(0, a, step * DEPTH, tile.y * ROWS);
    if (ORDER == Order::COLUMNS) {
      ring.load(B, b, step * DEPTH, tile.x * COLUMNS);
      ring.load(B + 2 * BOX, b, step * DEPTH, tile.x * COLUMNS + 128);
    } else {
#pragma unroll
      for (unsigned part = 0; part < 4; ++part)
        ring.load(B + part * BOX, b, tile.x * COLUMNS + part * 64, step * DEPTH);
    }
  }
}

// Multiplies a warpgroup's 64 rows of a tile. A stage is released when the next one's products are issued.
template <class Release, Order ORDER = Order::COLUMNS> struct Multiplier {
  Stages &ring;
  unsigned half;
  Release released;
  unsigned last = 0;

  // Multiplies a step, and releases the one before, which is complete then.
  __device__ __forceinline__ void step(Sums &sums, bool is_first) {
    ring.wait_full();
    multiply<ORDER>(sums, ring.stage() + half * BOX, ring.stage() + B);
    if (!is_first) release();
    last = ring.empty();
    ring.advance();
  }

  __device__ __forceinline__ void release() const {
    if (threadIdx.x % 128 < Release::THREADS) released(last);
  }

  __device__ __forceinline__ void tile(Sums &sums, unsigned steps) {
    // There is a step. With a way around the loop, sums would come here that no wgmma defined, and ptxas would run one
    // wgmma at a time.
    unsigned nth = 0;
    do step(sums, nth == 0);
    while (++nth < steps);
    finish(sums);
    release();
  }
};

// ---- Results that the copy engine stores ----

// A warpgroup's results in bf16: word j is registers 2 j and 2 j + 1 of the sums.
template <unsigned WORDS = 64> struct Packed {
  unsigned of[WORDS] = {};

  template <class Sums> __device__ __forceinline__ Packed &operator=(const Sums &sums) {
#pragma unroll
    for (unsigned j = 0; j < WORDS; ++j) of[j] = pack_bf16(sums.of[2 * j], sums.of[2 * j + 1]);
    return *this;
  }
};

// Two buffers of 64 x 64 results, one written while the other is read, and where the results go.
struct Results {
  const TensorMap *c;
  unsigned buffers, half, row = 0, column = 0;
  bool is_any = false;

  // The buffers lie behind so many bytes of stages.
  __device__ __forceinline__ Results(const TensorMap &c, unsigned half, unsigned stages = STAGES * 6 * BOX)
      : c(&c), buffers(dynamic_shared() + stages + half * 2 * BOX), half(half) {}

  __device__ __forceinline__ void are_at(uint2 tile) {
    row = tile.y * ROWS + half * 64, column = tile.x * COLUMNS, is_any = true;
  }

  __device__ __forceinline__ void meet() const { asm volatile("bar.sync %0, 128;" ::"r"(half + 1) : "memory"); }

  // Stores 64 rows of 64 columns, this far right of and below the first result; `nth` is even and odd in turn.
  __device__ __forceinline__ void store_box(const unsigned *words, unsigned nth, unsigned right, unsigned below) const {
    unsigned buffer = buffers + nth % 2 * BOX, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
    unsigned in_tile = thread / 32 * 16 + lane % 16;
    // The last store from this buffer has read it.
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    meet();
#pragma unroll
    for (unsigned pair = 0; pair < 4; ++pair, words += 4) {
      unsigned to = buffer + in_tile * 128 + ((pair * 2 + lane / 16 ^ in_tile % 8) << 4);
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]),
                   "r"(words[1]), "r"(words[2]), "r"(words[3])
                   : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    meet();
    if (thread == 0 && is_any)
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\n"
                   "cp.async.bulk.commit_group;" ::"l"(c),
                   "r"(column + right), "r"(row + below), "r"(buffer)
                   : "memory");
  }

  // Stores a quarter: 64 columns.
  __device__ __forceinline__ void store(const Packed<> &packed, unsigned part) const {
    store_box(&packed.of[part * 16], part, part * 64, 0);
  }

  __device__ __forceinline__ void store_all(const Packed<> &packed) const {
#pragma unroll
    for (unsigned part = 0; part < 4; ++part) store(packed, part);
  }

  __device__ __forceinline__ void finish() const { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
};
