//! Policies of files on tmpfs and of shared anonymous memory: they belong to the places of the file, for everybody who maps it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Mempolicy, PolicyId};
use crate::mempolicy::Mempolicies;
use crate::page_cache::FileId;

/// The policies of a file: of disjoint ranges of its places.
#[derive(Clone, Default)]
pub(super) struct FilePolicies {
    /// End and policy by start.
    ranges: BTreeMap<u64, (u64, PolicyId)>,
}

impl FilePolicies {
    pub(super) fn at(&self, index: u64) -> Option<PolicyId> {
        let (_, &(end, policy)) = self.ranges.range(..=index).next_back()?;
        (index < end).then_some(policy)
    }

    /// Gives the places `[start, end)` a policy, or none.
    pub(super) fn set(&mut self, start: u64, end: u64, policy: Option<PolicyId>) {
        let met = |&(&from, &(to, _)): &(&u64, &(u64, PolicyId))| from < end && to > start;
        let old: Vec<_> = self.ranges.range(..end).filter(met).map(|(&from, &(to, old))| (from, to, old)).collect();
        for (from, to, old) in old {
            self.ranges.remove(&from);
            if from < start {
                self.ranges.insert(from, (start, old));
            }
            if to > end {
                self.ranges.insert(end, (to, old));
            }
        }
        if let Some(policy) = policy.filter(|_| start < end) {
            self.ranges.insert(start, (end, policy));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, PolicyId)> {
        self.ranges.iter().map(|(&start, &(end, policy))| (start, end, policy))
    }
}

impl Mempolicies {
    pub(super) fn file_policy(&self, file: FileId, index: u64) -> Option<PolicyId> {
        self.files.get(&file)?.at(index)
    }

    /// Gives the places `[start, end)` of a file of tmpfs a policy, or none.
    pub(super) fn set_file_policy(&mut self, file: FileId, start: u64, end: u64, policy: Option<PolicyId>) {
        let policies = self.files.entry(file).or_default();
        policies.set(start, end, policy);
        if policies.is_empty() {
            self.files.remove(&file);
        }
    }

    /// Gives all places of a file of tmpfs a policy, those beyond its end as well.
    pub(crate) fn set_whole_file_policy(&mut self, file: FileId, policy: Mempolicy) {
        let policy = self.intern(policy);
        self.set_file_policy(file, 0, u64::MAX, Some(policy));
    }

    /// A file of tmpfs ends, and its policies with it.
    pub(crate) fn forget_file_policies(&mut self, file: FileId) {
        self.files.remove(&file);
    }
}
