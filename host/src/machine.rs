//! The memory that this machine has left: a simulated card's memory is the machine's own, as far as it is touched.

use std::fs;

/// Bytes that can be taken without driving anybody to the disk: what the kernel says is available, and no more than what
/// the control group of this process has left. `None` where neither tells, as outside Linux.
pub(crate) fn available_bytes() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| of_meminfo(&text));
    let group = group(read("/sys/fs/cgroup/memory.max"), read("/sys/fs/cgroup/memory.current"));
    [machine, group].into_iter().flatten().min()
}

/// The line `MemAvailable:   23456789 kB`.
fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The memory that a control group's limit leaves; `None` without a limit, which is written `max`.
fn group(limit: Option<String>, used: Option<String>) -> Option<u64> {
    let limit: u64 = limit?.trim().parse().ok()?;
    let used: u64 = used?.trim().parse().ok()?;
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read_in_bytes() {
        let text = "MemTotal:       24689012 kB\nMemFree:  100 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(of_meminfo(text), Some(2 << 20));
        assert_eq!(of_meminfo("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn a_control_group_leaves_its_limit_less_what_it_uses() {
        let text = |text: &str| Some(text.to_string());
        assert_eq!(group(text("1000\n"), text("300\n")), Some(700));
        assert_eq!(group(text("100\n"), text("300\n")), Some(0));
        assert_eq!(group(text("max\n"), text("300\n")), None);
        assert_eq!(group(None, None), None);
    }
}
