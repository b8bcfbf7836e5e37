//! The table `network.ethernet.hpcc` of a scenario.

use odonata_units::{Bytes, Filled, Problem, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of HPCC. Defaults are those of its authors (Y. Li et al., SIGCOMM 2019, section 5.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hpcc {
    /// Utilization that flows aim at: their rate and their queue. Default: 0.95.
    pub target_utilization: Filled<f64>,
    /// Growth of the window per round-trip time; more makes flows equal sooner, and makes a queue for fewer of them. Default:
    /// 1/100 of what the target leaves free of a window.
    pub additive_increase: Filled<Bytes>,
    /// Increases in a row after which a window below the target is set by the utilization. Default: 5.
    pub increase_stages: Filled<u32>,
}

impl Hpcc {
    /// Whether no key is set.
    pub fn is_none(&self) -> bool {
        *self == Hpcc::default()
    }

    /// Checks the values and fills in those that do not depend on the machine; the table is `table`.
    pub(crate) fn resolve(&mut self, table: &str) -> Result<(), Problem> {
        let key = |name: &str| format!("{table}.{name}");
        within(
            key("target_utilization"),
            *self.target_utilization.fill(0.95),
            0.01,
            0.999,
        )?;
        within(key("increase_stages"), *self.increase_stages.fill(5), 0, 1 << 20)?;
        if let Some(bytes) = self.additive_increase.given() {
            within(key("additive_increase"), bytes.0, 1, 1 << 40)?;
        }
        Ok(())
    }
}
