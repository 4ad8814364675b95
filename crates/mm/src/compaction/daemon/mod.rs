//! Decisions of compaction in the background: what kcompactd is woken for, and the score of a node.

pub(crate) mod kcompactd;
pub(crate) mod proactive;
