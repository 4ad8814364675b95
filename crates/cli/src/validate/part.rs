//! Runs of an experiment are dealt out, in turn, to the memories from which they start.

/// Runs that start from one of several memories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Number of the memory, from 0 on.
    pub(super) start: usize,
    /// Number of memories, at least one.
    pub(super) of: usize,
}

impl Part {
    /// Seeds of the runs of this part, of `runs` runs in all.
    pub(super) fn of(self, runs: u64) -> Vec<u64> {
        (1..=runs).skip(self.start).step_by(self.of).collect()
    }

    /// Name of a folder for what is of this part alone; `None` where there is no other part.
    pub(super) fn folder(self) -> Option<String> {
        (self.of > 1).then(|| folder_of_start(self.start))
    }
}

/// Name of a folder for what starts from one of several memories.
pub(super) fn folder_of_start(start: usize) -> String {
    format!("start-{}", start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_dealt_out_in_turn() {
        let parts = [0, 1, 2].map(|start| Part { start, of: 3 }.of(7));
        assert_eq!(parts, [vec![1, 4, 7], vec![2, 5], vec![3, 6]]);
        assert_eq!(Part { start: 0, of: 1 }.of(3), [1, 2, 3]);
    }
}
