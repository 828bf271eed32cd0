//! The macros in a crate that uses them, on the host.

use cuda_std::launch::{Cluster, Kernel, PointerMut, Refusal, Shape, Slice, Wire};
use cuda_std::{address_space, externally_visible, gpu_only, kernel};

/// Adds one slice to another.
///
/// # Safety
/// `output` is as long as the slices.
#[kernel(
    launch_bounds(256),
    requires(x.len() == y.len(), block.x % 32 == 0 && threads.x >= x.len()),
    shared = 4 * (block.x + 8)
)]
pub unsafe fn add<'a>(x: &'a [f32], y: &'a [f32], output: *mut f32) {
    for (place, (x, y)) in x.iter().zip(y).enumerate() {
        // SAFETY: promised by the caller.
        unsafe { *output.add(place) = x + y }
    }
}

const PAIR: u32 = 2;

/// Runs in clusters of two blocks along x and two along y.
///
/// # Safety
/// None is needed.
#[kernel(cluster(PAIR, 2, 1))]
pub unsafe fn together(number: u32) {
    let _ = number;
}

#[address_space(constant)]
#[unsafe(no_mangle)]
static mut COEFFICIENTS: [f32; 2] = [1.5, 2.5];

#[externally_visible]
#[unsafe(no_mangle)]
fn exported_twice(value: u32) -> u32 {
    2 * value
}

#[gpu_only]
fn only_there(value: u32) -> u32 {
    this_is_not_even_a_function(value)
}

#[test]
fn a_kernel_is_an_ordinary_function_on_the_host() {
    let mut sums = [0.0; 2];
    // SAFETY: all three have two elements.
    unsafe { add(&[1.0, 2.0], &[0.5, 0.25], sums.as_mut_ptr()) };
    assert_eq!(sums, [1.5, 2.25]);
}

/// Arguments of `add` with these lengths.
fn arguments(x: usize, y: usize) -> <add as Kernel>::Arguments<'static> {
    // SAFETY: nothing is launched.
    unsafe { (Slice::new(0x1000, x), Slice::new(0x2000, y), PointerMut::new(0x3000)) }
}

#[test]
fn the_host_knows_what_a_launch_takes() {
    assert_eq!(add::NAME, "add");
    let parameters = add::parameters();
    let text: Vec<String> = parameters.iter().map(|one| format!("{}: {}", one.name, one.ty)).collect();
    assert_eq!(text, ["x: &[f32]", "y: &[f32]", "output: *mut f32"]);
    let wires: Vec<Wire> = parameters.into_iter().flat_map(|parameter| parameter.wires).collect();
    assert_eq!(wires, [Wire::WORD; 5]);
    assert_eq!(
        add::contract(),
        [
            "x.len() == y.len()",
            "block.x % 32 == 0 && threads.x >= x.len()",
            "dynamic shared memory: 4 * (block.x + 8) bytes"
        ]
    );
}

#[test]
fn a_launch_that_keeps_the_contract_is_passed_with_its_shared_memory() {
    let (words, shape) = add::pass(arguments(100, 100), Shape::linear(2, 64)).expect("it keeps the contract");
    assert_eq!(shape, Shape::linear(2, 64).with_shared(4 * (64 + 8)));
    // SAFETY: each word is an address or a length.
    let words: Vec<u64> = words.pointers().iter().map(|word| unsafe { *word.cast::<u64>() }).collect();
    assert_eq!(words, [0x1000, 100, 0x2000, 100, 0x3000]);
}

#[test]
fn a_launch_that_breaks_a_clause_is_told_which_and_why() {
    let refusal = |arguments, shape| add::pass(arguments, shape).expect_err("it breaks the contract");
    let error = refusal(arguments(100, 99), Shape::linear(2, 64));
    assert_eq!(
        error,
        Refusal::Clause {
            kernel: "add",
            clause: "x.len() == y.len()",
            found: "x = 100 elements, y = 99 elements".to_owned()
        }
    );
    assert_eq!(
        error.to_string(),
        "the kernel `add` requires `x.len() == y.len()`, and the launch has x = 100 elements, y = 99 elements"
    );
    assert_eq!(
        refusal(arguments(100, 100), Shape::linear(1, 64)).to_string(),
        "the kernel `add` requires `block.x % 32 == 0 && threads.x >= x.len()`, and the launch has x = 100 elements, \
         block = 64, threads = 64"
    );
}

#[test]
fn a_grid_is_a_multiple_of_the_clusters() {
    assert_eq!(add::cluster(), None);
    assert_eq!(together::cluster(), Some(Cluster::new([2, 2, 1])));
    assert_eq!(
        together::contract(),
        ["a grid that is a multiple of the cluster of 2x2 blocks along each axis"]
    );
    let even = Shape::new([4, 2, 3], [64, 1, 1]);
    assert_eq!(together::pass((1,), even).expect("a multiple").1, even);
    let error = together::pass((1,), Shape::linear(4, 64)).expect_err("one block along y");
    assert_eq!(
        error.to_string(),
        "the kernel `together` runs in clusters of 2x2 blocks, of which the grid must be a multiple along each axis, and the \
         launch has a grid of 4 with blocks of 64; the nearest larger grid is 4x2"
    );
}

#[test]
fn statics_and_exports_are_ordinary_too() {
    // SAFETY: nothing writes it.
    assert_eq!(unsafe { COEFFICIENTS }, [1.5, 2.5]);
    assert_eq!(exported_twice(21), 42);
}

#[test]
#[should_panic(expected = "accepted::only_there is only on the GPU: it was called on the host")]
fn a_gpu_only_function_says_so() {
    only_there(1);
}
