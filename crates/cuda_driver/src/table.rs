//! The table of entry points: one slot and one exported function for each.
//!
//! Each exported function is two instructions: put the slot's index in a scratch register, and jump to the slot's
//! target. Arguments, stack and return address are untouched, so one stub fits every signature. A slot that no driver
//! filled points to [`unresolved`], which binds a driver if none is bound, and otherwise uses the index to name the
//! entry point.

use std::ffi::{c_char, c_void};
use std::io::Write;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::Code;
use crate::first_use::target_after_binding;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!(
    "cuda_driver has its jumps for Linux on x86-64 and aarch64 alone; table.rs is the file to extend"
);

macro_rules! define {
    (cust { $($cust:ident)* } newer { $($newer:ident)* } others { $($other:ident)* }) => {
        /// Index of an entry point.
        #[allow(non_camel_case_types, reason = "named as in the driver API")]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub(crate) enum Slot {
            $($cust,)*
            $($newer,)*
            $($other,)*
        }

        /// Entry points that `cust_raw` 0.11.3 declares, in its order.
        pub const CUST_ENTRY_POINTS: &[&str] = &[$(stringify!($cust)),*];

        /// Entry points newer than `cust`'s bindings that [`ext`](crate::ext) calls.
        pub const NEWER_ENTRY_POINTS: &[&str] = &[$(stringify!($newer)),*];

        /// Entry points that nothing here calls, but programs without `cust` load from a driver library by name.
        pub const OTHER_ENTRY_POINTS: &[&str] = &[$(stringify!($other)),*];

        /// Names by slot.
        pub(crate) const NAMES: [&str; COUNT] =
            [$(stringify!($cust),)* $(stringify!($newer),)* $(stringify!($other),)*];

        /// The exported functions by slot.
        pub(crate) const STUBS: [unsafe extern "C" fn() -> Code; COUNT] =
            [$(stubs::$cust,)* $(stubs::$newer,)* $(stubs::$other,)*];

        const COUNT: usize =
            [$(stringify!($cust),)* $(stringify!($newer),)* $(stringify!($other),)*].len();

        /// Number of entry points that are called from here; they come first.
        pub(crate) const CALLED: usize = CUST_ENTRY_POINTS.len() + NEWER_ENTRY_POINTS.len();

        #[allow(non_snake_case, reason = "named as in the driver API")]
        pub(crate) mod stubs {
            use super::{Slot, TABLE};
            use crate::Code;

            $(stub! { $cust })*
            $(stub! { $newer })*
            $(stub! { $other })*
        }
    };
}

macro_rules! stub {
    ($name:ident) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() -> Code {
            // Any call may overwrite r11, and it carries no argument.
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                "mov r11d, {index}",
                "jmp qword ptr [rip + {table} + {offset}]",
                index = const Slot::$name as usize,
                table = sym TABLE,
                offset = const 8 * Slot::$name as usize,
            );
            // x16 and x17 are the procedure linkage's own registers: any call may overwrite them.
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "mov w17, {index}",
                "adrp x16, {table} + {offset}",
                "ldr x16, [x16, :lo12:{table} + {offset}]",
                "br x16",
                index = const Slot::$name as usize,
                table = sym TABLE,
                offset = const 8 * Slot::$name as usize,
            );
        }
    };
}

for_each_entry_point! { define }

/// Target of each entry point. The stubs read it with plain loads, which for one aligned pointer is what a relaxed
/// atomic load is. A driver's code is mapped before its address is stored, so no other order is needed.
static TABLE: [AtomicPtr<c_void>; COUNT] = {
    let mut table = [const { AtomicPtr::new(unresolved as *const () as *mut c_void) }; COUNT];
    // cust formats each error by asking the driver for its text and panics if that fails, so these two always answer.
    table[Slot::cuGetErrorName as usize] = AtomicPtr::new(error_name as *const () as *mut c_void);
    table[Slot::cuGetErrorString as usize] = AtomicPtr::new(error_name as *const () as *mut c_void);
    table
};

