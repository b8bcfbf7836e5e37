//! Reading and writing quantities as text: a number, a space if wanted, a unit.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::{Bandwidth, Bytes, PerByte, Time};

/// Longest text that is read as a quantity, in bytes; no sensible one comes near it.
const LONGEST: usize = 64;

/// Longest excerpt of a refused text that an error shows, in characters.
const EXCERPT: usize = 40;

/// Units of one kind: how each is written, and how many base units it is.
type Units = [(&'static str, f64)];

/// A text that is no quantity of the wanted kind.
///
/// It is displayed as `EXPECTED, not "VALUE"`, followed by `; HINT` where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// What was written, shortened if very long.
    pub value: String,
    /// What would be right: the kind of quantity, an example, the units.
    pub expected: String,
    /// What probably was meant, or the rule that was broken.
    pub hint: Option<String>,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, not {:?}", self.expected, self.value)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnitError {}

/// How one kind of quantity is written.
trait Quantity: Sized + Copy {
    /// What it is, with article.
    const KIND: &'static str;
    /// An example.
    const EXAMPLE: &'static str;
    /// Its units, smallest first. The first spelling of a size is the one that is written.
    const UNITS: &'static Units;
    /// For spellings that mean something else elsewhere: what they might mean here.
    const CONFUSED: &'static [(&'static str, &'static str)];

    /// From a finite number of base units that is not negative, and the text of number and unit.
    fn build(base: f64, number: &str, unit: f64) -> Result<Self, String>;

    /// As text that [`Quantity::build`] takes back to the same value.
    fn text(self) -> String;

    fn expected() -> String {
        let units: Vec<&str> = Self::UNITS.iter().map(|(name, _)| *name).collect();
        format!(
            "{} such as {:?} (units: {})",
            Self::KIND,
            Self::EXAMPLE,
            units.join(", ")
        )
    }
}

fn parse<Q: Quantity>(text: &str) -> Result<Q, UnitError> {
    let refuse = |hint: Option<String>| UnitError {
        value: if text.chars().count() > EXCERPT {
            text.chars().take(EXCERPT).chain(['…']).collect()
        } else {
            text.into()
        },
        expected: Q::expected(),
        hint,
    };
    let trimmed = text.trim();
    if trimmed.is_empty() || text.len() > LONGEST {
        return Err(refuse(None));
    }
    let (number, unit) = split(trimmed);
    if number.is_empty() {
        return Err(refuse(None));
    }
    let Ok(value) = number.parse::<f64>() else {
        return Err(refuse(Some(format!("{number:?} is not a number"))));
    };
    if !value.is_finite() {
        return Err(refuse(Some("the number must be finite".into())));
    }
    if unit.is_empty() {
        return Err(refuse(Some(format!(
            "the unit is missing: did you mean \"{number} {}\"?",
            default_unit::<Q>()
        ))));
    }
    let Some(&(_, scale)) = Q::UNITS.iter().find(|(name, _)| *name == micro(unit)) else {
        return Err(refuse(meant::<Q>(number, unit)));
    };
    if value < 0.0 {
        return Err(refuse(Some("it must not be negative".into())));
    }
    let base = value * scale;
    if !base.is_finite() {
        return Err(refuse(Some("it is too large".into())));
    }
    Q::build(base, number, scale).map_err(|rule| refuse(Some(rule)))
}

/// The number at the start of `text`, and the rest without surrounding space.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let exponent = matches!(bytes[end], b'e' | b'E')
            && end > 0
            && match bytes.get(end + 1) {
                Some(b'+' | b'-') => bytes.get(end + 2).is_some_and(u8::is_ascii_digit),
                Some(next) => next.is_ascii_digit(),
                None => false,
            };
        let sign = matches!(bytes[end], b'+' | b'-') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if !(bytes[end].is_ascii_digit() || bytes[end] == b'.' || exponent || sign) {
            break;
        }
        end += 1;
    }
    // "inf" and "nan" are numbers to most parsers and must not look like units.
    let word = text.split_whitespace().next().unwrap_or("");
    let bare = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if matches!(bare.as_str(), "inf" | "infinity" | "nan") {
        end = word.len();
    }
    (&text[..end], text[end..].trim())
}

