//! What the tests of the simulated driver share.
//!
//! With `COALESCE_TEST_DRIVER=nvidia` they run on NVIDIA's driver instead, to see that it gives the same answers; what
//! only the simulated one can answer is left out then.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::{CString, c_int, c_void};
use std::ptr;

use cuda_driver::simulated::{Settings, bind_simulated};
use cust_raw as sys;

/// A context of its own for the calling thread, destroyed at the end.
pub(crate) struct OwnContext(pub(crate) sys::CUcontext);

/// Whether it is the simulated driver that was bound.
pub(crate) fn bind() -> bool {
    if on_nvidia() {
        cuda_driver::bind_nvidia().expect("NVIDIA's driver");
        return false;
    }
    let settings = Settings { memory_bytes: Some(1 << 30), ..Settings::default() };
    bind_simulated(settings).expect("the simulated driver");
    true
}

impl OwnContext {
    /// On device 0.
    pub(crate) fn new() -> Self {
        bind();
        let mut context = ptr::null_mut();
        // SAFETY: the pointer can be written.
        let code = unsafe {
            ok(sys::cuInit(0) as c_int);
            sys::cuCtxCreate_v2(&raw mut context, 0, 0)
        };
        ok(code as c_int);
        OwnContext(context)
    }
}

impl Drop for OwnContext {
    fn drop(&mut self) {
        // SAFETY: the context is ours.
        unsafe { sys::cuCtxDestroy_v2(self.0) };
    }
}

/// The number of a result, whichever type it has.
pub(crate) trait Number {
    fn number(self) -> c_int;
}

impl Number for sys::CUresult {
    fn number(self) -> c_int {
        self as c_int
    }
}

impl Number for cuda_driver::Code {
    fn number(self) -> c_int {
        self.0
    }
}

impl Number for c_int {
    fn number(self) -> c_int {
        self
    }
}

/// Fails unless the call succeeded.
#[track_caller]
pub(crate) fn ok(code: impl Number) {
    gives(code, 0);
}

/// Fails unless the call gave this code. On NVIDIA's driver it says so and goes on, to show all that differs.
#[track_caller]
pub(crate) fn gives(code: impl Number, expected: c_int) {
    let code = code.number();
    if code != expected && on_nvidia() {
        let place = std::panic::Location::caller();
        println!("DIFFERS {}:{}: NVIDIA gives {code}, expected {expected}", place.file(), place.line());
        return;
    }
    assert_eq!(code, expected);
}

/// Whether the tests are to run on NVIDIA's driver.
fn on_nvidia() -> bool {
    std::env::var("COALESCE_TEST_DRIVER").is_ok_and(|driver| driver == "nvidia")
}

/// A module from PTX.
pub(crate) fn module(ptx: &str) -> sys::CUmodule {
    let ptx = CString::new(ptx).expect("PTX has no NUL");
    let mut module = ptr::null_mut();
    // SAFETY: the text ends with a NUL, and the pointer can be written.
    ok(unsafe { sys::cuModuleLoadData(&raw mut module, ptx.as_ptr().cast()) });
    module
}

/// A kernel of a module.
pub(crate) fn function(module: sys::CUmodule, name: &str) -> sys::CUfunction {
    let name = CString::new(name).expect("a name");
    let mut function = ptr::null_mut();
    // SAFETY: the module is loaded, the name ends with a NUL, and the pointer can be written.
    ok(unsafe { sys::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) });
    function
}

/// Launches in a row of blocks, in the default stream.
///
/// # Safety
/// The parameters are what the kernel takes, and what they point to is valid.
pub(crate) unsafe fn launch(
    function: sys::CUfunction,
    blocks: u32,
    threads: u32,
    parameters: &mut [*mut c_void],
) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        sys::cuLaunchKernel(
            function,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            0,
            ptr::null_mut(),
            parameters.as_mut_ptr(),
            ptr::null_mut(),
        ) as c_int
    }
}

/// Device memory.
pub(crate) fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) });
    address
}

/// `add(pointer, value)`: each thread of a row of blocks adds a value to its element of 32 bits. `fail(pointer)`: reads
/// where nothing is.
pub(crate) const KERNELS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .b8 table[16];
.visible .entry add(.param .u64 pointer, .param .u32 value)
{
    .reg .u32 %r<6>;
    .reg .u64 %rd<4>;
    ld.param.u64 %rd1, [pointer];
    ld.param.u32 %r5, [value];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r4, [%rd2];
    add.u32 %r4, %r4, %r5;
    st.global.u32 [%rd2], %r4;
    ret;
}
.visible .entry few() .maxntid 64, 1, 1
{
    ret;
}
.visible .entry fixed() .reqntid 32, 2, 1
{
    ret;
}
.visible .entry shared()
{
    .shared .align 4 .b8 tile[4096];
    .reg .u32 %r<2>;
    mov.u32 %r1, 1;
    st.shared.u32 [tile], %r1;
    ret;
}
.visible .entry read(.param .u64 pointer)
{
    .reg .u32 %r<2>;
    .reg .u64 %rd<3>;
    ld.param.u64 %rd1, [pointer];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    st.global.u32 [%rd2], %r1;
    ret;
}
.visible .entry trap()
{
    trap;
}
";
