//! What the fake libraries share: a product that goes through the fake driver, as a library's kernels do.

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    mem::transmute,
};

/// A product of matrices in columns, none of them transposed: `Product` of `emulate.rs`.
#[repr(C)]
pub struct Product {
    pub sizes: [u64; 3],
    pub first: [u64; 2],
    pub second: [u64; 2],
    pub result: [u64; 2],
    pub bytes: u64,
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Queues it under the name of a library's function.
pub unsafe fn queue(name: &CStr, product: &Product) -> c_int {
    type FakeProduct = unsafe extern "C" fn(*const c_char, *const Product) -> c_int;
    // It is loaded already.
    const NOW: c_int = 2;
    let driver = CString::new(env::var("COALESCE_DRIVER").expect("tests name it")).expect("a path");
    unsafe {
        let entry = dlsym(dlopen(driver.as_ptr(), NOW), c"fakeProduct".as_ptr());
        assert!(!entry.is_null(), "the fake driver has it");
        transmute::<*mut c_void, FakeProduct>(entry)(name.as_ptr(), product)
    }
}
