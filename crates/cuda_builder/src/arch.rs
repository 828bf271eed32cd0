//! The GPU architectures that PTX can be made for.

use std::fmt;
use std::str::FromStr;

/// The compatibility that an architecture's suffix promises: which devices take its PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Variant {
    /// `compute_90`: this capability and every later one.
    Base,
    /// `compute_100f`: this capability and the later ones of its family (its major version).
    Family,
    /// `compute_90a`: this capability alone.
    Architecture,
}

macro_rules! architectures {
    ($($(#[$attribute:meta])* $name:ident = $capability:literal $variant:ident $text:literal $ptx:literal;)*) => {
        /// A virtual architecture, as `nvcc -arch=compute_90` names it.
        ///
        /// A plain architecture's PTX runs on its own compute capability and on all later ones; with `f` on the later ones
        /// of its family; with `a` on that capability alone, where it may use what exists only there (`wgmma` on 9.0,
        /// `tcgen05` on 10.0).
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum NvvmArch {
            $(
                $(#[$attribute])*
                #[doc = concat!("`", $text, "`")]
                $name,
            )*
        }

        impl NvvmArch {
            /// Every architecture, in ascending order: plain, then `f`, then `a` within one capability.
            pub const ALL: &[NvvmArch] = &[$(NvvmArch::$name),*];

            /// (capability, variant, name, oldest PTX version that has it).
            const fn facts(self) -> (u32, Variant, &'static str, u32) {
                match self {
                    $(Self::$name => ($capability, Variant::$variant, $text, $ptx),)*
                }
            }
        }
    };
}

// The last column is the PTX version that introduced the target, from the release notes of the PTX ISA.
architectures! {
    Compute50 = 50 Base "compute_50" 40;
    Compute52 = 52 Base "compute_52" 41;
    Compute53 = 53 Base "compute_53" 42;
    Compute60 = 60 Base "compute_60" 50;
    Compute61 = 61 Base "compute_61" 50;
    Compute62 = 62 Base "compute_62" 50;
    Compute70 = 70 Base "compute_70" 60;
    Compute72 = 72 Base "compute_72" 61;
    Compute73 = 73 Base "compute_73" 63;
    #[default]
    Compute75 = 75 Base "compute_75" 63;
    Compute80 = 80 Base "compute_80" 70;
    Compute86 = 86 Base "compute_86" 71;
    Compute87 = 87 Base "compute_87" 74;
    Compute88 = 88 Base "compute_88" 90;
    Compute89 = 89 Base "compute_89" 78;
    Compute90 = 90 Base "compute_90" 78;
    Compute90a = 90 Architecture "compute_90a" 80;
    Compute100 = 100 Base "compute_100" 86;
    Compute100f = 100 Family "compute_100f" 88;
    Compute100a = 100 Architecture "compute_100a" 86;
    Compute101 = 101 Base "compute_101" 86;
    Compute101f = 101 Family "compute_101f" 88;
    Compute101a = 101 Architecture "compute_101a" 86;
    Compute103 = 103 Base "compute_103" 88;
    Compute103f = 103 Family "compute_103f" 88;
    Compute103a = 103 Architecture "compute_103a" 88;
    Compute110 = 110 Base "compute_110" 90;
    Compute110f = 110 Family "compute_110f" 90;
    Compute110a = 110 Architecture "compute_110a" 90;
    Compute120 = 120 Base "compute_120" 87;
    Compute120f = 120 Family "compute_120f" 88;
    Compute120a = 120 Architecture "compute_120a" 87;
    Compute121 = 121 Base "compute_121" 88;
    Compute121f = 121 Family "compute_121f" 88;
    Compute121a = 121 Architecture "compute_121a" 88;
}

/// A name that is no architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownArch {
    name: String,
}

impl fmt::Display for UnknownArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = NvvmArch::ALL.iter().map(|arch| arch.name()).collect();
        write!(f, "`{}` is no architecture; the known ones are {}", self.name, known.join(", "))
    }
}

impl std::error::Error for UnknownArch {}

impl FromStr for NvvmArch {
    type Err = UnknownArch;

