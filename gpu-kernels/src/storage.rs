//! # Storage: the memory that a variable lives in
//!
//! Where a variable is declared decides its memory: global, shared, constant, local or managed. The memory decides the
//! instruction that reaches it, who sees it, how long it lives and what an access costs. Each kernel shows one of them:
//!
//! | kernel | the variable | who sees it, and how long | instruction |
//! | --- | --- | --- | --- |
//! | `storage_global` | [`STORAGE_GLOBAL`](crate::unchecked::storage::STORAGE_GLOBAL), a marked `static mut` | all threads and, by name, the host; as long as the module | `ld.global`, `st.global` |
//! | `storage_shared_static` | an array of a size that the compiler knows | the threads of a block, while it runs | `ld.shared`, `st.shared` |
//! | `storage_shared_dynamic` | an array whose size the launch gives | the same | the same |
//! | `storage_constant` | [`STORAGE_CONSTANT`], a [`Constant`](cuda_safe::Constant) | all threads read it, the host writes it by name; as long as the module | `ld.const` |
//! | `storage_local` | an array that one thread indexes by a value known only at run time | that thread | `ld.local`, `st.local` |
//! | `storage_managed` | [`STORAGE_MANAGED`](crate::unchecked::storage::STORAGE_MANAGED), a marked `static mut` | all threads, and the host by its address; as long as the module | `ld.global`, `st.global` |
//!
//! Local memory is the one to avoid. A `let` lives in a register, which has no address. So does an array whose indices the
//! compiler knows, one register per element. An index that it does not know puts the array into local memory: device memory of
//! the thread's own, which is slow where L1 does not hold it.
//!
//! A static that the host writes by name must keep that name, and the compiler must not assume its value. Such statics are
//! `no_mangle`, and a [`Constant`](cuda_safe::Constant) or a `static mut`. All launches share a `static mut`, which no kernel's
//! signature shows, so the two kernels that have one are unsafe.
//!
//! # Launch
//! All take one block of [`LENGTH`] threads in x. With `i` the thread:
//!
//! | kernel | parameters | dynamic shared bytes | effect |
//! | --- | --- | --- | --- |
//! | `storage_global` | - | 0 | `STORAGE_GLOBAL[i] += 2` |
//! | `storage_shared_static` | source, destination | 0 | `destination[i] = source[255 - i]` |
//! | `storage_shared_dynamic` | source, destination | `256 * 4` | the same |
//! | `storage_constant` | source, destination | 0 | `destination[i] = source[i] * STORAGE_CONSTANT[i % 4]` |
//! | `storage_local` | source, destination | 0 | `destination[i]`: the number of elements of thread `i`'s warp that equal `source[i]`, as `u32` modulo 16 |
//! | `storage_managed` | - | 0 | `STORAGE_MANAGED[i] += 2` |
//!
//! Sources and destinations have 256 `f32`, which are not negative for `storage_local`.

use cuda_safe::shape::OneBlock;
use cuda_safe::tile::{EachOf, EachThreads};
use cuda_safe::{Block, EachThread, In, Out, Thread, Tile, constant, kernel};

/// Threads of the block, and elements of each array.
pub const LENGTH: usize = 256;

/// [`LENGTH`] as the type that a kernel's shape takes.
const THREADS: u32 = LENGTH as u32;

/// Elements of a thread's own array in `storage_local`.
pub const OWN: usize = 16;

constant! {
    /// A variable in constant memory, which the host writes by its name.
    pub static STORAGE_CONSTANT: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
}

/// Reverses an array in shared memory of a known size.
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub fn storage_shared_static(
    mut block: Block<OneBlock<THREADS>>,
    array: Tile<f32, EachOf<THREADS>>,
    source: In<f32, EachThread>,
    destination: Out<f32, EachThread>,
) {
    let array = block.write(array, |thread, cells| cells.set(thread, source.at(thread.own())));
    let array = block.sync(array);
    block.each(|thread| destination.put(thread.own(), array.opposite(thread)));
}

/// Reverses an array in shared memory of a size that the launch gives.
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub fn storage_shared_dynamic(
    mut block: Block<OneBlock<THREADS>>,
    array: Tile<f32, EachThreads>,
    source: In<f32, EachThread>,
    destination: Out<f32, EachThread>,
) {
    let array = block.write(array, |thread, cells| cells.set(thread, source.at(thread.own())));
    let array = block.sync(array);
    block.each(|thread| destination.put(thread.own(), array.opposite(thread)));
}

/// Multiplies each element by one of four constants. Neighbouring lanes read different ones, which takes four passes, because
/// constant memory serves one address at a time: see [`constant`](crate::constant).
// PTX: contains ld.const.b32
#[kernel]
pub fn storage_constant(
    thread: Thread<OneBlock<THREADS>>,
    source: In<f32, EachThread>,
    destination: Out<f32, EachThread>,
) {
    let factor = STORAGE_CONSTANT.at(thread.x() as usize % 4);
    destination.put(thread.own(), source.at(thread.own()) * factor);
}

/// Each thread counts the elements of its warp by value, in an array of its own. It stores the count of its own element's
/// value.
// PTX: contains st.local
// PTX: contains ld.local
// PTX: allows local because an array in local memory is what this kernel shows
#[kernel]
pub fn storage_local(
    thread: Thread<OneBlock<THREADS>>,
    source: In<f32, EachThread>,
    destination: Out<f32, EachThread>,
) {
    let kind = |value: f32| value as u32 as usize % OWN;
    let mut counts = [0.0_f32; OWN];
    for value in source.of_warp(&thread) {
        counts[kind(value)] += 1.0;
    }
    destination.put(thread.own(), counts[kind(source.at(thread.own()))]);
}
