//! Recorded events of compaction: where both scanners were over time, what each run moved and gained, and where memory
//! fragmented.
//!
//! The events are those of the kernel's tracepoints, in the text that tracefs has. A run of compaction is what lies between its
//! begin and its end in one task; events that a run was not asked to keep are missing, and so is what they would show.

use std::collections::BTreeMap;

use order9_record::Event;
use order9_units::PAGEBLOCK_PAGES;
use serde::Serialize;

use crate::number::Shown;

/// Compaction of one or several runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compaction {
    runs: Vec<Traced>,
    notes: Vec<String>,
}

/// Compaction of one run of an experiment.
#[derive(Clone, Debug, Serialize)]
struct Traced {
    name: String,
    group: usize,
    /// Lowest and highest frame of the zones that were compacted.
    span: [u64; 2],
    efforts: Vec<Effort>,
    /// Number of runs of compaction by what they ended with.
    ended: BTreeMap<String, u64>,
    /// Runs of compaction, pages moved, pages that could not be moved, frames scanned by either scanner.
    totals: [u64; 5],
}

/// One run of compaction. Frames are numbers of the first one, times in seconds.
#[derive(Clone, Debug, Serialize)]
struct Effort {
    task: String,
    begin: Shown,
    end: Shown,
    /// The scanner for pages to move, at the begin and at the end.
    migrate: [u64; 2],
    /// The scanner for free pages.
    free: [u64; 2],
    moved: u64,
    failed: u64,
    status: String,
    is_sync: bool,
}

/// A request that took memory of another migratetype.
#[derive(Clone, Debug, Serialize)]
pub struct Fallback {
    at: Shown,
    /// Number of the pageblock.
    block: u64,
    order: u64,
    wanted: u64,
    taken: u64,
    /// Whether the block is fragmented by it.
    fragmenting: bool,
}

/// Efforts of a run that the page draws; totals are of all.
const EFFORTS_MAX: usize = 3000;
/// Fallbacks of a run that the map shows.
const FALLBACKS_MAX: usize = 5000;

impl Compaction {
    /// Whether no run of compaction was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds the events of a run.
    pub fn add(&mut self, name: &str, group: usize, events: &[Event]) {
        let (efforts, totals) = efforts(events);
        if efforts.is_empty() {
            return;
        }
        let mut ended = BTreeMap::new();
        efforts.iter().for_each(|(effort, _)| *ended.entry(effort.status.clone()).or_default() += 1);
        let low = efforts.iter().map(|(_, zone)| zone[0]).min().unwrap_or(0);
        let high = efforts.iter().map(|(_, zone)| zone[1]).max().unwrap_or(0);
        let left_out = efforts.len().saturating_sub(EFFORTS_MAX);
        if left_out > 0 {
            self.notes.push(format!(
                "{name}: the last {left_out} of {} runs of compaction are counted and not drawn",
                efforts.len()
            ));
        }
        let efforts = efforts.into_iter().map(|(effort, _)| effort).take(EFFORTS_MAX).collect();
        self.runs.push(Traced { name: name.to_owned(), group, span: [low, high], efforts, ended, totals });
    }
}

/// Runs of compaction with the ends of their zones, and the totals of [`Traced`].
fn efforts(events: &[Event]) -> (Vec<(Effort, [u64; 2])>, [u64; 5]) {
    let mut open: BTreeMap<u32, Effort> = BTreeMap::new();
    let mut efforts = Vec::new();
    let mut totals = [0; 5];
    for event in events {
        let seconds = Shown(event.at.get() as f64 / 1e9);
        match &*event.name {
            "mm_compaction_begin" => {
                let place = |key| event.number(key).unwrap_or(0);
                let effort = Effort {
                    task: event.comm.to_string(),
                    begin: seconds,
                    end: seconds,
                    migrate: [place("migrate_pfn"); 2],
                    free: [place("free_pfn"); 2],
                    moved: 0,
                    failed: 0,
                    status: String::new(),
                    is_sync: event.field("mode") == Some("sync"),
                };
                open.insert(event.pid, effort);
            }
            "mm_compaction_end" => {
                let Some(mut effort) = open.remove(&event.pid) else { continue };
                effort.end = seconds;
                effort.migrate[1] = event.number("migrate_pfn").unwrap_or(effort.migrate[0]);
                effort.free[1] = event.number("free_pfn").unwrap_or(effort.free[0]);
                effort.status = event.field("status").unwrap_or("ended").to_owned();
                let zone = ["zone_start", "zone_end"].map(|key| event.number(key).unwrap_or(0));
                totals[0] += 1;
                efforts.push((effort, zone));
            }
            "mm_compaction_migratepages" => {
                let [moved, failed] = ["nr_migrated", "nr_failed"].map(|key| event.number(key).unwrap_or(0));
                totals[1] += moved;
                totals[2] += failed;
                if let Some(effort) = open.get_mut(&event.pid) {
                    effort.moved += moved;
                    effort.failed += failed;
                }
            }
            "mm_compaction_isolate_migratepages" => totals[3] += event.number("nr_scanned").unwrap_or(0),
            "mm_compaction_isolate_freepages" | "mm_compaction_fast_isolate_freepages" => {
                totals[4] += event.number("nr_scanned").unwrap_or(0);
            }
            _ => {}
        }
    }
    (efforts, totals)
}

/// Events of fragmentation of a run, in order of time.
#[must_use]
pub fn fallbacks(events: &[Event]) -> Vec<Fallback> {
    let fallback = |event: &Event| {
        Some(Fallback {
            at: Shown(event.at.get() as f64 / 1e9),
            block: event.number("pfn")? / PAGEBLOCK_PAGES.get(),
            order: event.number("alloc_order")?,
            wanted: event.number("alloc_migratetype")?,
            taken: event.number("fallback_migratetype")?,
            fragmenting: event.number("fragmenting")? != 0,
        })
    };
    let all = events.iter().filter(|event| &*event.name == "mm_page_alloc_extfrag");
    all.filter_map(fallback).take(FALLBACKS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use order9_units::Nanos;

    use super::*;

    fn event(at: u64, pid: u32, name: &str, fields: &str) -> Event {
        Event {
            at: Nanos::new(at),
            cpu: 0,
            comm: "kcompactd0".into(),
            pid,
            name: name.into(),
            fields: fields.to_owned(),
        }
    }

    #[test]
    fn a_run_of_compaction_has_the_pages_that_its_task_moved() {
        let ends = |migrate: u32, free: u32| {
            format!("zone_start=0x1000 migrate_pfn={migrate:#x} free_pfn={free:#x} zone_end=0x9000, mode=async")
        };
        let events = [
            event(1, 7, "mm_compaction_begin", &ends(0x1000, 0x8e00)),
            event(2, 8, "mm_compaction_migratepages", "nr_migrated=5 nr_failed=0"),
            event(3, 7, "mm_compaction_migratepages", "nr_migrated=30 nr_failed=2"),
            event(4, 7, "mm_compaction_end", &format!("{} status=success", ends(0x1200, 0x8a00))),
            event(5, 9, "mm_compaction_end", &format!("{} status=success", ends(0x1200, 0x8a00))),
        ];
        let (efforts, totals) = efforts(&events);
        let [(effort, zone)] = efforts.as_slice() else { panic!("one run has a begin and an end") };
        assert_eq!((effort.moved, effort.failed, effort.status.as_str()), (30, 2, "success"));
        assert_eq!((effort.migrate, effort.free, *zone), ([0x1000, 0x1200], [0x8e00, 0x8a00], [0x1000, 0x9000]));
        assert_eq!(totals, [1, 35, 2, 0, 0]);
    }
}
