//! Work that CPUs and tasks make for each other.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use rustix::pipe::pipe;

use crate::clock::{Cpus, cpu_of, cpu_per, pin, wall_per};
use crate::direct::Direct;
use crate::pages::protect_and_read;
use crate::sys::{PAGE, PageSize, Region};

/// Measurements of which the median counts.
const SHORT: usize = 15;

/// Calls that interrupt the other CPU.
const SHOOTDOWNS: usize = 100;

/// Messages between two threads on one CPU.
const MESSAGES: usize = 200;

/// Times a cache line goes to the other CPU and back.
const PASSES: u32 = 3_000;

/// Threads started.
const THREADS: usize = 20;

/// Locks taken.
const LOCKS: usize = 100_000;

/// Fills in what takes two threads; the calling one stays on `here`. What takes two CPUs is not a number where there is one.
pub(crate) fn measure(direct: &mut Direct, Cpus { here, there }: Cpus) -> io::Result<()> {
    direct.uncontended_lock = uncontended_lock();
    direct.pipe_alone = pipe_alone()?;
    direct.pipe_round_trip = typical(|| pipe_round_trip(here))?;
    let beside = |measure: fn(usize) -> io::Result<f64>| match there {
        Some(there) => typical(|| measure(there)),
        None => Ok(f64::NAN),
    };
    direct.mprotect_shared = beside(mprotect_beside)?;
    direct.line_round_trip = beside(line_round_trip)?;
    direct.thread = typical(threads)?;
    Ok(())
}

/// The median of several short measurements: most escape whatever else wants the two CPUs.
fn typical(mut measure: impl FnMut() -> io::Result<f64>) -> io::Result<f64> {
    let mut values = [0.0; SHORT];
    for value in &mut values {
        *value = measure()?;
    }
    values.sort_by(f64::total_cmp);
    Ok(values[SHORT / 2])
}

fn threads() -> io::Result<f64> {
    wall_per(THREADS, || (0..THREADS).try_for_each(|_| thread::spawn(|| ()).join().map_err(ended)))
}

fn ended(_: Box<dyn std::any::Any + Send>) -> io::Error {
    io::Error::other("a thread of the benchmark ended early")
}

fn uncontended_lock() -> f64 {
    let lock = AtomicU32::new(0);
    cpu_of(LOCKS, || {
        for _ in 0..LOCKS {
            let _ = std::hint::black_box(&lock).compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
            std::hint::black_box(&lock).store(0, Ordering::Release);
        }
    })
}

/// mprotect() there and back, while another thread of this process runs on `cpu`.
fn mprotect_beside(cpu: usize) -> io::Result<f64> {
    let mut page = Region::anonymous(1, PageSize::Base)?;
    page.store(0, PAGE);
    let (runs, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = pin(cpu);
            runs.store(true, Ordering::Release);
            while !stop.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            pinned
        });
        while !runs.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let per_call = wall_per(SHOOTDOWNS, || protect_and_read(&mut page, SHOOTDOWNS));
        stop.store(true, Ordering::Release);
        other.join().map_err(ended)??;
        per_call
    })
}

/// The system calls of a message alone.
fn pipe_alone() -> io::Result<f64> {
    let (reader, writer) = pipe()?;
    cpu_per(MESSAGES, || {
        (0..MESSAGES).try_for_each(|_| {
            rustix::io::write(&writer, &[1])?;
            rustix::io::read(&reader, &mut [0_u8; 1])?;
            Ok(())
        })
    })
}

/// Two threads on one CPU that wait for each other: every message switches.
fn pipe_round_trip(cpu: usize) -> io::Result<f64> {
    let (ask_reader, ask) = pipe()?;
    let (answer_reader, answer) = pipe()?;
    thread::scope(|scope| {
        let other = scope.spawn(move || -> io::Result<()> {
            pin(cpu)?;
            while rustix::io::read(&ask_reader, &mut [0_u8; 1])? == 1 {
                rustix::io::write(&answer, &[1])?;
            }
            Ok(())
        });
        let round_trip = wall_per(MESSAGES, || {
            (0..MESSAGES).try_for_each(|_| {
                rustix::io::write(&ask, &[1])?;
                rustix::io::read(&answer_reader, &mut [0_u8; 1])?;
                Ok(())
            })
        });
        drop(ask);
        other.join().map_err(ended)??;
        round_trip
    })
}

/// Two threads on two CPUs count up by turns.
fn line_round_trip(cpu: usize) -> io::Result<f64> {
    let turn = AtomicU32::new(0);
    let wait_for = |value: u32| {
        while turn.load(Ordering::Acquire) != value {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let pinned = pin(cpu);
            for pass in 0..=PASSES {
                wait_for(2 * pass + 1);
                turn.store(2 * pass + 2, Ordering::Release);
            }
            pinned
        });
        turn.store(1, Ordering::Release);
        wait_for(2); // The other thread runs.
        let round_trip = wall_per(PASSES as usize, || {
            for pass in 1..=PASSES {
                turn.store(2 * pass + 1, Ordering::Release);
                wait_for(2 * pass + 2);
            }
            Ok(())
        });
        other.join().map_err(ended)??;
        round_trip
    })
}
