//! Sentences about sweeps.

use std::num::NonZeroUsize;
use std::path::Path;

use order9_report::number::{count_of, duration, grouped, size};
use order9_sweep::{Differs, Outlook, Plan, Summary, Swept};
use order9_units::{Bytes, Nanos};

/// Outlook on a sweep.
pub(super) fn outlook(outlook: &Outlook, plan: &Plan, jobs: NonZeroUsize) -> String {
    let Outlook { points, cells, cells_at_most, kept, memory_of_a_cell, estimate } = outlook;
    let at_most = if cells_at_most > cells { format!(", up to {}", grouped(*cells_at_most)) } else { String::new() };
    let mut text = format!("{}, {}{at_most}", count_of(*points as u64, "point"), count_of(*cells, "cell"));
    if let Some(until) = plan.until() {
        text += &format!("; a point ends with {}", until.in_words());
    }
    text += &format!("\n{} kept, {} to run\n", grouped(*kept), grouped(cells - kept));
    let together = Bytes::new(memory_of_a_cell.get().saturating_mul(jobs.get() as u64));
    text +=
        &format!("memory: {} for the largest cell, {} for {jobs} at a time\n", size(*memory_of_a_cell), size(together));
    match estimate {
        None => text + "CPU time: unknown, no cell has run\n",
        Some(estimate) => {
            let at_most = if cells_at_most > cells {
                format!(", up to {}", hours(estimate.cpu_at_most_ns))
            } else {
                String::new()
            };
            text + &format!("CPU time: about {}{at_most}, {}\n", hours(estimate.cpu_ns), estimate.basis)
        }
    }
}

/// A time of CPUs: in hours from one on.
fn hours(time: Nanos) -> String {
    const HOUR: f64 = 3600e9;
    let hours = time.get() as f64 / HOUR;
    if hours >= 1.0 { format!("{hours:.1} CPU hours") } else { duration(time) }
}

/// The end of the text: where everything is, and how to go on.
pub(super) fn end(summary: &Summary, output: &Path, swept: Swept, verified: Option<usize>) -> String {
    let Swept { ran, kept, .. } = swept;
    let of = summary.cells as u64;
    let verified = verified.map_or_else(String::new, |cells| {
        format!("verified: {} came out the same again\n", count_of(cells as u64, "cell"))
    });
    let place = order9_escape::path(output);
    let place = place.trim_end_matches('/');
    format!(
        "{verified}{} ({} ran now, {} were kept), {} completed; digest {}\n\
         results: {place}/results, cells: {place}/cells; `order9 doc sweep` has queries\n",
        count_of(of, "cell"),
        grouped(ran),
        grouped(kept),
        grouped(summary.completed as u64),
        summary.digest,
    )
}

/// A cell that came out otherwise.
pub(super) fn differs(Differs { kept, now }: &Differs) -> String {
    let digest =
        |done: &order9_sweep::Done| done.digest.map_or_else(|| done.end.word().to_owned(), |digest| digest.to_string());
    format!(
        "cell {} came out otherwise: {} under {} on {}, seed {}: digest {} then, {} now",
        kept.cell,
        kept.axes.workload,
        kept.axes.policy,
        kept.axes.machine,
        kept.seed,
        digest(kept),
        digest(now),
    )
}
