//! Mappings that a task scans where it is to scan those only that it uses (`vma_numab_state`).

use order9_units::Nanos;

use super::{NumaTask, SpaceBalancing, millis};
use crate::mempolicy::SpaceTask;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::ScanVmas;
use crate::space::Spaces;
use crate::space::{SpaceId, Vma, Vpn};

/// Passes in which a mapping is scanned whoever uses it.
const FIRST_PASSES: u32 = 2;
/// Scan delays after which the users of a mapping are forgotten, at the latest after twice as many.
const MEMORY: u64 = 4;

/// Facts about one mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct VmaScan {
    /// Not scanned before this, unless the space is in its first pass.
    not_before: Nanos,
    /// The pass in which it was first seen, and the one in which it was last scanned.
    first: u32,
    last: u32,
    /// When who used it begins to be forgotten.
    forget_at: Nanos,
    /// Tasks that have used it, by six bits of a hash of their number: lately, and before that.
    users: [u64; 2],
}

/// The bit of a task.
const fn bit(pid: u32) -> u64 {
    // The multiplication spreads neighbouring numbers, the upper bits count.
    1 << (pid.wrapping_mul(0x61c8_8647) >> 26)
}

impl UsedPages {
    /// Whether a scan passes a mapping over.
    pub(super) fn scan_passes_over(
        &mut self,
        of: SpaceTask,
        vma: &Vma,
        task: NumaTask,
        now: Nanos,
        phys: &PhysMem,
    ) -> bool {
        if self.is_never_scanned(of, vma) {
            return true;
        }
        if phys.policy.numa_balancing.vmas == ScanVmas::All {
            return false;
        }
        let delay = millis(phys.settings.numa_balancing.scan.delay_ms);
        let balancing = self.spaces.living(of.space).balancing.as_deref_mut().expect("a scan has begun");
        !balancing.enters(vma.range.start, task, now, delay)
    }
}

impl Spaces {
    /// A task has used a page of a mapping.
    pub(super) fn note_vma_user(&mut self, id: SpaceId, vma: &Vma, task: NumaTask) {
        if let Some(balancing) = self.living(id).balancing.as_deref_mut()
            && let Some(known) = balancing.vmas.get_mut(&vma.range.start)
        {
            known.users[0] |= bit(task.pid);
        }
    }
}

impl SpaceBalancing {
    /// Whether a task scans the mapping that begins at `start`; what was asked of it before is forgotten in time.
    fn enters(&mut self, start: Vpn, task: NumaTask, now: Nanos, delay: Nanos) -> bool {
        let (pass, offset) = (self.pass, self.offset);
        let memory = Nanos::new(MEMORY * delay.get());
        let known = self.vmas.entry(start).or_insert_with(|| VmaScan {
            not_before: now + delay,
            first: pass,
            last: pass,
            forget_at: now + delay + memory,
            users: [0; 2],
        });
        if pass > 0 && now < known.not_before {
            return false;
        }
        if pass > 0 && now > known.forget_at {
            known.forget_at = now + memory;
            known.users = [0, known.users[0]];
        }
        let young = pass - known.first < FIRST_PASSES;
        let used = (known.users[0] | known.users[1]) & bit(task.pid) != 0;
        // Begun, or nobody else does it: else it would never be scanned again.
        let owed = offset > start || u64::from(pass - known.last) > task.threads;
        let enters = young || used || owed;
        if enters {
            known.last = pass;
        }
        enters
    }
}
