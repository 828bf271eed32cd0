use cuda_std::address_space;

#[address_space(local)] //~ ERROR a static cannot be in the local space: local memory belongs to one thread and ends with it. Use a `let` variable in the kernel, which the compiler keeps in registers or in local memory
static mut SCRATCH: [f32; 4] = [0.0; 4];

#[address_space(texture)] //~ ERROR unknown address space `texture`, expected one of: shared, constant, global, managed
static mut IMAGE: [f32; 4] = [0.0; 4];

fn main() {}
