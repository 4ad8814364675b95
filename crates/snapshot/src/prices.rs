//! What memory work costs on some machine, and where each figure comes from.
//!
//! [`Prices`] is read from TOML (`machines/*.toml`). Analysis counts pages; only here do pages become time.

use order9_units::{Nanos, Pages};
use serde::{Deserialize, Serialize};

/// The prices of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Short name of the machine.
    pub name: String,
    /// What machine it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Moving one base page by kernel compaction, its share of scanning included.
    pub move_page: Price,
    /// Dropping one clean page of the page cache; unpriced where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_page: Option<Price>,
    /// Freeing one page of reclaimable slab; unpriced where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop_slab_page: Option<Price>,
    /// Reading one dropped page again from its file, waiting included; unpriced where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reread_page: Option<Price>,
}

/// What one piece of work costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Reads a price list.
    ///
    /// # Errors
    /// Says line, key and what was expected there.
    pub fn from_toml(text: &str) -> Result<Self, PricesError> {
        toml::from_str(text).map_err(|error| PricesError(error.to_string()))
    }

    /// The prices measured on a small virtual machine, for hosts that have none of their own.
    #[must_use]
    pub fn small_vm() -> Self {
        Self::from_toml(include_str!("../../../machines/this-host.toml")).expect("a test reads the same text")
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
        let prices = Prices::small_vm();
        assert!(!prices.move_page.source.is_empty());
        assert_eq!(prices.move_page.of(Pages::new(1000)), Nanos::new(1000 * prices.move_page.ns));
    }

    #[test]
    fn a_wrong_key_is_named() {
        let error = Prices::from_toml("name = 'x'\n[move_pages]\nns = 1\nsource = ''").unwrap_err();
        assert!(error.to_string().contains("move_pages"), "{error}");
    }
}
