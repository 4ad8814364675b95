//! Frames between a host and a guest: what is sent over a serial port.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use order9_calibrate::Direct;

use crate::damon::Region;
use crate::job::Job;
use crate::kills::{Kills, Victim};
use crate::message::{Facts, Message};
use crate::storage::Storage;
use crate::supervisor::Supervised;

/// The longest frame, in bytes: more than a piece of a map has.
const FRAME_MAX: u32 = 16 << 20;

/// An order of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToGuest {
    /// Load the modules that came with the first process, mount the file system, and swap.
    Equip(Storage),
    /// Write settings, by path.
    Set(Vec<(String, String)>),
    /// Tell the size of the machine.
    Facts,
    /// Run a job.
    Run(Job),
    /// Do what changes settings, and kill it so many times.
    Kill(Victim, u32),
    /// Send the state of memory under this name.
    Map(String),
    /// Measure prices, in so many rounds.
    Calibrate(usize),
    /// Watch a process of which one half of its memory is used and one is not.
    Watch,
    /// Switch the machine off.
    PowerOff,
}

/// An answer of the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromGuest {
    /// The guest takes orders.
    Ready {
        /// Release of the kernel.
        kernel: String,
    },
    /// Disks and swap are there, or why not.
    Equipped(Result<(), String>),
    /// The size of the machine, or why it is not known.
    Facts(Result<Facts, String>),
    /// Settings were written, but for these, each with the reason.
    Were(Vec<(String, String)>),
    /// The run says something.
    Said(Message),
    /// A piece of a file of the kernel, for a snapshot; pieces of a file come in order.
    Map {
        /// Name of the snapshot.
        snapshot: String,
        /// Path of the file.
        path: String,
        /// The piece, by deflate without a head.
        deflated: Vec<u8>,
    },
    /// All files of this snapshot were sent.
    MapEnds {
        /// Name of the snapshot.
        snapshot: String,
    },
    /// Rounds of measurements, or why there are none.
    Calibrated(Result<Vec<Direct>, String>),
    /// Findings of kills, or why there were none.
    Killed(Result<Kills, String>),
    /// Regions of the half that is used, and of the other, or why there are none.
    Seen(Result<[Vec<Region>; 2], String>),
    /// The run has ended so, or did not start.
    Ended(Result<Supervised, String>),
}

/// Writes a value behind its length.
///
/// # Errors
/// Those of `to`.
pub fn write_frame(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    let bytes = rmp_serde::to_vec(value).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length <= FRAME_MAX);
    let length = length.ok_or_else(|| io::Error::other("a frame of more than 16 MiB"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads what [`write_frame`] has written.
///
/// # Errors
/// Those of `from`; a length or a content that nobody has written.
pub fn read_frame<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > FRAME_MAX {
        return Err(io::Error::other(format!("a frame of {length} bytes, which nobody sends")));
    }
    // The sender may lie: memory is taken as bytes come.
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    rmp_serde::from_slice(&bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_one_after_another() {
        let sent = [
            FromGuest::Ready { kernel: "6.1".to_owned() },
            FromGuest::Map { snapshot: "s".to_owned(), path: "/proc/vmstat".to_owned(), deflated: vec![1; 100_000] },
            FromGuest::Ended(Err("nothing".to_owned())),
            FromGuest::Ended(Ok(Supervised::Completed)),
        ];
        let mut bytes = Vec::new();
        sent.iter().for_each(|message| write_frame(&mut bytes, message).expect("memory"));
        let mut from = bytes.as_slice();
        for message in &sent {
            assert_eq!(&read_frame::<FromGuest>(&mut from).expect("a frame"), message);
        }
        assert!(from.is_empty());
    }

    #[test]
    fn what_nobody_sent_is_an_error() {
        let read = |bytes: &[u8]| read_frame::<FromGuest>(bytes).expect_err("an error").to_string();
        assert!(read(&[255; 8]).contains("which nobody sends"));
        assert_eq!(read(&[4, 0, 0, 0, 1]), io::Error::from(io::ErrorKind::UnexpectedEof).to_string());
        read(&[2, 0, 0, 0, 0xc1, 0xc1]);
    }
}
