//! The table `network.ethernet.swift` of a scenario.

use odonata_units::{Filled, Number, Problem, Time, positive, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of Swift (G. Kumar et al., SIGCOMM 2020). The authors give targets for their network only; the defaults
/// here follow the base round-trip time. Windows are in packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Swift {
    /// Delay from the start of a packet to its acknowledgment that a large window aims at. Default: 1.25 base round-trip
    /// times.
    pub target: Filled<Time>,
    /// What flow scaling adds to the target of the smallest windows. Default: half a base round-trip time.
    pub scaling_range: Filled<Time>,
    /// Window up to which the target has all of that. Default: 0.1.
    pub scaling_least: Filled<f64>,
    /// Window from which it has nothing of it. Default: 100.
    pub scaling_most: Filled<f64>,
    /// Growth of the window per round-trip time. Default: 1.
    pub additive_increase: Filled<f64>,
    /// Weight of the excess delay in a decrease. Default: 0.8.
    pub beta: Filled<f64>,
    /// Largest part of the window that a decrease takes off. Default: 0.5.
    pub largest_decrease: Filled<f64>,
    /// Least window; a window below 1 is a packet per round-trip time / window. Default: 0.01.
    pub least_window: Filled<f64>,
}

impl Swift {
    /// Whether no key is set.
    pub fn is_none(&self) -> bool {
        *self == Swift::default()
    }

    /// Checks the values and fills in those that do not depend on the machine; the table is `table`.
    pub(crate) fn resolve(&mut self, table: &str) -> Result<(), Problem> {
        let key = |name: &str| format!("{table}.{name}");
        for (name, time) in [("target", &self.target), ("scaling_range", &self.scaling_range)] {
            if let Some(&time) = time.given() {
                within(key(name), positive(key(name), time)?, Time(1), Time::LONGEST)?;
            }
        }
        for (name, value, default, most) in [
            ("scaling_least", &mut self.scaling_least, 0.1, 1e6),
            ("scaling_most", &mut self.scaling_most, 100.0, 1e6),
            ("additive_increase", &mut self.additive_increase, 1.0, 1e6),
            ("beta", &mut self.beta, 0.8, 1.0),
            ("largest_decrease", &mut self.largest_decrease, 0.5, 0.99),
            ("least_window", &mut self.least_window, 0.01, 1.0),
        ] {
            within(key(name), *value.fill(default), 1e-6, most)?;
        }
        if *self.scaling_least >= *self.scaling_most {
            let expected = format!("less than {table}.scaling_most, {}", Number(*self.scaling_most));
            let found = Number(*self.scaling_least).to_string();
            return Err(Problem::new(key("scaling_least"), found, expected));
        }
        Ok(())
    }
}
