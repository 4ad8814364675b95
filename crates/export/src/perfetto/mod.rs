//! A run as a trace of Perfetto, to be opened in ui.perfetto.dev: a group of tracks for each cell, with its phases, CPUs,
//! daemons, compaction, operations, events and counters.
//!
//! Cells begin at time 0 together, so that policies stand below each other. The format is TrackEvents in protobuf.

mod lanes;
pub mod messages;
mod timeline;

use std::io::Write;

use order9_record::{Event, Run, read_events};
use prost::Message as _;

use crate::{ExportError, Exported};
use lanes::lanes;
use messages::{
    ChildTracksOrdering, CounterDescriptor, DebugAnnotation, EventType, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use timeline::{Slice, timeline};

/// The only writer of packets.
const SEQUENCE: u32 = 1;

/// Writes the trace of all cells of a run.
///
/// # Errors
/// No run, a damaged run directory, or a place that cannot be written to.
pub fn write(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let (directory, loaded) = exported.needed_run("perfetto")?;
    let mut tracing = Tracing::default();
    for (cell, run) in loaded.manifest.cells.iter().zip(&loaded.runs) {
        tracing.cell(run, &read_events(directory, &loaded.manifest, cell)?);
    }
    Ok(out.write_all(&tracing.finish().encode_to_vec())?)
}

/// A trace in the making.
#[derive(Default)]
struct Tracing {
    tracks: Vec<TrackDescriptor>,
    events: Vec<(u64, TrackEvent)>,
}

impl Tracing {
    fn cell(&mut self, run: &Run, events: &[Event]) {
        let cell = self.track(None, format!("{}, seed {}", run.policy, run.seed));
        let timeline = timeline(run, events);
        for (track, slices) in timeline.slices {
            for (lane, slices) in lanes(slices).into_iter().enumerate() {
                let name = if lane == 0 { track.name() } else { format!("{} ({})", track.name(), lane + 1) };
                let uuid = self.track(Some(cell), name);
                slices.iter().for_each(|slice| self.slice(uuid, slice));
            }
        }
        if !timeline.instants.is_empty() {
            let group = self.track(Some(cell), "events".to_owned());
            for (name, instants) in timeline.instants {
                let uuid = self.track(Some(group), name);
                instants.iter().for_each(|instant| self.instant(uuid, instant));
            }
        }
        self.counters(cell, run);
    }

    /// Counters that changed.
    fn counters(&mut self, cell: u64, run: &Run) {
        let changed = |values: &[u64]| values.iter().any(|value| *value != values[0]);
        let columns = run.counters.columns.iter().filter(|column| changed(&column.values));
        let columns: Vec<_> = columns.collect();
        if columns.is_empty() {
            return;
        }
        let group = self.track(Some(cell), "counters".to_owned());
        for column in columns {
            let uuid = self.track(Some(group), column.name.clone());
            let unit_name = column.meaning.map(|meaning| meaning.to_string());
            let descriptor = self.tracks.last_mut().expect("it was just added");
            descriptor.counter = Some(CounterDescriptor { unit_name });
            for (at, value) in run.counters.times.iter().zip(&column.values) {
                let counter_value = Some(i64::try_from(*value).unwrap_or(i64::MAX));
                let event = TrackEvent { counter_value, ..event(uuid, EventType::Counter) };
                self.events.push((at.get(), event));
            }
        }
    }

    fn slice(&mut self, uuid: u64, slice: &Slice) {
        self.events.push((slice.begin, named(uuid, EventType::SliceBegin, slice)));
        self.events.push((slice.end, event(uuid, EventType::SliceEnd)));
    }

    fn instant(&mut self, uuid: u64, instant: &Slice) {
        self.events.push((instant.begin, named(uuid, EventType::Instant, instant)));
    }

    /// A new track below another.
    fn track(&mut self, parent_uuid: Option<u64>, name: String) -> u64 {
        let rank = self.tracks.len() + 1;
        let uuid = rank as u64;
        self.tracks.push(TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name),
            parent_uuid,
            counter: None,
            child_ordering: Some(ChildTracksOrdering::Explicit.into()),
            sibling_order_rank: i32::try_from(rank).ok(),
        });
        uuid
    }

    /// The descriptions of all tracks, then the events in order of time; those of one instant keep their order.
    fn finish(mut self) -> Trace {
        self.events.sort_by_key(|(at, _)| *at);
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..TracePacket::default() };
        let tracks = self.tracks.into_iter().map(|track| TracePacket {
            timestamp: Some(0),
            track_descriptor: Some(track),
            ..packet.clone()
        });
        let events = self.events.into_iter().map(|(at, event)| TracePacket {
            timestamp: Some(at),
            track_event: Some(event),
            ..packet.clone()
        });
        Trace { packet: tracks.chain(events).collect() }
    }
}

fn event(uuid: u64, kind: EventType) -> TrackEvent {
    TrackEvent { track_uuid: Some(uuid), r#type: Some(kind.into()), ..TrackEvent::default() }
}

fn named(uuid: u64, kind: EventType, slice: &Slice) -> TrackEvent {
    let fields = slice.fields.split_whitespace().filter_map(|field| field.split_once('='));
    let annotation = |(name, value): (&str, &str)| DebugAnnotation {
        name: Some(name.to_owned()),
        string_value: Some(value.trim_end_matches(',').to_owned()),
    };
    TrackEvent {
        name: Some(slice.name.clone()),
        debug_annotations: fields.map(annotation).collect(),
        ..event(uuid, kind)
    }
}
