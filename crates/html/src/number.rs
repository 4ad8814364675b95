//! Numbers as the page stores them: as many digits as a picture or a pointer can show, and no more.

use serde::{Serialize, Serializer};

/// A value, or a gap where it is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Shown(pub(crate) f64);

/// Significant digits of a value: a reading under the pointer has as many.
const DIGITS: i32 = 6;

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if !value.is_finite() {
            return to.serialize_none();
        }
        let rounded = rounded(value);
        // A whole number needs no point.
        if rounded == rounded.trunc() && rounded.abs() < 9e15 {
            to.serialize_i64(rounded as i64)
        } else {
            to.serialize_f64(rounded)
        }
    }
}

fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    format!("{value:.*e}", DIGITS as usize - 1).parse().expect("a printed number is a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_six_digits_and_gaps_are_null() {
        let values = [1.0, 0.123_456_78, -1_234_567.0, f64::NAN, 0.0, 2.5e-9].map(Shown);
        assert_eq!(serde_json::to_string(&values).unwrap(), "[1,0.123457,-1234570,null,0,2.5e-9]");
    }
}
