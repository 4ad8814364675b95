//! A piece of a CPU's ring buffer, as `trace_pipe_raw` hands it out.
//!
//! Source of the form: the files `events/header_page` and `events/header_event` of tracefs, which describe it to any reader. The piece
//! begins with a time stamp and the number of bytes in use; events follow one another, each with a word that holds a kind or a length, and
//! the time since the one before.

/// Bytes before the first event: a time stamp of 64 bits, and a word of 64 bits with the bytes in use.
const HEAD: usize = 16;
/// Bits of the word with the bytes in use that tell of lost events: some were, and their number stands behind the events.
const LOST: u64 = 1 << 31;
const LOST_STORED: u64 = 1 << 30;
/// Bits of an event's word that are its kind; the others are a time.
const KIND_BITS: u32 = 5;
/// Bits of an event's word that are a time.
const TIME_BITS: u32 = 27;
/// Kinds that are no length.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Events that were lost before a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// None.
    None,
    /// Number of them.
    Some(u64),
    /// Some; the kernel had no room to say how many.
    Unknown,
}

/// An event as it lies in a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    /// Time by the clock of the instance, in ns.
    pub at: u64,
    /// The record, which begins with the number of its tracepoint.
    pub data: &'a [u8],
}

/// A piece of a ring buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubBuffer<'a> {
    /// Events that were lost before.
    pub lost: Lost,
    /// The events, in order.
    pub events: Vec<RawEvent<'a>>,
}

/// Reason for which bytes are no piece of a ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubBufferError {
    /// The head is not whole.
    #[error("expected {HEAD} bytes of a head, found {0}")]
    Head(usize),
    /// The head tells of more bytes than there are.
    #[error("expected {expected} bytes of events, found {found}")]
    Short {
        /// Bytes that the head tells of.
        expected: usize,
        /// Bytes that are there.
        found: usize,
    },
    /// An event reaches beyond the events.
    #[error("at byte {0}: an event of more bytes than there are")]
    Event(usize),
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

impl<'a> SubBuffer<'a> {
    /// Reads what one `read` of `trace_pipe_raw` gave.
    ///
    /// # Errors
    /// Bytes that no kernel writes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SubBufferError> {
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or(SubBufferError::Head(bytes.len()))?;
        let number = |at: usize| u64::from_ne_bytes(*head[at..].first_chunk().expect("the head is whole"));
        let (begin, commit) = (number(0), number(8));
        let used = usize::try_from(commit & (LOST_STORED - 1)).unwrap_or(usize::MAX);
        let events = rest.get(..used).ok_or(SubBufferError::Short { expected: used, found: rest.len() })?;
        let lost = match (commit & LOST != 0, commit & LOST_STORED != 0) {
            (false, _) => Lost::None,
            (true, true) => rest
                .get(used..)
                .and_then(|rest| rest.first_chunk().copied())
                .map_or(Lost::Unknown, |number| Lost::Some(u64::from_ne_bytes(number))),
            (true, false) => Lost::Unknown,
        };
        Ok(Self { lost, events: Events { bytes: events, at: 0, time: begin }.collect::<Result<_, _>>()? })
    }
}

/// The events of a piece, one after the other.
struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
    time: u64,
}

impl<'a> Events<'a> {
    /// The next record; `None` where only time or nothing is told.
    fn step(&mut self) -> Result<Option<RawEvent<'a>>, SubBufferError> {
        let begin = self.at;
        let broken = SubBufferError::Event(begin);
        let first = word(self.bytes, begin).ok_or(broken)?;
        let (kind, delta) = (first & ((1 << KIND_BITS) - 1), u64::from(first >> KIND_BITS));
        self.at += 4;
        let mut second = || {
            let word = word(self.bytes, self.at).ok_or(broken);
            self.at += 4;
            word
        };
        let length = match kind {
            TIME_EXTEND => {
                self.time = self.time.wrapping_add((u64::from(second()?) << TIME_BITS) + delta);
                return Ok(None);
            }
            TIME_STAMP => {
                // The stamp has 59 bits; those above are taken from the time before.
                let stamp = (u64::from(second()?) << TIME_BITS) + delta;
                self.time = stamp | (self.time & !((1 << (32 + TIME_BITS)) - 1));
                return Ok(None);
            }
            // A null event ends the piece; a discarded one has its length and its time.
            PADDING if delta == 0 => {
                self.at = self.bytes.len();
                return Ok(None);
            }
            PADDING => {
                self.at = begin + 4 + (second()? as usize).max(4);
                self.time = self.time.wrapping_add(delta);
                return if self.at <= self.bytes.len() { Ok(None) } else { Err(broken) };
            }
            // The word counts itself.
            0 => (second()? as usize).checked_sub(4).ok_or(broken)?,
            words => words as usize * 4,
        };
        self.time = self.time.wrapping_add(delta);
        let data = self.bytes.get(self.at..).and_then(|rest| rest.get(..length)).ok_or(broken)?;
        self.at += length.next_multiple_of(4);
        Ok(Some(RawEvent { at: self.time, data }))
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<RawEvent<'a>, SubBufferError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.bytes.len() {
            match self.step() {
                Ok(None) => {}
                Ok(Some(event)) => return Some(Ok(event)),
                Err(error) => {
                    self.at = self.bytes.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(commit: u64, words: &[u32]) -> Vec<u8> {
        let head = [1000_u64, commit].map(u64::to_ne_bytes).concat();
        [head, words.iter().flat_map(|word| word.to_ne_bytes()).collect()].concat()
    }

    #[test]
    fn events_have_their_times() {
        let words = [
            2 | (7 << KIND_BITS), // Two words, 7 ns later.
            11,
            12,
            TIME_EXTEND | (1 << KIND_BITS), // 2^27 + 1 ns.
            1,
            0, // A length of its own.
            8,
            13,
        ];
        let bytes = piece(32, &words);
        let read = SubBuffer::parse(&bytes).expect("a kernel writes so");
        let times: Vec<(u64, usize)> = read.events.iter().map(|event| (event.at, event.data.len())).collect();
        assert_eq!(times, [(1007, 8), (1007 + (1 << 27) + 1, 4)]);
        assert_eq!(read.lost, Lost::None);
    }

    #[test]
    fn lost_events_are_counted_where_the_kernel_says_how_many() {
        let lost = |commit, words: &[u32]| SubBuffer::parse(&piece(commit, words)).expect("a kernel writes so").lost;
        assert_eq!(lost(LOST, &[]), Lost::Unknown);
        assert_eq!(lost(LOST | LOST_STORED, &[5, 0]), Lost::Some(5));
        assert_eq!(lost(LOST | LOST_STORED | 4, &[PADDING, 5, 0]), Lost::Some(5));
    }

    #[test]
    fn what_no_kernel_writes_is_refused() {
        let refused = |bytes: &[u8]| SubBuffer::parse(bytes).expect_err("refused");
        assert_eq!(refused(&[0; 7]), SubBufferError::Head(7));
        assert_eq!(refused(&piece(8, &[1])), SubBufferError::Short { expected: 8, found: 4 });
        assert_eq!(refused(&piece(4, &[9])), SubBufferError::Event(0));
        assert_eq!(refused(&piece(8, &[0, 3])), SubBufferError::Event(0));
        assert_eq!(refused(&piece(4, &[TIME_EXTEND])), SubBufferError::Event(0));
    }
}
