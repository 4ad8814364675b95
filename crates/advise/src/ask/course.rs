//! The course of a run, from its samples and events: what direct compaction answered, and what first stood in the way.

use std::collections::BTreeMap;

use order9_record::{Event, Run};
use order9_report::number::{count_of, grouped, size};
use order9_snapshot::inspection::Inspection;
use order9_units::{Bytes, Nanos, NodeId};

use super::Ask;
use super::answer::{Obstacle, ObstacleKind};
use super::start::{DEFRAG, ENABLED, Start, view_of};

/// A run in which a program asked.
pub(super) struct Course<'a> {
    run: &'a Run,
    /// Ends of first faults in order, and whether each became huge.
    faults: Vec<(Nanos, bool)>,
    /// Events of the program itself.
    events: Vec<&'a Event>,
}

/// The first fault without a huge page.
struct Failure<'a> {
    /// Huge pages before it that were free.
    free: u64,
    /// Huge pages before it that came while direct compaction was at work.
    made: u64,
    /// Events of the fault.
    events: Vec<&'a Event>,
}

const TRIED: &str = "mm_compaction_try_to_compact_pages";
const SUITABLE: &str = "mm_compaction_suitable";
const DEFERRED: &str = "mm_compaction_deferred";
const ENDED: &str = "mm_compaction_end";

impl<'a> Course<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let fault = |sample: &order9_record::Sample| match run.operation_of(sample)?.name.as_str() {
            "fault-huge" => Some((sample.at, true)),
            "fault-base" => Some((sample.at, false)),
            _ => None,
        };
        let is_own =
            |event: &&Event| !["kcompactd", "kswapd", "khugepaged"].iter().any(|of| event.comm.starts_with(of));
        Self {
            run,
            faults: run.samples.iter().filter_map(fault).collect(),
            events: run.traces.events.iter().filter(is_own).collect(),
        }
    }

    /// Answers of direct compaction and their numbers.
    pub(super) fn answers(&self) -> BTreeMap<String, u64> {
        let mut answers = BTreeMap::new();
        for event in &self.events {
            if let Some(answer) = answer(event) {
                *answers.entry(answer.to_owned()).or_default() += 1;
            }
        }
        answers
    }

    /// The first obstacle.
    pub(super) fn obstacle(&self, ask: &Ask, start: &Start, inspection: &Inspection, written: Bytes) -> Obstacle {
        let off = start.is(ENABLED, "never") || start.is(ENABLED, "madvise") && !ask.advised;
        match (self.first_failure(), self.first_effort()) {
            (Some(failure), _) if off && failure.free == 0 => by_settings(start),
            (Some(failure), _) => failure.obstacle(start, inspection),
            (None, Some(at)) => self.waits(at),
            (None, None) if written < ask.size => Obstacle {
                kind: ObstacleKind::Memory,
                huge_pages_before: self.faults.len() as u64,
                place: None,
                sentence: format!("memory: {} fit before others would be swapped out or killed for it", size(written)),
            },
            (None, None) => Obstacle {
                kind: ObstacleKind::None,
                huge_pages_before: self.faults.len() as u64,
                place: None,
                sentence: "none: free huge pages are enough, and no fault waits".to_owned(),
            },
        }
    }

    fn huge_before(&self, end: Nanos) -> u64 {
        self.faults.iter().filter(|(at, huge)| *huge && *at < end).count() as u64
    }

    /// Time of the first direct compaction.
    fn first_effort(&self) -> Option<Nanos> {
        self.events.iter().find(|event| &*event.name == TRIED).map(|event| event.at)
    }

    fn first_failure(&self) -> Option<Failure<'a>> {
        let nth = self.faults.iter().position(|(_, huge)| !huge)?;
        let begin = nth.checked_sub(1).map_or(Nanos::ZERO, |before| self.faults[before].0);
        let (end, _) = self.faults[nth];
        let events = self.events.iter().filter(|event| event.at >= begin && event.at <= end);
        let free = self.huge_before(self.first_effort().map_or(end, |effort| effort.min(end)));
        Some(Failure { free, made: nth as u64 - free, events: events.copied().collect() })
    }

    /// Compaction made what the program got from `at` on.
    fn waits(&self, at: Nanos) -> Obstacle {
        let before = self.huge_before(at);
        let stalls = self.run.growth("compact_stall").unwrap_or(0).unsigned_abs() as u64;
        Obstacle {
            kind: ObstacleKind::CompactionWaits,
            huge_pages_before: before,
            place: self.events.iter().rev().find_map(|event| place(event)),
            sentence: format!(
                "time alone: {} at once, then direct compaction, which the program waits for {}, and which makes the rest",
                count_of(before, "free huge page"),
                count_of(stalls, "time")
            ),
        }
    }
}

