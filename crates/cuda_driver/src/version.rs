//! CUDA versions of drivers, and the PTX versions that they read.

use std::fmt;

/// The newest CUDA version that a driver supports, as `cuDriverGetVersion` returns it: 1000 * major + 10 * minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub i32);

impl DriverVersion {
    /// Returns the major version: 13 of 13.0.
    pub fn major(self) -> i32 {
        self.0 / 1000
    }

    /// Returns the minor version: 0 of 13.0.
    pub fn minor(self) -> i32 {
        self.0 % 1000 / 10
    }

    /// Returns the newest PTX version that this driver reads, by the release table of the PTX ISA; for a driver newer
    /// than the table, the newest in it. `None` before CUDA 9.
    pub fn newest_ptx(self) -> Option<PtxVersion> {
        PTX_BY_DRIVER
            .iter()
            .rev()
            .find(|(driver, _)| *driver <= (self.major(), self.minor()))
            .map(|(_, (major, minor))| PtxVersion { major: *major, minor: *minor })
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUDA {}.{}", self.major(), self.minor())
    }
}

/// The version of a PTX text, from its `.version` directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    /// Major version: 8 of 8.7.
    pub major: u32,
    /// Minor version: 7 of 8.7.
    pub minor: u32,
}

impl PtxVersion {
    /// Returns the version that a PTX text states.
    pub fn of(ptx: &str) -> Option<PtxVersion> {
        let (major, minor) = simt::ptx::outline::Header::of(ptx).version?;
        Some(PtxVersion { major, minor })
    }

    /// Returns the oldest driver that reads PTX of this version, by the same table. From 9.0 on PTX is numbered like
    /// the toolkit, which is assumed to continue beyond the table's end.
    pub fn oldest_driver(self) -> DriverVersion {
        let known = PTX_BY_DRIVER.iter().find(|(_, ptx)| *ptx >= (self.major, self.minor));
        let beyond = || (self.major as i32 + 4, self.minor as i32);
        let (major, minor) = known.map_or_else(beyond, |(driver, _)| *driver);
        DriverVersion(1000 * major + 10 * minor)
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// CUDA version and the PTX version that came with it, ascending.
const PTX_BY_DRIVER: [((i32, i32), (u32, u32)); 29] = [
    ((9, 0), (6, 0)),
    ((9, 1), (6, 1)),
    ((9, 2), (6, 2)),
    ((10, 0), (6, 3)),
    ((10, 1), (6, 4)),
    ((10, 2), (6, 5)),
    ((11, 0), (7, 0)),
    ((11, 1), (7, 1)),
    ((11, 2), (7, 2)),
    ((11, 3), (7, 3)),
    ((11, 4), (7, 4)),
    ((11, 5), (7, 5)),
    ((11, 6), (7, 6)),
    ((11, 7), (7, 7)),
    ((11, 8), (7, 8)),
    ((12, 0), (8, 0)),
    ((12, 1), (8, 1)),
    ((12, 2), (8, 2)),
    ((12, 3), (8, 3)),
    ((12, 4), (8, 4)),
    ((12, 5), (8, 5)),
    ((12, 7), (8, 6)),
    ((12, 8), (8, 7)),
    ((12, 9), (8, 8)),
    ((13, 0), (9, 0)),
    ((13, 1), (9, 1)),
    ((13, 2), (9, 2)),
    ((13, 3), (9, 3)),
    ((13, 4), (9, 4)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_version_is_read_and_shown() {
        let version = DriverVersion(12060);
        assert_eq!((version.major(), version.minor()), (12, 6));
        assert_eq!(version.to_string(), "CUDA 12.6");
    }

    #[test]
    fn the_newest_ptx_of_a_driver() {
        let newest = |version| DriverVersion(version).newest_ptx().map(|ptx| ptx.to_string());
        assert_eq!(newest(12060).as_deref(), Some("8.5"));
        assert_eq!(newest(13000).as_deref(), Some("9.0"));
        assert_eq!(newest(13020).as_deref(), Some("9.2"));
        assert_eq!(newest(14020).as_deref(), Some("9.4"));
        assert_eq!(newest(10020).as_deref(), Some("6.5"));
        assert_eq!(newest(8000), None);
    }

    #[test]
    fn the_oldest_driver_for_ptx() {
        for (major, minor, driver) in [
            (5, 0, 9000),
            (6, 3, 10000),
            (6, 5, 10020),
            (7, 0, 11000),
            (7, 8, 11080),
            (8, 0, 12000),
            (8, 5, 12050),
            // 12.6 kept 8.5.
            (8, 6, 12070),
            (8, 8, 12090),
            (9, 0, 13000),
            (9, 1, 13010),
            (9, 4, 13040),
            (10, 0, 14000),
        ] {
            assert_eq!(
                PtxVersion { major, minor }.oldest_driver(),
                DriverVersion(driver),
                "PTX {major}.{minor}"
            );
        }
    }

    #[test]
    fn the_version_of_a_ptx_text() {
        let of = |ptx| PtxVersion::of(ptx).map(|version| (version.major, version.minor));
        assert_eq!(of("//\n// made by hand\n.version 8.7\n.target sm_90a\n"), Some((8, 7)));
        assert_eq!(of("  .version\t6.0 // comment"), Some((6, 0)));
        assert_eq!(of(".target sm_90"), None);
        assert_eq!(of(".version seven"), None);
    }
}
