//! A calibration as a machine file: what was measured, on top of a machine that has the rest.

use std::fmt::Write as _;

use crate::prices::PRICES;
use crate::report::{Calibration, digits};
use crate::spread::Spread;

/// Source of the tick.
const TICK: &str = "clock_getres(CLOCK_MONOTONIC_COARSE): the clock goes on with each timer interrupt.";

/// Source of the slice, which nothing tells but a file of debugfs that each release has elsewhere.
const SLICE_SOURCE: &str = "Linux' default of 0.75 ms times 1 + log2(CPUs), at most 8 of them";
/// Slice of a machine with one CPU, in ns: 0.75 ms, of `min_granularity_ns` up to 6.5 and `base_slice_ns` since.
const SLICE: u64 = 750_000;
/// CPUs beyond which Linux' default slice does not grow.
const SLICE_CPUS: u32 = 8;

/// Columns of the file.
const WIDTH: usize = 118;

/// Figures that a calibration cannot tell: the machine whose other figures are taken over, and the nodes.
pub struct Base<'a> {
    /// A built-in machine, or a path.
    pub machine: &'a str,
    /// A sentence about the machine.
    pub summary: &'a str,
    /// Nodes: memory in MiB, CPUs, and distances to all nodes.
    pub nodes: Vec<(u64, u32, Vec<u32>)>,
    /// First touch of memory that the hypervisor has taken back, in ns, 0 where it takes none, with a source; `None` leaves the base's.
    pub hypervisor_fault: Option<(u64, String)>,
}

impl Calibration {
    /// The machine file. Prices that were not measured are those of the base.
    #[must_use]
    pub fn machine_file(&self, base: &Base<'_>) -> String {
        let mut text = format!("# Measured by `order9 calibrate` on {}.\n", self.host);
        // What is written to a string arrives.
        let _ = writeln!(text, "# Prices that are not here could not be measured, and are those of the base.\n");
        let _ = writeln!(text, "base = {:?}\nsummary = {:?}", base.machine, base.summary);
        for (memory, cpus, distances) in &base.nodes {
            let _ = writeln!(text, "\n[[nodes]]\nmemory = \"{memory} MiB\"\ncpus = {cpus}\ndistances = {distances:?}");
        }
        let cpus = base.nodes.iter().map(|(_, cpus, _)| cpus).sum::<u32>().max(1);
        let slice = SLICE * u64::from(1 + cpus.min(SLICE_CPUS).ilog2());
        let _ = writeln!(text, "\n[slice]\nns = {slice}\nsource = \"{SLICE_SOURCE}; CPUs here: {cpus}.\"");
        if let Some(tick) = self.spread(|direct| direct.tick).filter(|tick| tick.median > 0.0) {
            let _ = writeln!(text, "\n[tick]\nns = {}\nsource = \"{TICK}\"", digits(tick.median));
        }
        for price in PRICES {
            let Some(Spread { low, median, high }) = self.price(price) else { continue };
            let (rounds, low, high) = (self.rounds.len(), digits(low), digits(high));
            let spread = format!("Median of {rounds} rounds, quartiles {low} to {high} ns.");
            let _ = writeln!(text, "\n[prices.{}]\nns = {}\nsource = \"\"\"", price.key, digits(median.max(0.1)));
            let _ = writeln!(text, "{}\"\"\"", wrap(&format!("{}. {spread}", price.method)));
        }
        if let Some((ns, source)) = &base.hypervisor_fault {
            let _ = writeln!(text, "\n[prices.hypervisor_fault]\nns = {ns}\nsource = \"\"\"\n{}\"\"\"", wrap(source));
        }
        text
    }
}

/// Lines no longer than [`WIDTH`] that a TOML string joins again.
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + word.len() + 3 > WIDTH {
            wrapped.push_str(" \\\n");
            column = 0;
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += word.len();
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direct::Direct;

    #[test]
    fn the_file_has_what_was_measured_with_its_spread() {
        let round = |fill| Direct { fill, tick: 4e6, touch: f64::NAN, ..Direct::default() };
        let calibration = Calibration { host: "Linux 6.12".to_owned(), rounds: vec![round(120.0), round(130.5)] };
        let base = Base {
            machine: "epyc-vm",
            summary: "a guest",
            nodes: vec![(2048, 1, vec![10])],
            hypervisor_fault: Some((0, "No balloon.".to_owned())),
        };
        let expected = "\
# Measured by `order9 calibrate` on Linux 6.12.
# Prices that are not here could not be measured, and are those of the base.

base = \"epyc-vm\"
summary = \"a guest\"

[[nodes]]
memory = \"2048 MiB\"
cpus = 1
distances = [10]

[slice]
ns = 750000
source = \"Linux' default of 0.75 ms times 1 + log2(CPUs), at most 8 of them; CPUs here: 1.\"

[tick]
ns = 4000000
source = \"clock_getres(CLOCK_MONOTONIC_COARSE): the clock goes on with each timer interrupt.\"

[prices.fill_page]
ns = 120
source = \"\"\"
memset() of 512 MiB of resident base pages, per page. Median of 2 rounds, quartiles 120 to 120 ns.\"\"\"

[prices.hypervisor_fault]
ns = 0
source = \"\"\"
No balloon.\"\"\"
";
        assert_eq!(calibration.machine_file(&base), expected);
    }
}
