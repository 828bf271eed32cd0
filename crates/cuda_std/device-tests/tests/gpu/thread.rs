//! Indices, barriers and fences.

use crate::device::{Random, assert_same, devices, filled, read, results};

/// All points of a box, x fastest.
fn points([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}

#[test]
#[ignore = "needs a GPU"]
fn each_thread_knows_where_it_is() {
    for kernels in devices() {
        for (grid, block) in [
            ([1, 1, 1], [1, 1, 1]),
            ([5, 1, 1], [33, 1, 1]),
            ([3, 2, 1], [8, 5, 1]),
            ([3, 2, 4], [5, 4, 3]),
            ([1, 1, 2], [1, 1024, 1]),
            ([2, 1, 1], [4, 4, 64]),
        ] {
            let mut expected: Vec<[u32; 32]> = Vec::new();
            for (block_number, block_idx) in points(grid).enumerate() {
                for (thread_number, thread_idx) in points(block).enumerate() {
                    let along = |axis: usize| block_idx[axis] * block[axis] + thread_idx[axis];
                    let threads = block.iter().product::<u32>();
                    let index = block_number as u32 * threads + thread_number as u32;
                    let mut fields =
                        [block_idx, thread_idx, block, grid, block_idx, thread_idx, block, grid].concat();
                    fields.extend([index, along(0), along(0), along(1), along(0), along(1), along(2)]);
                    fields.push(u32::from(index == 0));
                    expected.push(fields.try_into().expect("32 fields"));
                }
            }
            let (counter, records) = (filled(&[0_u32]), results([77; 32], expected.len()));
            let shape = ((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]), 0);
            run!(kernels, "indices", shape, [counter.as_device_ptr(), records.as_device_ptr()]);
            let mut found = read(&records);
            found.sort_unstable();
            expected.sort_unstable();
            assert_same(&found, &expected, &format!("{grid:?} blocks of {block:?}"));
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn barriers_count_and_join_predicates() {
    let mut random = Random(11);
    for kernels in devices() {
        for threads in [1_usize, 31, 32, 33, 256, 1000, 1024] {
            let mut only_last = vec![0; threads];
            only_last[threads - 1] = 1 << 31;
            let mut all_but_first = vec![5; threads];
            all_but_first[0] = 0;
            let some = (0..threads).map(|_| random.half() % 3).collect();
            for predicates in [vec![0; threads], vec![u32::MAX; threads], only_last, all_but_first, some] {
                let (buffer, found) = (filled(&predicates), results(77, 3 * threads));
                let shape = (1, threads as u32, 0);
                run!(kernels, "barrier_reductions", shape, [buffer.as_device_ptr(), found.as_device_ptr()]);
                let count = predicates.iter().filter(|&&predicate| predicate != 0).count();
                let answer = [count as u32, u32::from(count == threads), u32::from(count > 0)];
                assert_same(&read(&found), &answer.repeat(threads), &format!("{count} of {threads}"));
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_barrier_stands_between_write_and_read() {
    for kernels in devices() {
        for threads in [1_usize, 7, 64, 1000, 1024] {
            let values = Random(12).halves(16 * threads);
            let (buffer, found) = (filled(&values), results(77, values.len()));
            let shape = (16, threads as u32, 0);
            run!(kernels, "running_sums", shape, [buffer.as_device_ptr(), found.as_device_ptr()]);
            let sum = |sum: &mut u32, value: &u32| {
                *sum = sum.wrapping_add(*value);
                Some(*sum)
            };
            let expected: Vec<u32> =
                values.chunks(threads).flat_map(|block| block.iter().scan(0, sum)).collect();
            assert_same(&read(&found), &expected, &format!("blocks of {threads}"));
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_fence_shows_what_was_written_before() {
    for kernels in devices() {
        for kind in 0..12_u32 {
            // These are for the threads of one block.
            let blocks = if [0, 3, 4, 9].contains(&kind) { 1 } else { 64_u32 };
            for turn in 0..4 {
                let values = Random(13 + turn).halves(256 * blocks as usize);
                let (buffer, written) = (filled(&values), results(77, values.len()));
                let (counter, sum) = (filled(&[0_u32]), results(77, 1));
                run!(
                    kernels,
                    "last_thread_sums",
                    (blocks, 256, 0),
                    [
                        kind,
                        buffer.as_device_ptr(),
                        written.as_device_ptr(),
                        counter.as_device_ptr(),
                        sum.as_device_ptr(),
                    ]
                );
                let expected = values.iter().fold(0, |sum: u32, value| sum.wrapping_add(*value));
                assert_eq!(read(&sum), [expected], "fence {kind}");
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn what_is_announced_is_there() {
    for kernels in devices() {
        let pairs = 32;
        let (numbers, announced) = (filled(&vec![0_u32; pairs]), filled(&vec![0_u32; pairs]));
        let observed = results([0_u32; 2], 1000 * pairs);
        run!(
            kernels,
            "message_passing",
            (2 * pairs as u32, 1, 0),
            [numbers.as_device_ptr(), announced.as_device_ptr(), observed.as_device_ptr(),]
        );
        assert_eq!((read(&numbers), read(&announced)), (vec![1000; pairs], vec![1000; pairs]));
        let observed = read(&observed);
        for pair in observed.chunks(1000) {
            assert!(pair.iter().all(|[at_least, there]| there >= at_least && *there <= 1000), "{pair:?}");
            assert!(pair.is_sorted(), "a number was taken back: {pair:?}");
        }
        let between = observed.iter().filter(|[at_least, _]| (1..1000).contains(at_least)).count();
        println!("compute_{}: {between} of {} looks were meanwhile", kernels.architecture, observed.len());
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_thread_wakes_up() {
    for kernels in devices() {
        let woken = results(77, 64);
        run!(kernels, "nanosleep", (2, 32, 0), [woken.as_device_ptr()]);
        assert_eq!(read(&woken), [1; 64]);
    }
}
