//! Kernels that the device build must refuse, and what it says. They are checked for `nvptx64`, because `Contained` exists
//! there alone.

#[path = "support/annotated.rs"]
mod annotated;

#[test]
fn what_is_unsound_is_refused_with_its_reason() {
    annotated::Programs {
        name: "refused_kernels",
        folder: "tests/refused",
        uses: &["cuda_safe"],
        more: "",
        on_device: true,
    }
    .check();
}
