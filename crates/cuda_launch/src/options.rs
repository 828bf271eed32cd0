//! What a launch tells the driver beside its shape.

use cuda_std::launch::{Cluster, Shape};

/// The shape of a launch and its attributes. A [`Shape`] alone is a launch without attributes.
///
/// ```no_run
/// use cuda_launch::{Cluster, Launch, LaunchError, LaunchOptions, Module, Shape};
/// # use cuda_launch::SafeKernel;
/// # fn run<K: for<'a> SafeKernel<Arguments<'a> = ()>>(module: &Module, stream: &cust::stream::Stream) -> Result<(), LaunchError> {
/// let shape = Shape::linear(64, 128);
/// let pairs = LaunchOptions::new(shape).in_clusters(Cluster::new([2, 1, 1]));
/// K::launch(module, stream, pairs, ())?;
/// # Ok(())
/// # }
/// ```
///
/// | attribute | needs | on the simulated driver |
/// | --- | --- | --- |
/// | [`in_clusters`](Self::in_clusters) | compute capability 9.0 | as on a device |
/// | [`overlapping`](Self::overlapping) | compute capability 9.0 | launches run one after the other, as they may |
/// | [`cooperative`](Self::cooperative) | | as on a device |
/// | [`with_priority`](Self::with_priority) | | no effect |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchOptions {
    pub(crate) shape: Shape,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) overlaps: bool,
    pub(crate) cooperative: bool,
    pub(crate) priority: Option<i32>,
}

impl LaunchOptions {
    /// A launch without attributes.
    #[must_use]
    pub const fn new(shape: Shape) -> Self {
        Self { shape, cluster: None, overlaps: false, cooperative: false, priority: None }
    }

    /// Runs the blocks in clusters, of which the grid must be a multiple along each axis.
    ///
    /// A kernel that names its clusters itself, `#[kernel(cluster(..))]`, needs no attribute, and takes no other clusters.
    #[must_use]
    pub const fn in_clusters(self, cluster: Cluster) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// Lets the launch begin before the kernel ahead of it in the stream has ended (programmatic dependent launch); see
    /// [`cuda_std::dependent`].
    ///
    /// # Safety
    /// Every thread of the kernel calls [`wait_for_predecessor`](cuda_std::dependent::wait_for_predecessor), and before that it
    /// neither reads what work ahead in the stream writes, nor writes what that work reads or writes. It takes what that work
    /// writes by raw pointers: elements of a `&[T]` may be read ahead of the wait.
    #[must_use]
    pub const unsafe fn overlapping(self) -> Self {
        Self { overlaps: true, ..self }
    }

    /// Has all blocks resident at the same time, so that they can wait for each other. The driver refuses a grid that is too
    /// large for that.
    #[must_use]
    pub const fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Gives the launch a priority of its own in place of the stream's: lower numbers go first, of the
    /// range that `cust::context::legacy::CurrentContext::get_stream_priority_range` gives.
    #[must_use]
    pub const fn with_priority(self, priority: i32) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// The shape.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether there is no attribute, so that the oldest of the driver's entry points will do.
    pub(crate) const fn is_plain(&self) -> bool {
        self.cluster.is_none() && !self.overlaps && !self.cooperative && self.priority.is_none()
    }
}

impl From<Shape> for LaunchOptions {
    fn from(shape: Shape) -> Self {
        Self::new(shape)
    }
}
