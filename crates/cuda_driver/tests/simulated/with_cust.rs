//! What `gpu` tests on NVIDIA's driver, on the simulated one.

#[path = "../support/cases.rs"]
mod cases;

fn bind() {
    crate::common::bind();
}

#[test]
fn attributes_agree_with_cust() {
    cases::attributes_agree_with_cust();
}

#[test]
fn refused_ptx_comes_with_the_compilers_words() {
    cases::refused_ptx_comes_with_the_compilers_words();
}

#[test]
fn launches_of_cust_are_captured_and_replayed() {
    cases::launches_of_cust_are_captured_and_replayed();
}

#[test]
fn kernels_reach_mapped_pinned_memory() {
    cases::kernels_reach_mapped_pinned_memory();
}

#[test]
fn clusters_and_much_shared_memory_launch_where_the_device_has_them() {
    cases::clusters_and_much_shared_memory_launch_where_the_device_has_them();
}

#[test]
fn tensor_maps_are_encoded_and_checked() {
    cases::tensor_maps_are_encoded_and_checked();
}

#[test]
fn copies_by_tensor_map_move_boxes() {
    cases::copies_by_tensor_map_move_boxes();
}

#[test]
fn managed_memory_takes_advice_and_moves() {
    cases::managed_memory_takes_advice_and_moves();
}
