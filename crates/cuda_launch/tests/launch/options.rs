//! Launches with attributes. What the driver is given is the business of `cuda_driver`'s tests; the simulated driver honours what it can.

use cuda_launch::{Cluster, Launch, LaunchError, LaunchOptions, Module, Shape, scope};
use cust::stream::Stream;

use super::{Device, buffer, device, host, kernel, refused, saxpy};

/// Names its clusters itself.
///
/// # Safety
/// None is needed.
#[kernel(arch = "90", cluster(2))]
pub(crate) unsafe fn paired() {}

const PTX: &str = "
.version 7.8
.target sm_90
.address_size 64
.visible .entry paired() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
";

fn pairs(grid: u32) -> LaunchOptions {
    LaunchOptions::new(Shape::linear(grid, 32)).in_clusters(Cluster::new([2, 1, 1]))
}

fn launch_paired(stream: &Stream, options: impl Into<LaunchOptions>) -> Result<(), LaunchError> {
    let module = Module::from_ptx(PTX).expect("the kernel");
    // SAFETY: the kernel does nothing.
    unsafe { paired::launch_unchecked(&module, stream, options, ()) }
}

#[test]
fn attributes_that_change_no_result_change_none() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (x, mut y) = (buffer(&[1.0, 2.0, 3.0]), buffer(&[10.0, 20.0, 30.0]));
    let plain = LaunchOptions::new(Shape::linear(1, 32));
    assert_eq!(plain, Shape::linear(1, 32).into());
    saxpy::launch(module, stream, plain, (1.0, &x, &mut y)).unwrap();
    let alone = plain.in_clusters(Cluster::new([1, 1, 1])).cooperative().with_priority(-1);
    saxpy::launch(module, stream, alone, (1.0, &x, &mut y)).unwrap();
    scope(stream, |scope| {
        let (x, mut y) = (scope.share(&x), scope.lend(&mut y));
        saxpy::enqueue(module, scope, plain, (1.0, &x, &mut y))?;
        // SAFETY: the simulated driver runs launches one after the other.
        saxpy::enqueue(module, scope, unsafe { plain.overlapping() }, (1.0, &x, &mut y))
    })
    .unwrap()
    .unwrap();
    assert_eq!(host(&y), [14.0, 28.0, 42.0]);
}

#[test]
fn clusters_that_the_launch_asks_for_or_the_kernel_names_are_launched() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (x, mut y) = (buffer(&[1.0; 64]), buffer(&[1.0; 64]));
    saxpy::launch(module, stream, pairs(2), (2.0, &x, &mut y)).unwrap();
    launch_paired(stream, Shape::linear(2, 32)).unwrap();
    launch_paired(stream, pairs(2)).unwrap();
    assert_eq!(host(&y), [3.0; 64]);
}

#[test]
fn a_grid_of_broken_clusters_is_refused() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let rule = |kernel: &str| {
        format!(
            "the kernel `{kernel}` runs in clusters of 2 blocks, of which the grid must be a multiple along each axis, and the launch has a \
             grid of 3 with blocks of 32; the nearest larger grid is 4"
        )
    };
    let (x, mut y) = (buffer(&[1.0]), buffer(&[1.0]));
    assert_eq!(refused(saxpy::launch(module, stream, pairs(3), (2.0, &x, &mut y))), rule("saxpy"));
    assert_eq!(refused(launch_paired(stream, Shape::linear(3, 32))), rule("paired"));
    assert_eq!(host(&y), [1.0]);
}

#[test]
fn a_kernel_has_the_clusters_that_it_names_and_no_others() {
    let device = device();
    let four = LaunchOptions::new(Shape::linear(4, 32)).in_clusters(Cluster::new([4, 1, 1]));
    assert_eq!(
        refused(launch_paired(&device.stream, four)),
        "the kernel `paired` has clusters of 2 blocks by its own attribute, and the launch asks for 4. Leave `in_clusters` out"
    );
}

#[test]
fn a_module_with_other_clusters_is_of_another_build() {
    let device = device();
    let launch = |ptx: &str| {
        let module = Module::from_ptx(ptx).expect("the kernel");
        // SAFETY: nothing is launched.
        refused(unsafe { paired::launch_unchecked(&module, &device.stream, Shape::linear(4, 32), ()) })
    };
    let end = ": they are not of one build. Build the PTX from the same sources as the program";
    assert_eq!(
        launch(&PTX.replace("2, 1, 1", "4, 1, 1")),
        format!(
            "the module's kernel `paired` names clusters of 4 x 1 x 1 blocks, and the program's names clusters of 2 x 1 x 1 blocks{end}"
        )
    );
    assert_eq!(
        launch(&PTX.replace(".explicitcluster .reqnctapercluster 2, 1, 1", "")),
        format!(
            "the module's kernel `paired` names no clusters, and the program's names clusters of 2 x 1 x 1 blocks{end}"
        )
    );
}

#[test]
fn what_the_driver_cannot_do_is_said_with_the_way_out() {
    let device = device();
    let Device { module, stream, .. } = &device;
    let (x, mut y) = (buffer(&[1.0]), buffer(&[1.0]));
    let crowd = LaunchOptions::new(Shape::linear(1 << 20, 1024)).cooperative();
    let message = refused(saxpy::launch(module, stream, crowd, (2.0, &x, &mut y)));
    assert!(message.contains("gave CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720)"), "{message}");
    assert!(
        message.ends_with(". Not all blocks fit on the device at once: take fewer, or smaller ones"),
        "{message}"
    );
}
