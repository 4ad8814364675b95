//! Requests in flags: gfp flags, the zone class and migratetype they mean, and the rights a walk has.

use core::fmt;
use core::ops::{BitOr, Sub};

use order9_units::{Migratetype, ZoneKind};

use crate::policy::ReserveRights;

/// Flags of a request, named as in Linux (`__GFP_MOVABLE` is [`Gfp::MOVABLE`]).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Gfp(u32);

macro_rules! gfp_flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        impl Gfp {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*

            const NAMES: &[(Self, &str)] = &[$((Self::$name, concat!("__GFP_", stringify!($name)))),*];
        }
    };
}

gfp_flags! {
    /// Memory below 16 MiB.
    DMA = 0;
    /// Memory below 4 GiB.
    DMA32 = 1;
    /// With `MOVABLE`: zone Movable may serve.
    HIGHMEM = 2;
    /// Compaction may move the content.
    MOVABLE = 3;
    /// A shrinker may free the content.
    RECLAIMABLE = 4;
    /// May start I/O.
    IO = 5;
    /// May enter filesystems.
    FS = 6;
    /// May reclaim and compact itself, hence sleep.
    DIRECT_RECLAIM = 7;
    /// May wake kswapd.
    KSWAPD_RECLAIM = 8;
    /// At most one round of compaction and reclaim.
    NORETRY = 9;
    /// Costly orders may loop; never ends in an OOM kill.
    RETRY_MAYFAIL = 10;
    /// Loops for ever rather than fail.
    NOFAIL = 11;
    /// Only the given node.
    THISNODE = 12;
    /// May use half of the min watermark.
    HIGH = 13;
    /// Cannot sleep and is urgent; up to 6.2.
    ATOMIC = 14;
    /// Ignores watermarks.
    MEMALLOC = 15;
    /// Never ignores watermarks.
    NOMEMALLOC = 16;
    /// The result is a compound page.
    COMP = 17;
    /// Obeys the cpuset strictly.
    HARDWALL = 18;
    /// Will be dirtied: spread over nodes.
    WRITE = 19;
    /// Content is cleared.
    ZERO = 20;
    /// No warning on failure.
    NOWARN = 21;
    /// Charged to a memory cgroup.
    ACCOUNT = 22;
    /// Compaction, but never reclaim; proposed in 2018, never merged.
    COMPACT_ONLY = 23;
}

/// The highest zone for each set of the four flags that choose it, which are the lowest.
const HIGHEST_ZONES: [ZoneKind; 16] = {
    let mut zones = [ZoneKind::Normal; 16];
    let mut bits = 0;
    while bits < zones.len() {
        let gfp = Gfp(bits as u32);
        zones[bits] = if gfp.has(Gfp::DMA) {
            ZoneKind::Dma
        } else if gfp.has(Gfp::DMA32) {
            ZoneKind::Dma32
        } else if gfp.has(Gfp::MOVABLE.and(Gfp::HIGHMEM)) {
            ZoneKind::Movable
        } else {
            ZoneKind::Normal
        };
        bits += 1;
    }
    zones
};

/// The mobility for each set of the two flags that choose it, of which `MOVABLE` is the lower and the other its neighbour.
const MIGRATETYPES: [Option<Migratetype>; 4] =
    [Some(Migratetype::Unmovable), Some(Migratetype::Movable), Some(Migratetype::Reclaimable), None];

const _: () = assert!(Gfp::RECLAIMABLE.0 == 2 * Gfp::MOVABLE.0);

