//! `ext` on NVIDIA's own driver, together with cust's streams, modules and buffers.
//!
//! Ignored without being asked for, since it needs a GPU: `cargo test -p cuda_driver --test gpu --
//! --ignored`. The same tests run on the simulated driver in `simulated`.

use cuda_driver::{bind_nvidia, bound, ext};

#[path = "support/cases.rs"]
mod cases;

fn bind() {
    bind_nvidia().expect("NVIDIA's driver");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_driver_has_what_the_list_names() {
    let nvidia = bind_nvidia().expect("NVIDIA's driver");
    assert!(nvidia.path.is_absolute() && nvidia.path.exists(), "{nvidia:?}");
    assert_eq!(ext::driver_version(), Ok(nvidia.driver_version));
    let missing = bound().expect("bound").missing();
    println!("{nvidia:?} lacks {missing:?}");
    if nvidia.driver_version.major() >= 13 {
        assert_eq!(missing, [""; 0]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn attributes_agree_with_cust() {
    cases::attributes_agree_with_cust();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn refused_ptx_comes_with_the_compilers_words() {
    cases::refused_ptx_comes_with_the_compilers_words();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn launches_of_cust_are_captured_and_replayed() {
    cases::launches_of_cust_are_captured_and_replayed();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_reach_mapped_pinned_memory() {
    cases::kernels_reach_mapped_pinned_memory();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn clusters_and_much_shared_memory_launch_where_the_device_has_them() {
    cases::clusters_and_much_shared_memory_launch_where_the_device_has_them();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn tensor_maps_are_encoded_and_checked() {
    cases::tensor_maps_are_encoded_and_checked();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn copies_by_tensor_map_move_boxes() {
    cases::copies_by_tensor_map_move_boxes();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn managed_memory_takes_advice_and_moves() {
    cases::managed_memory_takes_advice_and_moves();
}
