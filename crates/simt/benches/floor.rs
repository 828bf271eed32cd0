//! The least that exact counting can cost: the figures of irregular kernels if counting were two tables and nothing else.
//!
//! `cargo bench -p simt --bench floor`. For each kernel it prints thread-instructions per second without counters, with the floor, with
//! counters, by hand, and by hand with the floor's pass; then the geometric means, of all kernels and of those with one gather. The floor
//! of a kernel is its execution without counters, and after it a pass over the same accesses that does, for each sector of a request, what
//! no exact model of the caches can leave out:
//!
//! 1. Look up the sector in a table of L1, 8192 entries of 4 bytes, and write its entry.
//! 2. Where that misses, look up the line in a table of L2, 4 bytes for each line of 128 bytes, and write its entry.
//!
//! The pass has the sectors in a list, sums in registers, no branches, and all entries of L2 are fetched 64 look-ups ahead. It sorts nothing,
//! forgets what collides, and knows no banks, pages, writes or classes of lines: real counting needs more. Times of execution and of the pass are
//! added: a program that fetches what a warp needs while it counts the one before takes less, as ours does of `stride_32`.
//!
//! *Counters* adds a second pass, over the requests whose lanes are scattered, for what no exact counter of a request can leave out:
//!
//! 3. Sort the words of the lanes, eight requests at once, and count the distinct sectors and lines, or the rounds of an atomic.
//! 4. Of an atomic, add each lane to the table of words, and each sector to that of sectors: which address is hit most often.
//!
//! This pass, too, has the words in the order in which it needs them. It takes AVX2; without it the column repeats the floor.
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

/// Accesses whose lanes go to scattered words, with the word of each thread.
#[derive(Clone, Copy)]
enum Scattered {
    Nothing,
    Loads(fn(thread: u32) -> u32),
    Atomics(fn(thread: u32) -> u32),
}

