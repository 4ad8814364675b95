//! Block costs in ascending order, as prefix sums.

/// Sums of the cheapest blocks' costs.
#[derive(Clone, Debug)]
pub(super) struct Sorted {
    /// `prefix[n]`: sum of the `n` smallest costs.
    prefix: Vec<u64>,
}

impl Sorted {
    /// Makes the list from the number of blocks of each cost.
    pub(super) fn from_counts(counts: &[u64]) -> Self {
        let mut prefix = Vec::with_capacity(counts.iter().sum::<u64>() as usize + 1);
        let mut sum = 0;
        prefix.push(sum);
        for (cost, &blocks) in counts.iter().enumerate() {
            for _ in 0..blocks {
                sum += cost as u64;
                prefix.push(sum);
            }
        }
        Self { prefix }
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> u64 {
        self.prefix.len() as u64 - 1
    }

    /// Sum of the `n` smallest costs; `n` at most `len`.
    pub(super) fn cheapest(&self, n: u64) -> u64 {
        self.prefix[n as usize]
    }

    /// Number of the cheapest blocks whose costs sum to at most `limit`.
    pub(super) fn most_within(&self, limit: u64) -> u64 {
        self.prefix.partition_point(|&sum| sum <= limit) as u64 - 1
    }

    /// Of the `n` cheapest blocks, how many have each cost from 0 to `highest`.
    pub(super) fn counts_of_cheapest(&self, n: u64, highest: usize) -> Vec<u64> {
        let mut counts = vec![0; highest + 1];
        for pair in self.prefix[..=n as usize].windows(2) {
            counts[(pair[1] - pair[0]) as usize] += 1;
        }
        counts
    }
}
