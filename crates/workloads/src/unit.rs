//! The unit of benchmarks of huge pages: an aligned 2 MiB of memory, written once.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::sys::{Access, Area, Stop, Sys};

/// How large it is.
pub(crate) const UNIT: Bytes = Bytes::new(2 << 20);

/// How a unit was filled.
pub(crate) struct Filled {
    /// From before the first store until all has been written, in whole microseconds; asking what was mapped not included.
    pub(crate) latency: Nanos,
    /// The first fault mapped more than it had to.
    pub(crate) huge: bool,
    /// It lies on the node of the CPU that filled it.
    pub(crate) local: bool,
}

/// The page that is asked for after the first store: too far on to be there unless a huge page is.
const FURTHER_ON: Bytes = Bytes::new(64 * PAGE_SIZE.get());

/// Writes all of a unit that nobody has touched.
pub(crate) async fn fill_unit<S: Sys>(sys: &S, unit: Area) -> Result<Filled, Stop> {
    let start = sys.now();
    sys.touch(unit.part(Bytes::ZERO, PAGE_SIZE), Access::Write).await?;
    let first = sys.now() - start;
    let huge = sys.mincore(unit.part(FURTHER_ON, PAGE_SIZE)).await? > 0;
    let again = sys.now();
    sys.fill(unit).await?;
    let took = first + (sys.now() - again);
    let local = sys.page_node(unit).await? == sys.node();
    Ok(Filled { latency: Nanos::new(took.get() / 1000 * 1000), huge, local })
}
