//! Methods to measure a point of a latency-load curve.

use super::periods::Periods;
use super::{BookSim, Steady};
use odonata_units::Time;
use serde::{Deserialize, Serialize};

/// A method: its rules for warm-up, end of measurement, and saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "method", deny_unknown_fields)]
pub enum Method {
    /// Until the mean has a given precision.
    Steady(Steady),
    /// As in BookSim 2.
    #[serde(rename = "booksim")]
    BookSim(BookSim),
}

/// A time, or a number of clock cycles of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Span {
    /// So many cycles.
    Cycles(u64),
    /// So long.
    Time(Time),
}

impl Span {
    /// The time, given the length of a cycle; `None` without a cycle, or if it is too long for a run.
    pub fn time(self, cycle: Option<Time>) -> Option<Time> {
        match self {
            Span::Time(time) => Some(time),
            Span::Cycles(n) => cycle?.0.checked_mul(n).map(Time).filter(|&time| time <= Time::LONGEST),
        }
    }

    /// The positive time of option `key`.
    pub(super) fn check(self, key: &'static str, cycle: Option<Time>) -> Result<Time, Refusal> {
        let expected = "a positive time such as \"500 ns\", or cycles of traffic that arrives in cycles";
        let problem = match self {
            Span::Time(time) => format!("{time}"),
            Span::Cycles(n) if cycle.is_none() => format!("{n} cycles, but the traffic has no clock"),
            Span::Cycles(n) => format!("{n} cycles"),
        };
        self.time(cycle)
            .filter(|&time| time > Time::ZERO)
            .ok_or((key, problem, expected))
    }
}

/// The verdict of a method at the end of a period.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// More periods are needed.
    GoOn,
    /// The measurement is complete.
    Measured,
    /// The network does not sustain this load; the reason, as text.
    Saturated(String),
}

/// The decisions of a method about a point so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Window {
    /// The first measured period, once the network is warm.
    pub(super) first: Option<u32>,
    /// The period after the last measured one, once known.
    pub(super) end: Option<u32>,
    /// Whether the stopping rule was met, rather than its bound.
    pub(super) converged: bool,
    /// Half-width of the 95% confidence interval of the mean latency, picoseconds, if computed.
    pub(super) half_width: Option<f64>,
}

/// Judges periods as they end.
pub(super) trait Judge: Send {
    /// Called at the end of period number `periods.ended() - 1`.
    fn judge(&mut self, periods: &dyn Periods, window: &mut Window) -> Verdict;
}

/// A parameter out of range: its option, the problem, the expectation.
pub(super) type Refusal = (&'static str, String, &'static str);

impl Method {
    /// Checks the parameters, for traffic with this length of a cycle.
    pub(super) fn check(&self, cycle: Option<Time>) -> Result<(), Refusal> {
        match self {
            Method::Steady(steady) => steady.check(cycle),
            Method::BookSim(booksim) => booksim.check(cycle),
        }
    }

    /// Checks that its periods are long enough for an idle latency of `idle`.
    pub(super) fn check_period(&self, idle: Time, cycle: Option<Time>) -> Result<(), Refusal> {
        match self {
            Method::Steady(steady) => steady.check_period(idle, cycle),
            Method::BookSim(_) => Ok(()),
        }
    }

    /// Whether it needs the latency at a load near zero.
    pub(super) fn needs_zero_load(&self) -> bool {
        matches!(self, Method::Steady(_))
    }

    /// Its name in results.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Steady(_) => "steady",
            Method::BookSim(_) => "booksim",
        }
    }
}
