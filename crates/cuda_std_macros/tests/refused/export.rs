use cuda_std::externally_visible;

#[externally_visible]
pub fn nameless() {} //~ ERROR #[externally_visible] needs a name that the host can ask for: add #[unsafe(no_mangle)] to `nameless`, below #[externally_visible]

fn main() {}