fn by_settings(start: &Start) -> Obstacle {
    let enabled = start.settings.get(ENABLED).map_or("", String::as_str);
    let why = match enabled {
        "madvise" => ", and the program does not advise its memory",
        _ => "",
    };
    Obstacle {
        kind: ObstacleKind::Settings,
        huge_pages_before: 0,
        place: None,
        sentence: format!("settings: transparent_hugepage/enabled is {enabled}{why}"),
    }
}

impl Failure<'_> {
    fn obstacle(&self, start: &Start, inspection: &Inspection) -> Obstacle {
        // The first zone is the one that the request prefers.
        let place = self.events.iter().find_map(|event| place(event));
        let at = place.as_ref().map_or_else(String::new, |(node, zone)| format!("node {node} zone {zone}: "));
        let had = match self.made {
            0 => count_of(self.free, "free huge page"),
            made => format!("{}, {} by direct compaction", count_of(self.free, "free huge page"), grouped(made)),
        };
        let has = |name: &str| self.events.iter().any(|event| &*event.name == name);
        let (kind, then) = if !has(TRIED) {
            let defrag = start.settings.get(DEFRAG).map_or("unknown", String::as_str);
            let then = format!("faults take base pages: with transparent_hugepage/defrag={defrag} they do not compact");
            (ObstacleKind::NoCompaction, then)
        } else if let Some(status) = self.end_in_first_zone() {
            let then = format!("direct compaction {}{}", did(status), blocked(inspection, place.as_ref()));
            (ObstacleKind::CompactionFails, then)
        } else if has(DEFERRED) {
            (ObstacleKind::Deferred, "direct compaction is deferred, since it failed before".to_owned())
        } else {
            let then = "direct compaction does not start: too few pages are free to move others to";
            (ObstacleKind::TooFewFree, then.to_owned())
        };
        let sentence = format!("{at}{had}, then {then}");
        Obstacle { kind, huge_pages_before: self.free + self.made, place, sentence }
    }

    /// Status with which the last run of compaction ended that was of the same zone as the first one.
    fn end_in_first_zone(&self) -> Option<&str> {
        let ends = || self.events.iter().filter(|event| &*event.name == ENDED);
        let zone = ends().next()?.number("zone_start");
        ends().rfind(|event| event.number("zone_start") == zone)?.field("status")
    }
}

/// The deed of a run of compaction that ended so, in words.
fn did(status: &str) -> &'static str {
    match status {
        "complete" | "partial_skipped" => "scans the zone to its end in vain",
        "contended" => "gives up where it would have to wait for others",
        "success" => "makes a huge page that another request takes",
        _ => "makes none",
    }
}

/// Holders of the blocks of a zone that compaction cannot empty, in words.
fn blocked(inspection: &Inspection, place: Option<&(NodeId, String)>) -> String {
    let view = place.and_then(|(node, zone)| view_of(inspection, *node, zone));
    let Some(findings) = view.and_then(|view| view.view.findings.as_ref()) else { return String::new() };
    let lost = &findings.lost;
    match lost.by_holder.first() {
        Some(holder) => format!(
            ": {} hold pages that cannot move, mostly {} ({})",
            count_of(lost.blocks, "pageblock"),
            holder.class.describe(),
            grouped(holder.blocks)
        ),
        None => format!(
            ": of {}, moving could empty {}",
            count_of(findings.blocks.total, "pageblock"),
            grouped(findings.by_moving_in_linux.huge_pages)
        ),
    }
}

/// Node and zone that an event names.
fn place(event: &Event) -> Option<(NodeId, String)> {
    let node = u16::try_from(event.number("node")?).ok()?;
    Some((NodeId(node), event.field("zone")?.to_owned()))
}

