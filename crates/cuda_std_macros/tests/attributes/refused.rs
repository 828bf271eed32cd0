//! The attributes refuse these programs, each with its reason.

#[path = "../../../cuda_safe/tests/support/annotated.rs"]
mod annotated;

#[test]
fn what_cannot_be_a_kernel_is_refused_with_its_reason() {
    annotated::Programs {
        name: "refused_attributes",
        folder: "tests/refused",
        uses: &["cuda_std"],
        more: "",
        on_device: false,
    }
    .check();
}
