use cuda_std::kernel;

#[kernel]
pub fn safe(_output: *mut f32) {} //~ ERROR a safe kernel's first parameter is the `Thread` or the `Block` whose code it is, as in `fn safe(thread: Thread, ..)`; a kernel without one must be an `unsafe fn`, because any launch may pass it anything

#[kernel]
pub unsafe fn returns(output: *mut f32) -> f32 { //~ ERROR a kernel returns nothing: write results through a pointer or slice parameter
    unsafe { *output }
}

#[kernel]
pub unsafe fn generic<T: Copy>(_output: *mut T) {} //~ ERROR a generic kernel needs a name for each type that it is compiled for, because the host looks it up by its name: `#[kernel(name_f32 = <f32>, name_f64 = <f64>)]`

struct Simulation;

impl Simulation {
    #[kernel]
    pub unsafe fn method(&self) {} //~ ERROR a kernel cannot take `self`: it must be a free function
}

fn main() {}
