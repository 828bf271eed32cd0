use cuda_std::kernel;

struct Big(Vec<u8>);

#[kernel]
pub unsafe fn takes_what_is_not_copy(_data: Big) {}

fn main() {}
