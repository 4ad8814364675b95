//! `stream-reader`: reads a set of files larger than memory over and over, so that every page read pushes another one out:
//! what page cache and reclaim make of a steady stream.
//!
//! Each reader owns a part of the files and reads it block by block, in order or at random; a share of its blocks is
//! appended to a log of its own instead, which begins anew when it is as large as a file. Measured is the throughput of
//! each reader in every second. Beside the readers the kernel may take memory for itself ([`kernel`]).

mod kernel;

use order9_units::{Bytes, Nanos};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

use crate::demand::{CALL, Chosen, Demand, pages};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, DropCaches, FileId, Measuring, Stop, Sys};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "stream-reader",
    summary: "reads files larger than memory over and over: the effect of a stream on memory",
    description: "\
        Reads a set of files larger than memory over and over, in blocks of 128 KiB, so that every page read pushes \
        another one out. A share of the blocks may be appended to a log instead, and the kernel may take memory for \
        itself beside the stream, in bursts that fragment memory. Measured is what each reader moves in every second.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "size of all files",
        kind: Kind::Bytes { min: BLOCK },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 2 * 3)),
        default_text: "3/2 of memory",
    },
    Parameter {
        key: "file_size",
        meaning: "size of each file",
        kind: Kind::Bytes { min: BLOCK },
        default: |_| Value::Bytes(Bytes::new(64 << 20)),
        default_text: "64 MiB",
    },
    Parameter {
        key: "readers",
        meaning: "processes that read, each an equal part of the files",
        kind: Kind::Count { min: 1, max: 4096 },
        default: |_| Value::Count(1),
        default_text: "1",
    },
    Parameter {
        key: "order",
        meaning: "order in which the blocks of all files are read",
        kind: Kind::Word(&["sequential", "random"]),
        default: |_| Value::Word("sequential"),
        default_text: "sequential",
    },
    Parameter {
        key: "written_percent",
        meaning: "share of the blocks that are appended to a log instead of read",
        kind: Kind::Count { min: 0, max: 100 },
        default: |_| Value::Count(0),
        default_text: "0",
    },
    Parameter {
        key: "rate",
        meaning: "rate at which each reader reads and writes, per second; 0 is as fast as it can",
        kind: Kind::Bytes { min: Bytes::ZERO },
        default: |_| Value::Bytes(Bytes::ZERO),
        default_text: "0",
    },
    Parameter {
        key: "kernel",
        meaning: "memory that the kernel also takes for itself, in a burst every minute; 0 is none",
        kind: Kind::Bytes { min: Bytes::ZERO },
        default: |_| Value::Bytes(Bytes::ZERO),
        default_text: "0",
    },
    Parameter {
        key: "time",
        meaning: "duration of the run",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(3_600_000_000_000)),
        default_text: "1h",
    },
];

const MEASURES: &[Measure] = &[Measure {
    heading: "",
    operations: &[OPERATION],
    family: Family::Quantiles,
    better: Better::Higher,
    unit: Unit::MebibytesPerSecond,
    decimals: 2,
    main: &[(OPERATION, Figure::Mean)],
}];

/// The number is that of readers.
const OPERATION: &str = "stream";
/// Bytes that one call reads or writes.
const BLOCK: Bytes = Bytes::new(128 << 10);

/// Work of one reader.
#[derive(Clone)]
struct Stream {
    /// Number of this reader, and of all.
    reader: u64,
    readers: u64,
    files: Vec<FileId>,
    file_size: Bytes,
    random: bool,
    written_percent: u64,
    rate: Bytes,
    end: Nanos,
}

fn demand(of: &Chosen<'_>) -> Demand {
    let (readers, of_file) = (of.count("readers"), of.bytes("file_size"));
    let files = of.bytes("size").max(of_file.saturating_mul(readers));
    let time = of.time("time");
    let calls = (time.get() / (10 * CALL.get())).saturating_mul(readers);
    let steps = pages(files).saturating_add(calls);
    Demand { mapped: Bytes::new(of.bytes("kernel")), files: Bytes::new(files), steps, time }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let (size, file_size) = (parameters.bytes("size"), whole_blocks(parameters.bytes("file_size")));
    let readers = parameters.count("readers");
    sys.phase("prepare");
    let mut files = Vec::new();
    for _ in 0..(size.get() / file_size.get()).max(readers) {
        files.push(sys.create_file(file_size).await?);
    }
    sys.sync().await?;
    sys.drop_caches(DropCaches::All).await?;
    sys.phase("measure");
    let all = Stream {
        reader: 0,
        readers,
        files: Vec::new(),
        file_size,
        random: parameters.word("order") == "random",
        written_percent: parameters.count("written_percent"),
        rate: parameters.bytes("rate"),
        end: sys.now() + parameters.time("time"),
    };
    let mut children = Vec::new();
    for (reader, part) in (0..).zip(files.chunks(files.len().div_ceil(readers as usize))) {
        let stream = Stream { reader, files: part.to_vec(), ..all.clone() };
        children.push(sys.spawn(ChildKind::Process, "stream-reader", move |sys| read(sys, stream)).await?);
    }
    let (burst, end) = (parameters.bytes("kernel"), all.end);
    if burst > Bytes::ZERO {
        children.push(sys.spawn(ChildKind::Process, "kernel", move |sys| kernel::run(sys, burst, end)).await?);
    }
    for child in children {
        sys.wait(child).await?.result?;
    }
    sys.phase("clean-up");
    for file in files {
        sys.remove_file(file).await?;
    }
    Ok(())
}

