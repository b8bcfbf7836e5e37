//! Traffic classes.

use odonata_units::{Number, Problem, check_name, within};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RouterModel;

/// Most traffic classes.
pub const MOST_CLASSES: u8 = 8;

/// A traffic class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficClass {
    /// Name, unique among the classes.
    pub name: String,
    /// Least share of a link for this class while it has traffic, among classes of equal priority; 0.001 to 1, and at
    /// most 1 over all classes. Classes divide the remainder and unused shares in proportion.
    #[schemars(range(min = 0.001, max = 1))]
    pub share: f64,
    /// Classes with a higher priority always go first. Default: 0.
    #[serde(default)]
    pub priority: i32,
}

impl Default for TrafficClass {
    /// The whole link.
    fn default() -> Self {
        TrafficClass {
            name: String::new(),
            share: 1.0,
            priority: 0,
        }
    }
}

/// Tolerance: decimal shares that add up to 1 may exceed 1 in binary.
const ROUNDING: f64 = 1e-9;

/// Checks the traffic classes of a network with routers of model `router`.
pub(super) fn check(classes: &[TrafficClass], router: RouterModel) -> Result<(), Problem> {
    let key = "network.traffic_classes";
    let most = usize::from(MOST_CLASSES);
    if classes.len() > most {
        let problem = format!("{} traffic classes", classes.len());
        return Err(Problem::new(key, problem, format!("at most {most}")));
    }
    if classes.len() > 1 && router == RouterModel::OutputQueued {
        let problem = "output-queued routers do not tell traffic classes apart";
        return Err(Problem::new(
            key,
            problem,
            "network.router = \"input-queued\" or \"pipelined\", or one class",
        ));
    }
    for (number, class) in classes.iter().enumerate() {
        let at = format!("{key}.{number}");
        check_name(&format!("{at}.name"), &class.name)?;
        let before = &classes[..number];
        if before.iter().any(|other| other.name == class.name) {
            let problem = format!("a second class {:?}", class.name);
            return Err(Problem::new(format!("{at}.name"), problem, "a name of its own"));
        }
        let share = within(format!("{at}.share"), Number(class.share), Number(0.001), Number(1.0))?.0;
        let before: f64 = before.iter().map(|other| other.share).sum();
        if before + share > 1.0 + ROUNDING {
            let problem = format!("the shares up to this one add up to {}", Number(before + share));
            return Err(Problem::new(format!("{at}.share"), problem, "at most 1 in all"));
        }
    }
    Ok(())
}
