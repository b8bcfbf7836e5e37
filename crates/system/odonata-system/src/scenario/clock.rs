//! Cycles and flits: the units of clocked simulators.
//!
//! A scenario with a cycle length (`network.clock`) may write any time as "3 cycles"; any size may be written as "8
//! flits", any rate as "1 flit/cycle". They are converted to seconds and bytes while the merged document is read, so
//! every key of such a type accepts them, and later code never sees them.

use odonata_network::settings::{CLOCK, Clock, Network};
use odonata_units::{Bytes, Number};
use serde::de::Deserialize;

use super::error::quoted;
use super::reader::{Path, ReadError, Reader};
use super::tree::Node;

/// Relative tolerance of whole picoseconds or bytes: the rounding of the factors.
const ROUNDING: f64 = 1e-12;

/// A quantity in cycles or flits without a value here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoValue {
    pub(super) problem: String,
    pub(super) expected: String,
}

/// The length of a cycle and the size of a flit in a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    clock: Option<Clock>,
    /// Bytes of a flit; `None` if the document's value is not a size.
    flit: Option<Bytes>,
}

impl Measure {
    /// The measures of a merged document.
    ///
    /// # Errors
    /// `network.clock` or `network.flit` is invalid, or not positive.
    pub(super) fn read(root: &Node) -> Result<Measure, ReadError> {
        let none = Measure {
            clock: None,
            flit: None,
        };
        let network = Path::Key(&Path::Root, "network");
        let reader = |key: &'static str| {
            let node = root.get("network").and_then(|network| network.get(key))?;
            Some(Reader {
                node,
                path: Path::Key(&network, key),
                measure: &none,
            })
        };
        let clock = reader("clock").map(Clock::deserialize).transpose()?;
        let flit = match reader("flit") {
            None => Network::default().flit,
            Some(reader) => match Bytes::deserialize(reader)? {
                Bytes::ZERO => return Err(reader.refuse("1 B at least, such as \"32 B\"")),
                flit => flit,
            },
        };
        Ok(Measure {
            clock,
            flit: Some(flit),
        })
    }

    /// `text` in seconds or bytes if it is in cycles or flits; `None` otherwise.
    pub(super) fn convert(&self, text: &str) -> Option<Result<String, NoValue>> {
        let trimmed = text.trim();
        // The longest first: "flits/cycle" also ends in "cycle".
        const UNITS: [(&str, Unit); 8] = [
            ("flits/cycle", Unit::Rate),
            ("flit/cycle", Unit::Rate),
            ("flits per cycle", Unit::Rate),
            ("flit per cycle", Unit::Rate),
            ("cycles", Unit::Time),
            ("cycle", Unit::Time),
            ("flits", Unit::Size),
            ("flit", Unit::Size),
        ];
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((trimmed.strip_suffix(name)?.trim_end(), *unit)))?;
        let count = number.parse::<f64>().ok().filter(|count| count.is_finite())?;
        Some(match unit {
            Unit::Time => self.time(text, count),
            Unit::Size => self.size(text, count),
            Unit::Rate => self.rate(text, count),
        })
    }

    fn clock(&self, text: &str) -> Result<Clock, NoValue> {
        self.clock.ok_or_else(|| NoValue {
            problem: format!("{} without network.clock, the length of a cycle", quoted(text)),
            expected: format!("a unit of time, or network.clock: {CLOCK}"),
        })
    }

    fn flit(&self, text: &str) -> Result<Bytes, NoValue> {
        self.flit.ok_or_else(|| NoValue {
            problem: format!("{} without network.flit in bytes", quoted(text)),
            expected: "network.flit such as \"32 B\"".into(),
        })
    }

    fn time(&self, text: &str, count: f64) -> Result<String, NoValue> {
        let clock = self.clock(text)?;
        let ps = clock.cycles(count);
        match whole(ps) {
            Some(ps) => Ok(format!("{} ps", Number(ps))),
            None => Err(NoValue {
                problem: format!("{} of {clock} are {} ps", quoted(text), Number(ps)),
                expected: "a whole number of ps".into(),
            }),
        }
    }

    fn size(&self, text: &str, count: f64) -> Result<String, NoValue> {
        let flit = self.flit(text)?;
        match whole(count * flit.0 as f64) {
            Some(bytes) => Ok(format!("{} B", Number(bytes))),
            None => Err(NoValue {
                problem: format!("{} of {flit} are {} B", quoted(text), Number(count * flit.0 as f64)),
                expected: "a whole number of bytes".into(),
            }),
        }
    }

    fn rate(&self, text: &str, count: f64) -> Result<String, NoValue> {
        let (clock, flit) = (self.clock(text)?, self.flit(text)?);
        let bytes = count * flit.0 as f64;
        Ok(match clock {
            Clock::Period(time) => format!("{} B/s", Number(bytes * 1e12 / time.0 as f64)),
            Clock::Hertz(hertz) => format!("{} B/s", Number(bytes * hertz)),
        })
    }
}

