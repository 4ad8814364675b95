//! Causes of fragmentation at the start, counted as they are made.

use order9_units::{Bytes, Order, PAGE_SIZE, PAGEBLOCK_PAGES};

use crate::dice::Dice;
use crate::parameters::Parameters;
use crate::pattern::{Pattern, part};
use crate::sys::{Access, Advice, Area, ChildKind, KernelAlloc, KernelSize, Mapping, Stop, Sys};
use crate::unit::UNIT;

/// Blocks with one page of the kernel.
pub(super) const UNMOVABLE: &str = "Blocks with an unmovable page";
/// Units of the program with a pinned page. Its pages lie where memory was free, so that a block may have several.
pub(super) const PINNED: &str = "Pinned pages";
/// Blocks of the beginning without any page of the kernel.
pub(super) const CLEAN: &str = "Blocks without unmovable page";

/// Free memory that is left alone while the kernel's pages are placed, in percent: requests come first.
const SPARE_PERCENT: u64 = 3;

pub(super) async fn make<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    if parameters.count("unmovable_percent") > 0 || !sys.facts().starts_in_use() {
        let chosen = parameters.clone();
        let kernel =
            sys.spawn(ChildKind::Kernel, "unmovable", move |sys| async move { unmovable(&sys, &chosen).await });
        sys.wait(kernel.await?).await?.result?;
    } else {
        sys.count(UNMOVABLE, 0.0);
        sys.count(CLEAN, 0.0);
    }
    if parameters.count("fill_percent") == 0 {
        sys.count(PINNED, 0.0);
        return Ok(());
    }
    let area = fill(sys, parameters).await?;
    let pinned = pin(sys, parameters, area).await?;
    sys.count(PINNED, pinned as f64);
    give_back(sys, parameters, area).await
}

/// Takes nearly all memory in blocks and frees it again but for one page of some blocks.
async fn unmovable<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let spare = Bytes::new(sys.facts().memory.get() / 100 * SPARE_PERCENT);
    let mut blocks = Vec::new();
    while sys.memory().free > spare + UNIT {
        match sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(Order::PAGEBLOCK))).await? {
            Some(block) => blocks.push(block),
            None => break,
        }
    }
    let mut dice = Dice::new(sys.seed("frag-mix unmovable"));
    let (share, mut polluted) = (parameters.count("unmovable_percent"), 0_u64);
    for block in &blocks {
        if dice.below(100) < share {
            let kept = dice.below(PAGEBLOCK_PAGES.get());
            sys.kernel_free_pages(*block, 0..kept).await?;
            sys.kernel_free_pages(*block, kept + 1..PAGEBLOCK_PAGES.get()).await?;
            polluted += 1;
        } else {
            sys.kernel_free(*block).await?;
        }
    }
    sys.count(UNMOVABLE, polluted as f64);
    sys.count(CLEAN, (blocks.len() as u64 - polluted) as f64);
    Ok(())
}

/// Memory of a program, page after page.
async fn fill<S: Sys>(sys: &S, parameters: &Parameters) -> Result<Area, Stop> {
    let length = sys.memory().free.get() / 100 * parameters.count("fill_percent") / UNIT.get() * UNIT.get();
    let area = sys.mmap(Mapping::anon(Bytes::new(length.max(UNIT.get())))).await?;
    if parameters.word("advised") == "nohugepage" {
        sys.madvise(area, Advice::NoHugePage).await?;
    }
    sys.touch(area, Access::Write).await?;
    Ok(area)
}

/// Pins the last page of some units; returns how many.
async fn pin<S: Sys>(sys: &S, parameters: &Parameters, area: Area) -> Result<u64, Stop> {
    let mut dice = Dice::new(sys.seed("frag-mix pinned"));
    let (share, mut pinned) = (parameters.count("pinned_percent"), 0);
    for unit in units(area) {
        if dice.below(100) < share {
            sys.pin(last_page(unit)).await?;
            pinned += 1;
        }
    }
    Ok(pinned)
}

/// Frees pages anywhere, those excepted that may be pinned.
async fn give_back<S: Sys>(sys: &S, parameters: &Parameters, area: Area) -> Result<(), Stop> {
    let mut pattern = Pattern::new("random", parameters.count("freed_percent"), sys.seed("frag-mix freed"));
    for unit in units(area) {
        for run in pattern.next_unit() {
            let end = run.end.min(PAGEBLOCK_PAGES.get() - 1);
            if run.start < end {
                sys.madvise(part(unit, run.start..end), Advice::DontNeed).await?;
            }
        }
    }
    Ok(())
}

fn units(area: Area) -> impl Iterator<Item = Area> {
    (0..area.length.get()).step_by(UNIT.get() as usize).map(move |offset| area.part(Bytes::new(offset), UNIT))
}

fn last_page(unit: Area) -> Area {
    unit.part(UNIT - PAGE_SIZE, PAGE_SIZE)
}
