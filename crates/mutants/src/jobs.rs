//! Several things at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// Does `work` for every item, `jobs` at a time; the results in the order of the items.
///
/// # Errors
/// The first that `work` returned.
pub(crate) fn each<T, R>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error>
where
    T: Sync,
    R: Send,
{
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(()) };
            let result = work(item)?;
            results.lock().expect("nobody panics with it").push((at, result));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let mut results = results.into_inner().expect("nobody panics with it");
    results.sort_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_and_an_error_is_passed_on() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(each(&items, 3, |item| Ok(item * 2)).expect("no error"), (0..200).step_by(2).collect::<Vec<_>>());
        let fails = each(&items, 3, |item| if *item == 50 { Err(Error::Build) } else { Ok(()) });
        assert!(matches!(fails, Err(Error::Build)));
    }
}
