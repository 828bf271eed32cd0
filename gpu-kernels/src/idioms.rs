//! # Idioms: what safety costs, and how to have it for nothing
//!
//! Indexing in Rust is checked: `a[i]` is a comparison, a branch, and a trap if `i` is not in `a`. On a CPU the branch is
//! predicted and free. On a GPU it is an instruction like any other in a thread that has few of them, it keeps loads from
//! being issued together, since each may be the last, and the way to the trap holds registers. Three tasks, each
//! written in five ways, show what remains of that and when:
//!
//! - `checked_*`: indexing, as one would write it first.
//! - `iterated_*`: `get` and iterators: what is not there is skipped. The comparison stays, the trap goes, and where a
//!   comparison had to be made anyway (`i < n`) it is the same one.
//! - `asserted_*`: what the indices need is asserted once, before the loops. A check that the compiler can prove from that is
//!   gone, and it can prove `i < n <= len`. It cannot prove `row * nx + column < len` from `row < ny`, `column < nx` and
//!   `nx * ny == len`: products are beyond it. Cutting rows out first gives it lengths to compare with.
//! - `unchecked_*`: `get_unchecked` behind the kernel's launch contract. Nothing is left, and it is `unsafe`: its reason is what
//!   the host checked before the launch.
//! - `typed_*`: the index carries the proof, from the one comparison that has to be made. Nothing is left, and it is safe.
//!
//! The tasks are [`copy`], [`transpose`] through a padded tile, and [`matmul`], the naive product: one access of each
//! kind per thread, eight, and two for each multiplication. All ways of a task have the same C++ text as their twin. The
//! transposes without types, and all that is unchecked, are in [`crate::unchecked::idioms`].
//!
//! # Launch
//! | kernels | block | grid | parameters |
//! | --- | --- | --- | --- |
//! | `.._copy` | any, in x | covers `n` | source, destination, n; without n where typed |
//! | `.._transpose` | 256 threads in any shape | `ceil(nx / 32)` by `ceil(ny / 32)` | source, destination, nx, ny |
//! | `.._matmul` | any `bx` by `by` | `ceil(n / bx)` by `ceil(m / by)` | a, b, c, m, n, k |

pub mod copy;
pub mod matmul;
pub mod transpose;
