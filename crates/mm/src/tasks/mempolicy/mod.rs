//! Memory policies that move pages: `mbind`, `move_pages`, `migrate_pages`, and cpusets that change.

pub(crate) mod bind_range;
pub(crate) mod cpuset;
pub(crate) mod migrate_pages;
pub(crate) mod move_pages;

pub use bind_range::mbind;
pub use cpuset::set_mems;
pub use migrate_pages::migrate_space;
pub use move_pages::move_pages;