impl Gfp {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// May reclaim itself and wake kswapd.
    pub const RECLAIM: Self = Self::DIRECT_RECLAIM.and(Self::KSWAPD_RECLAIM);
    /// `GFP_ATOMIC` as up to 6.2; from 6.3 on `ATOMIC` has no meaning and is ignored.
    pub const GFP_ATOMIC: Self = Self::HIGH.and(Self::ATOMIC).and(Self::KSWAPD_RECLAIM);
    /// `GFP_NOWAIT`.
    pub const GFP_NOWAIT: Self = Self::KSWAPD_RECLAIM;
    /// `GFP_NOIO`.
    pub const GFP_NOIO: Self = Self::RECLAIM;
    /// `GFP_NOFS`.
    pub const GFP_NOFS: Self = Self::RECLAIM.and(Self::IO);
    /// `GFP_KERNEL`.
    pub const GFP_KERNEL: Self = Self::GFP_NOFS.and(Self::FS);
    /// `GFP_USER`.
    pub const GFP_USER: Self = Self::GFP_KERNEL.and(Self::HARDWALL);
    /// `GFP_PGTABLE_USER`: page tables of programs.
    pub const GFP_PGTABLE_USER: Self = Self::GFP_KERNEL.and(Self::ZERO).and(Self::ACCOUNT);
    /// `GFP_HIGHUSER_MOVABLE`: user pages.
    pub const GFP_HIGHUSER_MOVABLE: Self = Self::GFP_USER.and(Self::HIGHMEM).and(Self::MOVABLE);
    /// `GFP_TRANSHUGE_LIGHT`: huge pages without any effort (4.8+).
    pub const GFP_TRANSHUGE_LIGHT: Self =
        Self(Self::GFP_HIGHUSER_MOVABLE.and(Self::COMP).and(Self::NOMEMALLOC).and(Self::NOWARN).0 & !Self::RECLAIM.0);
    /// `GFP_TRANSHUGE`: huge pages with direct reclaim and compaction (4.8+).
    pub const GFP_TRANSHUGE: Self = Self::GFP_TRANSHUGE_LIGHT.and(Self::DIRECT_RECLAIM);

    /// Sets of flags that have a name of their own, as Linux names them.
    const SETS: [(&str, Self); 10] = [
        ("GFP_KERNEL", Self::GFP_KERNEL),
        ("GFP_HIGHUSER_MOVABLE", Self::GFP_HIGHUSER_MOVABLE),
        ("GFP_TRANSHUGE", Self::GFP_TRANSHUGE),
        ("GFP_TRANSHUGE_LIGHT", Self::GFP_TRANSHUGE_LIGHT),
        ("GFP_ATOMIC", Self::GFP_ATOMIC),
        ("GFP_NOWAIT", Self::GFP_NOWAIT),
        ("GFP_NOIO", Self::GFP_NOIO),
        ("GFP_NOFS", Self::GFP_NOFS),
        ("GFP_USER", Self::GFP_USER),
        ("GFP_PGTABLE_USER", Self::GFP_PGTABLE_USER),
    ];

    /// The flags of a text such as `GFP_KERNEL|__GFP_RECLAIMABLE`.
    ///
    /// # Errors
    /// The first name that is none.
    pub fn parse(text: &str) -> Result<Self, &str> {
        let named = |name: &str| {
            let set = Self::SETS.iter().find(|(known, _)| *known == name).map(|&(_, flags)| flags);
            set.or_else(|| Self::NAMES.iter().find(|(_, known)| *known == name).map(|&(flag, _)| flag))
        };
        text.split('|').try_fold(Self::NONE, |flags, name| Ok(flags.and(named(name.trim()).ok_or(name)?)))
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These flags and `flags`.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        self.and(flags)
    }

    /// These flags without `flags`.
    #[must_use]
    pub const fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }

    /// Whether every flag of `flags` is set.
    #[must_use]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The highest zone that may serve the request.
    #[inline]
    #[must_use]
    pub const fn highest_zone(self) -> ZoneKind {
        HIGHEST_ZONES[self.0 as usize % HIGHEST_ZONES.len()]
    }

    /// The mobility asked for; `None` for `MOVABLE` and `RECLAIMABLE` together, which is illegal.
    #[inline]
    #[must_use]
    pub const fn migratetype(self) -> Option<Migratetype> {
        MIGRATETYPES[(self.0 / Self::MOVABLE.0) as usize % MIGRATETYPES.len()]
    }
}

