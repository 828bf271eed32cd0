//! A transpose through a padded tile with types; the four without are in [`crate::unchecked::idioms`].

use crate::transpose::tiles::TILE;
use cuda_safe::names::{Nx, Ny};
use cuda_safe::shape::Tiles;
use cuda_safe::tile::Rows;
use cuda_safe::{AlongRows, Block, Extent, In, Out, Tile, kernel};

/// Transposes with types: the tile is shared in phases, and only the edges of the matrix are compared.
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
    let tile = block.write(tile, |thread, cells| {
        let (source, cells) = (source.from(thread.corner(), nx, ny), cells.from(thread));
        for step in thread.steps() {
            if let Some(value) = source.get(step) {
                cells.set(step, value);
            }
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        for turn in thread.turns() {
            if let Some((mine, cell)) = thread.turned(turn, nx, ny) {
                destination.put(mine, tile.at(cell));
            }
        }
    });
}
