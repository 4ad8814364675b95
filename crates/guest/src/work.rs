//! Jobs from the host, and the answers.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use order9_live::{
    FromGuest, Limits, Message, ToGuest, Witness, pause_of_phase, read_facts, read_frame, supervise, write_frame,
};

use crate::console::say;
use crate::maps::Lists;
use crate::{calibration, kills, maps, port, storage, watch};

/// Argument with which this file is a program.
pub(crate) const PROGRAM: &str = "program";

/// Serves the host until it wants no more.
pub(crate) fn serve() -> Result<(), String> {
    let mut port = port::open().map_err(|error| format!("the serial port: {error}"))?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    tell(&mut port, &FromGuest::Ready { kernel })?;
    let mut files: Option<PathBuf> = None;
    loop {
        let order = read_frame(&mut port).map_err(|error| format!("no order came: {error}"))?;
        match order {
            ToGuest::PowerOff => return Ok(()),
            ToGuest::Equip(wanted) => {
                let equipped = storage::equip(&wanted).map(|place| files = place);
                tell(&mut port, &FromGuest::Equipped(equipped))?;
            }
            ToGuest::Set(settings) => set(&mut port, &settings)?,
            ToGuest::Facts => {
                let facts = read_facts(0, files.as_deref()).map_err(|error| error.to_string());
                tell(&mut port, &FromGuest::Facts(facts))?;
            }
            ToGuest::Map(name) => {
                let sent = maps::send(&name, Lists::Short, |piece| write_frame(&mut port, piece));
                sent.map_err(|error| error.to_string())?;
            }
            ToGuest::Calibrate(rounds) => tell(&mut port, &FromGuest::Calibrated(calibration::measure(rounds)))?,
            ToGuest::Kill(victim, times) => tell(&mut port, &FromGuest::Killed(kills::kill(&victim, times)))?,
            ToGuest::Watch => tell(&mut port, &FromGuest::Seen(watch::watch()))?,
            ToGuest::Run(job) => {
                let mut answers = Answers { port: &mut port, waiting: Vec::new() };
                std::thread::sleep(pause_of_phase(job.seed));
                let limits = Limits { interrupted: &AtomicBool::new(false), guards_machine: false, time: None };
                let mut command = Command::new("/proc/self/exe");
                command.arg(PROGRAM);
                let end = supervise(&job, None, limits, command, &mut answers);
                let Answers { waiting, .. } = answers;
                port.write_all(&waiting).map_err(|error| error.to_string())?;
                tell(&mut port, &FromGuest::Ended(end.map_err(|error| error.to_string())))?;
            }
        }
    }
}

fn tell(port: &mut File, message: &FromGuest) -> Result<(), String> {
    write_frame(port, message).map_err(|error| format!("the serial port: {error}"))
}

/// Writes settings that this kernel has, and says which it has not.
fn set(port: &mut File, settings: &[(String, String)]) -> Result<(), String> {
    let refused = settings.iter().filter_map(|(path, value)| {
        let error = fs::write(path, value).err()?;
        Some((path.clone(), error.to_string()))
    });
    let refused = refused.collect();
    tell(port, &FromGuest::Were(refused))
}

/// Keeps what a run says until its end, so that the port is silent while something is measured. Maps go at once: the run stands still
/// then, and the guest has no memory for them.
struct Answers<'a> {
    port: &'a mut File,
    waiting: Vec<u8>,
}

impl Witness for Answers<'_> {
    fn message(&mut self, message: Message) {
        write_frame(&mut self.waiting, &FromGuest::Said(message)).expect("memory takes what it has room for");
    }

    fn snapshot(&mut self, name: &str) {
        if let Err(error) = maps::send(name, Lists::AsTheyAre, |piece| write_frame(&mut *self.port, piece)) {
            say(&format!("the snapshot {name}: {error}"));
        }
    }
}