/// `unit` with either of the two characters for micro replaced by "u".
fn micro(unit: &str) -> Cow<'_, str> {
    if unit.starts_with(['\u{b5}', '\u{3bc}']) {
        Cow::Owned(unit.replacen(['\u{b5}', '\u{3bc}'], "u", 1))
    } else {
        Cow::Borrowed(unit)
    }
}

/// The unit of the example, for a number without one.
fn default_unit<Q: Quantity>() -> &'static str {
    split(Q::EXAMPLE).1
}

/// What someone who wrote `unit` probably meant.
fn meant<Q: Quantity>(number: &str, unit: &str) -> Option<String> {
    let suggest = |unit: &str| Some(format!("did you mean \"{number} {unit}\"?"));
    if let Some((_, hint)) = Q::CONFUSED.iter().find(|(name, _)| *name == unit) {
        return Some((*hint).into());
    }
    let same = |name: &str| name.eq_ignore_ascii_case(unit);
    if let Some((name, _)) = Q::UNITS.iter().find(|(name, _)| same(name)) {
        return suggest(name);
    }
    Q::UNITS
        .iter()
        .map(|(name, _)| {
            (
                strsim::damerau_levenshtein(&name.to_lowercase(), &unit.to_lowercase()),
                *name,
            )
        })
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .and_then(|(_, name)| suggest(name))
}

/// `value / scale` in decimal, exactly, for scales that are powers of ten.
fn decimal(value: u64, scale: u64) -> String {
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = scale.ilog10() as usize;
    format!("{whole}.{rest:0digits$}").trim_end_matches('0').into()
}

/// The shortest of the texts that `read` takes back to `value`, else the number of base units.
fn shortest(value: f64, units: &'static Units, read: impl Fn(f64, f64) -> f64) -> String {
    let (base, _) = units[0];
    units
        .iter()
        .rev()
        .map(|&(name, scale)| (value / scale, name, scale))
        .filter(|&(number, _, scale)| number.abs() >= 1.0 && read(number, scale) == value)
        .map(|(number, name, _)| format!("{number} {name}"))
        .min_by_key(String::len)
        .unwrap_or_else(|| format!("{value} {base}"))
}

impl Quantity for Time {
    const KIND: &'static str = "a time";
    const EXAMPLE: &'static str = "30 ns";
    const UNITS: &'static Units = &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("sec", "seconds are written \"s\""),
        ("seconds", "seconds are written \"s\""),
        ("min", "write minutes in seconds: \"60 s\""),
        ("m", "write \"ms\" for milliseconds, or minutes in seconds"),
        ("h", "write hours in seconds: \"3600 s\""),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        let rounded = base.round();
        if rounded > Time::LONGEST.0 as f64 {
            return Err("at most 4611686 s (53 days) can be simulated".into());
        }
        if base > 0.0 && rounded == 0.0 {
            return Err("the clock ticks in steps of 1 ps: this would become 0".into());
        }
        Ok(Time(rounded as u64))
    }

    fn text(self) -> String {
        let (name, scale) = Self::UNITS
            .iter()
            .rev()
            .map(|&(name, scale)| (name, scale as u64))
            .find(|(_, scale)| self.0 >= *scale)
            .unwrap_or(("s", 1));
        format!("{} {name}", decimal(self.0, scale))
    }
}

impl Quantity for Bytes {
    const KIND: &'static str = "a size";
    const EXAMPLE: &'static str = "8 KiB";
    const UNITS: &'static Units = &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KiB", 1024.0),
        ("MB", 1e6),
        ("MiB", 1_048_576.0),
        ("GB", 1e9),
        ("GiB", 1_073_741_824.0),
        ("TB", 1e12),
        ("TiB", 1_099_511_627_776.0),
        ("PB", 1e15),
        ("PiB", 1_125_899_906_842_624.0),
    ];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("KB", "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"),
        ("K", "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"),
        ("k", "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"),
        ("M", "write \"MB\" for 10^6 bytes or \"MiB\" for 2^20"),
        ("G", "write \"GB\" for 10^9 bytes or \"GiB\" for 2^30"),
        ("T", "write \"TB\" for 10^12 bytes or \"TiB\" for 2^40"),
        ("b", "bytes are written \"B\""),
        ("bytes", "bytes are written \"B\""),
    ];

    fn build(base: f64, number: &str, unit: f64) -> Result<Self, String> {
        // Whole numbers are multiplied as such: a product of floats is exact only up to 2^53.
        if let Ok(number) = number.parse::<u64>() {
            let bytes = number.checked_mul(unit as u64).filter(|&bytes| bytes <= Bytes::MOST.0);
            return bytes.map(Bytes).ok_or_else(|| "at most 2^62 bytes are possible".into());
        }
        if base > Bytes::MOST.0 as f64 {
            return Err("at most 2^62 bytes are possible".into());
        }
        if (base - base.round()).abs() > 1e-9 * base {
            return Err("it must be a whole number of bytes".into());
        }
        Ok(Bytes(base.round() as u64))
    }

    fn text(self) -> String {
        Self::UNITS
            .iter()
            .rev()
            .map(|&(name, scale)| (name, scale as u64))
            .filter(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale))
            .map(|(name, scale)| format!("{} {name}", self.0 / scale))
            .min_by_key(String::len)
            .unwrap_or_else(|| format!("{} B", self.0))
    }
}

