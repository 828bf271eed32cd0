//! The least that exact counting can cost: the figures of irregular kernels if counting were two tables and nothing else.
//!
//! `cargo bench -p simt --bench floor`. For each kernel it prints thread-instructions per second without counters, with the floor, by hand,
//! and by hand with the floor's pass; then the geometric means, of all kernels and of those with one gather. The floor of a kernel is its
//! execution without counters, and after it a pass over the same accesses that does, for each sector of a request, what no exact model of
//! the caches can leave out:
//!
//! 1. Look up the sector in a table of L1, 8192 entries of 4 bytes, and write its entry.
//! 2. Where that misses, look up the line in a table of L2, 4 bytes for each line of 128 bytes, and write its entry.
//!
//! The pass has the sectors in a list, sums in registers, no branches, and all entries of L2 are fetched 64 look-ups ahead. It sorts nothing,
//! forgets what collides, and knows no banks, pages, writes or classes of lines: real counting needs more. Times of execution and of the pass are
//! added: a program that fetches what a warp needs while it counts the one before takes less, as ours does of `stride_32`.
//!
//! *By hand* is a loop of Rust for each kernel, which loads and stores what its threads do, with the lines that it will read fetched 64 threads
//! ahead, and knows nothing of warps, bounds, or instructions: what the host takes to move the data.
//!
//! For example, a warp of the gather reads 32 sectors and writes one line: 33 look-ups in L1's table, up to 33 in L2's.

use simt::exec::launch;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[path = "shared/setting.rs"]
mod setting;

use setting::{BLOCKS, Setting, THREADS};

/// Entries of the table of L1.
const L1_ENTRIES: usize = 1 << 13;

/// Look-ups by which entries of L2 are fetched ahead.
const AHEAD: usize = 64;

/// Samples of each time, of which the fastest counts.
const SAMPLES: usize = 25;

/// Bytes of an array: 33 for each element of four bytes, as `Setting` allocates.
const ARRAY_BYTES: u64 = THREADS as u64 * 4 * 33;

/// Passes on the addresses of a thread's accesses, from the first array on. A line that a warp takes as a whole comes from its first thread.
type Accesses = fn(thread: u32, touch: &mut dyn FnMut(u64));

/// Does what all threads do to the two arrays.
type ByHand = fn(x: &mut [u32], y: &mut [u32]);

/// Kernels by name: the one to launch, its step, its accesses, and the same by hand.
const KERNELS: [(&str, &str, u32, Accesses, ByHand); 5] = [
    (
        "stride_32",
        "stride",
        32,
        |thread, touch| {
            // Loaded, and stored.
            touch(u64::from(thread) * 128);
            touch(u64::from(thread) * 128);
        },
        |x, _| x.iter_mut().step_by(32).take(THREADS as usize).for_each(|x| *x += 1),
    ),
    (
        "gather, 128 MB",
        "gather",
        7,
        |thread, touch| gather(thread, 7, touch),
        |x, y| gather_by_hand::<7>(x, y),
    ),
    (
        "gather, 256 KB",
        "gather",
        16,
        |thread, touch| gather(thread, 16, touch),
        |x, y| gather_by_hand::<16>(x, y),
    ),
    (
        "random rows",
        "random_warp",
        1,
        |thread, touch| {
            if thread.is_multiple_of(32) {
                touch(u64::from(row(thread / 32)) * 128);
                touch(ARRAY_BYTES + u64::from(thread) * 4);
            }
        },
        |x, y| {
            let rows = &x.as_chunks::<32>().0[..1 << 20];
            for (warp, y) in (0..THREADS / 32).zip(y.as_chunks_mut::<32>().0) {
                let ahead = &rows[row(warp.wrapping_add(AHEAD as u32)) as usize];
                fetch(&raw const ahead[0]);
                fetch(&raw const ahead[16]);
                *y = rows[row(warp) as usize];
            }
        },
    ),
    (
        "histogram",
        "histogram",
        1,
        |thread, touch| touch(ARRAY_BYTES + u64::from(bin(thread)) * 4),
        |_, y| (0..THREADS).for_each(|thread| y[bin(thread) as usize] += 1),
    ),
];

/// The element that a thread of the gather reads.
fn place(thread: u32, shift: u32) -> u32 {
    let hash = thread.wrapping_mul(0x9E37_79B1);
    (hash ^ hash >> 15).wrapping_mul(0x85EB_CA77) >> shift
}

/// The row of 32 elements that a warp reads.
fn row(warp: u32) -> u32 {
    warp.wrapping_mul(0x9E37_79B1) >> 12
}

/// The bin of a thread of the histogram.
fn bin(thread: u32) -> u32 {
    let hash = thread.wrapping_mul(0x9E37_79B1);
    (hash ^ hash >> 15) & 255
}

fn gather(thread: u32, shift: u32, touch: &mut dyn FnMut(u64)) {
    touch(u64::from(place(thread, shift)) * 4);
    if thread.is_multiple_of(32) {
        touch(ARRAY_BYTES + u64::from(thread) * 4);
    }
}

fn gather_by_hand<const SHIFT: u32>(x: &[u32], y: &mut [u32]) {
    let x = &x[..1 << (32 - SHIFT)];
    for (thread, y) in (0..THREADS).zip(y) {
        fetch(&raw const x[place(thread.wrapping_add(AHEAD as u32), SHIFT) as usize]);
        *y = x[place(thread, SHIFT) as usize];
    }
}

