//! # Idioms: what bounds checks cost, and how to avoid them
//!
//! Rust checks every index: `a[i]` is a comparison, a branch, and a trap if `i` is out of bounds. A CPU predicts the branch,
//! so it is nearly free. On a GPU it costs three things: it is one more instruction in a thread that has few; it serialises
//! loads, because each check may end the thread; and the path to the trap holds registers.
//!
//! Three tasks are each written in five ways, to show which of these costs remain:
//!
//! - `checked_*`: plain indexing, as one would write it first.
//! - `iterated_*`: `get` and iterators, which skip missing elements. The comparison stays and the trap goes. Where the
//!   kernel compares anyway (`i < n`), the two comparisons become one.
//! - `asserted_*`: the kernel asserts what the indices need once, before the loops. The compiler then drops each check that it
//!   can prove. It can prove `i < n <= len`. It cannot prove `row * nx + column < len` from `row < ny`, `column < nx` and
//!   `nx * ny == len`, because it does not reason about products. Slicing the row first gives it a length to compare with.
//! - `unchecked_*`: `get_unchecked`, justified by the kernel's launch contract. No check is left. The code is `unsafe`, and
//!   its reason is what the host checked before the launch.
//! - `typed_*`: the index carries the proof, from the one comparison that the task needs. No check is left, and the code is
//!   safe.
//!
//! The tasks are [`copy`], [`transpose`] through a padded tile, and [`matmul`], the naive product. A thread makes one access
//! of each kind in the copy, eight accesses in the transpose, and two per multiplication in the product. All ways of a task
//! have the same C++ twin. The transposes without types, and all unchecked kernels, are in [`crate::unchecked::idioms`].
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
