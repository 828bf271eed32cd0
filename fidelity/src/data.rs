//! Inputs, the same on every machine.

/// A number that looks random, for each index and seed (a step of splitmix64).
pub(crate) fn mix(index: usize, seed: u64) -> u32 {
    let mut z = (index as u64).wrapping_add(seed << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z >> 32) as u32
}

/// Floats between 0 and 1.
pub(crate) fn floats(n: usize, seed: u64) -> Vec<f32> {
    (0..n).map(|i| (mix(i, seed) >> 8) as f32 / 16_777_216.0).collect()
}

/// The same in double precision.
pub(crate) fn doubles(n: usize, seed: u64) -> Vec<f64> {
    (0..n).map(|i| f64::from(mix(i, seed)) / 4_294_967_296.0).collect()
}

/// These numbers in single precision.
pub(crate) fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// Words below a limit.
pub(crate) fn words(n: usize, limit: u32, seed: u64) -> Vec<u32> {
    (0..n).map(|i| ((u64::from(mix(i, seed)) * u64::from(limit)) >> 32) as u32).collect()
}

/// Words below a limit, small ones more often: the limit times a power of a number between 0 and 1.
pub(crate) fn skewed(n: usize, limit: u32, power: i32, seed: u64) -> Vec<u32> {
    doubles(n, seed).into_iter().map(|share| (share.powi(power) * f64::from(limit)) as u32).collect()
}

/// Bytes.
pub(crate) fn bytes(n: usize, seed: u64) -> Vec<u8> {
    (0..n).map(|i| mix(i, seed) as u8).collect()
}

/// The numbers below `n`, a power of two, each once: multiplied by an odd number and exclusive-ored, twice.
pub(crate) fn permutation(n: usize) -> Vec<u32> {
    assert!(n.is_power_of_two(), "a permutation of {n}");
    let mask = n as u32 - 1;
    let turn = |x: u32| {
        let x = x.wrapping_mul(0x9E37_79B1) & mask;
        x ^ (x >> (mask.count_ones() / 2))
    };
    (0..n as u32).map(|i| turn(turn(i))).collect()
}

/// A graph or a sparse matrix in compressed rows: starts of rows, and columns below `columns`.
pub(crate) struct Rows {
    pub(crate) starts: Vec<u32>,
    pub(crate) columns: Vec<u32>,
}

impl Rows {
    /// Rows of 1 to `2 * mean - 1` entries, at random columns.
    pub(crate) fn random(rows: usize, columns: usize, mean: u32, seed: u64) -> Rows {
        let mut starts = vec![0];
        let mut end = 0;
        for row in 0..rows {
            end += 1 + mix(row, seed) % (2 * mean - 1);
            starts.push(end);
        }
        Rows { starts, columns: words(end as usize, columns as u32, seed + 1) }
    }

    /// Rows of exactly `width` entries within `reach` of the diagonal, as a mesh has them.
    pub(crate) fn banded(rows: usize, width: u32, reach: u32, seed: u64) -> Rows {
        let starts = (0..=rows as u32).map(|row| row * width).collect();
        let columns = (0..rows * width as usize)
            .map(|k| {
                let row = k as u32 / width;
                (row + mix(k, seed) % (2 * reach)).saturating_sub(reach).min(rows as u32 - 1)
            })
            .collect();
        Rows { starts, columns }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The indices of a row's entries.
    pub(crate) fn of(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_each_number_once() {
        let mut all = permutation(1 << 12);
        assert_ne!(all[..4], [0, 1, 2, 3]);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1 << 12));
    }

    #[test]
    fn rows_have_their_entries() {
        let random = Rows::random(100, 50, 4, 1);
        assert!((0..100).all(|row| (1..=7).contains(&random.of(row).len())));
        assert!(random.columns.iter().all(|&column| column < 50));
        let banded = Rows::banded(100, 5, 3, 1);
        let near = |row: usize| banded.of(row).all(|k| banded.columns[k].abs_diff(row as u32) <= 3);
        assert!((0..100).all(near) && banded.columns.len() == 500);
    }
}