/// Kernels by name: the one to launch, its step, its accesses, what of them is scattered, and the same by hand.
const KERNELS: [(&str, &str, u32, Accesses, Scattered, ByHand); 5] = [
    (
        "stride_32",
        "stride",
        32,
        |thread, touch| {
            // Loaded, and stored.
            touch(u64::from(thread) * 128);
            touch(u64::from(thread) * 128);
        },
        Scattered::Nothing,
        |x, _| x.iter_mut().step_by(32).take(THREADS as usize).for_each(|x| *x += 1),
    ),
    (
        "gather, 128 MB",
        "gather",
        7,
        |thread, touch| gather(thread, 7, touch),
        Scattered::Loads(|thread| place(thread, 7)),
        |x, y| gather_by_hand::<7>(x, y),
    ),
    (
        "gather, 256 KB",
        "gather",
        16,
        |thread, touch| gather(thread, 16, touch),
        Scattered::Loads(|thread| place(thread, 16)),
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
        Scattered::Nothing,
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
        Scattered::Atomics(bin),
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

/// Words of eight requests: for each lane, those of all eight.
type Eight = [[u32; 8]; 32];

/// Counters of scattered requests.
#[derive(Default)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only AVX2 counts"))]
struct Requests {
    /// Sums of distinct sectors, distinct lines, and rounds: the most lanes that meet at a word.
    sums: [u64; 3],
    /// Lanes of atomics by word, and requests by sector.
    words: Vec<u32>,
    sectors: Vec<u32>,
}

impl Requests {
    /// Counts requests, if this computer has AVX2.
    fn count(&mut self, requests: &[Eight], are_atomics: bool) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: this computer has AVX2.
            unsafe {
                if are_atomics {
                    self.count_atomics(requests);
                } else {
                    self.count_loads(requests);
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (requests, are_atomics);
    }
}

#[cfg(target_arch = "x86_64")]
mod eight {
    use super::{Eight, Requests};
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_cmpeq_epi32, _mm256_loadu_si256,
        _mm256_max_epu32, _mm256_min_epu32, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_srli_epi32,
        _mm256_storeu_si256, _mm256_xor_si256,
    };

    /// The words of eight requests by lane.
    type Lanes = [__m256i; 32];

    #[target_feature(enable = "avx2")]
    #[inline]
    fn exchange(lanes: &mut Lanes, low: usize, high: usize) {
        let (one, other) = (lanes[low], lanes[high]);
        lanes[low] = _mm256_min_epu32(one, other);
        lanes[high] = _mm256_max_epu32(one, other);
    }

    /// Makes a function that merges two sorted lists, of the even and the odd places, and one that sorts (K. E. Batcher, "Sorting
    /// networks and their applications", 1968). Halves are finished one after the other, since 16 vectors fit the registers.
    macro_rules! network {
        ($lanes:literal, $sort:ident and $merge:ident of $sort_half:ident and $merge_half:ident) => {
            #[target_feature(enable = "avx2")]
            #[inline]
            fn $merge(lanes: &mut Lanes, from: usize, step: usize) {
                $merge_half(lanes, from, 2 * step);
                $merge_half(lanes, from + step, 2 * step);
                let mut low = from + step;
                while low < from + ($lanes - 1) * step {
                    exchange(lanes, low, low + step);
                    low += 2 * step;
                }
            }

            #[target_feature(enable = "avx2")]
            #[inline]
            fn $sort(lanes: &mut Lanes, from: usize) {
                $sort_half(lanes, from);
                $sort_half(lanes, from + $lanes / 2);
                $merge(lanes, from, 1);
            }
        };
    }

    network!(4, sort_4 and merge_4 of sort_2 and merge_2);
    network!(8, sort_8 and merge_8 of sort_4 and merge_4);
    network!(16, sort_16 and merge_16 of sort_8 and merge_8);
    network!(32, sort_32 and merge_32 of sort_16 and merge_16);

    #[target_feature(enable = "avx2")]
    #[inline]
    fn merge_2(lanes: &mut Lanes, from: usize, step: usize) {
        exchange(lanes, from, from + step);
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn sort_2(lanes: &mut Lanes, from: usize) {
        exchange(lanes, from, from + 1);
    }

    /// Returns the words of eight requests in ascending order.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn sorted(eight: &Eight) -> Lanes {
        let mut lanes = [_mm256_setzero_si256(); 32];
        for (lane, words) in lanes.iter_mut().zip(eight) {
            // SAFETY: eight words are a vector.
            *lane = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
        }
        sort_32(&mut lanes, 0);
        lanes
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn words(vector: __m256i) -> [u32; 8] {
        let mut words = [0; 8];
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
        words
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn sum(vector: __m256i) -> u64 {
        words(vector).into_iter().map(u64::from).sum()
    }

    /// Returns all ones where two words are in the same piece of `1 << SHIFT` words.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn same<const SHIFT: i32>(one: __m256i, other: __m256i) -> __m256i {
        let differs = _mm256_srli_epi32::<SHIFT>(_mm256_xor_si256(one, other));
        _mm256_cmpeq_epi32(differs, _mm256_setzero_si256())
    }

    impl Requests {
        #[target_feature(enable = "avx2")]
        pub(super) fn count_loads(&mut self, requests: &[Eight]) {
            for eight in requests {
                let lanes = sorted(eight);
                let (mut sectors, mut lines) = (_mm256_set1_epi32(32), _mm256_set1_epi32(32));
                for pair in lanes.windows(2) {
                    sectors = _mm256_add_epi32(sectors, same::<3>(pair[0], pair[1]));
                    lines = _mm256_add_epi32(lines, same::<5>(pair[0], pair[1]));
                }
                self.sums[0] += sum(sectors);
                self.sums[1] += sum(lines);
            }
        }

        #[target_feature(enable = "avx2")]
        pub(super) fn count_atomics(&mut self, requests: &[Eight]) {
            let words_hit: &mut [u32; 256] = self.words.as_mut_slice().try_into().expect("its length");
            let sectors_hit: &mut [u32; 32] = self.sectors.as_mut_slice().try_into().expect("its length");
            for eight in requests {
                let lanes = sorted(eight);
                let one = _mm256_set1_epi32(1);
                let (mut run, mut rounds, mut sectors) = (one, one, _mm256_set1_epi32(32));
                let mut again = [[0; 8]; 32];
                for lane in 1..32 {
                    let same_sector = same::<3>(lanes[lane], lanes[lane - 1]);
                    sectors = _mm256_add_epi32(sectors, same_sector);
                    again[lane] = words(same_sector);
                    run = _mm256_and_si256(run, same::<0>(lanes[lane], lanes[lane - 1]));
                    run = _mm256_add_epi32(run, one);
                    rounds = _mm256_max_epu32(rounds, run);
                }
                self.sums[0] += sum(sectors);
                self.sums[2] += sum(rounds);
                for (lane, again) in lanes.into_iter().zip(again) {
                    for (word, again) in words(lane).into_iter().zip(again) {
                        let word = word as usize % 256;
                        words_hit[word] += 1;
                        sectors_hit[word / 8] += 1_u32.wrapping_add(again);
                    }
                }
            }
        }
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

/// Returns the words of all warps, eight together.
fn words(of_thread: fn(u32) -> u32) -> Vec<Eight> {
    let eight = |first: u32| {
        std::array::from_fn(|lane| {
            std::array::from_fn(|request| of_thread((first * 8 + request as u32) * 32 + lane as u32))
        })
    };
    (0..THREADS / 256).map(eight).collect()
}

/// Returns the distinct sectors of requests, each counted by itself.
fn distinct_sectors(requests: &[Eight]) -> u64 {
    let of_request = |eight: &Eight, request: usize| {
        let mut sectors = eight.map(|words| words[request] / 8);
        sectors.sort_unstable();
        sectors.chunk_by(|one, other| one == other).count() as u64
    };
    requests.iter().map(|eight| (0..8).map(|request| of_request(eight, request)).sum::<u64>()).sum()
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
        "{:>16} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>11}",
        "G/s", "execution", "floor", "counters", "by hand", "and pass", "pass ms", "counters ms"
    );
    let setting = Setting::new(false);
    let (mut x, mut y) = (array(), array());
    let mut all: Vec<(&str, [f64; 5])> = Vec::new();
    for (name, kernel, step, accesses, scattered, by_hand) in KERNELS {
        let blocks = sectors(accesses);
        let (requests, are_atomics) = match scattered {
            Scattered::Nothing => (Vec::new(), false),
            Scattered::Loads(word) => (words(word), false),
            Scattered::Atomics(word) => (words(word), true),
        };
        let mut caches = Caches::new();
        let mut counted = Requests { words: vec![0; 256], sectors: vec![0; 32], ..Requests::default() };
        let (mut execution, mut hand) = (Duration::MAX, Duration::MAX);
        let (mut pass, mut counting, mut instructions) = (Duration::MAX, Duration::MAX, 0);
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
            counting = counting.min(timed(|| counted.count(black_box(&requests), are_atomics)).0);
            hand = hand.min(timed(|| by_hand(black_box(&mut x), black_box(&mut y))).0);
        }
        black_box((caches.hits, &x, &y, &counted));
        let [sectors, ..] = counted.sums;
        assert!(sectors == 0 || sectors == SAMPLES as u64 * distinct_sectors(&requests), "{name}");
        let rate = |time: Duration| instructions as f64 / time.as_secs_f64() / 1e9;
        let rates = [execution, execution + pass, execution + pass + counting, hand, hand + pass].map(rate);
        all.push((name, rates));
        let [pass, counting] = [pass, counting].map(|time| time.as_secs_f64() * 1e3);
        println!("{name:>16}{} {pass:>10.2} {counting:>11.2}", row_of(rates));
    }
    for (title, left_out) in
        [("all", ""), ("128 MB alone", "gather, 256 KB"), ("256 KB alone", "gather, 128 MB")]
    {
        let some = all.iter().filter(|(name, _)| *name != left_out);
        let count = some.clone().count() as f64;
        let mean = |nth: usize| (some.clone().map(|(_, rates)| rates[nth].ln()).sum::<f64>() / count).exp();
        println!("{title:>16}{}", row_of(std::array::from_fn(mean)));
    }
}

fn row_of(rates: [f64; 5]) -> String {
    rates.iter().map(|rate| format!(" {rate:>10.2}")).collect()
}
