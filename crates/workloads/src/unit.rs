//! The unit of benchmarks of huge pages: an aligned 2 MiB of memory, written once.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::sys::{Access, Advice, Area, Mapping, Stop, Sys};

/// Size of a unit.
pub(crate) const UNIT: Bytes = Bytes::new(2 << 20);

/// Latency, page size and place of a filled unit.
pub(crate) struct Filled {
    /// Time from before the first store until the last, in whole microseconds. Asking for the mapping is not included.
    pub(crate) latency: Nanos,
    /// The first fault mapped more than it had to.
    pub(crate) huge: bool,
    /// Whether the unit lies on the node of the CPU that filled it.
    pub(crate) local: bool,
}

/// The page that is asked for after the first store: the last one, which is there if the whole unit is.
const FURTHER_ON: Bytes = Bytes::new(UNIT.get() - PAGE_SIZE.get());

/// Maps private memory and advises it; the second area is `length` bytes of it from the first whole unit on.
pub(crate) async fn map_units<S: Sys>(sys: &S, length: Bytes, advice: Option<Advice>) -> Result<(Area, Area), Stop> {
    let mapped = sys.mmap(Mapping::anon(length + UNIT)).await?;
    if let Some(advice) = advice {
        sys.madvise(mapped, advice).await?;
    }
    let skipped = mapped.start.next_multiple_of(UNIT.get()) - mapped.start;
    Ok((mapped, mapped.part(Bytes::new(skipped), length)))
}

/// Writes all of a unit that nobody has touched.
pub(crate) async fn fill_unit<S: Sys>(sys: &S, unit: Area) -> Result<Filled, Stop> {
    let (first, huge) = touch_first(sys, unit).await?;
    let again = sys.now();
    sys.fill(unit).await?;
    told(sys, unit, first + (sys.now() - again), huge).await
}

/// Writes a word of each base page of a unit that nobody has touched.
pub(crate) async fn touch_unit<S: Sys>(sys: &S, unit: Area) -> Result<Filled, Stop> {
    let (first, huge) = touch_first(sys, unit).await?;
    let again = sys.now();
    sys.touch(unit, Access::Write).await?;
    told(sys, unit, first + (sys.now() - again), huge).await
}

/// Whether touching a unit that nobody has touched makes it huge. Its first page is there then in any case.
pub(crate) async fn is_huge<S: Sys>(sys: &S, unit: Area) -> Result<bool, Stop> {
    touch_first(sys, unit).await.map(|(_, huge)| huge)
}

/// Touches the first page: how long that takes, and whether more was mapped than had to be.
pub(crate) async fn touch_first<S: Sys>(sys: &S, unit: Area) -> Result<(Nanos, bool), Stop> {
    let start = sys.now();
    sys.touch(unit.part(Bytes::ZERO, PAGE_SIZE), Access::Write).await?;
    let first = sys.now() - start;
    Ok((first, sys.mincore(unit.part(FURTHER_ON, PAGE_SIZE)).await? > 0))
}

async fn told<S: Sys>(sys: &S, unit: Area, took: Nanos, huge: bool) -> Result<Filled, Stop> {
    let local = sys.page_node(unit).await? == sys.node();
    Ok(Filled { latency: Nanos::new(took.get() / 1000 * 1000), huge, local })
}