impl Quantity for Bandwidth {
    const KIND: &'static str = "a bandwidth";
    const EXAMPLE: &'static str = "5.25 GiB/s";
    const UNITS: &'static Units = &[
        ("B/s", 1.0),
        ("kB/s", 1e3),
        ("KiB/s", 1024.0),
        ("MB/s", 1e6),
        ("MiB/s", 1_048_576.0),
        ("GB/s", 1e9),
        ("GiB/s", 1_073_741_824.0),
        ("TB/s", 1e12),
        ("TiB/s", 1_099_511_627_776.0),
        ("Mbit/s", 1.25e5),
        ("Gbit/s", 1.25e8),
        ("Tbit/s", 1.25e11),
    ];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("GB", "a bandwidth is per second: did you mean \"GB/s\"?"),
        ("GiB", "a bandwidth is per second: did you mean \"GiB/s\"?"),
        ("MB", "a bandwidth is per second: did you mean \"MB/s\"?"),
        ("MiB", "a bandwidth is per second: did you mean \"MiB/s\"?"),
        ("KB/s", "write \"kB/s\" for 1,000 bytes or \"KiB/s\" for 1,024"),
        ("Gb/s", "write \"Gbit/s\" for bits or \"GB/s\" for bytes"),
        ("Mb/s", "write \"Mbit/s\" for bits or \"MB/s\" for bytes"),
        ("Gbps", "write \"Gbit/s\" for bits or \"GB/s\" for bytes"),
        ("GBps", "did you mean \"GB/s\"?"),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        if base < 1.0 {
            return Err("a bandwidth must be positive, 1 B/s at least".into());
        }
        if base > 1e18 {
            return Err("at most 10^18 bytes per second are possible".into());
        }
        Ok(Bandwidth(base))
    }

    fn text(self) -> String {
        // Bytes before bits: the list ends with the latter.
        shortest(self.0, &Self::UNITS[..9], |number, scale| number * scale)
    }
}

impl Quantity for PerByte {
    const KIND: &'static str = "a time per byte";
    const EXAMPLE: &'static str = "0.55 ns/B";
    const UNITS: &'static Units = &[("ps/B", 1.0), ("ns/B", 1e3), ("us/B", 1e6)];
    const CONFUSED: &'static [(&'static str, &'static str)] = &[
        ("ns", "a time per byte: did you mean \"ns/B\"?"),
        ("ps", "a time per byte: did you mean \"ps/B\"?"),
    ];

    fn build(base: f64, _: &str, _: f64) -> Result<Self, String> {
        if base > 1e9 {
            return Err("at most 1 ms per byte is possible".into());
        }
        Ok(PerByte(base))
    }

    fn text(self) -> String {
        shortest(self.0, Self::UNITS, |number, scale| number * scale)
    }
}

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
    /// A number without unit: the error shows it with one.
    fn bare<T, E: Error>(number: impl fmt::Display, seen: Unexpected<'_>) -> Result<T, E> {
        let hint = format!(
            "the unit is missing: did you mean \"{number} {}\"?",
            default_unit::<Q>()
        );
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
        Self::bare(number, Unexpected::Float(number))
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
            /// As a number and the unit that suits it; reading it back gives the same value.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.text())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor(std::marker::PhantomData))
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
    PerByte,
    "A time per byte: a number and one of ps/B, ns/B, us/B.",
    "0.55 ns/B"
);
