//! Reads files of a [`Root`] and keeps the list of what could not be read, and why.

use std::fs::File;
use std::io;

use order9_snapshot::Missing;

use crate::CaptureError;
use crate::Root;
use crate::beneath::Refusal;
use crate::parse::ParseError;

/// Why a file may be absent from a kernel, by how its path starts; the first match counts.
const ABSENT: &[(&str, &str)] = &[
    ("/proc/kpage", "kernel built without CONFIG_PROC_PAGE_MONITOR"),
    ("/proc/pressure", "kernel older than 4.20, built without CONFIG_PSI or booted with psi=0"),
    ("/proc/sys/kernel/numa_balancing", "kernel built without CONFIG_NUMA_BALANCING"),
    ("/proc/sys/vm/compaction_proactiveness", "not in this kernel (since 5.9, with CONFIG_COMPACTION)"),
    ("/proc/sys/vm/compact_unevictable_allowed", "not in this kernel (since 4.1, with CONFIG_COMPACTION)"),
    ("/proc/sys/vm/defrag_mode", "not in this kernel (since 6.15)"),
    ("/proc/sys/vm/extfrag_threshold", "kernel built without CONFIG_COMPACTION"),
    ("/proc/sys/vm/percpu_pagelist_high_fraction", "not in this kernel (since 5.14)"),
    ("/proc/sys/vm/watermark_boost_factor", "not in this kernel (since 5.0)"),
    ("/proc/sys/vm/watermark_scale_factor", "not in this kernel (since 4.6)"),
    ("/sys/devices/system/memory", "kernel built without CONFIG_MEMORY_HOTPLUG"),
    ("/sys/devices/system/node", "kernel built without CONFIG_NUMA"),
    ("/sys/kernel/mm/hugepages", "kernel built without CONFIG_HUGETLBFS"),
    ("/sys/kernel/mm/lru_gen", "not in this kernel (since 6.1, with CONFIG_LRU_GEN)"),
    ("/sys/kernel/mm/transparent_hugepage/hugepages-", "not in this kernel (since 6.8)"),
    ("/sys/kernel/mm/transparent_hugepage", "kernel built without CONFIG_TRANSPARENT_HUGEPAGE"),
];

/// Most bytes of a file of one line: the list of 8192 CPUs, none beside the next, is the longest.
pub(crate) const LINE_MAX: u64 = 64 << 10;
/// Most bytes of a file of counters.
pub(crate) const COUNTERS_MAX: u64 = 256 << 10;
/// Most bytes of a file with lines for each zone or CPU: not even /proc/zoneinfo of the largest machine comes near.
pub(crate) const TABLE_MAX: u64 = 64 << 20;

/// Files of one root, and what was missing among those asked for.
pub(crate) struct Files<'a> {
    root: &'a Root,
    missing: Vec<Missing>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self { root, missing: Vec::new() }
    }

    pub(crate) fn root(&self) -> &'a Root {
        self.root
    }

    /// The files that could not be read, in the order of the attempts.
    pub(crate) fn into_missing(self) -> Vec<Missing> {
        self.missing
    }

    /// Whether `path` or a directory that it lies in was missing.
    pub(crate) fn has_missed(&self, path: &str) -> bool {
        self.missing.iter().any(|missing| path.starts_with(&missing.path))
    }

    /// Notes that `path` could not be used.
    pub(crate) fn miss(&mut self, path: &str, reason: impl Into<String>) {
        self.missing.push(Missing { path: path.to_owned(), reason: reason.into() });
    }

    /// Notes that reading `path` failed.
    pub(crate) fn fail(&mut self, path: &str, error: &io::Error) {
        let reason = match error.kind() {
            io::ErrorKind::PermissionDenied => "needs root, or CAP_DAC_READ_SEARCH".to_owned(),
            io::ErrorKind::NotFound if !self.root.is_live() => "not among the copied files".to_owned(),
            io::ErrorKind::NotFound => {
                let known = ABSENT.iter().find(|(start, _)| path.starts_with(start));
                known.map_or("not in this kernel", |(_, reason)| reason).to_owned()
            }
            _ if error.get_ref().is_some_and(|inner| inner.is::<Refusal>()) => error.to_string(),
            _ => format!("cannot be read: {error}"),
        };
        self.miss(path, reason);
    }

    pub(crate) fn open(&mut self, path: &str) -> Option<File> {
        self.root.open(path).map_err(|error| self.fail(path, &error)).ok()
    }

    /// The text of a file of at most `max` bytes.
    pub(crate) fn text(&mut self, path: &str, max: u64) -> Option<String> {
        self.root.read_text(path, max).map_err(|error| self.fail(path, &error)).ok()
    }

    pub(crate) fn list(&mut self, path: &str) -> Vec<String> {
        self.root.list(path).map_err(|error| self.fail(path, &error)).unwrap_or_default()
    }

    /// Whether `path` is a directory. One that is not there is noted only if it is expected.
    pub(crate) fn has_directory(&mut self, path: &str, expected: bool) -> bool {
        match self.root.check_directory(path) {
            Ok(()) => true,
            Err(error) => {
                if expected || error.kind() != io::ErrorKind::NotFound {
                    self.fail(path, &error);
                }
                false
            }
        }
    }

    /// Reads and parses `path`, of at most `max` bytes. A malformed file is missing, with its line; a file that describes a machine order9 does
    /// not model ends the capture.
    pub(crate) fn parse<T>(
        &mut self,
        path: &str,
        max: u64,
        parser: impl FnOnce(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, CaptureError> {
        let Some(text) = self.text(path, max) else { return Ok(None) };
        match parser(&text) {
            Ok(value) => Ok(Some(value)),
            Err(ParseError::Malformed { .. }) if text.trim().is_empty() => {
                self.miss(path, "is empty");
                Ok(None)
            }
            Err(error @ ParseError::Malformed { .. }) => {
                self.miss(path, format!("cannot be used: {error}"));
                Ok(None)
            }
            Err(error @ ParseError::Unsupported { .. }) => {
                Err(CaptureError::Unsupported { file: self.root.locate(path), what: error.to_string() })
            }
        }
    }
}
