//! The cycle time of a clock.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use odonata_units::{Number, Time};
use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// Units of frequencies, in hertz.
const FREQUENCIES: [(&str, f64); 4] = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)];

/// The expected form of a clock, for error messages.
pub const CLOCK: &str = "the period of a cycle such as \"1 ns\", or a frequency such as \"1 GHz\"";

/// A clock, given by its cycle time or its frequency; positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The cycle time.
    Period(Time),
    /// The frequency in hertz.
    Hertz(f64),
}

impl Clock {
    /// Cycle time in picoseconds, not rounded.
    pub fn ps(self) -> f64 {
        match self {
            Clock::Period(time) => time.0 as f64,
            Clock::Hertz(hertz) => 1e12 / hertz,
        }
    }

    /// Duration of `count` cycles in picoseconds, rounded once.
    pub fn cycles(self, count: f64) -> f64 {
        match self {
            Clock::Period(time) => count * time.0 as f64,
            Clock::Hertz(hertz) => count * 1e12 / hertz,
        }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clock::Period(time) => time.fmt(f),
            Clock::Hertz(hertz) => {
                let fits = |&&(_, scale): &&(&str, f64)| *hertz >= scale && hertz / scale * scale == *hertz;
                let (unit, scale) = FREQUENCIES.iter().find(fits).unwrap_or(&("Hz", 1.0));
                write!(f, "{} {unit}", Number(hertz / scale))
            }
        }
    }
}

impl FromStr for Clock {
    type Err = String;

    /// Parses a time or a frequency; the error states the problem.
    fn from_str(text: &str) -> Result<Clock, String> {
        let trimmed = text.trim();
        for (unit, scale) in FREQUENCIES {
            let Some(number) = trimmed.strip_suffix(unit) else {
                continue;
            };
            return match number.trim_end().parse::<f64>() {
                Ok(number) if number > 0.0 && (number * scale).is_finite() => Ok(Clock::Hertz(number * scale)),
                _ => Err("it must be positive".into()),
            };
        }
        match trimmed.parse::<Time>() {
            Ok(Time::ZERO) => Err("it must be positive".into()),
            Ok(time) => Ok(Clock::Period(time)),
            Err(error) => Err(error.hint.unwrap_or_default()),
        }
    }
}

impl<'de> Deserialize<'de> for Clock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClockVisitor;
        impl Visitor<'_> for ClockVisitor {
            type Value = Clock;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(CLOCK)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Clock, E> {
                text.parse().map_err(|hint: String| {
                    let expected = match hint.as_str() {
                        "" => CLOCK.into(),
                        hint => format!("{CLOCK}; {hint}"),
                    };
                    let seen: String = text.chars().take(60).collect();
                    E::invalid_value(Unexpected::Str(&seen), &expected.as_str())
                })
            }
        }
        deserializer.deserialize_str(ClockVisitor)
    }
}

impl Serialize for Clock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Clock {
    fn schema_name() -> Cow<'static, str> {
        "Clock".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A period of a clock: a time, or a number and one of Hz, kHz, MHz, GHz.",
            "pattern": "^\\s*\\+?[0-9]*\\.?[0-9]*([eE][+-]?[0-9]+)?\\s*(ps|ns|[uµμ]s|ms|s|Hz|kHz|MHz|GHz)\\s*$",
            "examples": ["1 ns", "1 GHz"],
        })
    }
}
