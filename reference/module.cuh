// Constants, as the module of the Rust kernels has some: CONSTANT_TABLE is the first of them there.
//
// A module with constants costs each launch of any of its kernels 0.2 us on an H200, in either language (`compare transpose
// --nx 2048 --ny 2048`: tile_padded 5.84 us without this file, 6.08 with it). The twins are here to compare kernels, so both
// sides have their kernels in such modules. Nothing reads these.

__constant__ unsigned CONSTANTS_OF_THE_MODULE[1056];
