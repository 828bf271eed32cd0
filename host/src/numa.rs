//! The NUMA nodes of the machine: its memory in parts, each near some of its processors.
//!
//! Linux gives a page to the node of the processor that touches it first. Memory of a node is therefore memory that a thread
//! on one of the node's processors allocates; pinned memory is touched as it is allocated.

use anyhow::{Context, Result, bail};
use std::{fs, path::Path};

/// The folder in which Linux describes the nodes.
const ROOT: &str = "/sys/devices/system/node";

/// A node that has memory and processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its number.
    pub number: u32,
    /// The numbers of its processors.
    processors: Vec<usize>,
}

#[cfg(test)]
impl Node {
    /// A node of this number with one processor.
    pub(crate) fn numbered(number: u32) -> Node {
        Node { number, processors: vec![0] }
    }
}

/// The nodes on whose processors this program may run; none where the machine does not tell.
pub(crate) fn nodes() -> Vec<Node> {
    let allowed = affinity::get().unwrap_or_default();
    let mut nodes = described(Path::new(ROOT));
    for node in &mut nodes {
        node.processors.retain(|processor| allowed.contains(processor));
    }
    nodes.retain(|node| !node.processors.is_empty());
    nodes
}

/// The nodes with memory and processors that a folder describes, by their numbers. Memory without processors, as of a card that
/// shares its own with the host, is left out.
fn described(root: &Path) -> Vec<Node> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let processors = list(&read(&entry.path().join("cpulist"))?)?;
        let has_memory = memory_kib(&read(&entry.path().join("meminfo"))?)? > 0;
        (has_memory && !processors.is_empty()).then_some(Node { number, processors })
    };
    let entries = fs::read_dir(root).into_iter().flatten();
    let mut nodes: Vec<Node> = entries.filter_map(|entry| node(entry.ok()?)).collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// The numbers in `0-3,8,10-11`; `None` if it is no such list.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The line `Node 0 MemTotal:  131863096 kB`.
fn memory_kib(text: &str) -> Option<u64> {
    let (_, rest) = text.lines().find_map(|line| line.split_once("MemTotal:"))?;
    rest.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Calls a function on the processors of the node with this number: the pages that it touches first are of that node.
///
/// # Errors
/// There is no such node, or the system does not let the thread run there.
pub(crate) fn run_on<T>(number: u32, function: impl FnOnce() -> T) -> Result<T> {
    let Some(node) = nodes().into_iter().find(|node| node.number == number) else {
        bail!("this machine has no NUMA node {number} with processors that this program may use");
    };
    let before =
        affinity::get().context("the system does not tell on which processors this thread may run")?;
    affinity::set(&node.processors)
        .with_context(|| format!("this thread cannot run on the processors of NUMA node {number}"))?;
    let value = function();
    affinity::set(&before).context("this thread cannot return to its processors")?;
    Ok(value)
}

/// The processors on which the calling thread may run.
#[cfg(target_os = "linux")]
mod affinity {
    use std::io::{Error, Result};

    /// Their numbers.
    pub(super) fn get() -> Result<Vec<usize>> {
        // SAFETY: a set without processors is all zeros.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set can be written and is as long as is said; 0 is the calling thread.
        if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
            return Err(Error::last_os_error());
        }
        let most = 8 * size_of::<libc::cpu_set_t>();
        // SAFETY: the numbers are below the set's size.
        Ok((0..most).filter(|processor| unsafe { libc::CPU_ISSET(*processor, &set) }).collect())
    }

    /// Moves the thread to some of these.
    pub(super) fn set(processors: &[usize]) -> Result<()> {
        // SAFETY: as above.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let most = 8 * size_of::<libc::cpu_set_t>();
        for processor in processors.iter().filter(|processor| **processor < most) {
            // SAFETY: the number is below the set's size.
            unsafe { libc::CPU_SET(*processor, &mut set) };
        }
        // SAFETY: the set can be read and is as long as is said; 0 is the calling thread.
        match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
mod affinity {
    use std::io::{Error, ErrorKind, Result};

    pub(super) fn get() -> Result<Vec<usize>> {
        Err(Error::from(ErrorKind::Unsupported))
    }

    pub(super) fn set(_: &[usize]) -> Result<()> {
        Err(Error::from(ErrorKind::Unsupported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as Linux has it, with these nodes: their processors and their memory in KiB.
    fn tree(nodes: &[(&str, &str, u64)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (name, processors, kib) in nodes {
            let folder = root.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            let meminfo = format!("Node 0 MemTotal:  {kib} kB\nNode 0 MemFree:   1 kB\n");
            fs::write(folder.join("cpulist"), format!("{processors}\n")).expect("a file");
            fs::write(folder.join("meminfo"), meminfo).expect("a file");
        }
        fs::write(root.path().join("online"), "0-1\n").expect("a file");
        root
    }

    #[test]
    fn nodes_are_those_with_memory_and_processors() {
        let root = tree(&[
            ("node1", "4-6,8", 1024),
            ("node0", "0-3", 2048),
            // A card's memory, and a node whose memory is taken out.
            ("node2", "", 4096),
            ("node3", "9", 0),
            ("power", "10", 1),
        ]);
        let node = |number, processors: &[usize]| Node { number, processors: processors.to_vec() };
        assert_eq!(described(root.path()), [node(0, &[0, 1, 2, 3]), node(1, &[4, 5, 6, 8])]);
        assert_eq!(described(&root.path().join("nothing")), []);
    }

    #[test]
    fn lists_have_numbers_and_ranges() {
        assert_eq!(list("0-2,7,9-9\n"), Some(vec![0, 1, 2, 7, 9]));
        assert_eq!(list("\n"), Some(vec![]));
        assert_eq!(list("0-x"), None);
        assert_eq!(memory_kib("Node 1 MemTotal:       98924 kB\n"), Some(98_924));
        assert_eq!(memory_kib("Node 1 MemFree: 1 kB"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_function_runs_on_the_nodes_processors_and_the_thread_returns() {
        let before = affinity::get().expect("the thread's processors");
        let error = run_on(u32::MAX, || ()).expect_err("there is no such node").to_string();
        assert!(error.contains("no NUMA node 4294967295"), "{error}");
        // Where the machine describes its nodes.
        for node in nodes() {
            let there = run_on(node.number, affinity::get).expect("it runs there").expect("the processors");
            assert_eq!(there, node.processors);
            assert_eq!(affinity::get().ok().as_ref(), Some(&before));
        }
    }
}
