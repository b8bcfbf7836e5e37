//! Numbers for people to read.

use std::fmt;

/// A short decimal number: `0.25`, `4`, or `1e-300` instead of many zeros. Parsing it returns the same value.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Number(value) = *self;
        if value == 0.0 || !value.is_finite() || (1e-6..1e16).contains(&value.abs()) {
            write!(f, "{value}")
        } else {
            write!(f, "{value:e}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back_to_the_same_value() {
        for (value, text) in [
            (0.0, "0"),
            (4.0, "4"),
            (-0.25, "-0.25"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (1e-300, "1e-300"),
            (-1e300, "-1e300"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (1e16, "1e16"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Number(value).to_string(), text);
            assert_eq!(text.parse::<f64>(), Ok(value));
        }
    }
}
