//! A guest that takes orders.

use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use order9_calibrate::Direct;
use order9_live::{Facts, FromGuest, Kills, Region, Storage, ToGuest, Victim, read_frame, write_frame};
use order9_snapshot::Snapshot;

use super::accel::Accel;
use super::error::GuestError;
use super::images::Images;
use super::maps::Maps;
use super::qemu::Qemu;
use super::shape::Shape;
use crate::kernels::Modules;

/// Specification of a guest that boots.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// The kernel: a bzImage.
    pub kernel: PathBuf,
    /// The first process: see [`find_init`](super::find_init).
    pub init: PathBuf,
    /// CPUs, nodes and memory.
    pub shape: Shape,
    /// Disks and swap.
    pub storage: Storage,
    /// Parameters of the kernel, beside those that every guest has.
    pub cmdline: String,
    /// Seed of the random numbers that a guest with counted instructions draws. Guests with different seeds boot into different memory.
    pub seed: u64,
    /// The longest time in which the guest may be silent, booting included.
    pub silence: Duration,
}

/// A guest that has booted.
pub struct Guest {
    pub(super) spec: GuestSpec,
    pub(super) accel: Accel,
    pub(super) qemu: Qemu,
    pub(super) port: Port,
    pub(super) images: Images,
    /// Release of the kernel, whole.
    pub(super) kernel: String,
}

/// Time in which a guest boots where KVM works. A host may have KVM and yet run nothing with it.
const KVM_BOOTS: Duration = Duration::from_secs(30);

impl Guest {
    /// Boots with what the host has: KVM if a guest boots with it, a translator otherwise. `accel` asks for one of them alone.
    ///
    /// # Errors
    /// Why there is no guest.
    pub fn boot(spec: &GuestSpec, accel: Option<Accel>) -> Result<Self, GuestError> {
        match accel {
            Some(accel) => Self::boot_with(spec, accel),
            None if Accel::may_have_kvm() => {
                let quick = GuestSpec { silence: KVM_BOOTS.min(spec.silence), ..spec.clone() };
                let guest = Self::boot_with(&quick, Accel::Kvm).map(|guest| Self { spec: spec.clone(), ..guest });
                guest.or_else(|_| Self::boot_with(spec, Accel::Tcg))
            }
            None => Self::boot_with(spec, Accel::Tcg),
        }
    }

    fn boot_with(spec: &GuestSpec, accel: Accel) -> Result<Self, GuestError> {
        // A CPU that computes leaves others no counted instructions before QEMU 8.1, and old kernels cannot even start them.
        let spec = match accel {
            Accel::Counted => GuestSpec { shape: spec.shape.clone().with_one_cpu(), ..spec.clone() },
            Accel::Kvm | Accel::Tcg => spec.clone(),
        };
        let images = Images::new(&spec.storage)?;
        let mut qemu = Qemu::start(&spec, accel, &images, false)?;
        let port = Port::new(qemu.port()?);
        let mut guest = Self { spec, accel, qemu, port, images, kernel: String::new() };
        match guest.answer()? {
            FromGuest::Ready { kernel } => guest.kernel = kernel,
            other => return Err(guest.qemu.lost(&unexpected("the first word", &other))),
        }
        guest.equip()?;
        Ok(guest)
    }

    /// Lets the guest make its disks and swap ready.
    fn equip(&mut self) -> Result<(), GuestError> {
        if self.spec.storage.is_empty() {
            return Ok(());
        }
        self.order(&ToGuest::Equip(self.spec.storage.clone()))?;
        let has_modules = Modules::beside(&self.spec.kernel).are_there();
        match self.answer()? {
            FromGuest::Equipped(equipped) => equipped.map_err(|error| GuestError::NoStorage { error, has_modules }),
            other => Err(self.qemu.lost(&unexpected("an answer about disks", &other))),
        }
    }

    /// Accelerator that executes its code.
    #[must_use]
    pub const fn accel(&self) -> Accel {
        self.accel
    }

    /// Release of its kernel, whole.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Lets it be silent for so long from now on.
    pub const fn allow_silence(&mut self, silence: Duration) {
        self.spec.silence = silence;
    }

    /// Text of its console.
    #[must_use]
    pub fn console(&self) -> String {
        self.qemu.console()
    }

    /// The size of the machine as its kernel tells it.
    ///
    /// # Errors
    /// A guest that does not answer.
    pub fn facts(&mut self) -> Result<Facts, GuestError> {
        self.order(&ToGuest::Facts)?;
        match self.answer()? {
            FromGuest::Facts(Ok(facts)) => Ok(facts),
            FromGuest::Facts(Err(error)) => Err(self.qemu.lost(&format!("cannot tell its size: {error}"))),
            other => Err(self.qemu.lost(&unexpected("its size", &other))),
        }
    }