/// The bytes rounded down to whole blocks.
fn whole_blocks(bytes: Bytes) -> Bytes {
    Bytes::new(bytes.get() / BLOCK.get() * BLOCK.get())
}

/// Runs one reader.
async fn read<S: Sys>(sys: S, stream: Stream) -> Result<(), Stop> {
    let seed = sys.seed(&format!("stream-reader {}", stream.reader));
    let mut rng = Pcg64Mcg::new(u128::from(seed) | 1);
    let blocks_per_file = stream.file_size.get() / BLOCK.get();
    let blocks = stream.files.len() as u64 * blocks_per_file;
    for &file in &stream.files {
        sys.open(file).await?;
    }
    let mut log = Log { file: sys.create().await?, length: Bytes::ZERO };
    let mut meter = Meter { since: sys.now(), moved: Bytes::ZERO };
    let (start, mut next) = (sys.now(), 0);
    for nth in 1.. {
        if rng.next_u64() % 100 < stream.written_percent {
            log.append(&sys, stream.file_size).await?;
        } else {
            let block = if stream.random { rng.next_u64() % blocks } else { next % blocks };
            next += 1;
            let file = stream.files[(block / blocks_per_file) as usize];
            sys.read(file, Bytes::new(block % blocks_per_file * BLOCK.get()), BLOCK).await?;
        }
        meter.count(&sys, stream.readers);
        if sys.now() >= stream.end {
            break;
        }
        if stream.rate > Bytes::ZERO {
            sys.sleep(ahead(nth, stream.rate, sys.now() - start)).await?;
        }
    }
    for &file in &stream.files {
        sys.close(file).await?;
    }
    sys.close(log.file).await?;
    sys.remove_file(log.file).await
}

/// Time by which a reader of `blocks` is ahead of its rate after `passed`.
fn ahead(blocks: u64, rate: Bytes, passed: Nanos) -> Nanos {
    let due = u128::from(blocks) * u128::from(BLOCK.get()) * u128::from(SECOND.get()) / u128::from(rate.get());
    Nanos::new(u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(passed.get()))
}

/// Log that a reader writes.
struct Log {
    file: FileId,
    length: Bytes,
}

impl Log {
    /// Appends a block; what would be longer than `max` begins anew.
    async fn append<S: Sys>(&mut self, sys: &S, max: Bytes) -> Result<(), Stop> {
        if self.length >= max {
            sys.close(self.file).await?;
            sys.remove_file(self.file).await?;
            *self = Self { file: sys.create().await?, length: Bytes::ZERO };
        }
        sys.write(self.file, self.length, BLOCK).await?;
        self.length += BLOCK;
        Ok(())
    }
}

/// Bytes read and written since the last sample.
struct Meter {
    since: Nanos,
    moved: Bytes,
}

impl Meter {
    /// Counts a block, and takes a sample where a second is over.
    fn count<S: Measuring>(&mut self, sys: &S, readers: u64) {
        self.moved += BLOCK;
        let passed = sys.now() - self.since;
        if passed >= SECOND {
            let mebibytes = self.moved.get() as f64 / f64::from(1 << 20);
            sys.rate(&format!("{OPERATION}-{readers}"), mebibytes * 1e9 / passed.get() as f64);
            *self = Self { since: sys.now(), moved: Bytes::ZERO };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_by_waiting_and_never_made_up_for_in_advance() {
        let rate = Bytes::new(1 << 20);
        assert_eq!(ahead(8, rate, Nanos::ZERO), SECOND);
        assert_eq!(ahead(8, rate, Nanos::new(600_000_000)), Nanos::new(400_000_000));
        assert_eq!(ahead(8, rate, Nanos::new(1_600_000_000)), Nanos::ZERO);
    }

    #[test]
    fn files_are_whole_blocks() {
        assert_eq!(whole_blocks(Bytes::new((200 << 10) + 5)), BLOCK);
    }
}
