//! What memory work costs on some machine, and where each figure comes from.
//!
//! [`Prices`] is what the analysis reads of a machine file (`machines/*.toml`); the lab reads the rest. Analysis counts
//! pages; only here do pages become time.

use order9_units::{Nanos, Pages};
use serde::Deserialize;

/// Key and meaning of each price that the analysis uses.
pub const MEASURED: [(&str, &str); 4] = [
    ("move_page", "Moving one base page by kernel compaction, its share of scanning included."),
    ("drop_page", "Dropping one clean page of the page cache."),
    ("drop_slab_page", "Freeing one page of reclaimable slab."),
    ("reread_page", "Reading one dropped page again from its file, waiting included."),
];

/// The prices of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Prices {
    /// Name of the machine, and what machine it is.
    #[serde(skip)]
    pub machine: String,
    /// Moving one base page by kernel compaction, its share of scanning included.
    pub move_page: Price,
    /// Dropping one clean page of the page cache; unpriced where it was not measured.
    pub drop_page: Option<Price>,
    /// Freeing one page of reclaimable slab; unpriced where it was not measured.
    pub drop_slab_page: Option<Price>,
    /// Reading one dropped page again from its file, waiting included; unpriced where it was not measured.
    pub reread_page: Option<Price>,
}

/// As much of a machine file as is read here.
#[derive(Deserialize)]
struct MachineFile {
    summary: String,
    prices: Prices,
}

/// What one piece of work costs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Nanoseconds per piece.
    pub ns: u64,
    /// How the figure was obtained: a measurement that can be repeated, or a publication.
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

    #[test]
    fn the_built_in_prices_have_sources() {
        let prices = Prices::built_in();
        assert!(prices.machine.starts_with("epyc-vm: "));
        assert!(!prices.move_page.source.is_empty());
        assert_eq!(prices.move_page.of(Pages::new(1000)), Nanos::new(1000 * prices.move_page.ns));
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
        let priced = [Some(prices.move_page), prices.drop_page, prices.drop_slab_page, prices.reread_page];
        assert!(priced.iter().all(|price| price.as_ref().is_some_and(|price| price.ns == 7)));
    }
}
