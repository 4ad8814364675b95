//! Messages of Perfetto's trace format, as far as a timeline needs them. Numbers are those of its published definitions
//! (`protos/perfetto/trace/trace_packet.proto` and those beside it).

use prost::{Enumeration, Message};

/// A whole trace file.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Packets of the trace.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A packet: the description of a track, or an event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Time of the event in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Writer of the packet: one for the whole file.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// The description of a track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track: a line of the timeline.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Number of the track.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name of the track.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track below which it stands.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Set where values are drawn instead of slices.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// Order of its children.
    #[prost(enumeration = "ChildTracksOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Place among its siblings.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Order of the tracks below a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum ChildTracksOrdering {
    /// As the viewer likes.
    Unknown = 0,
    /// By their ranks.
    Explicit = 3,
}

/// A counter of a track.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// Name of the unit.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Fields of the event.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Kind of the event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Track of the event.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Name of a slice or instant.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// No kind of event.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The slice that began last on the track ends.
    SliceEnd = 2,
    /// An instant.
    Instant = 3,
    /// A value of a counter.
    Counter = 4,
}

/// A field of an event.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Text of the field.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// Name of the field.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}
