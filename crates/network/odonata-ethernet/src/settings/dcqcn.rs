//! The table `network.ethernet.dcqcn` of a scenario.

use odonata_units::{Bandwidth, Bytes, Filled, Number, Problem, Time, positive, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of DCQCN. Defaults are those of its authors for links of 40 Gb/s (Y. Zhu et al., SIGCOMM 2015, section
/// 5.2); rates and the byte counter are in proportion to the rate of NICs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcqcn {
    /// Time in which a receiver sends at most one notification per flow. Default: 50 us.
    pub notification_interval: Filled<Time>,
    /// Weight g of a notification in the estimate alpha of congestion. Default: 1/256.
    pub gain: Filled<f64>,
    /// Time without a notification after which a sender reduces alpha. Default: 55 us.
    pub alpha_timer: Filled<Time>,
    /// Time after which a sender increases its rate. Default: 55 us.
    pub rate_timer: Filled<Time>,
    /// Bytes on the wire after which a sender increases its rate. Default: 10 MB at 40 Gb/s.
    pub byte_counter: Filled<Bytes>,
    /// Increases by timer or byte counter that halve the distance to the target rate before the target itself grows.
    /// Default: 5.
    pub fast_recovery: Filled<u32>,
    /// Growth of the target rate per increase after fast recovery. Default: 40 Mb/s at 40 Gb/s.
    pub additive_increase: Filled<Bandwidth>,
    /// The same once both timer and byte counter are beyond fast recovery. Default: ten times `additive_increase`, as in
    /// IEEE 802.1Qau.
    pub hyper_increase: Filled<Bandwidth>,
    /// Least rate of a flow. Default: 100 Mb/s at 40 Gb/s, as the paper gives none.
    pub least_rate: Filled<Bandwidth>,
}

impl Dcqcn {
    /// Whether no key is set.
    pub fn is_none(&self) -> bool {
        *self == Dcqcn::default()
    }

    /// Checks the values and fills in those that do not depend on the machine; the table is `table`.
    pub(crate) fn resolve(&mut self, table: &str) -> Result<(), Problem> {
        let key = |name: &str| format!("{table}.{name}");
        for (name, time, default) in [
            ("notification_interval", &mut self.notification_interval, 50),
            ("alpha_timer", &mut self.alpha_timer, 55),
            ("rate_timer", &mut self.rate_timer, 55),
        ] {
            let time = positive(key(name), *time.fill(Time::from_ns(1000 * default)))?;
            if time > Time::LONGEST {
                let expected = format!("up to {}", Time::LONGEST);
                return Err(Problem::new(key(name), time.to_string(), expected));
            }
        }
        let gain = *self.gain.fill(1.0 / 256.0);
        if !(gain > 0.0 && gain <= 1.0) {
            let problem = format!("a weight of {}", Number(gain));
            return Err(Problem::new(key("gain"), problem, "more than 0 and at most 1"));
        }
        within(key("fast_recovery"), *self.fast_recovery.fill(5), 1, 1 << 20)?;
        if let Some(bytes) = self.byte_counter.given() {
            within(key("byte_counter"), bytes.0, 1, 1 << 40)?;
        }
        Ok(())
    }
}
