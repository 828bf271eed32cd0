//! Launches that must not compile, and what the compiler says about each.

#[path = "../../../cuda_safe/tests/support/annotated.rs"]
mod annotated;

#[test]
fn what_is_unsound_is_refused_with_its_reason() {
    annotated::Programs {
        name: "refused_launches",
        folder: "tests/refused",
        uses: &["cuda_launch", "cuda_safe", "cuda_std"],
        more: "cust = { version = \"0.3.2\", default-features = false, features = [\"bytemuck\"] }\n",
        on_device: false,
    }
    .check();
}
