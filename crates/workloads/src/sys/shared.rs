//! Memory that processes have in common: [`Shared`].
//!
//! A process that a workload starts has a copy of everything that Rust holds, as after `fork` on a real kernel. What it finds, or what it is told
//! later, goes through numbers that it shares with who started it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::processes::{ChildKind, Processes};
use super::stop::Stop;

/// Numbers that a process has in common with all children that it starts later. A clone is the same numbers. The methods panic where there
/// is no number of that place.
#[derive(Clone)]
pub struct Shared(Arc<dyn AsRef<[AtomicU64]> + Send + Sync>);

impl Shared {
    /// The numbers in memory that a world shares between processes.
    pub fn new(memory: impl AsRef<[AtomicU64]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(memory))
    }

    fn words(&self) -> &[AtomicU64] {
        (*self.0).as_ref()
    }

    /// The `n`-th number.
    #[must_use]
    pub fn get(&self, n: usize) -> u64 {
        self.words()[n].load(Ordering::Relaxed)
    }

    /// Sets the `n`-th number.
    pub fn set(&self, n: usize, value: u64) {
        self.words()[n].store(value, Ordering::Relaxed);
    }

    /// Adds to the `n`-th number.
    pub fn add(&self, n: usize, value: u64) {
        self.words()[n].fetch_add(value, Ordering::Relaxed);
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.words().iter().map(|word| word.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A flag that one process raises and others see.
#[derive(Clone)]
pub(crate) struct Flag(Shared);

impl Flag {
    /// A flag that is not up.
    pub(crate) fn new<S: Processes>(sys: &S) -> Result<Self, Stop> {
        sys.share(1).map(Self)
    }

    pub(crate) fn raise(&self) {
        self.0.set(0, 1);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.get(0) != 0
    }
}

/// Runs `body` in a process of its own and brings back the numbers that it found.
pub(crate) async fn found_by<S, const N: usize, B, F>(sys: &S, name: &str, body: B) -> Result<[u64; N], Stop>
where
    S: Processes + 'static,
    B: FnOnce(S) -> F + Send + 'static,
    F: Future<Output = Result<[u64; N], Stop>> + 'static,
{
    let found = sys.share(N)?;
    let own = found.clone();
    let body = move |sys: S| async move {
        let numbers = body(sys).await?;
        numbers.into_iter().enumerate().for_each(|(n, number)| own.set(n, number));
        Ok(())
    };
    let child = sys.spawn(ChildKind::Process, name, body).await?;
    sys.wait(child).await?.result?;
    Ok(std::array::from_fn(|n| found.get(n)))
}
