//! The `ownr` section, and `ownc` where code of the kernel is among them: names of owners, before the sections with their frames.

use std::borrow::Cow;

use order9_units::Pages;
use serde::{Deserialize, Serialize};

use super::section::Tag;
use crate::owners::{Caller, KernelUse, OwnerMap, Owners, User};

/// Tags of the names and of the frames. Readers of before 1.5 know no callers, and skip sections with such.
pub(super) fn tags(owners: &Owners) -> [Tag; 2] {
    if owners.callers.is_empty() { [Tag::OWNR, Tag::OFRA] } else { [Tag::OWNC, Tag::OFRC] }
}

/// Contents of the section.
#[derive(Serialize, Deserialize)]
pub(super) struct Names<'a> {
    users: Cow<'a, [User]>,
    #[serde(default, skip_serializing_if = "<[Caller]>::is_empty")]
    callers: Cow<'a, [Caller]>,
    cgroups: Cow<'a, [String]>,
    kernel: Cow<'a, [KernelUse]>,
    notes: Cow<'a, [String]>,
    /// Frames whose owners follow.
    pub(super) frames: Pages,
}

impl<'a> Names<'a> {
    pub(super) fn of(owners: &'a Owners) -> Self {
        let Owners { users, callers, cgroups, kernel, notes, map } = owners;
        Self {
            users: Cow::Borrowed(users),
            callers: Cow::Borrowed(callers),
            cgroups: Cow::Borrowed(cgroups),
            kernel: Cow::Borrowed(kernel),
            notes: Cow::Borrowed(notes),
            frames: map.len(),
        }
    }

    /// The owners, still without frames.
    pub(super) fn into_owners(self) -> Owners {
        Owners {
            users: self.users.into_owned(),
            callers: self.callers.into_owned(),
            cgroups: self.cgroups.into_owned(),
            kernel: self.kernel.into_owned(),
            notes: self.notes.into_owned(),
            map: OwnerMap::default(),
        }
    }
}
