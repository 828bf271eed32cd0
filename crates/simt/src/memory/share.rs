//! Divides long transfers among threads: most of their time is the host's, which clears each page of the device's memory when it
//! is touched first.

use std::num::NonZero;
use std::ops::Range;
use std::sync::LazyLock;
use std::thread::{available_parallelism, scope};

/// Fewest bytes for which another thread is worth its start, which takes as long as copying a tenth of them.
const SHARE: u64 = 2 << 20;

/// Cores that this process may use. Asking the system reads files, which takes longer than most copies.
static CORES: LazyLock<u64> = LazyLock::new(|| available_parallelism().map_or(1, NonZero::get) as u64);

/// Transfers all of `0..bytes` in ranges that begin at multiples of `unit`, on several threads if they are many.
pub(super) fn share(bytes: u64, unit: u64, transfer: impl Fn(Range<u64>) + Sync) {
    if bytes < 2 * SHARE {
        return transfer(0..bytes);
    }
    let threads = (*CORES).min(bytes / SHARE);
    let size = bytes.div_ceil(threads).next_multiple_of(unit);
    scope(|scope| {
        let mut start = 0;
        while bytes - start > size {
            let range = start..start + size;
            scope.spawn(|| transfer(range));
            start += size;
        }
        transfer(start..bytes);
    });
}
