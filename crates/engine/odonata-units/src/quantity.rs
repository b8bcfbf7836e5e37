//! Reading and writing quantities as text: a number, an optional space, a unit.

use crate::Number;
use std::borrow::Cow;
use std::fmt;

/// Longest text that is parsed as a quantity, in bytes.
const LONGEST: usize = 64;

/// Longest excerpt of a refused text that an error shows, in characters.
const EXCERPT: usize = 40;

/// Units of one kind: spelling, and number of base units.
pub(crate) type Units = [(&'static str, f64)];

/// A text that is not a quantity of the expected kind.
///
/// Displayed as `EXPECTED, not "VALUE"`, followed by `; HINT` if there is a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The refused text, shortened if very long.
    pub value: String,
    /// The expectation: the kind of quantity, an example, the units.
    pub expected: String,
    /// The likely intention, or the violated rule.
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
pub(crate) trait Quantity: Sized + Copy {
    /// Its name, with article.
    const KIND: &'static str;
    /// An example.
    const EXAMPLE: &'static str;
    /// The likely unit of a number without a unit.
    const PLAIN: &'static str;
    /// Its units, smallest first. Of several spellings of a unit, the first one is written.
    const UNITS: &'static Units;
    /// Spellings that have another meaning elsewhere, with the likely intention here.
    const CONFUSED: &'static [(&'static str, &'static str)];

    /// Builds the quantity from a finite, nonnegative number of base units and its text (number and unit).
    fn build(base: f64, number: &str, unit: f64) -> Result<Self, String>;

    /// A text that parses to the same value.
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

/// Reads a quantity.
pub(crate) fn parse<Q: Quantity>(text: &str) -> Result<Q, UnitError> {
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
            Q::PLAIN
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
    // "inf" and "nan" parse as numbers and must not be taken for units.
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

/// The likely intention of `unit`.
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

/// The shortest text that `read` parses to `value`; without one, the number of base units.
pub(crate) fn shortest(value: f64, units: &'static Units, read: impl Fn(f64, f64) -> f64) -> String {
    let (base, _) = units[0];
    units
        .iter()
        .rev()
        .map(|&(name, scale)| (value / scale, name, scale))
        .filter(|&(number, _, scale)| number.abs() >= 1.0 && read(number, scale) == value)
        .map(|(number, name, _)| format!("{} {name}", Number(number)))
        .min_by_key(String::len)
        .unwrap_or_else(|| format!("{} {base}", Number(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bandwidth, Bytes, PerByte, Time, WallTime};

    fn hint<Q: Quantity + fmt::Debug>(text: &str) -> String {
        parse::<Q>(text).expect_err("no quantity").hint.unwrap_or_default()
    }

    #[test]
    fn times_are_read_to_the_picosecond() {
        for (text, ps) in [
            ("30 ns", 30_000),
            ("1.419 ns", 1_419),
            ("238.4185791015625 ns", 238_419),
            ("0.55ns", 550),
            ("25 us", 25_000_000),
            ("25 µs", 25_000_000),
            ("25 μs", 25_000_000),
            ("129 ms", 129_000_000_000),
            ("2 s", 2_000_000_000_000),
            (" 1e3 ps ", 1_000),
            ("0 s", 0),
        ] {
            assert_eq!(parse::<Time>(text), Ok(Time(ps)), "{text}");
        }
    }

    #[test]
    fn powers_of_two_and_of_ten_are_different_sizes() {
        for (text, bytes) in [
            ("8 KiB", 8_192),
            ("8 kB", 8_000),
            ("4 MB", 4_000_000),
            ("4 MiB", 4_194_304),
            ("1.5 GiB", 1_610_612_736),
            ("6.4 TB", 6_400_000_000_000),
            ("9007199254740993 B", 9_007_199_254_740_993),
            ("0.1 kB", 100),
        ] {
            assert_eq!(parse::<Bytes>(text), Ok(Bytes(bytes)), "{text}");
        }
        assert_eq!(parse::<Bandwidth>("5.25 GiB/s"), Ok(Bandwidth::gib_per_s(5.25)));
        assert_eq!(parse::<Bandwidth>("5.25 GB/s"), Ok(Bandwidth(5.25e9)));
        assert_eq!(parse::<Bandwidth>("100 Gbit/s"), Ok(Bandwidth(12.5e9)));
        assert_eq!(parse::<PerByte>("0.55 ns/B"), Ok(PerByte(550.0)));
    }

    #[test]
    fn written_values_are_read_back_unchanged() {
        for (value, text) in [
            (Time(1_419), "1.419 ns"),
            (Time(3_510_000), "3.51 us"),
            (Time(0), "0 s"),
            (Time(1), "1 ps"),
            (Time(129_000_000_000), "129 ms"),
            (Time(2_000_000_000_001), "2.000000000001 s"),
        ] {
            assert_eq!(value.to_string(), text);
            assert_eq!(parse(text), Ok(value));
        }
        for (value, text) in [
            (Bytes(128), "128 B"),
            (Bytes(4_096), "4 KiB"),
            (Bytes(1_000_000), "1 MB"),
            (Bytes(29_516_801), "29516801 B"),
            (Bytes(0), "0 B"),
        ] {
            assert_eq!(value.to_string(), text);
            assert_eq!(parse(text), Ok(value));
        }
        for value in [
            4.7 * 1_073_741_824.0,
            5.25e9,
            1.0,
            1.0 / 3.0 * 1e9,
            5_700.0 * 1_048_576.0,
            0.123_456e18,
        ] {
            assert_eq!(parse(&Bandwidth(value).to_string()), Ok(Bandwidth(value)));
            assert_eq!(parse(&PerByte(value * 1e-9).to_string()), Ok(PerByte(value * 1e-9)));
        }
        for (value, text) in [(600.0, "10 min"), (90.0, "90 s"), (0.25, "0.25 s"), (7_200.0, "2 h")] {
            assert_eq!(WallTime(value).to_string(), text);
            assert_eq!(parse(text), Ok(WallTime(value)));
        }
        assert_eq!(Bandwidth::gib_per_s(4.7).to_string(), "4.7 GiB/s");
        assert_eq!(Bandwidth(1.6e9).to_string(), "1.6 GB/s");
    }

    #[test]
    fn a_wrong_unit_gets_the_nearest_or_the_reason() {
        assert_eq!(hint::<Bytes>("4 Kib"), "did you mean \"4 KiB\"?");
        for bits in ["16 Kb", "16 kbit", "128 b", "128 bits", "1 Gbit"] {
            assert!(
                hint::<Bytes>(bits).starts_with("\"b\" means bits; a size is in bytes"),
                "{bits}"
            );
        }
        assert_eq!(
            hint::<Bytes>("4 KB"),
            "write \"kB\" for 1,000 bytes or \"KiB\" for 1,024"
        );
        assert_eq!(
            hint::<Bandwidth>("4 GiB"),
            "a bandwidth is per second: did you mean \"GiB/s\"?"
        );
        assert_eq!(hint::<Bandwidth>("4 gib/s"), "did you mean \"4 GiB/s\"?");
        assert_eq!(hint::<Time>("4 nss"), "did you mean \"4 ns\"?");
        assert_eq!(hint::<Time>("4"), "the unit is missing: did you mean \"4 ns\"?");
        assert_eq!(hint::<Time>("4 parsec"), "");
        assert_eq!(hint::<WallTime>("10 m"), "minutes are written \"min\"");
        assert!(hint::<WallTime>("10 ms").contains("not simulated time"));
        assert!(hint::<WallTime>("1e6 h").contains("a year"));
        let error = parse::<Time>("4 parsec").expect_err("no time");
        assert_eq!(
            error.to_string(),
            "expected a time such as \"30 ns\" (units: ps, ns, us, ms, s), not \"4 parsec\""
        );
    }

    #[test]
    fn numbers_that_no_quantity_can_have_are_refused_with_the_rule() {
        assert_eq!(hint::<Time>("-3 ns"), "it must not be negative");
        assert_eq!(hint::<Bytes>("-0.5 B"), "it must not be negative");
        assert_eq!(hint::<Time>("inf ns"), "the number must be finite");
        assert_eq!(hint::<Time>("NaN s"), "the number must be finite");
        assert_eq!(hint::<Bandwidth>("1e999 GB/s"), "the number must be finite");
        assert_eq!(hint::<Bytes>("0.5 B"), "it must be a whole number of bytes");
        assert_eq!(hint::<Bytes>("99999999 PB"), "at most 2^62 bytes are possible");
        assert_eq!(hint::<Time>("1 ps1"), "did you mean \"1 ps\"?");
        assert!(hint::<Time>("0.1 ps").contains("this rounds to 0"));
        assert!(hint::<Time>("9e9 s").contains("53 days"));
        assert!(hint::<Bandwidth>("0 GiB/s").contains("must be positive"));
        assert!(hint::<Time>("1.2.3 ns").contains("is not a number"));
    }

    #[test]
    fn no_text_makes_it_panic_and_errors_stay_short() {
        let long = "9".repeat(1_000_000);
        for text in [
            "", " ", "ns", "-", "+", ".", "e", "1e", "1e+", "1e5", "é ns", "1 é", "\u{0}", "µ", &long,
        ] {
            let error = parse::<Time>(text).expect_err("no time").to_string();
            assert!(error.len() < 300, "{error}");
        }
    }
}
