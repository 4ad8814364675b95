//! `fsmark`: a stream of small files far beyond memory, as when archives are unpacked. Every file makes one dirty page and
//! one dirty inode, so page cache and slab should be reclaimed in step.
//!
//! In every iteration all processes make their files without waiting for each other; the files stay, and removing them at
//! the end is part of the timed test. Measured are files per second of each iteration. The first one ends before memory is
//! full.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::demand::{Chosen, Demand, pages};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::Spec;
use crate::sys::{ChildKind, Facts, FileId, Stop, Sys};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "fsmark",
    summary: "makes small files far beyond memory: are page cache and slab reclaimed in step",
    description: "\
        A stream of small files far beyond memory, as when archives are unpacked. Every file makes one dirty page and \
        one dirty inode, so page cache and slab should be reclaimed in step. All processes make their files without \
        waiting for each other, iteration after iteration; files stay, and removing them at the end is part of the timed \
        run. Measured are files per second of each iteration.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[],
    counters_every: Nanos::new(10_000_000_000),
    is_long: true,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "processes",
        meaning: "processes, each with a directory of its own",
        kind: Kind::Count { min: 1, max: 4096 },
        default: |_| Value::Count(PROCESSES),
        default_text: "16",
    },
    Parameter {
        key: "files",
        meaning: "files that each process makes in an iteration",
        kind: Kind::Count { min: 1, max: FILES_MAX },
        default: |facts| Value::Count(files(facts)),
        default_text: "memory * 2 / 4096 / 60, at most 1000000",
    },
    Parameter {
        key: "file_size",
        meaning: "size of a file, written with one call",
        kind: Kind::Bytes { min: Bytes::new(1) },
        default: |_| Value::Bytes(FILE_SIZE),
        default_text: "4096",
    },
    Parameter {
        key: "iterations",
        meaning: "number of times that all processes make their files, besides the files of earlier times",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: |facts| Value::Count(iterations(facts)),
        default_text: "60, or as many as fill 70 % of the disk with default files",
    },
];

const MEASURES: &[Measure] = &[Measure {
    heading: "",
    operations: &[OPERATION],
    family: Family::Quantiles,
    better: Better::Higher,
    unit: Unit::FilesPerSecond,
    decimals: 2,
    main: &[(OPERATION, Figure::Mean)],
}];

/// Name of the operation in mmtests, in which the number is that of threads in each process.
const OPERATION: &str = "1-files/sec";
const PROCESSES: u64 = 16;
const FILE_SIZE: Bytes = PAGE_SIZE;
const FILES_MAX: u64 = 1_000_000;
const ITERATIONS: u64 = 60;

/// Time that a program computes for each file: a name of 40 characters, 24 of them random, a path, and six readings of
/// the clock. Measured: 0.49 to 0.50 us in three million rounds of such a C program (gcc -O2, Xeon of 2.1 GHz).
const NAMING: Nanos = Nanos::new(500);

/// Files that one process makes.
#[derive(Clone, Copy)]
struct Share {
    files: u64,
    size: Bytes,
}

/// Files that one process has made in an iteration, and the time that it took.
struct Made {
    files: Vec<FileId>,
    took: Nanos,
}

fn demand(of: &Chosen<'_>) -> Demand {
    let files = of.count("processes").saturating_mul(of.count("files")).saturating_mul(of.count("iterations"));
    let steps = files.saturating_mul(pages(of.bytes("file_size")).max(1));
    Demand { files: Bytes::new(steps.saturating_mul(PAGE_SIZE.get())), steps, ..Demand::default() }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let share = Share { files: parameters.count("files"), size: parameters.bytes("file_size") };
    let processes = parameters.count("processes");
    let mut directories: Vec<Vec<FileId>> = (0..processes).map(|_| Vec::new()).collect();
    for iteration in 1..=parameters.count("iterations") {
        sys.phase(&format!("iteration-{iteration}"));
        let mut rate = 0.0;
        for (directory, made) in directories.iter_mut().zip(iterate(sys, processes, share).await?) {
            rate += made.files.len() as f64 * 1e9 / made.took.max(Nanos::new(1)).get() as f64;
            directory.extend(made.files);
        }
        sys.rate(OPERATION, rate);
    }
    sys.snapshot("made");
    sys.phase("delete");
    for file in directories.into_iter().flatten() {
        sys.remove_file(file).await?;
    }
    Ok(())
}

/// One iteration: what every process has made.
async fn iterate<S: Sys>(sys: &S, processes: u64, share: Share) -> Result<Vec<Made>, Stop> {
    let mut running = Vec::new();
    for _ in 0..processes {
        // The time, and the number of each file.
        let made = sys.share(1 + share.files as usize)?;
        let result = made.clone();
        let child = sys.spawn(ChildKind::Process, "fs_mark", move |sys| async move {
            let Made { files, took } = make(&sys, share).await?;
            result.set(0, took.get());
            files.iter().enumerate().for_each(|(nth, file)| result.set(1 + nth, file.0.into()));
            Ok(())
        });
        running.push((child.await?, made));
    }
    let mut all = Vec::new();
    for (child, made) in running {
        sys.wait(child).await?.result?;
        let files = made.iter().skip(1).map(|file| FileId(file as u32)).collect();
        all.push(Made { files, took: Nanos::new(made.get(0)) });
    }
    Ok(all)
}

/// The loop of one process.
async fn make<S: Sys>(sys: &S, share: Share) -> Result<Made, Stop> {
    let start = sys.now();
    let mut files = Vec::with_capacity(share.files as usize);
    for _ in 0..share.files {
        sys.compute(NAMING).await?;
        let file = sys.create().await?;
        sys.write(file, Bytes::ZERO, share.size).await?;
        sys.close(file).await?;
        files.push(file);
    }
    Ok(Made { files, took: sys.now() - start })
}

/// Files of a process in an iteration.
fn files(facts: &Facts) -> u64 {
    (facts.room().get() * 2 / PAGE_SIZE.get() / ITERATIONS).clamp(1, FILES_MAX)
}

/// Largest number of iterations that leave room on the disk. A tmpfs holds half of memory unless mounted otherwise.
fn iterations(facts: &Facts) -> u64 {
    let room = facts.disk.unwrap_or(Bytes::new(facts.room().get() / 2));
    let each = FILE_SIZE.get() * files(facts) * PROCESSES;
    (room.get() / 100 * 70 / each).clamp(1, ITERATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(memory: u64, disk: Option<u64>) -> Facts {
        let disk = disk.map(Bytes::new);
        Facts { memory: Bytes::new(memory), cpus: 8, nodes: vec![Bytes::new(memory)], disk, available: None }
    }

    #[test]
    fn defaults_are_those_of_the_published_runs() {
        let (memory, disk) = (16 << 30, 250 * 1_000_000_000);
        assert_eq!(files(&facts(memory, None)), 139_810);
        assert_eq!(iterations(&facts(memory, Some(disk))), 19);
        // The largest memory with which 14 iterations fit.
        assert_eq!(iterations(&facts(208 * (1 << 30) / 10, Some(disk))), 14);
        assert_eq!(iterations(&facts(memory, Some(1 << 50))), 60);
        assert_eq!(iterations(&facts(memory, None)), 1);
        assert_eq!(files(&facts(1 << 40, None)), FILES_MAX);
    }
}
