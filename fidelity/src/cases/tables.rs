//! Tables that many threads fill at once.

use super::Set;
use crate::{
    case::{Case, any_slots},
    data::{Rows, mix, permutation, skewed, words},
};

/// The different words of a list.
fn different(words: &[u32]) -> Vec<u32> {
    let mut different = words.to_vec();
    different.sort_unstable();
    different.dedup();
    different
}

/// Keys, each once: the first `n` of twice or more that.
fn unique(n: usize) -> Vec<u32> {
    let all = permutation((2 * n).next_power_of_two());
    all[..n].iter().map(|key| key.wrapping_mul(0x9E6D_62D1).wrapping_add(77_777)).collect()
}

/// A key's three slots in a table of choices.
fn choices(key: u32, slots: usize) -> [usize; 3] {
    let mut hash = key;
    [(); 3].map(|()| {
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x9E37_79B1);
        (hash >> 8) as usize % slots
    })
}

pub(super) fn add(set: &mut Set) {
    for (n, limit, slots) in [(250_000_usize, 200_000_u32, 1_usize << 19), (3_000_000, 4_000_000, 1 << 22)] {
        set.add("insert_keys", format!("n={n} keys={limit} slots={slots}"), move || {
            let keys = words(n, limit, 1);
            let same = any_slots(u32::MAX, different(&keys));
            Case::over(n, 256).word(n).word(slots - 1).input(&keys).holding(&vec![u32::MAX; slots], same)
        });
    }
    for (n, slots) in [(100_000_usize, 1_usize << 17), (1_700_000, 1 << 21)] {
        set.add("insert_pairs", format!("n={n} slots={slots}"), move || {
            let (keys, values) = (unique(n), words(n, 1_000_000, 2));
            let pair = |(&key, &value): (&u32, &u32)| u64::from(value) << 32 | u64::from(key);
            let same = any_slots(u64::MAX, keys.iter().zip(&values).map(pair).collect());
            Case::over(n, 128)
                .word(n)
                .word(slots - 1)
                .input(&keys)
                .input(&values)
                .holding(&vec![u64::MAX; slots], same)
        });
    }
    for (n, slots, room) in [(90_000_usize, 1_usize << 17, 20_000_usize), (1_200_000, 1 << 21, 200_000)] {
        set.add("insert_choices", format!("n={n} slots={slots} room={room}"), move || {
            let (keys, words) = (unique(n), slots + room);
            let same = any_slots(u32::MAX, keys.clone());
            let placed = move |found: &[u32]| {
                let wrong =
                    |&(slot, &key): &(usize, &u32)| key != u32::MAX && !choices(key, slots).contains(&slot);
                match found[..slots].iter().enumerate().find(wrong) {
                    Some((slot, key)) => Err(format!("slot {slot} is none of key {key}")),
                    None => same(found),
                }
            };
            let few = move |found: &[u32]| match found[0] as usize <= room {
                true => Ok(()),
                false => Err(format!("{} keys were rejected", found[0])),
            };
            Case::over(n, 256)
                .word(n)
                .word(slots - 1)
                .word(room)
                .input(&keys)
                .holding(&vec![u32::MAX; words], placed)
                .holding(&[0_u32], few)
        });
    }
    for (n, limit, power, buckets) in [(20_000_usize, 3000_u32, 3, 128_usize), (120_000, 250_000, 1, 6000)] {
        set.add("warp_upsert", format!("n={n} keys={limit} power={power} buckets={buckets}"), move || {
            let (keys, values) = (skewed(n, limit, power, 1), words(n, 1000, 2));
            let mut sums = vec![0_u32; limit as usize];
            // No sum is 0.
            let values: Vec<u32> = values.iter().map(|value| value + 1).collect();
            keys.iter().zip(&values).for_each(|(&key, value)| sums[key as usize] += value);
            let held = sums.into_iter().filter(|&sum| sum > 0).collect();
            Case::over(32 * n, 256)
                .word(n)
                .word(buckets)
                .input(&keys)
                .input(&values)
                .holding(&vec![u32::MAX; 32 * buckets], any_slots(u32::MAX, different(&keys)))
                .holding(&vec![0; 32 * buckets], any_slots(0, held))
        });
    }
    for (n, buckets) in [(300_000_usize, 1_usize << 16), (4_000_000, 1 << 21)] {
        set.add("build_chains", format!("n={n} buckets={buckets}"), move || {
            let keys = words(n, n as u32, 1);
            let shift = 32 - buckets.ilog2();
            let hashed: Vec<u32> = keys.iter().map(|key| key.wrapping_mul(0x9E37_79B1) >> shift).collect();
            let same = move |links: &[u32]| {
                let mut seen = vec![false; n];
                for bucket in 0..buckets {
                    let mut at = links[bucket];
                    while at != u32::MAX {
                        let row = at as usize;
                        if row >= n || seen[row] || hashed[row] as usize != bucket {
                            return Err(format!("row {row} is wrong in bucket {bucket}"));
                        }
                        seen[row] = true;
                        at = links[buckets + row];
                    }
                }
                if seen.contains(&false) { Err("a row is in no chain".to_owned()) } else { Ok(()) }
            };
            let links = vec![u32::MAX; buckets + n];
            Case::over(n, 256).word(n).word(shift as usize).input(&keys).holding(&links, same)
        });
    }
    for (n, sets, power) in [(600_000_usize, 1_u32 << 10, 2), (4_000_000, 1 << 17, 1)] {
        set.add("touch_lines", format!("n={n} sets={sets} power={power}"), move || {
            // Of 24 lines of a set, eight are in the cache.
            let tag = |at: usize| at as u32 / 8 + sets * (3 * (at as u32 % 8) + mix(at, 1) % 3);
            let tags: Vec<u32> = (0..8 * sets as usize).map(tag).collect();
            let lines: Vec<u32> = skewed(n, sets, power, 2)
                .into_iter()
                .enumerate()
                .map(|(i, set)| set + sets * (mix(i, 3) % 24))
                .collect();
            let (mut times, mut misses) = (vec![0_u32; tags.len()], 0);
            for (i, &line) in lines.iter().enumerate() {
                let first = 8 * (line % sets) as usize;
                match tags[first..first + 8].iter().position(|&tag| tag == line) {
                    Some(way) => times[first + way] = i as u32 + 1,
                    None => misses += 1,
                }
            }
            Case::over(n, 256)
                .word(n)
                .word(sets as usize)
                .input(&lines)
                .input(&tags)
                .inout(&vec![0; times.len()], times, 0.0)
                .inout(&[0_u32], vec![misses], 0.0)
        });
    }
    for (n, limit) in [(800_000_usize, 1_u32 << 20), (6_000_000, 1 << 30)] {
        set.add("count_different", format!("n={n} limit={limit}"), move || {
            let numbers = words(n, limit, 1);
            let mut bitmap = vec![0_u32; limit as usize / 32];
            numbers.iter().for_each(|number| bitmap[*number as usize / 32] |= 1 << (number % 32));
            let count = bitmap.iter().map(|word| word.count_ones()).sum();
            Case::over(n, 512).word(n).input(&numbers).inout(&vec![0; bitmap.len()], bitmap, 0.0).inout(
                &[0_u32],
                vec![count],
                0.0,
            )
        });
    }
    for (n, groups, power) in [(1_000_000_usize, 300_u32, 3), (5_000_000, 3_000_000, 1)] {
        set.add("sample_groups", format!("n={n} groups={groups} power={power}"), move || {
            let keys = skewed(n, groups, power, 1);
            let mut samples = vec![0_u64; groups as usize];
            for (i, &key) in keys.iter().enumerate() {
                let hash = (i as u32).wrapping_mul(0xCC9E_2D51);
                let hash = (hash ^ (hash >> 15)).wrapping_mul(0x1B87_3593);
                let sample = &mut samples[key as usize];
                *sample = (*sample).max(u64::from(hash ^ (hash >> 13)) << 32 | i as u64);
            }
            Case::over(n, 256).word(n).input(&keys).inout(&vec![0_u64; samples.len()], samples, 0.0)
        });
    }
    for (n, streams, power, room) in
        [(700_000_usize, 48_u32, 2, 1_usize << 17), (3_000_000, 200_000, 1, 1 << 6)]
    {
        set.add("ring_append", format!("n={n} streams={streams} power={power} room={room}"), move || {
            let (of, events) = (skewed(n, streams, power, 1), words(n, 1 << 31, 2));
            let mut rings = vec![Vec::new(); streams as usize];
            of.iter().zip(&events).for_each(|(&stream, &event)| rings[stream as usize].push(event));
            assert!(rings.iter().all(|ring| ring.len() <= room), "a ring overwrites its first events");
            let counts: Vec<u32> = rings.iter().map(|ring| ring.len() as u32).collect();
            let rings: Vec<_> = rings.into_iter().map(|ring| any_slots(u32::MAX, ring)).collect();
            let same = move |found: &[u32]| {
                let mut pairs = found.chunks(room).zip(&rings);
                pairs.try_for_each(|(found, same)| same(found))
            };
            Case::over(n, 256)
                .word(n)
                .word(room)
                .input(&of)
                .input(&events)
                .inout(&vec![0; counts.len()], counts, 0.0)
                .holding(&vec![u32::MAX; streams as usize * room], same)
        });
    }
    for (n, limit, power) in [(600_000_usize, 20_000_u32, 2), (4_000_000, 5_000_000, 1)] {
        set.add("count_in_halves", format!("n={n} counters={limit} power={power}"), move || {
            let items = skewed(n, limit, power, 1);
            let mut counts = vec![0_u16; limit as usize];
            items.iter().for_each(|&item| counts[item as usize] += 1);
            Case::over(n, 256).word(n).input(&items).inout(&vec![0_u16; counts.len()], counts, 0.0)
        });
    }
    for (baskets, mean, items, power) in [(20_000_usize, 8, 1000_u32, 3), (150_000, 6, 8000, 2)] {
        set.add(
            "item_pairs",
            format!("baskets={baskets} mean={mean} items={items} power={power}"),
            move || {
                let starts = Rows::random(baskets, 1, mean, 1).starts;
                let all = skewed(starts[baskets] as usize, items, power, 3);
                let mut counts = vec![0_u32; (items * (items - 1) / 2) as usize];
                for range in starts.windows(2) {
                    let basket = &all[range[0] as usize..range[1] as usize];
                    for (k, &x) in basket.iter().enumerate() {
                        for &y in basket[k + 1..].iter().filter(|&&y| y != x) {
                            let (low, high) = (x.min(y), x.max(y));
                            counts[(high * (high - 1) / 2 + low) as usize] += 1;
                        }
                    }
                }
                Case::over(baskets, 128).word(baskets).input(&starts).input(&all).inout(
                    &vec![0; counts.len()],
                    counts,
                    0.0,
                )
            },
        );
    }
    for (n, groups, power) in [(500_000_usize, 64_u32, 1), (3_000_000, 1_500_000, 2)] {
        set.add("aggregate_groups", format!("n={n} groups={groups} power={power}"), move || {
            let (keys, values) = (skewed(n, groups, power, 1), words(n, 1 << 30, 2));
            let count = groups as usize;
            let (mut sums, mut counts) = (vec![0_u64; count], vec![0_u32; count]);
            let (mut least, mut most) = (vec![u32::MAX; count], vec![0_u32; count]);
            for (&key, &value) in keys.iter().zip(&values) {
                let key = key as usize;
                sums[key] += u64::from(value);
                counts[key] += 1;
                least[key] = least[key].min(value);
                most[key] = most[key].max(value);
            }
            Case::over(n, 256)
                .word(n)
                .input(&keys)
                .input(&values)
                .inout(&vec![0_u64; count], sums, 0.0)
                .inout(&vec![u32::MAX; count], least, 0.0)
                .inout(&vec![0; count], most, 0.0)
                .inout(&vec![0; count], counts, 0.0)
        });
    }
}
