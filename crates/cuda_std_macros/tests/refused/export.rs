use cuda_std::externally_visible;

#[externally_visible]
pub fn nameless() {}

fn main() {}
