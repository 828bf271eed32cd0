//! What counters hold after launches of `atomics`, and which old values their operations can have returned.

use super::{super::Contents, Number};
use crate::verify::{Expected, Findings, Mismatch};
use cust::memory::bytemuck;

/// `sharers` threads or warps on `addresses` counters, in turn, each adding `each`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub addresses: u32,
    pub sharers: u64,
    pub each: u64,
}

/// Where adding 1 to an `f32` no longer changes it.
const SATURATED: f64 = 16_777_216.0;

impl Share {
    /// What is added to a counter in a launch.
    fn of(self, counter: u64) -> u64 {
        let addresses = u64::from(self.addresses);
        if counter >= addresses {
            return 0;
        }
        (self.sharers / addresses + u64::from(counter < self.sharers % addresses)) * self.each
    }

    /// Counters that add up over launches, by additions of `step`.
    pub(super) fn accumulated(self, number: Number, step: f64) -> Expected {
        match number {
            Number::U32 => values(move |counter, launches| self.of(counter).wrapping_mul(launches) as u32),
            Number::U64 => values(move |counter, launches| self.of(counter).wrapping_mul(launches)),
            Number::F32 => values(move |counter, launches| {
                (self.of(counter) as f64 * launches as f64).min(SATURATED * step) as f32
            }),
        }
    }

    /// The counters of each block of `block` threads after one launch, one for each thread.
    pub(super) fn of_blocks(self, number: Number, block: u64) -> Expected {
        match number {
            Number::U32 => values(move |thread, _| self.of(thread % block) as u32),
            Number::U64 => values(move |thread, _| self.of(thread % block)),
            Number::F32 => values(move |thread, _| self.of(thread % block) as f32),
        }
    }

    /// Sums of the old values that each thread got from `repeats` operations of the last launch.
    ///
    /// In a launch each old value of a counter is returned once. So a thread's are different, between the first and the last
    /// one of the launch, which bounds their sum.
    pub(super) fn old_values(self, repeats: u32) -> Expected {
        Expected::Computed(Box::new(move |start, launches, found| {
            let mut findings: Option<Findings> = None;
            for (offset, word) in found.chunks_exact(4).enumerate() {
                let index = start / 4 + offset as u64;
                let (repeats, share) = (u64::from(repeats), self.of(index % u64::from(self.addresses)));
                let first = share.wrapping_mul(launches - 1);
                let least = repeats * (repeats - 1) / 2;
                let most = repeats * (share - 1) - least;
                let sum: u32 = bytemuck::pod_read_unaligned(word);
                let above = sum.wrapping_sub(repeats.wrapping_mul(first) as u32);
                if most < 1 << 32 && !(least..=most).contains(&u64::from(above)) {
                    let findings = findings.get_or_insert_with(|| Findings {
                        count: 0,
                        first: Mismatch {
                            index,
                            expected: format!(
                                "{repeats} old values from {first} on, below {}",
                                first + share
                            ),
                            found: format!("their sum {sum}"),
                        },
                    });
                    findings.count += 1;
                }
            }
            findings
        }))
    }
}

/// Zeros of a type.
pub(super) fn zeros(number: Number) -> Contents {
    match number {
        Number::U32 | Number::F32 => Contents::of(|_| 0_u32),
        Number::U64 => Contents::of(|_| 0_u64),
    }
}

/// Elements by their index and the number of launches.
fn values<T: bytemuck::Pod + std::fmt::Debug>(
    value: impl Fn(u64, u64) -> T + Send + Sync + 'static,
) -> Expected {
    Expected::exactly(move |first, launches, values: &mut [T]| {
        for (offset, place) in values.iter_mut().enumerate() {
            *place = value(first + offset as u64, launches);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 threads on 4 counters, 8 operations each: 24, 24, 16 and 16 in a launch.
    const SHARE: Share = Share { addresses: 4, sharers: 10, each: 8 };

    fn admits<T: bytemuck::Pod>(expected: &Expected, launches: u64, values: &[T]) -> bool {
        expected.check(0, launches, bytemuck::cast_slice(values)).is_none()
    }

    #[test]
    fn counters_share_the_threads() {
        assert!(admits(&SHARE.accumulated(Number::U32, 1.0), 3, &[72_u32, 72, 48, 48]));
        assert!(admits(&SHARE.accumulated(Number::U64, 1.0), 3, &[72_u64, 72, 48, 48]));
        assert!(!admits(&SHARE.accumulated(Number::U64, 1.0), 3, &[72_u64, 72, 48, 49]));
        let blocks = [24.0_f32, 24.0, 16.0, 16.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 24.0];
        assert!(admits(&SHARE.of_blocks(Number::F32, 10), 9, &blocks));
    }

    #[test]
    fn a_float_stops_where_a_step_no_longer_changes_it() {
        let mut sum = SATURATED as f32 - 2.0;
        for _ in 0..5 {
            sum += 1.0;
        }
        assert_eq!(f64::from(sum), SATURATED);
        let one = Share { addresses: 1, sharers: 1 << 20, each: 8 };
        assert!(admits(&one.accumulated(Number::F32, 1.0), 3, &[sum]));
        assert!(admits(&one.accumulated(Number::F32, 32.0), 3, &[25_165_824.0_f32]));
    }

    #[test]
    fn old_values_are_of_the_last_launch() {
        let expected = SHARE.old_values(8);
        // The second launch finds 24 to 47 in the first counter and 16 to 31 in the third.
        let sum = |first: u32| (first..first + 8).sum::<u32>();
        assert!(admits(&expected, 2, &[sum(24), sum(40), sum(16), sum(24)]));
        assert!(!admits(&expected, 2, &[sum(23)]));
        assert!(!admits(&expected, 2, &[sum(41)]));
        assert!(!admits(&expected, 2, &[sum(24), sum(24), sum(15)]));
    }
}