/// Answer of compaction to a request, where the event is one.
fn answer(event: &Event) -> Option<&str> {
    match &*event.name {
        DEFERRED => Some("deferred"),
        ENDED => event.field("status"),
        SUITABLE => event.field("ret").filter(|answer| matches!(*answer, "skipped" | "not_suitable_zone")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use order9_record::{Sample, Unit};
    use order9_snapshot::Snapshot;
    use order9_snapshot::prices::Prices;

    use super::*;

    const MADVISE: [(&str, &str); 2] = [(ENABLED, "madvise"), (DEFRAG, "madvise")];

    /// The obstacle of a run with these faults, each the time of its end and whether it became huge, and these events.
    fn obstacle(advised: bool, faults: &[(u64, bool)], events: &[(u64, &str, &str)]) -> Obstacle {
        let mut run = Run::new("host", 1);
        let [base, huge] = ["fault-base", "fault-huge"].map(|name| run.operation(name, Unit::Nanos));
        let sample = |&(at, is_huge): &(u64, bool)| Sample {
            operation: if is_huge { huge } else { base },
            at: Nanos::new(at),
            value: 1.0,
        };
        run.samples = faults.iter().map(sample).collect();
        let event = |&(at, name, fields): &(u64, &str, &str)| {
            let (at, comm, name) = (Nanos::new(at), "map-and-write".into(), name.into());
            Event { at, cpu: 0, comm, pid: 1, name, fields: fields.to_owned() }
        };
        run.traces.events = events.iter().map(event).collect();
        let snapshot = Snapshot::default();
        let inspection = Inspection::of(&snapshot, None, &Prices::of(&snapshot));
        let settings = MADVISE.map(|(name, value)| (name, value.to_owned())).into();
        let start = Start { zones: Vec::new(), settings };
        let ask = Ask { size: Bytes::new(2 << 20), node: None, advised, defrag: None };
        Course::of(&run).obstacle(&ask, &start, &inspection, Bytes::new(2 << 20))
    }

    #[test]
    fn the_first_fault_without_a_huge_page_names_the_obstacle() {
        let tried = |at| (at, TRIED, "order=9");
        let suitable = |at, answer| (at, SUITABLE, answer);
        let scanned = |at, status| (at, ENDED, status);
        let [yes, no] = ["node=0 zone=Normal order=9 ret=continue", "node=0 zone=Normal order=9 ret=skipped"];
        let of = |faults: &[_], events: &[_]| obstacle(true, faults, events);
        let none = of(&[(1, true), (2, true)], &[]);
        assert_eq!((none.kind, none.huge_pages_before), (ObstacleKind::None, 2));
        let never = of(&[(1, true), (2, false)], &[]);
        assert_eq!((never.kind, never.huge_pages_before), (ObstacleKind::NoCompaction, 1));
        assert!(never.sentence.contains("1 free huge page, then faults take base pages"), "{}", never.sentence);
        let failed = [
            tried(2),
            suitable(2, yes),
            scanned(3, "zone_start=0x1 status=success"),
            tried(6),
            suitable(6, yes),
            scanned(7, "zone_start=0x1 status=contended"),
            scanned(8, "zone_start=0x1 status=complete"),
            scanned(8, "zone_start=0x0 status=contended"),
        ];
        let failed = of(&[(1, true), (4, true), (9, false)], &failed);
        assert_eq!((failed.kind, failed.huge_pages_before), (ObstacleKind::CompactionFails, 2));
        assert_eq!(
            failed.sentence,
            "node 0 zone Normal: 1 free huge page, 1 by direct compaction, then direct compaction scans the zone to its end \
             in vain"
        );
        let few = of(&[(1, true), (4, false)], &[tried(2), suitable(2, no)]);
        assert_eq!(few.kind, ObstacleKind::TooFewFree);
        let deferred = of(&[(4, false)], &[tried(2), (2, DEFERRED, "node=0 zone=Normal order=9")]);
        assert_eq!(deferred.kind, ObstacleKind::Deferred);
        let waits = of(&[(1, true), (4, true)], &[tried(2), suitable(2, yes)]);
        assert_eq!((waits.kind, waits.huge_pages_before), (ObstacleKind::CompactionWaits, 1));
    }

    #[test]
    fn memory_that_is_not_advised_has_settings_in_its_way() {
        let settings = obstacle(false, &[(1, false)], &[]);
        assert_eq!(settings.kind, ObstacleKind::Settings);
        assert!(settings.sentence.ends_with("enabled is madvise, and the program does not advise its memory"));
    }

    #[test]
    fn answers_of_daemons_are_not_those_of_the_program() {
        let mut run = Run::new("host", 1);
        let event = |comm: &str, name: &str, fields: &str| Event {
            at: Nanos::ZERO,
            cpu: 0,
            comm: comm.into(),
            pid: 1,
            name: name.into(),
            fields: fields.to_owned(),
        };
        run.traces.events = vec![
            event("kcompactd0", ENDED, "status=success"),
            event("map-and-write", ENDED, "status=complete"),
            event("map-and-write", SUITABLE, "ret=skipped"),
            event("map-and-write", SUITABLE, "ret=continue"),
        ];
        let answers = [("complete".to_owned(), 1), ("skipped".to_owned(), 1)];
        assert_eq!(Course::of(&run).answers(), answers.into());
    }
}
