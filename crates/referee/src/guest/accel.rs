//! Execution of the guest's code: by the CPU, or QEMU's translator.

use std::fs::File;

/// Accelerators of QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// The CPU itself. Times are real.
    Kvm,
    /// A translator. What happens is real, and how long it takes is not.
    Tcg,
    /// A translator that counts instructions and takes their number for the time: one thread, the same again and again.
    Counted,
}

/// CPU of a translator. Clearing and copying by bytes is the fast way of a CPU, and the slow one of a translator, which executes
/// each byte for itself: without it kernels take eight bytes at a time.
const CPU: &str = "max,-erms,-fsrm";

impl Accel {
    /// Whether this host may have KVM. Whether it works is known when a guest has booted.
    pub(super) fn may_have_kvm() -> bool {
        File::options().read(true).write(true).open("/dev/kvm").is_ok()
    }

    /// Name for manifests and notes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "KVM",
            Self::Tcg => "TCG",
            Self::Counted => "TCG with counted instructions",
        }
    }

    /// Sentence that a reader of its results has to know.
    #[must_use]
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Self::Kvm => None,
            Self::Tcg => Some("the guest's code was translated (TCG): counts are results, times are not"),
            Self::Counted => Some(
                "time is counted instructions, one for a nanosecond, on one CPU: it compares kernels and settings, not machines",
            ),
        }
    }

    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Kvm => &["-accel", "kvm", "-cpu", "host"],
            Self::Tcg => &["-accel", "tcg,thread=multi", "-cpu", CPU],
            Self::Counted => &[
                "-accel",
                "tcg,thread=single",
                "-cpu",
                CPU,
                "-icount",
                "shift=0,sleep=off",
                "-rtc",
                "base=2020-01-01T00:00:00,clock=vm",
            ],
        }
    }

    /// Random numbers that are the same in every guest with this seed. They matter to counted instructions alone: other guests differ anyway.
    pub(super) fn random_numbers(self, seed: u64) -> Vec<String> {
        match self {
            Self::Kvm | Self::Tcg => Vec::new(),
            Self::Counted => vec!["-seed".to_owned(), seed.to_string()],
        }
    }
}
