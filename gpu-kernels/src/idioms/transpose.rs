//! A transpose through a padded tile with types; the four without are in [`crate::unchecked::idioms`].

use crate::transpose::tiles::{TILE, turn};
use cuda_safe::names::{Nx, Ny};
use cuda_safe::shape::Tiles;
use cuda_safe::tile::Rows;
use cuda_safe::{AlongRows, Block, Extent, In, Out, Tile, kernel};

/// Transposes with types: only the edges of the matrix are compared.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.global.b32
// PTX: lacks trap
#[kernel]
pub fn typed_transpose(
    mut block: Block<Tiles<TILE>>,
    tile: Tile<f32, Rows<TILE, { TILE + 1 }>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    turn(&mut block, tile, source, destination, nx, ny);
}