/// Returns the exported function of this name.
pub(crate) fn stub(name: &str) -> Option<*const ()> {
    let slot = NAMES.iter().position(|other| *other == name)?;
    Some(STUBS[slot] as *const ())
}

/// Whether a missing entry point has been reported, by slot.
static REPORTED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

/// Sets a slot to a driver's function.
pub(crate) fn fill(slot: usize, function: NonNull<c_void>) {
    TABLE[slot].store(function.as_ptr(), Ordering::Release);
}

/// Returns true if a driver's function is in the slot.
pub(crate) fn is_filled(slot: Slot) -> bool {
    let target = TABLE[slot as usize].load(Ordering::Acquire).cast_const().cast::<()>();
    target != unresolved as *const () && target != error_name as *const ()
}

/// Returns a slot's target: a driver's function, or [`unanswered`] if the bound driver lacks it or nothing can be
/// bound.
pub(crate) fn target(slot: usize) -> *const () {
    let target = TABLE[slot].load(Ordering::Acquire).cast_const().cast::<()>();
    if target == unresolved as *const () { unanswered as *const () } else { target }
}

/// Initial target of every slot: binds a driver if none is bound, and jumps to the slot's new target with all arguments
/// unchanged.
#[unsafe(naked)]
unsafe extern "C" fn unresolved() -> Code {
    // The call's return address leaves the stack at 8 modulo 16; with rbp and eight registers and eight vectors it is
    // aligned for the call. Arguments on the stack stay where they are.
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!(
        "push rbp", "mov rbp, rsp",
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax", "push r11",
        "sub rsp, 128",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov edi, r11d",
        "call {}",
        "mov r10, rax",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r11", "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi", "pop rbp",
        "jmp r10",
        sym target_after_binding,
    );
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]", "stp x4, x5, [sp, #48]", "stp x6, x7, [sp, #64]",
        "stp x8, x17, [sp, #80]",
        "stp q0, q1, [sp, #96]", "stp q2, q3, [sp, #128]", "stp q4, q5, [sp, #160]", "stp q6, q7, [sp, #192]",
        "mov w0, w17",
        "bl {}",
        "mov x16, x0",
        "ldp q0, q1, [sp, #96]", "ldp q2, q3, [sp, #128]", "ldp q4, q5, [sp, #160]", "ldp q6, q7, [sp, #192]",
        "ldp x8, x17, [sp, #80]",
        "ldp x6, x7, [sp, #64]", "ldp x4, x5, [sp, #48]", "ldp x2, x3, [sp, #32]", "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #224",
        "br x16",
        sym target_after_binding,
    );
}

/// Moves the index from the scratch register to the first argument.
#[unsafe(naked)]
unsafe extern "C" fn unanswered() -> Code {
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!("mov edi, r11d", "jmp {}", sym answer_unresolved);
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!("mov w0, w17", "b {}", sym answer_unresolved);
}

/// Answers for an entry point without a driver's function.
extern "C" fn answer_unresolved(slot: u32) -> Code {
    let Some(binding) = crate::bound() else { return Code::NOT_INITIALIZED };
    let slot = slot as usize;
    if !REPORTED[slot].swap(true, Ordering::Relaxed) {
        // A closed stderr must not turn a missing entry point into an abort, so the result is ignored.
        let _ = writeln!(
            std::io::stderr(),
            "{} lacks {}: the call returns CUDA_ERROR_NOT_SUPPORTED",
            binding.description(),
            NAMES[slot],
        );
    }
    Code::NOT_SUPPORTED
}

/// Implements `cuGetErrorName` and `cuGetErrorString` until a driver does: both return the code's name.
unsafe extern "C" fn error_name(code: Code, text: *mut *const c_char) -> Code {
    const INVALID_VALUE: Code = Code(1);
    if text.is_null() {
        return INVALID_VALUE;
    }
    let name = code.c_name();
    // SAFETY: the driver API has the caller pass a pointer that can be written.
    unsafe { *text = name.map_or(std::ptr::null(), |name| name.as_ptr().cast()) };
    if name.is_some() { Code::SUCCESS } else { INVALID_VALUE }
}