impl BitOr for Gfp {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl Sub for Gfp {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Gfp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for &(flag, name) in Self::NAMES {
            if self.has(flag) {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        if separator.is_empty() { f.write_str("0") } else { Ok(()) }
    }
}

/// The watermark a walk must leave untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Slow path.
    Min,
    /// Fast path.
    Low,
    /// Last look before an OOM kill; kswapd's goal.
    High,
}

/// Rights and limits of one walk over the zonelist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocFlags {
    /// The mark to respect.
    pub mark: Mark,
    /// Take from any zone, whatever its watermark.
    pub no_watermarks: bool,
    /// Share of the min mark the request may use, and the highatomic reserve.
    pub reserve: Reserve,
    /// The request may use CMA memory.
    pub cma: bool,
    /// Do not mix migratetypes below a whole pageblock (ALLOC_NOFRAGMENT).
    pub nofragment: bool,
    /// kswapd may be woken (ALLOC_KSWAPD).
    pub kswapd: bool,
}

/// Rights to the reserves below a watermark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserve {
    /// ALLOC_HIGH up to 6.2, ALLOC_MIN_RESERVE from 6.3 on: half of the mark.
    pub min_reserve: bool,
    /// ALLOC_HARDER up to 6.2: another quarter. ALLOC_NON_BLOCK from 6.3 on: the same, only with `min_reserve`.
    pub harder: bool,
    /// ALLOC_OOM: an OOM victim, half of what is left.
    pub oom: bool,
    /// May take from the highatomic reserve and, for order > 0, extend it.
    pub highatomic: bool,
}

impl Reserve {
    /// The rights that `gfp` gives. `rt` says that a real-time task asks outside an interrupt, `order_above_0` that
    /// more than one page is wanted.
    #[must_use]
    pub const fn of(gfp: Gfp, rt: bool, order_above_0: bool, rights: ReserveRights) -> Self {
        let high = gfp.has(Gfp::HIGH);
        let may_use = !gfp.has(Gfp::NOMEMALLOC);
        match rights {
            ReserveRights::Harder => {
                let harder = (gfp.has(Gfp::ATOMIC) && may_use) || rt;
                Self { min_reserve: high, harder, oom: false, highatomic: harder }
            }
            ReserveRights::NonBlock => {
                let non_block = !gfp.has(Gfp::DIRECT_RECLAIM) && may_use;
                let highatomic = non_block && order_above_0;
                Self { min_reserve: high || rt, harder: non_block, oom: false, highatomic }
            }
        }
    }
}

impl AllocFlags {
    /// No rights but those of everybody.
    #[must_use]
    pub const fn plain(mark: Mark) -> Self {
        let reserve = Reserve { min_reserve: false, harder: false, oom: false, highatomic: false };
        Self { mark, no_watermarks: false, reserve, cma: false, nofragment: false, kswapd: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_and_type_follow_the_flags() {
        assert_eq!(Gfp::GFP_KERNEL.highest_zone(), ZoneKind::Normal);
        assert_eq!(Gfp::GFP_HIGHUSER_MOVABLE.highest_zone(), ZoneKind::Movable);
        assert_eq!((Gfp::GFP_USER | Gfp::MOVABLE).highest_zone(), ZoneKind::Normal);
        assert_eq!((Gfp::GFP_KERNEL | Gfp::DMA | Gfp::DMA32).highest_zone(), ZoneKind::Dma);
        assert_eq!(Gfp::GFP_KERNEL.migratetype(), Some(Migratetype::Unmovable));
        assert_eq!(Gfp::GFP_TRANSHUGE.migratetype(), Some(Migratetype::Movable));
        assert_eq!((Gfp::MOVABLE | Gfp::RECLAIMABLE).migratetype(), None);
    }

    #[test]
    fn light_huge_requests_make_no_effort() {
        assert_eq!(Gfp::parse("GFP_KERNEL | __GFP_RECLAIMABLE"), Ok(Gfp::GFP_KERNEL | Gfp::RECLAIMABLE));
        assert_eq!(Gfp::parse("GFP_KERNEL|__GFP_FAST"), Err("__GFP_FAST"));
        assert!(!Gfp::GFP_TRANSHUGE_LIGHT.has(Gfp::DIRECT_RECLAIM));
        assert!(!Gfp::GFP_TRANSHUGE_LIGHT.has(Gfp::KSWAPD_RECLAIM));
        assert!(Gfp::GFP_TRANSHUGE.has(Gfp::DIRECT_RECLAIM) && !Gfp::GFP_TRANSHUGE.has(Gfp::KSWAPD_RECLAIM));
    }
}
