//! LLVM's own names for what the GPU does: the intrinsics that rustc does not offer under a Rust name.
//!
//! Unlike inline assembly, an intrinsic tells LLVM what it is: that a barrier is convergent, that an index never changes
//! and may be read once, that a square root can be folded. They are declared in one place because their signatures are
//! LLVM's; a mistake here is a compile error in the kernel crate.
#![cfg(target_arch = "nvptx64")]

#[allow(improper_ctypes, reason = "some intrinsics give pairs, which C does not have")]
unsafe extern "unadjusted" {
    // Which thread this is.
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    pub(crate) safe fn tid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.y"]
    pub(crate) safe fn tid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.z"]
    pub(crate) safe fn tid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    pub(crate) safe fn ntid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.y"]
    pub(crate) safe fn ntid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.z"]
    pub(crate) safe fn ntid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    pub(crate) safe fn ctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.y"]
    pub(crate) safe fn ctaid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.z"]
    pub(crate) safe fn ctaid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.x"]
    pub(crate) safe fn nctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.y"]
    pub(crate) safe fn nctaid_y() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.z"]
    pub(crate) safe fn nctaid_z() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub(crate) safe fn laneid() -> u32;

    // Barriers.
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    pub(crate) safe fn barrier_sync(barrier: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    pub(crate) safe fn barrier_count(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    pub(crate) safe fn barrier_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    pub(crate) safe fn barrier_or(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub(crate) fn bar_warp_sync(mask: u32);

    // Fences.
    #[link_name = "llvm.nvvm.membar.cta"]
    pub(crate) safe fn membar_cta();
    #[link_name = "llvm.nvvm.membar.gl"]
    pub(crate) safe fn membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    pub(crate) safe fn membar_sys();

    // Ends and waits.
    #[link_name = "llvm.trap"]
    pub(crate) safe fn trap() -> !;
    #[link_name = "llvm.nvvm.nanosleep"]
    pub(crate) safe fn nanosleep(nanoseconds: u32);

    // Talk within a warp.
    #[link_name = "llvm.nvvm.activemask"]
    pub(crate) safe fn activemask() -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32p"]
    pub(crate) fn shfl_idx(mask: u32, value: u32, operand: u32, control: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.up.i32p"]
    pub(crate) fn shfl_up(mask: u32, value: u32, operand: u32, control: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32p"]
    pub(crate) fn shfl_down(mask: u32, value: u32, operand: u32, control: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32p"]
    pub(crate) fn shfl_bfly(mask: u32, value: u32, operand: u32, control: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub(crate) fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub(crate) fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub(crate) fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    pub(crate) fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    pub(crate) fn match_any_64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.match.all.sync.i32p"]
    pub(crate) fn match_all_32(mask: u32, value: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.match.all.sync.i64p"]
    pub(crate) fn match_all_64(mask: u32, value: u64) -> (u32, bool);
}

// LLVM cannot select these below sm_80: calls stand behind `architecture`.
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.redux.sync.add"]
    pub(crate) fn redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    pub(crate) fn redux_umin(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    pub(crate) fn redux_umax(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    pub(crate) fn redux_min(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    pub(crate) fn redux_max(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    pub(crate) fn redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    pub(crate) fn redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    pub(crate) fn redux_xor(value: u32, mask: u32) -> u32;
}

// Rounding and the like, which LLVM folds where it knows the operand.
unsafe extern "unadjusted" {
    #[link_name = "llvm.floor.f32"]
    pub(crate) safe fn floor_f32(x: f32) -> f32;
    #[link_name = "llvm.floor.f64"]
    pub(crate) safe fn floor_f64(x: f64) -> f64;
    #[link_name = "llvm.ceil.f32"]
    pub(crate) safe fn ceil_f32(x: f32) -> f32;
    #[link_name = "llvm.ceil.f64"]
    pub(crate) safe fn ceil_f64(x: f64) -> f64;
    #[link_name = "llvm.trunc.f32"]
    pub(crate) safe fn trunc_f32(x: f32) -> f32;
    #[link_name = "llvm.trunc.f64"]
    pub(crate) safe fn trunc_f64(x: f64) -> f64;
    #[link_name = "llvm.round.f32"]
    pub(crate) safe fn round_f32(x: f32) -> f32;
    #[link_name = "llvm.round.f64"]
    pub(crate) safe fn round_f64(x: f64) -> f64;
    #[link_name = "llvm.roundeven.f32"]
    pub(crate) safe fn roundeven_f32(x: f32) -> f32;
    #[link_name = "llvm.roundeven.f64"]
    pub(crate) safe fn roundeven_f64(x: f64) -> f64;
    #[link_name = "llvm.sqrt.f32"]
    pub(crate) safe fn sqrt_f32(x: f32) -> f32;
    #[link_name = "llvm.sqrt.f64"]
    pub(crate) safe fn sqrt_f64(x: f64) -> f64;
    #[link_name = "llvm.fma.f32"]
    pub(crate) safe fn fma_f32(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    pub(crate) safe fn fma_f64(a: f64, b: f64, c: f64) -> f64;

    // The special function unit.
    #[link_name = "llvm.nvvm.ex2.approx.f32"]
    pub(crate) safe fn ex2_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.ex2.approx.ftz.f32"]
    pub(crate) safe fn ex2_approx_flushing(x: f32) -> f32;
    #[link_name = "llvm.nvvm.rcp.approx.ftz.f"]
    pub(crate) safe fn rcp_approx_flushing(x: f32) -> f32;
    #[link_name = "llvm.nvvm.lg2.approx.f"]
    pub(crate) safe fn lg2_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.sin.approx.f"]
    pub(crate) safe fn sin_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.cos.approx.f"]
    pub(crate) safe fn cos_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.sqrt.approx.f"]
    pub(crate) safe fn sqrt_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.rsqrt.approx.f"]
    pub(crate) safe fn rsqrt_approx(x: f32) -> f32;
    #[link_name = "llvm.nvvm.saturate.f"]
    pub(crate) safe fn saturate_f32(x: f32) -> f32;

    // Integers.
    #[link_name = "llvm.nvvm.mulhi.ui"]
    pub(crate) safe fn mulhi_u32(a: u32, b: u32) -> u32;

    // Clocks and sizes.
    #[link_name = "llvm.nvvm.read.ptx.sreg.clock64"]
    pub(crate) safe fn clock64() -> u64;
    #[link_name = "llvm.nvvm.read.ptx.sreg.globaltimer"]
    pub(crate) safe fn globaltimer() -> u64;
    #[link_name = "llvm.nvvm.read.ptx.sreg.dynamic_smem_size"]
    pub(crate) safe fn dynamic_smem_size() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.total_smem_size"]
    pub(crate) safe fn total_smem_size() -> u32;

    // Memory spaces.
    #[link_name = "llvm.nvvm.isspacep.global"]
    pub(crate) safe fn is_global(pointer: *const ()) -> bool;
    #[link_name = "llvm.nvvm.isspacep.shared"]
    pub(crate) safe fn is_shared(pointer: *const ()) -> bool;
    #[link_name = "llvm.nvvm.isspacep.const"]
    pub(crate) safe fn is_constant(pointer: *const ()) -> bool;
    #[link_name = "llvm.nvvm.isspacep.local"]
    pub(crate) safe fn is_local(pointer: *const ()) -> bool;
}

// Answers about the target of the very output that is being made, where one compile serves several.
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.reflect"]
    fn reflect(question: *const u8) -> u32;
}

/// Ten times the compute capability's number: 750 for compute capability 7.5, 800 for 8.0, 1000 for 10.0.
///
/// LLVM replaces it by the number for each output and drops the branches that this decides, before it has to find
/// instructions for them.
#[inline(always)]
pub(crate) fn architecture() -> u32 {
    // LLVM insists on seeing the string itself as the operand, so this has no call and no static of another crate in it.
    // SAFETY: a string that ends with a 0 byte.
    unsafe { reflect(b"__CUDA_ARCH\0" as *const [u8; 12] as *const u8) }
}
