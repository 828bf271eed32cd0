use cuda_std::kernel;

struct Big(Vec<u8>);

#[kernel] //~ ERROR the trait bound `Big: Copy` is not satisfied
pub unsafe fn takes_what_is_not_copy(_data: Big) {} //~ ERROR the trait bound `Big: Copy` is not satisfied
//~^ NOTE required by a bound in `a_kernel_parameter_must_be_copy`

fn main() {}
