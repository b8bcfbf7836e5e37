//! Static report on shared networks: traffic classes and congestion control.

use schemars::JsonSchema;
use serde::Serialize;

use crate::scenario::resolved::{JobClasses, Resolved};
use odonata_network::VirtualChannels;

/// A traffic class, and the jobs in it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrafficClassReport {
    /// Its name.
    pub name: String,
    /// Its minimum share of a link, relative to classes of its priority.
    pub share: f64,
    /// Classes of a higher priority go first.
    pub priority: i32,
    /// Its own virtual channels per link class: terminal, local, global, column.
    pub virtual_channels: VirtualChannels,
    /// Jobs whose MPI messages are in it, by name.
    pub mpi: Vec<String>,
    /// Jobs whose I/O is in it, by name; empty without storage servers.
    pub io: Vec<String>,
}

/// The classes of `scenario`, each with `channels` of its own; empty without classes.
pub(super) fn traffic_classes(scenario: &Resolved, channels: VirtualChannels) -> Vec<TrafficClassReport> {
    let jobs_of = |class: usize, of: fn(&JobClasses) -> u8| {
        let jobs = scenario.jobs.iter();
        let jobs = jobs.filter(|job| usize::from(of(&job.traffic_class)) == class);
        jobs.map(|job| job.name.to_string()).collect()
    };
    let classes = scenario.network.traffic_classes.iter().enumerate();
    classes
        .map(|(number, class)| TrafficClassReport {
            name: class.name.clone(),
            share: class.share,
            priority: class.priority,
            virtual_channels: channels,
            mpi: jobs_of(number, |classes| *classes.mpi),
            io: match scenario.storage {
                Some(_) => jobs_of(number, |classes| *classes.io),
                None => Vec::new(),
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::scenario::{self, Scenario};
    use crate::{Report, check};

    fn report(text: &str) -> Report {
        let scenario: Scenario =
            scenario::load_to_check(text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
        check(&scenario).unwrap_or_else(|error| panic!("{error}"))
    }

    const MESH: &str = "[machine.mesh]\ndims = [4, 4]\n";

    /// Every class has the channels of the routing without classes, and the jobs that name it.
    #[test]
    fn classes_are_reported_with_their_channels_and_jobs() {
        let job = |name: &str, class: &str| {
            format!("[[jobs]]\nname = \"{name}\"\nranks = 2\nworkload = {{ milc = {{}} }}\n{class}\n")
        };
        let text = MESH.to_string()
            + "[[network.traffic_classes]]\nname = \"fast\"\nshare = 0.25\npriority = 1\n\
               [[network.traffic_classes]]\nname = \"bulk\"\nshare = 0.5\n[network.routing]\nvcs = 3\n"
            + &job("a", "traffic_class = { mpi = \"bulk\" }")
            + &job("b", "");
        let found = report(&text).traffic_classes;
        let classes: Vec<_> = found
            .iter()
            .map(|class| (class.name.as_str(), class.share, class.priority))
            .collect();
        assert_eq!(classes, [("fast", 0.25, 1), ("bulk", 0.5, 0)]);
        assert_eq!(
            (&found[0].mpi[..], &found[1].mpi[..]),
            (&["b".to_string()][..], &["a".to_string()][..])
        );
        assert!(
            found
                .iter()
                .all(|class| class.io.is_empty() && class.virtual_channels == [3, 3, 0, 0])
        );
        let report = report(&format!("{MESH}{}", job("a", "")));
        assert!(report.traffic_classes.is_empty() && report.congestion_control.is_none());
    }

    /// A scenario without jobs has a machine, a routing and its proof, but no report on a run.
    #[test]
    fn a_scenario_without_jobs_can_be_checked() {
        let found = report(MESH);
        assert!(found.jobs.is_empty() && found.parallel.is_none() && found.cost.is_none());
        assert_eq!((found.machine.nodes, found.machine.compute_nodes), (16, 16));
        assert!(found.routing.deadlock_free && found.routing.dependencies > 0);
        let preset = report("preset = \"codes-compatible\"\n");
        assert_eq!((preset.machine.nodes, preset.servers), (1_056, 66));
        assert!(scenario::load(MESH, "s.toml", &[], None, "").is_err());
    }

    /// A mesh has terminal and local links only, even if `vcs` applies to all classes.
    #[test]
    fn channels_belong_to_existing_links() {
        let routing = |text: &str| report(text).routing;
        let mesh = routing(&format!("[network.routing]\nvcs = 4\n{MESH}"));
        assert_eq!(mesh.virtual_channels, [4, 4, 0, 0]);
        assert_eq!(mesh.virtual_channels_needed, [1, 1, 0, 0]);
        let line = routing("[machine.hyperx]\ndims = [4]\n");
        assert_eq!(line.virtual_channels_needed, [1, 1, 0, 0]);
        let dragonfly = "[machine.dragonfly]\ngroups = 3\nrouters_per_group = 2\nnodes_per_router = 1\n\
                         global_ports_per_router = 1\n";
        assert_eq!(routing(dragonfly).virtual_channels_needed, [1, 2, 1, 0]);
    }
}
