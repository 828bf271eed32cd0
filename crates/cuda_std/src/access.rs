//! Loads and stores that say where in the cache hierarchy the bytes should go.
//!
//! A plain Rust access, `*pointer` or `slice[i]`, compiles to `ld.global` and `st.global` with the default behaviour:
//! cached in L1 and L2 by recent use. That is right for data that is used again soon. Data that streams through once only
//! pushes other data out, and data that nothing writes can take the read-only path. The functions here are one
//! instruction each; their documentation names it and the architecture that it needs where that is above sm_75.
//!
//! | want | load | store |
//! | --- | --- | --- |
//! | nothing writes it during the launch | [`load_read_only`] | |
//! | used once | [`load_streaming`], [`load_no_allocate`], [`load_read_only_no_allocate`] | [`store_streaming`], [`store_no_allocate`] |
//! | shared between blocks, not within one | [`load_cached_global`] | [`store_cached_global`] |
//! | used again, worth keeping | [`load_evict_last`] | [`store_evict_last`] |
//! | written by someone else meanwhile | [`load_volatile`] | [`store_write_through`] |
//! | the neighbouring lines too | [`load_read_only_l2_128`], [`load_read_only_l2_256`] | |
//!
//! The pointers must be to **global memory** (what the host allocates): the instructions name that space, and the generic
//! address of global memory is the same number. For a 16-byte type ([`F32x4`](crate::vector::F32x4)) the access is `v4.b32`
//! or `v2.b64`, and the pointer must be aligned to 16.

mod load;
mod policy;
mod prefetch;
mod store;
mod word;

pub use load::*;
pub use policy::*;
pub use prefetch::*;
pub use store::*;
pub use word::Access;
