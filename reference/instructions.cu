// Chains of instructions; see gpu-kernels/src/unchecked/instructions.rs. The instructions are inline PTX, as the kernels' own are.

#include "module.cuh"

constexpr unsigned CHAINS = 4;
constexpr unsigned THREADS = 1024;

// Steps of the chains of a thread per round.
constexpr unsigned SHORT = 128;
constexpr unsigned LONG = 32;
constexpr unsigned SEQUENCE = 16;

using word = unsigned long long;

// What a step may compute with: the results of the step before the last and of the last, and two operands.
template <typename V>
struct Operands {
  V before, last, a, b;
};

#define CLASS(NAME, V, REGISTER, TEXT, ...)                        \
  struct NAME {                                                    \
    static __device__ __forceinline__ V step(Operands<V> of) {     \
      V result;                                                    \
      asm(TEXT : "=&" REGISTER(result) : __VA_ARGS__);             \
      return result;                                               \
    }                                                              \
  };

// The same of instructions that combine lanes.
#define TOGETHER(NAME, TEXT)                                               \
  struct NAME {                                                            \
    static __device__ __forceinline__ unsigned step(Operands<unsigned> of) { \
      unsigned result;                                                     \
      asm volatile(TEXT : "=&r"(result) : "r"(of.last));                   \
      return result;                                                       \
    }                                                                      \
  };

#define EIGHT_VOTES                                                                           \
  "vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff;"               \
  "vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff;"               \
  "vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff;"               \
  "vote.sync.any.pred p, !p, 0xffffffff; vote.sync.any.pred p, !p, 0xffffffff;"

CLASS(AddF32, unsigned, "r", "add.rn.f32 %0, %1, %2;", "r"(of.last), "r"(of.a))
CLASS(FmaF32, unsigned, "r", "fma.rn.f32 %0, %1, %2, %3;", "r"(of.last), "r"(of.a), "r"(of.b))
CLASS(AddF64, word, "l", "add.rn.f64 %0, %1, %2;", "l"(of.last), "l"(of.a))
CLASS(FmaF64, word, "l", "fma.rn.f64 %0, %1, %2, %3;", "l"(of.last), "l"(of.a), "l"(of.b))
CLASS(FmaF16x2, unsigned, "r", "fma.rn.f16x2 %0, %1, %2, %3;", "r"(of.last), "r"(of.a), "r"(of.b))
CLASS(AddS32, unsigned, "r", "add.s32 %0, %1, %2;", "r"(of.before), "r"(of.last))
CLASS(AddS64, word, "l", "add.s64 %0, %1, %2;", "l"(of.before), "l"(of.last))
CLASS(MadS32, unsigned, "r", "mad.lo.s32 %0, %1, %2, %3;", "r"(of.last), "r"(of.a), "r"(of.b))
CLASS(MulS64, word, "l", "mul.lo.s64 %0, %1, %2;", "l"(of.last), "l"(of.a))
CLASS(Lop3, unsigned, "r", "lop3.b32 %0, %1, %2, %3, 0xCA;", "r"(of.last), "r"(of.before), "r"(of.a))
CLASS(Shf, unsigned, "r", "shf.l.wrap.b32 %0, %1, %2, %3;", "r"(of.before), "r"(of.last), "r"(of.a))
CLASS(MinMax, unsigned, "r", "min.s32 %0, %1, %2; max.s32 %0, %0, %3;", "r"(of.last), "r"(of.a), "r"(of.before))
CLASS(Select, unsigned, "r", "{ .reg .pred p; setp.lt.u32 p, %1, %2; selp.b32 %0, %2, %3, p; }", "r"(of.last), "r"(of.a),
      "r"(of.b))
CLASS(Dp4a, unsigned, "r", "dp4a.s32.s32 %0, %1, %2, %3;", "r"(of.last), "r"(of.a), "r"(of.b))
CLASS(Popc, unsigned, "r", "popc.b32 %0, %1;", "r"(of.last))
CLASS(Clz, unsigned, "r", "clz.b32 %0, %1;", "r"(of.last))
CLASS(Bfe, unsigned, "r", "bfe.u32 %0, %1, %2, %3;", "r"(of.last), "r"(of.a), "r"(of.b))
CLASS(AddRcp, unsigned, "r", "add.rn.f32 %0, %1, %2; rcp.approx.ftz.f32 %0, %0;", "r"(of.last), "r"(of.a))
CLASS(Rsqrt, unsigned, "r", "rsqrt.approx.ftz.f32 %0, %1;", "r"(of.last))
CLASS(Ex2, unsigned, "r", "neg.f32 %0, %1; ex2.approx.ftz.f32 %0, %0;", "r"(of.last))
CLASS(AddLg2, unsigned, "r", "add.rn.f32 %0, %1, %2; lg2.approx.ftz.f32 %0, %0;", "r"(of.last), "r"(of.a))
CLASS(Cos, unsigned, "r", "cos.approx.ftz.f32 %0, %1;", "r"(of.last))
CLASS(S32F32, unsigned, "r", "cvt.rn.f32.s32 %0, %1;", "r"(of.last))
CLASS(F32S32, unsigned, "r", "cvt.rzi.s32.f32 %0, %1; cvt.rn.f32.s32 %0, %0;", "r"(of.last))
CLASS(DivU32, unsigned, "r", "div.u32 %0, %2, %1;", "r"(of.last), "r"(of.a))
CLASS(DivF32, unsigned, "r", "div.rn.f32 %0, %2, %1;", "r"(of.last), "r"(of.a))
CLASS(SqrtF32, unsigned, "r", "sqrt.rn.f32 %0, %1;", "r"(of.last))
TOGETHER(Shuffle, "shfl.sync.idx.b32 %0, %1, %1, 31, 0xffffffff;")
TOGETHER(Vote, "{ .reg .pred p; setp.ne.u32 p, %1, 0;" EIGHT_VOTES EIGHT_VOTES EIGHT_VOTES EIGHT_VOTES
               "selp.u32 %0, 0, 1, p; }")
