//! Pages of programs and files: which kind each frame of a map is, and whether it was in use.
//!
//! A large folio of private memory becomes a huge page of its size, and one of a file on disk a folio of its size, where the policy has
//! such; mlocked, of shared memory or under another policy, it becomes base pages. What its head says holds for all of it. How long ago a page was used /proc does not
//! tell beyond its list and one bit, so those of a list follow each other by address. How often a page is mapped, and by whom, is left out: one mapping stands for all.

use order9_mm::{UserPage, UserPageUse};
use order9_snapshot::classify::FrameClass;
use order9_snapshot::flags::kpf;

/// Disk to which dirty pages of files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The machine of the engine has a disk.
    Present,
    /// The machine has no disk: dirty pages of files become pages of tmpfs, which stay in memory. Clean pages can still
    /// be dropped.
    Absent,
}

/// The kind of page that frames of a class are; `None` where they are no pages of programs or files, or part of a huge page.
pub(crate) fn user_page(class: FrameClass, disk: Disk) -> Option<UserPage> {
    Some(match class {
        FrameClass::Anon => UserPage::Anon,
        FrameClass::Unevictable => UserPage::Locked,
        FrameClass::FileClean => UserPage::File,
        FrameClass::FileMapped => UserPage::MappedFile,
        FrameClass::FileDirty if disk == Disk::Present => UserPage::DirtyFile,
        FrameClass::FileDirty | FrameClass::Shmem => UserPage::Shmem,
        _ => return None,
    })
}

/// The kind of page of a file on disk that these flags tell.
pub(crate) const fn file_page(flags: u64) -> UserPage {
    if flags & kpf::DIRTY != 0 {
        UserPage::DirtyFile
    } else if flags & kpf::MMAP != 0 {
        UserPage::MappedFile
    } else {
        UserPage::File
    }
}

/// The use that the flags of a frame, or of the head of its folio, tell.
pub(crate) const fn use_of(flags: u64) -> UserPageUse {
    UserPageUse { active: flags & kpf::ACTIVE != 0, referenced: flags & kpf::REFERENCED != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_files_are_on_a_disk_if_there_is_one() {
        let kinds = |class| [Disk::Present, Disk::Absent].map(|disk| user_page(class, disk));
        assert_eq!(kinds(FrameClass::FileDirty), [Some(UserPage::DirtyFile), Some(UserPage::Shmem)]);
        assert_eq!(kinds(FrameClass::FileClean), [Some(UserPage::File); 2]);
        assert_eq!(kinds(FrameClass::Shmem), [Some(UserPage::Shmem); 2]);
    }

    #[test]
    fn the_use_of_a_page_is_what_its_flags_say() {
        let of = |flags| (use_of(flags).active, use_of(flags).referenced);
        let both = kpf::ACTIVE | kpf::REFERENCED;
        let found = [kpf::LRU, kpf::ACTIVE, kpf::REFERENCED, both].map(of);
        assert_eq!(found, [(false, false), (true, false), (false, true), (true, true)]);
    }
}