    /// Writes settings; those that the kernel does not have or take, each with the reason.
    ///
    /// # Errors
    /// A guest that does not answer.
    pub fn set(&mut self, settings: Vec<(String, String)>) -> Result<Vec<(String, String)>, GuestError> {
        self.order(&ToGuest::Set(settings))?;
        match self.answer()? {
            FromGuest::Were(refused) => Ok(refused),
            other => Err(self.qemu.lost(&unexpected("an answer about settings", &other))),
        }
    }

    /// Rounds of measurements of what work costs on it.
    ///
    /// # Errors
    /// A guest that does not answer, or cannot measure.
    pub fn calibrate(&mut self, rounds: usize) -> Result<Vec<Direct>, GuestError> {
        self.order(&ToGuest::Calibrate(rounds))?;
        match self.answer()? {
            FromGuest::Calibrated(measured) => measured.map_err(GuestError::NotStarted),
            other => Err(self.qemu.lost(&unexpected("measurements", &other))),
        }
    }

    /// Does what changes settings, kills it `times` times at moments from its start to its end, and looks after each kill whether its
    /// way back puts everything back.
    ///
    /// # Errors
    /// A guest that does not answer, or on which the victim does not come to its end.
    pub fn kill(&mut self, victim: &Victim, times: u32) -> Result<Kills, GuestError> {
        self.order(&ToGuest::Kill(victim.clone(), times))?;
        match self.answer()? {
            FromGuest::Killed(kills) => kills.map_err(GuestError::NotStarted),
            other => Err(self.qemu.lost(&unexpected("an account of kills", &other))),
        }
    }

    /// Watches a process there by DAMON, and says what was seen of the half of its memory that is used, and of the other.
    ///
    /// # Errors
    /// A guest that does not answer, or whose kernel does not watch memory of programs.
    pub fn watch(&mut self) -> Result<[Vec<Region>; 2], GuestError> {
        self.order(&ToGuest::Watch)?;
        match self.answer()? {
            FromGuest::Seen(seen) => seen.map_err(GuestError::NotStarted),
            other => Err(self.qemu.lost(&unexpected("what was seen of a process", &other))),
        }
    }

    /// The state of its memory.
    ///
    /// # Errors
    /// A guest that does not answer, or sends what is no state of memory.
    pub fn map(&mut self) -> Result<Snapshot, GuestError> {
        const NAME: &str = "now";
        self.order(&ToGuest::Map(NAME.to_owned()))?;
        let mut maps = Maps::default();
        loop {
            let taken = match self.answer()? {
                FromGuest::Map { snapshot, path, deflated } => maps.take(&snapshot, &path, &deflated),
                FromGuest::MapEnds { .. } => {
                    return maps.finish(NAME).map_err(|error| self.qemu.lost(&format!("has no map: {error}")));
                }
                other => Err(unexpected("a map", &other)),
            };
            taken.map_err(|error| self.qemu.lost(&error))?;
        }
    }

    pub(super) fn order(&mut self, order: &ToGuest) -> Result<(), GuestError> {
        write_frame(self.port.stream.get_mut(), order)
            .map_err(|error| self.qemu.lost(&format!("takes no orders: {error}")))
    }

    /// The next answer, within the time that the guest may be silent.
    pub(super) fn answer(&mut self) -> Result<FromGuest, GuestError> {
        let Self { spec, qemu, port, .. } = self;
        port.read(spec.silence, || qemu.is_running()).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => qemu.lost(&format!("said nothing for {} s", spec.silence.as_secs())),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => qemu.ended(),
            _ => qemu.lost(&format!("cannot be understood: {error}")),
        })
    }
}

/// An answer to something else.
pub(super) fn unexpected(expected: &str, found: &FromGuest) -> String {
    let found = format!("{found:?}");
    let begin: String = found.chars().take(60).collect();
    format!("was to send {expected} and sent {begin}")
}

/// The host's end of the serial port.
pub(super) struct Port {
    stream: BufReader<UnixStream>,
}

/// Time after which the port looks whether anybody is there.
const LOOK: Duration = Duration::from_millis(200);

impl Port {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    fn read(&mut self, silence: Duration, is_there: impl FnMut() -> bool) -> io::Result<FromGuest> {
        self.stream.get_ref().set_read_timeout(Some(LOOK))?;
        read_frame(Patient { stream: &mut self.stream, silence, last: Instant::now(), is_there })
    }
}

/// A stream that waits for the next byte as long as it may.
struct Patient<'a, F> {
    stream: &'a mut BufReader<UnixStream>,
    silence: Duration,
    /// Time of the latest byte.
    last: Instant,
    is_there: F,
}

impl<F: FnMut() -> bool> Read for Patient<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if !(self.is_there)() {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    if self.last.elapsed() > self.silence {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => {
                    self.last = Instant::now();
                    return read;
                }
            }
        }
    }
}
