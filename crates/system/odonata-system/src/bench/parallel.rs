//! Cases that measure the gain of a second thread: larger and more realistic than the [standard ones](super::cases).

use super::NETWORK;

/// A case, and its scenario for a given length.
pub(super) struct Case {
    pub(super) name: &'static str,
    text: fn(u32) -> String,
    lengths: (u32, u32),
}

impl Case {
    /// The scenario.
    pub(super) fn text(&self, quick: bool) -> String {
        (self.text)(if quick { self.lengths.1 } else { self.lengths.0 })
    }
}

pub(super) const CASES: [Case; 2] = [
    Case {
        name: "hybrid-1056",
        text: hybrid,
        lengths: (10, 1),
    },
    Case {
        name: "uniform-9702",
        text: uniform,
        lengths: (120, 10),
    },
];

/// Workload 1 of the MFNetSim paper on its machine, with random placement: three jobs, storage, adaptive routing. One
/// iteration of each job, with tenths of its data. Credits take as long as packets, which gives global cables a
/// lookahead of 75 ns; in the published runs all credits take 1.419 ns.
fn hybrid(tenths: u32) -> String {
    let (message, total, elements, sample) = (49_766 * tenths, 600 * tenths, 100_000 * tenths, 800 * tenths);
    format!(
        r#"
name = "hybrid-1056"
preset = "mfnetsim"
[run]
message_rows = 0
io_rows = 0
[[jobs]]
name = "milc"
ranks = 300
placement = "random"
workload = {{ milc = {{ iterations = 1, message = "{message} B" }} }}
[[jobs]]
name = "checkpoint"
ranks = 300
placement = "random"
workload = {{ checkpoint = {{ iterations = 1, total = "{total} MB", interval = "100 us" }} }}
[[jobs]]
name = "cosmoflow"
ranks = 300
placement = "random"
workload = {{ cosmoflow = {{ iterations = 1, elements = {elements}, sample = "{sample} kB", compute = "100 us" }} }}
"#
    )
}

/// A balanced dragonfly of 99 groups at half of the uniform load that saturates its global links: one per node, at 4.7
/// GiB/s, for 9604 of 9701 messages. Its state exceeds the caches of a core.
fn uniform(messages: u32) -> String {
    format!(
        r#"
name = "uniform-9702"
[run]
message_rows = 0
[machine.dragonfly]
groups = 99
routers_per_group = 14
nodes_per_router = 7
global_ports_per_router = 7
{NETWORK}[[jobs]]
name = "traffic"
ranks = 9702
workload = {{ uniform = {{ bytes = "4 KiB", mean_interval = "1607.1 ns", messages = {messages} }} }}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::scenario;
    use crate::schedule::{Resources, plan};
    use odonata_engine::Time;

    /// The cases must show a speed-up: two threads have a lookahead. `auto` tries them.
    #[test]
    fn both_cases_have_a_lookahead_for_two_threads() {
        for (case, lookahead) in CASES.iter().zip([75, 300]) {
            let plan_of = |overrides: &[String]| {
                let loaded = scenario::load(&case.text(false), "bench.toml", overrides, None, "").unwrap();
                let routing = build::routing(&loaded.resolved).unwrap();
                let resources = Resources { cores: 2, processes: 1 };
                plan(&loaded.resolved, &loaded.placement, routing.topology(), resources).unwrap()
            };
            let two = ["run.scheduler=\"conservative\"", "run.threads=2"].map(String::from);
            let plan = plan_of(&two);
            assert_eq!(
                (plan.scheduler.name(), plan.threads),
                ("conservative", 2),
                "{}",
                case.name
            );
            assert_eq!(plan.partition.lookahead(), Time::from_ns(lookahead), "{}", case.name);
            let tried = plan_of(&[]).alternatives.into_iter().map(|one| one.threads);
            assert_eq!(tried.max(), Some(2), "{}", case.name);
            assert!(scenario::load(&case.text(true), "bench.toml", &[], None, "").is_ok());
        }
    }
}
