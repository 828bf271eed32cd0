//! Fetches memory into the host's caches before it is accessed.
//!
//! A scattered request's lanes miss the host's caches, and its executor waits for all of them. An observer learns of a request
//! before it is carried out, and global addresses are those of the host: so the lines are on their way while it counts.
//! Where requests are evenly spaced and far apart, those of the site's next request are.

/// Fetches the line of an address into the innermost cache.
///
/// The host has room for some twenty such fetches at a time. More of them wait, and all that comes after them: so a burst of 32 takes as
/// long as 32 lines do, where fetches that are spread over other work overlap with it.
#[inline(always)]
pub(super) fn to_l1(address: u64) {
    fetch::<3>(address);
}

/// Fetches the line of an address into the next cache, which has room for more fetches at a time.
#[inline(always)]
pub(super) fn to_l2(address: u64) {
    fetch::<2>(address);
}

/// Fetches by a hint: 3 for the innermost cache (`_MM_HINT_T0`), 2 for the next (`_MM_HINT_T1`).
#[inline(always)]
fn fetch<const HINT: i32>(address: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fetch has no effect but on caches, whatever the address; SSE is always there.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<HINT>(address as usize as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
