//! Finds out how much memory the host has.

use std::fs;

/// Memory of the host, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostMemory {
    /// Bytes available now.
    pub(super) available: u64,
    /// Bytes in total.
    pub(super) total: u64,
}

impl HostMemory {
    /// Reads Linux's figures, limited by this process's control group if it has one. None if they are not available.
    pub(super) fn now() -> Option<Self> {
        let mut memory = Self::parse(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        if let Some(limit) = number("/sys/fs/cgroup/memory.max") {
            let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
            memory.total = memory.total.min(limit);
            memory.available = memory.available.min(limit.saturating_sub(used));
        }
        Some(memory)
    }

    fn parse(meminfo: &str) -> Option<Self> {
        let field = |name: &str| {
            let rest = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
            rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        Some(Self { available: field("MemAvailable:")?, total: field("MemTotal:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::HostMemory;

    #[test]
    fn meminfo_is_in_units_of_1024() {
        let text = "MemTotal:       24576 kB\nMemFree:  1 kB\nMemAvailable:    8192 kB\n";
        assert_eq!(HostMemory::parse(text), Some(HostMemory { available: 8192 << 10, total: 24576 << 10 }));
        assert_eq!(HostMemory::parse("MemTotal: 5 kB\n"), None);
    }
}