    /// Reads `compute_90a`. (Not `sm_90a`: that names a real architecture, for which there is SASS and not PTX.)
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|arch| arch.name() == name);
        found.copied().ok_or_else(|| UnknownArch { name: name.to_owned() })
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl NvvmArch {
    /// The compute capability without its dot: 90 for 9.0, 121 for 12.1.
    pub fn capability_value(&self) -> u32 {
        self.facts().0
    }

    /// The compute capability's first number: 12 for 12.1.
    pub fn major_version(&self) -> u32 {
        self.capability_value() / 10
    }

    /// The compute capability's second number: 1 for 12.1.
    pub fn minor_version(&self) -> u32 {
        self.capability_value() % 10
    }

    /// The name, `compute_90a`, which kernel code also sees as `cfg(target_feature = "compute_90a")`.
    pub fn target_feature(&self) -> String {
        self.name().to_owned()
    }

    pub(crate) fn name(self) -> &'static str {
        self.facts().2
    }

    /// Every `compute_..` feature that code for this architecture may rely on, ascending. These are all plain
    /// architectures up to its capability. A variant adds the `f` ones of its family up to its capability (an `a`
    /// device runs them as well) and itself.
    pub fn all_target_features(&self) -> Vec<String> {
        let (capability, variant, ..) = self.facts();
        let holds = |other: &&NvvmArch| match other.facts().1 {
            Variant::Base => other.capability_value() <= capability,
            Variant::Family => {
                variant != Variant::Base
                    && other.family() == self.family()
                    && other.capability_value() <= capability
            }
            Variant::Architecture => *other == self,
        };
        Self::ALL.iter().filter(holds).map(|arch| arch.target_feature()).collect()
    }

    /// Whether this is a plain architecture, without `f` or `a`.
    pub fn is_base_variant(&self) -> bool {
        self.facts().1 == Variant::Base
    }

    /// Whether this is an `f` variant.
    pub fn is_family_variant(&self) -> bool {
        self.facts().1 == Variant::Family
    }

    /// Whether this is an `a` variant.
    pub fn is_architecture_variant(&self) -> bool {
        self.facts().1 == Variant::Architecture
    }

    /// The plain architecture of the same capability.
    pub fn base_architecture(&self) -> Self {
        // Each capability in the table has its plain architecture first.
        Self::variants_for_capability(self.capability_value()).first().copied().unwrap_or(*self)
    }

    /// All architectures of the same capability, this one included.
    pub fn get_variants(&self) -> Vec<Self> {
        Self::variants_for_capability(self.capability_value())
    }

    /// All architectures of a capability (90 for 9.0): plain, then `f`, then `a`; none if there is no such capability.
    pub fn variants_for_capability(capability: u32) -> Vec<Self> {
        Self::ALL.iter().copied().filter(|arch| arch.capability_value() == capability).collect()
    }

    /// The family number that `f` variants share: the major version, except for 10.1. That is an older name of 11.0 and
    /// shares nothing with 10.0 and 10.3.
    fn family(self) -> u32 {
        if self.capability_value() == 101 { 11 } else { self.major_version() }
    }

    /// The name as a processor of LLVM's: `sm_90a`.
    pub(crate) fn processor(self) -> String {
        self.name().replacen("compute", "sm", 1)
    }

    /// The PTX version (80 for 8.0) that is written for this architecture unless the user asks for another.
    ///
    /// The oldest that has the architecture, so that old drivers take it, but at least 7.4 (CUDA 11.4, driver 470), the
    /// first with cache hints on loads and stores; 8.0 (CUDA 12.0, driver 525) from 9.0 on, for bulk copies; 8.3 (CUDA 12.3,
    /// driver 545) for 9.0a, whose kernels use tensor maps, for the fence of maps in device memory. Inline
    /// assembly is what needs this: LLVM itself would pick the oldest alone.
    pub(crate) fn default_ptx_version(self) -> u32 {
        let floor = match self {
            Self::Compute90a => 83,
            _ if self.capability_value() >= 90 => 80,
            _ => 74,
        };
        self.oldest_ptx_version().max(floor)
    }

    /// The first PTX version with this architecture: 78 for 7.8.
    pub(crate) fn oldest_ptx_version(self) -> u32 {
        self.facts().3
    }

    /// True if code for `self` runs on a device requested as `other`. One compile of a crate then serves both.
    pub(crate) fn is_contained_in(self, other: Self) -> bool {
        let features = other.all_target_features();
        features.iter().any(|feature| feature == self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for arch in NvvmArch::ALL {
            assert_eq!(arch.to_string().parse::<NvvmArch>(), Ok(*arch));
        }
        assert_eq!("compute_90a".parse(), Ok(NvvmArch::Compute90a));
        assert_eq!("compute_121f".parse(), Ok(NvvmArch::Compute121f));
        for wrong in ["", "sm_90", "compute_91", "90", "compute_90A", " compute_90"] {
            let error = wrong.parse::<NvvmArch>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{wrong}` is no architecture")), "{error}");
            assert!(error.contains("compute_120a"), "{error}");
        }
    }

    #[test]
    fn the_table_is_whole_and_ascending() {
        assert_eq!(NvvmArch::ALL.len(), 35);
        assert!(NvvmArch::ALL.is_sorted());
        assert_eq!(NvvmArch::default(), NvvmArch::Compute75);
        for arch in NvvmArch::ALL {
            let (capability, variant, name, _) = arch.facts();
            let suffix = match variant {
                Variant::Base => "",
                Variant::Family => "f",
                Variant::Architecture => "a",
            };
            assert_eq!(name, format!("compute_{capability}{suffix}"));
            assert_eq!(format!("{arch:?}"), name.replacen("compute_", "Compute", 1));
            assert!(arch.base_architecture().is_base_variant());
        }
    }

    #[test]
    fn versions_are_the_capability_split() {
        let table = [
            (NvvmArch::Compute50, 50, 5, 0),
            (NvvmArch::Compute75, 75, 7, 5),
            (NvvmArch::Compute90a, 90, 9, 0),
            (NvvmArch::Compute103f, 103, 10, 3),
            (NvvmArch::Compute121, 121, 12, 1),
        ];
        for (arch, value, major, minor) in table {
            assert_eq!(
                (arch.capability_value(), arch.major_version(), arch.minor_version()),
                (value, major, minor)
            );
        }
    }

    #[test]
    fn variants_of_a_capability() {
        use NvvmArch::*;
        assert_eq!(NvvmArch::variants_for_capability(90), [Compute90, Compute90a]);
        assert_eq!(Compute120a.get_variants(), [Compute120, Compute120f, Compute120a]);
        assert_eq!(NvvmArch::variants_for_capability(75), [Compute75]);
        assert_eq!(NvvmArch::variants_for_capability(91), []);
        assert_eq!(Compute100f.base_architecture(), Compute100);
        assert!(
            Compute90a.is_architecture_variant()
                && !Compute90a.is_family_variant()
                && !Compute90a.is_base_variant()
        );
        assert!(Compute100f.is_family_variant() && !Compute100f.is_architecture_variant());
    }

    #[test]
    fn features_hold_everything_that_runs_there() {
        assert_eq!(NvvmArch::Compute53.all_target_features(), ["compute_50", "compute_52", "compute_53"]);
        let hopper = NvvmArch::Compute90a.all_target_features();
        assert_eq!(hopper.last().map(String::as_str), Some("compute_90a"));
        assert!(hopper.contains(&String::from("compute_90")));
        let family = NvvmArch::Compute103f.all_target_features();
        assert!(family.contains(&String::from("compute_100f")));
        assert!(!family.contains(&String::from("compute_101f")));
        assert!(!family.contains(&String::from("compute_100a")));
        assert!(!family.contains(&String::from("compute_103a")));
        assert!(!NvvmArch::Compute121f.all_target_features().contains(&String::from("compute_100f")));
        assert!(!NvvmArch::Compute120.all_target_features().contains(&String::from("compute_120f")));
    }

    #[test]
    fn ptx_versions_reach_back_as_far_as_they_can() {
        let table = [
            (NvvmArch::Compute50, 74),
            (NvvmArch::Compute75, 74),
            (NvvmArch::Compute86, 74),
            (NvvmArch::Compute89, 78),
            (NvvmArch::Compute90, 80),
            (NvvmArch::Compute90a, 83),
            (NvvmArch::Compute100, 86),
            (NvvmArch::Compute120, 87),
        ];
        for (arch, version) in table {
            assert_eq!(arch.default_ptx_version(), version, "{arch}");
        }
        assert_eq!(NvvmArch::Compute90a.processor(), "sm_90a");
    }

    #[test]
    fn one_compile_serves_what_contains_its_features() {
        assert!(NvvmArch::Compute75.is_contained_in(NvvmArch::Compute120a));
        assert!(NvvmArch::Compute90.is_contained_in(NvvmArch::Compute90a));
        assert!(!NvvmArch::Compute90a.is_contained_in(NvvmArch::Compute100));
    }
}
