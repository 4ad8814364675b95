//! Migration as tasks run it: lists of pages in passes, single pages to chosen nodes, whole ranges out of use. The move of one page is in
//! [`crate::migrate`].

pub(crate) mod gather;
pub(crate) mod place_pages;
mod place_pool;
pub(crate) mod run;
pub(crate) mod sources;
pub(crate) mod targets;

pub use gather::gather_pages;
pub use place_pages::offline_pages;
