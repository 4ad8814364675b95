//! The `ownr` section: names of owners, before the sections with their frames.

use std::borrow::Cow;

use order9_units::Pages;
use serde::{Deserialize, Serialize};

use crate::owners::{KernelUse, OwnerMap, Owners, User};

/// Contents of the section.
#[derive(Serialize, Deserialize)]
pub(super) struct Names<'a> {
    users: Cow<'a, [User]>,
    cgroups: Cow<'a, [String]>,
    kernel: Cow<'a, [KernelUse]>,
    notes: Cow<'a, [String]>,
    /// Frames whose owners follow.
    pub(super) frames: Pages,
}

impl<'a> Names<'a> {
    pub(super) fn of(owners: &'a Owners) -> Self {
        let Owners { users, cgroups, kernel, notes, map } = owners;
        Self {
            users: Cow::Borrowed(users),
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
            cgroups: self.cgroups.into_owned(),
            kernel: self.kernel.into_owned(),
            notes: self.notes.into_owned(),
            map: OwnerMap::default(),
        }
    }
}
