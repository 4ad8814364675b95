//! Words for a run from a captured host: settings that it took over, and memory that the host's kernel had not given
//! out yet.

use order9_import::{Imported, SettingsReport, Untaken};
use order9_mm::Mm;
use order9_procfs::sysctl::{self, Setting};
use order9_report::number::size;
use order9_units::Bytes;

/// Settings, release and prices that came with a snapshot.
pub(crate) struct Captured {
    settings: SettingsReport,
}

impl Captured {
    /// The engine, and what came with it.
    pub(crate) fn of(imported: Imported) -> (Mm, Self) {
        (imported.mm, Self { settings: imported.settings })
    }

    /// Notes that a reader of results needs, once everything has been set for the start of `mm`.
    pub(crate) fn notes(&self, mm: &Mm) -> Vec<String> {
        [Some(self.settings(mm)), deferred(mm)].into_iter().flatten().collect()
    }

    fn settings(&self, mm: &Mm) -> String {
        let (mut taken, mut replaced, mut usual) = (Vec::new(), Vec::new(), 0);
        for of in &self.settings.taken {
            let now = value_now(mm, of.setting);
            if now != of.value {
                replaced.push(format!("{}={} by {now}", of.setting.name, of.value));
            } else if of.value == of.before {
                usual += 1;
            } else {
                taken.push(format!("{}={now}", of.setting.name));
            }
        }
        let usual = match (usual, taken.is_empty()) {
            (0, _) => None,
            (usual, true) => Some(format!("{usual} settings, all as without it")),
            (usual, false) => Some(format!("and {usual} as without it")),
        };
        taken.extend(usual);
        let untaken = |of: &[Untaken]| of.iter().map(|of| format!("{}={}", of.name, of.value)).collect::<Vec<_>>();
        let parts = [
            ("taken from the snapshot", taken),
            ("replaced", replaced),
            ("not in this policy", untaken(&self.settings.not_in_policy)),
            ("left off", untaken(&self.settings.left_off)),
            ("not modelled", untaken(&self.settings.not_modelled)),
        ];
        let parts = parts.iter().filter(|(_, said)| !said.is_empty());
        parts.map(|(heading, said)| format!("{heading}: {}", said.join(", "))).collect::<Vec<_>>().join("; ")
    }
}

/// Memory that the kernel had not initialised yet when it was captured.
fn deferred(mm: &Mm) -> Option<String> {
    let deferred = mm.phys().deferred_pages().bytes();
    (deferred > Bytes::ZERO).then(|| {
        format!(
            "{} of {} had not been given to the page allocator when the host was captured: they count as free, and are given \
             out in sections of 128 MiB when a request finds too little",
            size(deferred),
            size(mm.phys().managed_pages().bytes())
        )
    })
}

/// The value of a setting that can be read: of words that in brackets.
fn value_now(mm: &Mm, setting: &'static Setting) -> String {
    order9_import::value_shown(&sysctl::read(mm, setting.name).unwrap_or_default())
}