/// The tables.
struct Caches {
    l1: Vec<u32>,
    /// By line, over both arrays.
    l2: Vec<u32>,
    /// Lines that missed L1.
    missed: Vec<u32>,
    hits: [u64; 2],
}

impl Caches {
    fn new() -> Self {
        let lines = (2 * ARRAY_BYTES / 128) as usize;
        let mut l2 = vec![0; lines + 1];
        in_huge_pages(&mut l2);
        Self { l1: vec![0; L1_ENTRIES], l2, missed: Vec::new(), hits: [0; 2] }
    }

    /// Counts the accesses of a block, given by sectors. An entry of L1 is a sector of a block, so that the next one begins empty.
    #[inline(never)]
    fn count(&mut self, block: u32, sectors: &[u32]) {
        self.missed.resize(sectors.len() + AHEAD, 0);
        let l1: &mut [u32; L1_ENTRIES] = self.l1.as_mut_slice().try_into().expect("the table's length");
        let mut count = 0;
        for &sector in sectors {
            // 18 bits of the block and, of a sector, what is not its place.
            let tag = (sector >> 13) ^ block << 14;
            let entry = &mut l1[sector as usize % L1_ENTRIES];
            // Written in any case: whether a sector hits cannot be predicted.
            self.missed[count] = sector / 4;
            count += usize::from(*entry != tag);
            *entry = tag;
        }
        self.hits[0] += (sectors.len() - count) as u64;
        self.missed[count..count + AHEAD].fill(0);
        let now = block + 1;
        let mut hits = 0;
        for at in 0..count {
            fetch(&raw const self.l2[self.missed[at + AHEAD] as usize]);
            let entry = &mut self.l2[self.missed[at] as usize];
            hits += u64::from(*entry + 64 > now);
            *entry = now;
        }
        self.hits[1] += hits;
    }
}

/// Asks for huge pages for a table that has not been written yet, whose random accesses would miss the host's TLB otherwise.
fn in_huge_pages(table: &mut [u32]) {
    const PAGE: usize = 4096;
    let skipped = table.as_ptr().cast::<u8>().align_offset(PAGE);
    let bytes = size_of_val(table).saturating_sub(skipped) / PAGE * PAGE;
    #[cfg(target_os = "linux")]
    // SAFETY: these are whole pages of the table; the advice changes no content, and a failure does not matter.
    unsafe {
        libc::madvise(table.as_mut_ptr().byte_add(skipped).cast(), bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// Fetches the line of a value into the host's caches.
#[inline(always)]
fn fetch(value: *const u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fetch has no effect but on caches, whatever the address; SSE is always there.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(value.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Returns the sectors of all blocks, in each block's requests together.
fn sectors(accesses: Accesses) -> Vec<Vec<u32>> {
    let of_block = |block: u32| {
        let mut sectors = Vec::new();
        let threads = THREADS / BLOCKS;
        for thread in block * threads..(block + 1) * threads {
            accesses(thread, &mut |address| sectors.push((address / 32) as u32));
        }
        sectors
    };
    (0..BLOCKS).map(of_block).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// An array as long as those of the kernels.
fn array() -> Vec<u32> {
    let mut array = vec![0; (ARRAY_BYTES / 4) as usize];
    in_huge_pages(&mut array);
    array.fill(1);
    array
}

fn main() {
    println!(
        "{:>16} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "G/s", "execution", "floor", "by hand", "and pass", "pass ms"
    );
    let setting = Setting::new(false);
    let (mut x, mut y) = (array(), array());
    let mut all: Vec<(&str, [f64; 4])> = Vec::new();
    for (name, kernel, step, accesses, by_hand) in KERNELS {
        let blocks = sectors(accesses);
        let mut caches = Caches::new();
        let (mut execution, mut pass, mut hand, mut instructions) =
            (Duration::MAX, Duration::MAX, Duration::MAX, 0);
        for _ in 0..SAMPLES {
            let execute = || {
                setting.run(kernel, step, (BLOCKS, 1), |asked| {
                    launch(&setting.program, &setting.memory, asked, &mut ()).expect("it runs")
                })
            };
            let (time, executed) = timed(execute);
            (execution, instructions) = (execution.min(time), executed);
            let (time, ()) = timed(|| {
                for (block, sectors) in (0..).zip(&blocks) {
                    caches.count(block, sectors);
                }
            });
            pass = pass.min(time);
            hand = hand.min(timed(|| by_hand(black_box(&mut x), black_box(&mut y))).0);
        }
        black_box((caches.hits, &x, &y));
        let rate = |time: Duration| instructions as f64 / time.as_secs_f64() / 1e9;
        let rates = [execution, execution + pass, hand, hand + pass].map(rate);
        all.push((name, rates));
        let [executed, floor, hand, least] = rates;
        let pass = pass.as_secs_f64() * 1e3;
        println!("{name:>16} {executed:>10.2} {floor:>10.2} {hand:>10.2} {least:>10.2} {pass:>10.2}");
    }
    for (title, left_out) in
        [("all", ""), ("128 MB alone", "gather, 256 KB"), ("256 KB alone", "gather, 128 MB")]
    {
        let some = all.iter().filter(|(name, _)| *name != left_out);
        let count = some.clone().count() as f64;
        let mean = |nth: usize| (some.clone().map(|(_, rates)| rates[nth].ln()).sum::<f64>() / count).exp();
        let [executed, floor, hand, least] = std::array::from_fn(mean);
        println!("{title:>16} {executed:>10.2} {floor:>10.2} {hand:>10.2} {least:>10.2}");
    }
}