TOGETHER(Match, "match.any.sync.b32 %0, %1, 0xffffffff;")

struct Redux {
  static __device__ __forceinline__ unsigned step(Operands<unsigned> of) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffff, of.last);
#else
    unsigned sum = 0;
    for (int lane = 0; lane < 32; ++lane) sum += __shfl_sync(0xffffffff, of.last, lane);
    return sum;
#endif
  }
};

struct Barrier {
  static __device__ __forceinline__ unsigned step(Operands<unsigned> of) {
    __syncthreads();
    return of.last + 1;
  }
};

struct WarpBarrier {
  static __device__ __forceinline__ unsigned step(Operands<unsigned> of) {
    __syncwarp();
    return of.last + 1;
  }
};

template <typename Class, typename V, unsigned COUNT, unsigned STEPS>
__device__ __forceinline__ void chains(const V *__restrict__ seeds, V *__restrict__ destination,
                                       unsigned *__restrict__ cycles, V a, V b, unsigned rounds, unsigned passes) {
  size_t thread = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  V before[COUNT], last[COUNT];
#pragma unroll
  for (unsigned chain = 0; chain < COUNT; ++chain) {
    before[chain] = b;
    last[chain] = seeds[thread * COUNT + chain];
  }
  long long took = 0;
  for (unsigned pass = 0; pass < passes; ++pass) {
    __syncthreads();
    long long begin = clock64();
#pragma unroll 1
    for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
      for (unsigned step = 0; step < STEPS / COUNT; ++step) {
#pragma unroll
        for (unsigned chain = 0; chain < COUNT; ++chain) {
          V next = Class::step(step % 2 == 0 ? Operands<V>{before[chain], last[chain], a, b}
                                             : Operands<V>{before[chain], last[chain], b, a});
          before[chain] = last[chain];
          last[chain] = next;
        }
      }
    }
    took = clock64() - begin;
  }
  cycles[thread] = took;
#pragma unroll
  for (unsigned chain = 0; chain < COUNT; ++chain) destination[thread * COUNT + chain] = last[chain];
}

#define KERNEL(NAME, CLASS_NAME, V, COUNT, STEPS)                                                                       \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(const V *seeds, size_t, V *destination, unsigned *cycles, \
                                                             V a, V b, unsigned rounds, unsigned passes) {             \
    chains<CLASS_NAME, V, COUNT, STEPS>(seeds, destination, cycles, a, b, rounds, passes);                             \
  }

#define BOTH(NAME, CLASS_NAME, V, STEPS)          \
  KERNEL(chain_##NAME, CLASS_NAME, V, 1, STEPS)   \
  KERNEL(rate_##NAME, CLASS_NAME, V, CHAINS, STEPS)

BOTH(add_f32, AddF32, unsigned, SHORT)
BOTH(fma_f32, FmaF32, unsigned, SHORT)
BOTH(add_f64, AddF64, word, SHORT)
BOTH(fma_f64, FmaF64, word, SHORT)
BOTH(fma_f16x2, FmaF16x2, unsigned, SHORT)
BOTH(add_s32, AddS32, unsigned, SHORT)
BOTH(add_s64, AddS64, word, SHORT)
BOTH(mad_s32, MadS32, unsigned, SHORT)
BOTH(mul_s64, MulS64, word, SHORT)
BOTH(lop3, Lop3, unsigned, SHORT)
BOTH(shf, Shf, unsigned, SHORT)
BOTH(min_max_s32, MinMax, unsigned, SHORT)
BOTH(select, Select, unsigned, SHORT)
BOTH(dp4a, Dp4a, unsigned, SHORT)
BOTH(popc, Popc, unsigned, LONG)
BOTH(clz, Clz, unsigned, LONG)
BOTH(bfe, Bfe, unsigned, LONG)
BOTH(add_rcp, AddRcp, unsigned, LONG)
BOTH(rsqrt, Rsqrt, unsigned, LONG)
BOTH(ex2, Ex2, unsigned, LONG)
BOTH(add_lg2, AddLg2, unsigned, LONG)
BOTH(cos, Cos, unsigned, LONG)
BOTH(s32_f32, S32F32, unsigned, LONG)
BOTH(f32_s32, F32S32, unsigned, LONG)
BOTH(div_u32, DivU32, unsigned, SEQUENCE)
BOTH(div_f32, DivF32, unsigned, SEQUENCE)
BOTH(sqrt_f32, SqrtF32, unsigned, SEQUENCE)
BOTH(shuffle, Shuffle, unsigned, LONG)
BOTH(vote, Vote, unsigned, SEQUENCE)
BOTH(match, Match, unsigned, LONG)
BOTH(redux, Redux, unsigned, LONG)
KERNEL(chain_barrier, Barrier, unsigned, 1, LONG)
KERNEL(chain_warp_barrier, WarpBarrier, unsigned, 1, LONG)
