//! Errors of a launch.

use cuda_driver::{Code, ext};
use cuda_std::launch::{Cluster, Refusal};
use cust::error::CudaError;

/// A launch, or the loading of what is launched, that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch breaks the kernel's contract. Nothing was launched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The module has no entry point of the kernel's name.
    #[error(
        "the module has no kernel `{kernel}`{}. Build the PTX from the same sources as the program, or load the module that has it",
        suggestion(.nearest)
    )]
    Missing {
        /// The kernel.
        kernel: &'static str,
        /// The module's kernel with the nearest name.
        nearest: Option<String>,
    },
    /// The module's entry point has other parameters than the kernel of that name.
    #[error(
        "the module's kernel `{kernel}` takes ({found}), and the program's takes ({needed}), for `fn {kernel}({source_text})`: \
         they are not of one build. Build the PTX from the same sources as the program"
    )]
    Stale {
        /// The kernel.
        kernel: &'static str,
        /// The module's parameters.
        found: String,
        /// The program's parameters.
        needed: String,
        /// The program's signature.
        source_text: String,
    },
    /// The module's entry point has other clusters than the kernel of that name.
    #[error(
        "the module's kernel `{kernel}` {}, and the program's {}: they are not of one build. Build the PTX from the same sources as \
         the program",
        clusters(*.found),
        clusters(*.needed)
    )]
    StaleCluster {
        /// The kernel.
        kernel: &'static str,
        /// The blocks of the module's clusters, if it names them.
        found: Option<[u32; 3]>,
        /// The blocks of the program's clusters, if it names them.
        needed: Option<[u32; 3]>,
    },
    /// The launch asks for other clusters than the kernel has by `#[kernel(cluster(..))]`.
    #[error(
        "the kernel `{kernel}` has clusters of {own} blocks by its own attribute, and the launch asks for {asked}. Leave \
         `in_clusters` out"
    )]
    OtherCluster {
        /// The kernel.
        kernel: &'static str,
        /// Its clusters.
        own: Cluster,
        /// The clusters that the launch asks for.
        asked: Cluster,
    },
    /// The driver refused a launch with attributes.
    #[error("the driver refused the launch of `{kernel}`: {error}{}", advice(*.error, *.cluster))]
    Attributes {
        /// The kernel.
        kernel: &'static str,
        /// Its clusters, if it has any.
        cluster: Option<Cluster>,
        /// The driver's error.
        error: ext::Error,
    },
    /// The driver failed.
    #[error("the driver: {0}")]
    Driver(#[from] CudaError),
}

/// What to do about an error of a launch with attributes.
fn advice(error: ext::Error, cluster: Option<Cluster>) -> String {
    const INVALID_CLUSTER_SIZE: Code = Code(912);
    const COOPERATIVE_LAUNCH_TOO_LARGE: Code = Code(720);
    match (error.code, cluster) {
        (Code::NOT_SUPPORTED, Some(cluster)) => format!(
            ". It has clusters of {cluster} blocks, which a device of compute capability 9.0 or later has, with a driver for CUDA 11.8 or \
             later"
        ),
        (Code::NOT_SUPPORTED, None) => {
            String::from(". Launches with attributes need a driver for CUDA 11.8 or later")
        }
        (INVALID_CLUSTER_SIZE, Some(cluster)) => format!(
            ". The device has no clusters of {cluster} such blocks: take smaller clusters, or blocks with less shared memory"
        ),
        (COOPERATIVE_LAUNCH_TOO_LARGE, _) => {
            String::from(". Not all blocks fit on the device at once: take fewer, or smaller ones")
        }
        _ => String::new(),
    }
}

fn clusters(blocks: Option<[u32; 3]>) -> String {
    match blocks {
        Some([x, y, z]) => format!("names clusters of {x} x {y} x {z} blocks"),
        None => String::from("names no clusters"),
    }
}

fn suggestion(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!("; it has `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_cluster_is_said_with_the_way_out() {
        let refused = |code, cluster: Option<[u32; 3]>| {
            advice(ext::Error { function: "cuLaunchKernelEx", code }, cluster.map(Cluster::new))
        };
        assert_eq!(
            refused(Code::NOT_SUPPORTED, Some([2, 1, 1])),
            ". It has clusters of 2 blocks, which a device of compute capability 9.0 or later has, with a driver for CUDA 11.8 or later"
        );
        assert_eq!(
            refused(Code(912), Some([8, 1, 1])),
            ". The device has no clusters of 8 such blocks: take smaller clusters, or blocks with less shared memory"
        );
    }
}
