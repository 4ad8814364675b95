//! Prices of memory work on a machine, with the source of each figure.
//!
//! [`Prices`] is what the analysis reads of a machine file (`machines/*.toml`); the lab reads the rest. Analysis counts
//! pages; only here do pages become time.

use order9_units::{Nanos, Pages};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Calibration, Snapshot};

/// Key and meaning of each price that the analysis uses.
pub const MEASURED: [(&str, &str); 5] = [
    ("move_page", "Moving one base page by kernel compaction, its share of scanning included."),
    ("drop_page", "Dropping one clean page of the page cache."),
    ("drop_slab_page", "Freeing one page of reclaimable slab."),
    ("reread_page", "Reading one dropped page again from its file, waiting included."),
    ("shmem_page", "Taking one page into a file in memory and giving it back, without its content."),
];

/// The prices of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Prices {
    /// Name of the machine, and what machine it is.
    #[serde(skip)]
    pub machine: String,
    /// Origin of the price of moving a page.
    #[serde(skip)]
    pub moves: MovesOf,
    /// Moving one base page by kernel compaction, its share of scanning included.
    pub move_page: Price,
    /// Dropping one clean page of the page cache; unpriced where it was not measured.
    pub drop_page: Option<Price>,
    /// Freeing one page of reclaimable slab; unpriced where it was not measured.
    pub drop_slab_page: Option<Price>,
    /// Reading one dropped page again from its file, waiting included; unpriced where it was not measured.
    pub reread_page: Option<Price>,
    /// Taking one page into a file in memory and giving it back: tells kernels' own work on two hosts apart.
    shmem_page: Option<Price>,
    /// Price of copying one page.
    copy_page: Option<Price>,
}

/// Origin of the price of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MovesOf {
    /// The machine's whose prices all others are.
    #[default]
    Machine,
    /// The host's, from what was measured there when it was captured.
    Host,
}

/// The part of a machine file that is read here.
#[derive(Deserialize)]
struct MachineFile {
    summary: String,
    prices: Prices,
}

/// Price of one piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Nanoseconds per piece.
    pub ns: u64,
    /// Source of the figure: a measurement that can be repeated, or a publication.
    pub source: String,
}

/// A price list that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("price list: {0}")]
pub struct PricesError(String);

impl Prices {
    /// Reads the prices in `text`, the machine file of the machine called `name`.
    ///
    /// # Errors
    /// Says line, key and what was expected there.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, PricesError> {
        let file: MachineFile = toml::from_str(text).map_err(|error| PricesError(error.to_string()))?;
        Ok(Self { machine: format!("{name}: {}", file.summary), ..file.prices })
    }

    /// Prices for a snapshot: moves as they are on its host, as far as that was measured; all else is built in.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let built_in = Self::built_in();
        match &snapshot.calibration {
            Some(calibration) => built_in.with_moves_of(calibration),
            None => built_in,
        }
    }

    /// The price list with the price of a move on a host. Copying takes the measured time. The kernel's own work takes
    /// the time of this list, scaled by another piece of kernel work that was measured on both.
    fn with_moves_of(self, host: &Calibration) -> Self {
        let Some(copy_ns) = self.copy_page.as_ref().map(|price| price.ns) else { return self };
        let work = self.move_page.ns.saturating_sub(copy_ns);
        let (scale, how) = match (host.shmem_page, &self.shmem_page) {
            (Some(there), Some(here)) => (
                there.ns() / here.ns.max(1) as f64,
                format!("times {there} for a page of a file in memory there over {} ns here", here.ns),
            ),
            _ => (1.0, "taken over".to_owned()),
        };
        let source = format!(
            "Estimate: copying a page, {}, and the kernel's own work, {work} ns on {}, {how}.",
            host.copy_page,
            self.name()
        );
        let ns = (host.copy_page.ns() + work as f64 * scale).round() as u64;
        Self { moves: MovesOf::Host, move_page: Price { ns, source }, ..self }
    }

    /// The name of the machine.
    #[must_use]
    pub fn name(&self) -> &str {
        self.machine.split(':').next().unwrap_or_default()
    }

    /// The prices measured on the machine that order9 is developed on, for hosts that have none of their own.
    #[must_use]
    pub fn built_in() -> Self {
        let text = include_str!("../../../machines/epyc-vm.toml");
        Self::from_toml("epyc-vm", text).expect("a test reads the same text")
    }
}

impl Price {
    /// The price of `pages` pieces of one page each.
    #[must_use]
    pub fn of(&self, pages: Pages) -> Nanos {
        Nanos::new(pages.get().saturating_mul(self.ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measured;

    #[test]
    fn the_built_in_prices_have_sources() {
        let prices = Prices::built_in();
        assert!(prices.machine.starts_with("epyc-vm: "));
        assert!(!prices.move_page.source.is_empty());
        assert_eq!(prices.move_page.of(Pages::new(1000)), Nanos::new(1000 * prices.move_page.ns));
    }

    #[test]
    fn moves_are_priced_by_what_was_measured_on_the_host() {
        let built_in = Prices::built_in();
        let measured = |ns: u64| Measured { ps: ns * 1000, lowest_ps: 1, highest_ps: ns * 2000, rounds: 9 };
        let host = |copy: u64, shmem: Option<u64>| Calibration {
            huge_fault: None,
            hypervisor_fault: None,
            copy_page: measured(copy),
            clear_page: measured(100),
            frame_scan: measured(2),
            shmem_page: shmem.map(measured),
        };
        let (copy, shmem) = (built_in.copy_page.as_ref().unwrap().ns, built_in.shmem_page.as_ref().unwrap().ns);
        let of = |host: Calibration| Prices::of(&Snapshot { calibration: Some(host), ..Snapshot::default() });
        assert_eq!(of(host(copy, Some(shmem))).move_page.ns, built_in.move_page.ns, "a host like the machine");
        assert_eq!(of(host(copy + 100, None)).move_page.ns, built_in.move_page.ns + 100);
        let slow = of(host(2 * copy, Some(2 * shmem)));
        assert_eq!(slow.move_page.ns, 2 * built_in.move_page.ns);
        assert_eq!((slow.moves, slow.drop_page), (MovesOf::Host, built_in.drop_page.clone()));
        assert!(slow.move_page.source.contains("on epyc-vm"), "{}", slow.move_page.source);
        assert_eq!(Prices::of(&Snapshot::default()), built_in);
    }

    #[test]
    fn a_missing_price_is_named() {
        let error = Prices::from_toml("x", "summary = ''\n[prices.moved]\nns = 1\nsource = ''").unwrap_err();
        assert!(error.to_string().contains("move_page"), "{error}");
    }

    #[test]
    fn every_price_is_named_once() {
        let text = MEASURED.map(|(key, _)| format!("[prices.{key}]\nns = 7\nsource = 'x'\n")).concat();
        let prices = Prices::from_toml("x", &format!("summary = 'y'\n{text}")).unwrap();
        let priced =
            [Some(prices.move_page), prices.drop_page, prices.drop_slab_page, prices.reread_page, prices.shmem_page];
        assert!(priced.iter().all(|price| price.as_ref().is_some_and(|price| price.ns == 7)));
    }
}
