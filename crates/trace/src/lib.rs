//! Events of a Linux kernel, from a tracefs instance of its own: the buffers that others read, and the switch that stops all tracing,
//! are never touched.
//!
//! Key types: [`Instance`] (tracepoints that are switched on, until it is dropped), [`SubBuffer`] (a piece of a CPU's ring buffer as the
//! kernel hands it out), [`Format`] (fields of a tracepoint, as its format file tells them), [`TraceEvent`] (an event with its fields as
//! text). Whether events were lost is always said.
#![forbid(unsafe_code)]

mod format;
mod instance;
mod sub_buffer;

pub use format::{Format, FormatError};
pub use instance::{Drained, Instance, InstanceError, Losses, Seen};
pub use sub_buffer::{Lost, RawEvent, SubBuffer, SubBufferError};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time by `CLOCK_MONOTONIC`, in ns.
    pub at: u64,
    /// CPU on which it happened.
    pub cpu: u32,
    /// Task that it happened to.
    pub pid: u32,
    /// Index of the tracepoint among those of the instance.
    pub tracepoint: usize,
    /// Fields of the tracepoint: `key=value`, with blanks between.
    pub fields: String,
}