/// `value` if it is whole up to the rounding of its factors.
fn whole(value: f64) -> Option<f64> {
    let rounded = value.round();
    ((value - rounded).abs() <= ROUNDING * rounded.abs()).then_some(rounded)
}

#[derive(Clone, Copy)]
enum Unit {
    Time,
    Size,
    Rate,
}

#[cfg(test)]
mod tests {
    use super::*;
    use odonata_units::Time;

    fn measure(clock: &str, flit: u64) -> Measure {
        Measure {
            clock: clock.parse().ok(),
            flit: Some(Bytes(flit)),
        }
    }

    #[test]
    fn clocks_are_periods_or_frequencies() {
        assert_eq!("1 ns".parse(), Ok(Clock::Period(Time(1_000))));
        assert_eq!(" 1.25 GHz ".parse(), Ok(Clock::Hertz(1.25e9)));
        assert_eq!("800MHz".parse::<Clock>().unwrap().ps(), 1_250.0);
        for wrong in ["0 ns", "0 GHz", "-1 GHz", "GHz", "inf Hz", "1e999 Hz"] {
            assert_eq!(wrong.parse::<Clock>(), Err("it must be positive".into()), "{wrong}");
        }
        for wrong in ["", "1", "1 parsec", "3 cycles", "0.1 ps"] {
            assert!(wrong.parse::<Clock>().is_err(), "{wrong}");
        }
        for text in ["1 ns", "1.419 ns", "1 GHz", "1.5 GHz", "850 MHz", "0.5 Hz"] {
            assert_eq!(text.parse::<Clock>().unwrap().to_string(), text);
        }
    }

    /// n cycles are n / f seconds, n flits n times the width of one, n flits a cycle n times that times f.
    #[test]
    fn products_are_exact() {
        let ns = measure("1 ns", 32);
        let converted = |measure: &Measure, text: &str| measure.convert(text).unwrap().unwrap();
        assert_eq!(converted(&ns, "3 cycles"), "3000 ps");
        assert_eq!(converted(&ns, " 0.5 cycle "), "500 ps");
        assert_eq!(converted(&ns, "1cycle"), "1000 ps");
        assert_eq!(converted(&ns, "8 flits"), "256 B");
        assert_eq!(converted(&ns, "1 flit/cycle"), "32000000000 B/s");
        assert_eq!(converted(&ns, "2 flits per cycle"), "64000000000 B/s");
        // 666.67 ps: only every third cycle ends with a picosecond.
        let odd = measure("1.5 GHz", 5);
        assert_eq!(converted(&odd, "3 cycles"), "2000 ps");
        assert_eq!(
            odd.convert("1 cycle").unwrap().unwrap_err().expected,
            "a whole number of ps"
        );
        assert_eq!(
            odd.convert("0.5 flits").unwrap().unwrap_err().expected,
            "a whole number of bytes"
        );
        assert_eq!(converted(&odd, "1 flit/cycle"), "7500000000 B/s");
        assert_eq!(converted(&ns, "-3 cycles"), "-3000 ps");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "",
            "3 ns",
            "cycles",
            "three cycles",
            "motorcycle",
            "nan cycles",
            "3 flats",
            "1 B/cycle",
        ] {
            assert!(measure("1 ns", 32).convert(text).is_none(), "{text}");
        }
    }

    #[test]
    fn undefined_names_are_reported() {
        let none = Measure {
            clock: None,
            flit: None,
        };
        let problem = |text: &str| none.convert(text).unwrap().unwrap_err().problem;
        assert!(problem("3 cycles").contains("without network.clock"));
        assert!(problem("3 flits").contains("network.flit"));
        assert!(problem("3 flits/cycle").contains("network.clock"));
    }
}
