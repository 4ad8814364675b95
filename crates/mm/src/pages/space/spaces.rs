//! [`Spaces`]: address spaces by their numbers.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::rmap::SPACES;
use crate::settings::map_limit::MapLimit;
use crate::space::{Errno, Space, SpaceId};

/// Address spaces of programs.
#[derive(Clone, Default)]
pub struct Spaces {
    /// By number; `None` where the space is gone.
    list: Vec<Option<Box<Space>>>,
    /// `vm.max_map_count`.
    pub(crate) map_limit: MapLimit,
}

impl Spaces {
    #[inline]
    pub(crate) fn get(&self, id: SpaceId) -> Result<&Space, Errno> {
        self.list.get(id.index()).and_then(Option::as_deref).ok_or(Errno::Esrch)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: SpaceId) -> Result<&mut Space, Errno> {
        self.list.get_mut(id.index()).and_then(Option::as_deref_mut).ok_or(Errno::Esrch)
    }

    /// Adds an empty space, as long as there are numbers; a number is never given again.
    pub(super) fn add(&mut self) -> Option<SpaceId> {
        let id = SpaceId(self.list.len() as u32);
        (id.0 < SPACES).then(|| {
            self.list.push(Some(Box::default()));
            id
        })
    }

    /// Removes a space that maps nothing any more.
    pub(super) fn remove(&mut self, id: SpaceId) {
        self.list[id.index()] = None;
    }

    /// Numbers of all spaces, of those that are gone as well.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SpaceId> + use<> {
        (0..self.list.len() as u32).map(SpaceId)
    }

    /// Every living space, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Space> {
        self.list.iter_mut().filter_map(Option::as_deref_mut)
    }

    /// Every living space.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SpaceId, &Space)> {
        let spaces = self.list.iter().enumerate();
        spaces.filter_map(|(at, space)| Some((SpaceId(at as u32), space.as_deref()?)))
    }
}
