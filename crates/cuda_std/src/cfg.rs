//! The architecture that the kernels are compiled for.

use crate::gpu_only;

/// A compute capability, in their order.
///
/// In kernel code `cfg!(target_feature = "compute_90")` asks the same at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "a name is its number")]
pub enum ComputeCapability {
    Compute35,
    Compute37,
    Compute50,
    Compute52,
    Compute53,
    Compute60,
    Compute61,
    Compute62,
    Compute70,
    Compute72,
    Compute75,
    Compute80,
    Compute86,
    Compute87,
    Compute88,
    Compute89,
    Compute90,
    Compute100,
    Compute101,
    Compute103,
    Compute110,
    Compute120,
    Compute121,
}

/// The last of a list of capabilities whose target feature is switched on; each switches on the lower ones. `sm_90` is the
/// compiler's own name, `compute_90` the one that `cuda_builder` adds, also for what this compiler does not know yet.
macro_rules! newest {
    ($($sm:literal $compute:literal $capability:ident)*) => {{
        let mut newest = None;
        $(
            if cfg!(any(target_feature = $sm, target_feature = $compute)) {
                newest = Some(ComputeCapability::$capability);
            }
        )*
        newest
    }};
}

impl ComputeCapability {
    /// The capability that this crate is compiled for. Where one compile serves several, it is the lowest.
    ///
    /// The name is Rust-CUDA's, which reads an environment variable.
    ///
    /// # Panics
    /// On the host, which has none.
    #[inline(always)]
    #[must_use]
    pub const fn from_cuda_arch_env() -> Self {
        let newest = newest!(
            "sm_35" "compute_35" Compute35
            "sm_37" "compute_37" Compute37
            "sm_50" "compute_50" Compute50
            "sm_52" "compute_52" Compute52
            "sm_53" "compute_53" Compute53
            "sm_60" "compute_60" Compute60
            "sm_61" "compute_61" Compute61
            "sm_62" "compute_62" Compute62
            "sm_70" "compute_70" Compute70
            "sm_72" "compute_72" Compute72
            "sm_75" "compute_75" Compute75
            "sm_80" "compute_80" Compute80
            "sm_86" "compute_86" Compute86
            "sm_87" "compute_87" Compute87
            "sm_88" "compute_88" Compute88
            "sm_89" "compute_89" Compute89
            "sm_90" "compute_90" Compute90
            "sm_100" "compute_100" Compute100
            "sm_101" "compute_101" Compute101
            "sm_103" "compute_103" Compute103
            "sm_110" "compute_110" Compute110
            "sm_120" "compute_120" Compute120
            "sm_121" "compute_121" Compute121
        );
        match newest {
            Some(capability) => capability,
            None => panic!("cuda_std::cfg::ComputeCapability::from_cuda_arch_env is only on the GPU"),
        }
    }
}

/// Ten times the compute capability of the PTX being written. Values: 750 for 7.5, 800 for 8.0, 900 for 9.0, 1000 for
/// 10.0.
///
/// Where one compile makes PTX for several architectures, `cfg!(target_feature = ...)` and
/// [`ComputeCapability::from_cuda_arch_env`] speak of the lowest of them; this is decided for each, before LLVM looks for
/// instructions. So `if architecture() >= 900 { ... }` may hold what only sm_90 has, and no branch is left of it.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn architecture() -> u32 {
    crate::intrinsic::architecture()
}

#[cfg(test)]
mod tests {
    use super::ComputeCapability;

    #[test]
    fn later_capabilities_are_greater() {
        assert!(ComputeCapability::Compute75 < ComputeCapability::Compute80);
        assert!(ComputeCapability::Compute90 < ComputeCapability::Compute100);
    }

    #[test]
    #[should_panic(expected = "only on the GPU")]
    fn the_host_has_no_capability() {
        let _ = ComputeCapability::from_cuda_arch_env();
    }
}
