//! # Layout: arrays of structures against structures of arrays
//!
//! The elements of an array have three or four fields, and a kernel updates one field or all of them. Where the fields lie
//! decides how many of the bytes that move are of use:
//!
//! - `layout_aos3`: an array of structures of three floats, 12 bytes each. A warp that reads one field touches every sector
//!   of 384 bytes and uses a third. If it reads all three fields, it asks for the same sectors three times, once per field:
//!   three requests of which L1 answers two.
//! - `layout_padded`: the same three fields in 16 bytes, aligned. One access of 16 bytes moves a whole structure, so that the
//!   warp issues a third of the requests, and a quarter of the bytes is padding.
//! - `layout_soa3`: three arrays, one per field. Each access is coalesced, and only fields that are needed move.
//! - `layout_aos4`: four floats that are aligned to 4 bytes only, as a structure of scalars is. The compiler may not join
//!   the four accesses into one.
//! - `layout_vector`: the same four floats, aligned to 16 bytes: one access. The type's alignment is the difference.
//!
//! A store of part of a sector costs more than its bytes. L2 takes it with a mask of bytes, and what goes back to DRAM is the
//! whole sector, so updating one field of a structure moves as much memory as updating all.
//!
//! Where one field of a vector is updated, the compiler loads and stores that field alone: alignment allows wide accesses, and
//! does not force them.
//!
//! Useful bytes are counted: those of the fields that are updated, read once and written once.
//!
//! # Launch
//! Blocks and grids are one-dimensional, of any size, one thread per element. Each kernel adds 1 to the field `x` (`_one`) or
//! to all fields (`_all`). The padding stays as it is.

use cuda_safe::names::N;
use cuda_safe::vector::F32x4;
use cuda_safe::{Each, Length, Out, Thread, kernel};

/// Adds one to the first of three fields of 12-byte structures.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub fn layout_aos3_one(thread: Thread, a: Out<[f32; 3], Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |[x, y, z]| [x + 1.0, y, z]);
    }
}

/// Adds one to each of three fields of 12-byte structures.
// PTX: contains 3x ld.global.b32
// PTX: contains 3x st.global.b32
#[kernel]
pub fn layout_aos3_all(thread: Thread, a: Out<[f32; 3], Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |fields| fields.map(|field| field + 1.0));
    }
}

/// Adds one to the first of three fields that lie in 16 bytes.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub fn layout_padded_one(thread: Thread, a: Out<F32x4, Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |fields| F32x4::new(fields.x + 1.0, fields.y, fields.z, fields.w));
    }
}

/// Adds one to each of three fields that lie in 16 bytes.
// PTX: contains ld.global.v4.b32 or ld.global.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn layout_padded_all(thread: Thread, a: Out<F32x4, Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |fields| F32x4::new(fields.x + 1.0, fields.y + 1.0, fields.z + 1.0, fields.w));
    }
}

/// Adds one to one of three arrays.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub fn layout_soa3_one(thread: Thread, x: Out<f32, Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        x.update(i, |x| x + 1.0);
    }
}

/// Adds one to each of three arrays.
// PTX: contains 3x ld.global.b32
// PTX: contains 3x st.global.b32
#[kernel]
pub fn layout_soa3_all(
    thread: Thread,
    x: Out<f32, Each<N>>,
    y: Out<f32, Each<N>>,
    z: Out<f32, Each<N>>,
    length: Length<N>,
) {
    if let Some(i) = thread.index(length) {
        // All loads before the first store, which might be to the same memory for all that the compiler knows.
        let fields = [x.get(i), y.get(i), z.get(i)];
        x.put(i, fields[0] + 1.0);
        y.put(i, fields[1] + 1.0);
        z.put(i, fields[2] + 1.0);
    }
}

/// Adds one to the first of four fields of 16-byte structures.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub fn layout_aos4_one(thread: Thread, a: Out<[f32; 4], Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |[x, y, z, w]| [x + 1.0, y, z, w]);
    }
}

/// Adds one to each of four fields of 16-byte structures.
// PTX: contains 4x ld.global.b32
// PTX: contains 4x st.global.b32
#[kernel]
pub fn layout_aos4_all(thread: Thread, a: Out<[f32; 4], Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |fields| fields.map(|field| field + 1.0));
    }
}

/// Adds one to the first of four fields of aligned 16-byte vectors.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub fn layout_vector_one(thread: Thread, a: Out<F32x4, Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |fields| F32x4::new(fields.x + 1.0, fields.y, fields.z, fields.w));
    }
}

/// Adds one to each of four fields of aligned 16-byte vectors.
// PTX: contains ld.global.v4.b32 or ld.global.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn layout_vector_all(thread: Thread, a: Out<F32x4, Each<N>>, length: Length<N>) {
    if let Some(i) = thread.index(length) {
        a.update(i, |fields| F32x4::new(fields.x + 1.0, fields.y + 1.0, fields.z + 1.0, fields.w + 1.0));
    }
}
