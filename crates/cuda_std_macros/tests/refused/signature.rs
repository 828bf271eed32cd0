use cuda_std::kernel;

#[kernel]
pub fn safe(_output: *mut f32) {}

#[kernel]
pub unsafe fn returns(output: *mut f32) -> f32 {
    unsafe { *output }
}

#[kernel]
pub unsafe fn generic<T: Copy>(_output: *mut T) {}

struct Simulation;

impl Simulation {
    #[kernel]
    pub unsafe fn method(&self) {}
}

fn main() {}
