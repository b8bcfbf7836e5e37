//! Quantities in files: serde and JSON Schema.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::quantity::{Quantity, parse};
use crate::{Bandwidth, Bytes, Number, PerByte, Time, UnitError, WallTime};

/// What [`Visitor::expecting`] shows: `EXPECTED` or `EXPECTED; HINT`.
struct Wanted(UnitError);

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.expected)?;
        match &self.0.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

struct TextVisitor<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> TextVisitor<Q> {
    /// The error for a number without a unit; its hint shows the number with one.
    fn bare<T, E: Error>(number: impl fmt::Display, seen: Unexpected<'_>) -> Result<T, E> {
        let hint = match seen {
            Unexpected::Float(number) if !number.is_finite() => "the number must be finite".into(),
            _ => format!("the unit is missing: did you mean \"{number} {}\"?", Q::PLAIN),
        };
        let error = UnitError {
            value: String::new(),
            expected: Q::expected(),
            hint: Some(hint),
        };
        Err(E::invalid_type(seen, &Wanted(error).to_string().as_str()))
    }
}

impl<Q: Quantity> Visitor<'_> for TextVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Q::expected())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        parse(text).map_err(|error| {
            let seen = error.value.clone();
            E::invalid_value(Unexpected::Str(&seen), &Wanted(error).to_string().as_str())
        })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Q, E> {
        Self::bare(number, Unexpected::Signed(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Q, E> {
        Self::bare(number, Unexpected::Unsigned(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Q, E> {
        Self::bare(Number(number), Unexpected::Float(number))
    }
}

macro_rules! text_form {
    ($type:ident, $description:literal, $($example:literal),+) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text)
            }
        }

        impl fmt::Display for $type {
            /// A number with a suitable unit; parsing it returns the same value.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.text())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    // Binary formats hold the exact number.
                    false => self.0.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return Deserialize::deserialize(deserializer).map($type);
                }
                // `deserialize_any` passes numbers to the visitor, whose error suggests a unit.
                deserializer.deserialize_any(TextVisitor(std::marker::PhantomData))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units: Vec<String> = $type::UNITS.iter().map(|(name, _)| name.replacen('u', "[uµμ]", 1)).collect();
                json_schema!({
                    "type": "string",
                    "description": $description,
                    "pattern": format!("^\\s*\\+?[0-9]*\\.?[0-9]*([eE][+-]?[0-9]+)?\\s*({})\\s*$", units.join("|")),
                    "examples": [$($example),+],
                })
            }
        }
    };
}

text_form!(
    Time,
    "A time: a number and one of ps, ns, us (or µs), ms, s.",
    "30 ns",
    "1.419 ns",
    "25 us",
    "129 ms"
);
text_form!(
    Bytes,
    "A size: a number and one of B, kB, MB, GB, TB, PB (powers of 1,000) or KiB, MiB, GiB, TiB, PiB (powers of 1,024).",
    "128 B",
    "8 KiB",
    "4 MB"
);
text_form!(
    Bandwidth,
    "A bandwidth: a number and a size per second (B/s, kB/s, MiB/s, GB/s, GiB/s, ...), or Mbit/s, Gbit/s, Tbit/s.",
    "5.25 GiB/s",
    "100 Gbit/s"
);
text_form!(
    WallTime,
    "A time on the wall: a number and one of s, min, h.",
    "10 min",
    "30 s",
    "1.5 h"
);
text_form!(
    PerByte,
    "A time per byte: a number and one of ps/B, ns/B, us/B.",
    "0.55 ns/B"
);

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;

    fn refused<T: for<'de> Deserialize<'de> + fmt::Debug>(json: &str) -> String {
        serde_json::from_str::<T>(json).expect_err("no quantity").to_string()
    }

    #[test]
    fn a_bare_number_gets_a_hint_about_units() {
        let error = refused::<Time>("30");
        assert!(
            error.contains("a time such as \"30 ns\" (units: ps, ns, us, ms, s)"),
            "{error}"
        );
        assert!(
            error.contains("the unit is missing: did you mean \"30 ns\"?"),
            "{error}"
        );
        assert!(refused::<Bytes>("4096").contains("did you mean \"4096 B\"?"));
        assert!(refused::<Bandwidth>("5.25").contains("did you mean \"5.25 GiB/s\"?"));
        assert!(refused::<PerByte>("true").contains("a time per byte"));
        let infinite = f64::INFINITY.into_deserializer();
        let error = Time::deserialize::<serde::de::value::F64Deserializer<serde::de::value::Error>>(infinite);
        assert!(error.unwrap_err().to_string().ends_with("; the number must be finite"));
    }

    #[test]
    fn quantities_are_written_as_they_are_read() {
        let json = serde_json::to_string(&Bandwidth::gib_per_s(5.25)).unwrap();
        assert_eq!(json, "\"5.25 GiB/s\"");
        assert_eq!(
            serde_json::from_str::<Bandwidth>(&json).unwrap(),
            Bandwidth::gib_per_s(5.25)
        );
    }

    #[test]
    fn the_schema_is_a_string_with_the_units_in_its_pattern() {
        let schema = schemars::schema_for!(Bytes);
        assert_eq!(schema.get("type").and_then(|t| t.as_str()), Some("string"));
        assert!(
            schema
                .get("pattern")
                .and_then(|p| p.as_str())
                .is_some_and(|p| p.contains("KiB|MB|MiB"))
        );
    }
}
