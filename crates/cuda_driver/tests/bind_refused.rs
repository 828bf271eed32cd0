//! A table without `cuInit` is refused and leaves the process free for another driver.

use cuda_driver::{TableError, bind, bound};

#[test]
fn a_table_without_init_binds_nothing() {
    extern "C" fn synchronize() -> i32 {
        0
    }
    let resolve = |name: &str| {
        (name == "cuCtxSynchronize")
            .then(|| std::ptr::NonNull::new(synchronize as *mut _).expect("a function"))
    };
    // SAFETY: the one function has the driver API's signature and is always there.
    let error = unsafe { bind(&resolve, "half a driver") }.expect_err("it has no cuInit");
    assert_eq!(error, TableError::NotADriver { wanted: "half a driver".to_owned() });
    assert!(bound().is_none());

    extern "C" fn init(_flags: u32) -> i32 {
        100
    }
    let resolve = |name: &str| match name {
        "cuInit" => std::ptr::NonNull::new(init as *mut _),
        _ => resolve(name),
    };
    // SAFETY: both functions have the driver API's signatures and are always there.
    let binding = unsafe { bind(&resolve, "a whole one") }.expect("nothing is bound yet");
    assert_eq!(binding.description(), "a whole one");
    // SAFETY: the calls have no pointers.
    let outcomes = unsafe { (cust_raw::cuInit(0), cust_raw::cuCtxSynchronize()) };
    assert_eq!(outcomes, (cust_raw::CUresult::CUDA_ERROR_NO_DEVICE, cust_raw::CUresult::CUDA_SUCCESS));
}
