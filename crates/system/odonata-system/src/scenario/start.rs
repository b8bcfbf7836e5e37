//! When a job starts: a time that may be drawn from the seed.

use std::borrow::Cow;
use std::fmt;

use odonata_units::{SplitMix64, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// The start of a job. In the resolved form `at` is the start, and `jitter` is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The earliest start.
    pub at: Time,
    /// The start is drawn from the seed, uniformly between `at` and `at` + `jitter`.
    pub jitter: Time,
}

/// Separates these random numbers from others of the seed.
const STARTS: u64 = 0x7374_6172_7473;

impl Start {
    /// The start of job `job` in a run with `seed`; `None` if it is later than the longest run.
    pub(super) fn drawn(self, seed: u64, job: usize) -> Option<Start> {
        let bits = SplitMix64::named(seed, [STARTS, job as u64]).next_u64();
        let shift = (u128::from(bits) * u128::from(self.jitter.0)) >> 64;
        let at = Time(self.at.0.checked_add(shift as u64)?);
        (at <= Time::LONGEST).then_some(Start { at, jitter: Time::ZERO })
    }
}

/// `{ at, jitter }`.
#[derive(serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "JobStartTable", description = "A start that the seed shifts.")]
struct StartTable {
    /// The earliest start, e.g. "1 ms". Default: "0 s".
    #[serde(default)]
    at: Time,
    /// The start is drawn from the seed, uniformly between `at` and `at` + `jitter`.
    jitter: Time,
}

impl Serialize for Start {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Start { at, jitter } = *self;
        match jitter {
            Time::ZERO => at.serialize(serializer),
            jitter => StartTable { at, jitter }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StartVisitor;
        impl<'de> Visitor<'de> for StartVisitor {
            type Value = Start;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time, e.g. \"1 ms\", or { at = \"1 ms\", jitter = \"10 us\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Start, E> {
                let text: StrDeserializer<'_, E> = text.into_deserializer();
                let at = Time::deserialize(text)?;
                Ok(Start { at, jitter: Time::ZERO })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Start, A::Error> {
                let StartTable { at, jitter } = StartTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Start { at, jitter })
            }
        }
        deserializer.deserialize_any(StartVisitor)
    }
}

impl JsonSchema for Start {
    fn schema_name() -> Cow<'static, str> {
        "JobStart".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Time>();
        let table = generator.subschema_for::<StartTable>();
        json_schema!({ "description": "When a job starts.", "oneOf": [time, table] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over many seeds the mean of a uniform draw over J is J / 2, with a standard deviation of J / sqrt(12).
    #[test]
    fn starts_are_uniform_over_the_jitter_and_follow_from_seed_and_job() {
        let start = Start {
            at: Time(1_000),
            jitter: Time(1_000_000),
        };
        let drawn: Vec<f64> = (0..10_000)
            .map(|seed| start.drawn(seed, 3).unwrap().at.0 as f64)
            .collect();
        assert!(drawn.iter().all(|&at| (1_000.0..1_001_000.0).contains(&at)));
        let mean = drawn.iter().sum::<f64>() / 1e4 - 1_000.0;
        // Four standard errors: 4 x 1e6 / sqrt(12) / 100.
        assert!((mean - 500_000.0).abs() < 11_547.0, "{mean}");
        assert_eq!(start.drawn(7, 3), start.drawn(7, 3));
        assert_ne!(start.drawn(7, 3), start.drawn(7, 4));
        assert_eq!(start.drawn(7, 3).unwrap().jitter, Time::ZERO);
        let still = Start {
            at: Time(5),
            jitter: Time::ZERO,
        };
        assert_eq!(still.drawn(7, 3), Some(still));
        let late = Start {
            at: Time::LONGEST,
            jitter: Time::LONGEST,
        };
        assert_eq!(late.drawn(1, 0), None);
    }

    #[test]
    fn starts_are_read_as_times_and_as_tables() {
        let starts = |start: &str, seed: u64| {
            let text = format!(
                "[machine.torus]\ndims = [4]\n[[jobs]]\nname = \"a\"\nranks = 1\ncount = 3\nstagger = \"1 ms\"\n\
                 start = {start}\nworkload.stencil = {{ iterations = 1 }}\n"
            );
            let loaded = crate::scenario::load(&text, "scenario.toml", &[], Some(seed), "")?;
            Ok(loaded
                .resolved
                .jobs
                .iter()
                .map(|job| job.start.at.0)
                .collect::<Vec<_>>())
        };
        let ok = |start: &str, seed| {
            starts(start, seed).unwrap_or_else(|error: crate::scenario::InputError| panic!("{error}"))
        };
        let ms = 1_000_000_000;
        assert_eq!(ok("\"2 ms\"", 1), [2 * ms, 3 * ms, 4 * ms]);
        let jittered = ok("{ at = \"2 ms\", jitter = \"10 us\" }", 1);
        for (number, at) in (2..).zip(&jittered) {
            assert!((number * ms..number * ms + ms / 100).contains(at), "{jittered:?}");
        }
        assert_ne!(jittered, ok("{ at = \"2 ms\", jitter = \"10 us\" }", 2));
        assert_ne!(ok("{ jitter = \"1 ms\" }", 1)[0], 0);
        let error = starts("{ at = \"2 ms\" }", 1).unwrap_err();
        assert!(error.message.contains("jitter"), "{error}");
        let error = starts("3", 1).unwrap_err();
        assert!(error.expected.contains("jitter = "), "{error}");
    }
}
