//! Interference between jobs: the tables `blame` and `blame_series`.

use super::row::row;
use super::sources::{CLASSES, Sources, ends};
use crate::scenario::resolved::Resolved;
use odonata_engine::Time;
use odonata_network::{PLACES, RESOURCES};
use odonata_storage::{DIRECTORY, FAULT, METADATA_FAULT, SERVER_RESOURCES, THREAD};

/// A party to a wait: a job and the class of its traffic.
#[derive(Default)]
struct Pair {
    victim: String,
    victim_class: &'static str,
    culprit: String,
    culprit_class: &'static str,
}

row! {
    /// Waits by victim, culprit and place: one row per link or server, resource, victim and culprit; empty unless
    /// run.blame. It has all waits, including those for the victim's own job: the rows of a victim add up to its total
    /// wait. With run.blame_sampling, packet waits at routers are estimates.
    "blame" => pub struct BlameRow {
        /// Job that waited.
        victim: String,
        /// mpi or io: the victim's traffic.
        victim_class: &'static str,
        /// Job that held the resource; may be the victim. Empty if the run ended before it was known, and for a fault.
        culprit: String,
        /// mpi or io: the culprit's traffic.
        culprit_class: &'static str,
        /// The resource. At links: link (it was sending), credit (its downstream buffer was full), input (a packet
        /// ahead in the same FIFO). At servers: space, memory, device, reserve (`fsync` down to the last tier: a block
        /// of those in transit to it), lock (a lock on a range of a file). At metadata servers: thread (all were busy),
        /// directory (another call changed it). At either: fault (storage.faults: the server was down, stalled or
        /// slow).
        resource: &'static str,
        /// nic (a node's link to its router), terminal, local, column or global (a router's link of that class),
        /// server, file-system (an object server of storage.file_system), metadata (a metadata server).
        place: &'static str,
        /// Link, as in the table links; -1: none.
        link: i64,
        /// Name of the link.
        name: String,
        /// Storage server or metadata server, as in their tables; -1: none.
        server: i64,
        /// Waiting time: at routers summed over packets, at NICs and for flows over messages, at servers over requests;
        /// for faults over waiting requests, delayed accesses, and failed attempts.
        #[unit = "s"]
        waited_s: f64,
    }
}

row! {
    /// The table blame over time, over all links or servers of a place; empty unless run.blame and run.series_interval.
    /// A wait for a credit, space, memory, a lock, a thread or a directory counts in the interval of its end.
    "blame_series" => pub struct BlameSeriesRow {
        /// Start of the interval, simulated time.
        #[unit = "s"]
        start_s: f64,
        /// Job that waited.
        victim: String,
        /// mpi or io: the victim's traffic.
        victim_class: &'static str,
        /// Job that held the resource; may be the victim. Empty if the run ended before it was known, and for a fault.
        culprit: String,
        /// mpi or io: the culprit's traffic.
        culprit_class: &'static str,
        /// As in the table blame.
        resource: &'static str,
        /// As in the table blame.
        place: &'static str,
        /// Waiting time, summed as in the table blame.
        #[unit = "s"]
        waited_s: f64,
    }
}

/// Traffics of the fabric: two per job.
fn of_traffic(scenario: &Resolved, victim: u16, culprit: Option<u16>) -> Pair {
    let name = |traffic: u16| {
        let job = &scenario.jobs[usize::from(traffic / 2)];
        (job.name.to_string(), CLASSES[usize::from(traffic % 2)])
    };
    let (victim, victim_class) = name(victim);
    let (culprit, culprit_class) = culprit.map_or_else(Default::default, name);
    Pair {
        victim,
        victim_class,
        culprit,
        culprit_class,
    }
}

/// Jobs at a storage server.
fn of_jobs(scenario: &Resolved, victim: u16, culprit: Option<u16>) -> Pair {
    of_traffic(scenario, 2 * victim + 1, culprit.map(|job| 2 * job + 1))
}

/// The kind of server of tier `tier` with a resource.
fn place_of(scenario: &Resolved, resource: u8, tier: usize) -> &'static str {
    let storage = scenario.storage.as_ref();
    let outside = storage.is_some_and(|storage| storage.file_system.is_some() && tier + 1 == storage.tier_count());
    match resource {
        THREAD | DIRECTORY | METADATA_FAULT => "metadata",
        _ if outside => "file-system",
        _ => "server",
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<BlameRow> {
    let (scenario, topology) = (from.scenario, from.topology);
    let mut rows = Vec::new();
    for charge in &from.fabric.blame {
        let Some(ends) = ends(topology, charge.link) else {
            continue;
        };
        let Pair {
            victim,
            victim_class,
            culprit,
            culprit_class,
        } = of_traffic(scenario, charge.victim, charge.culprit);
        rows.push(BlameRow {
            victim,
            victim_class,
            culprit,
            culprit_class,
            resource: RESOURCES[usize::from(charge.resource)],
            place: if ends.source.0 == "node" {
                "nic"
            } else {
                ends.class.name()
            },
            link: i64::from(charge.link),
            name: ends.name(),
            server: -1,
            waited_s: charge.time.seconds(),
        });
    }
    for charge in &from.hosts.blame {
        let Pair {
            victim,
            victim_class,
            culprit,
            culprit_class,
        } = of_jobs(scenario, charge.victim, charge.culprit);
        rows.push(BlameRow {
            victim,
            victim_class,
            culprit,
            culprit_class,
            resource: SERVER_RESOURCES[usize::from(charge.resource)],
            place: place_of(scenario, charge.resource, from.placement.tier_of(charge.server)),
            link: -1,
            name: String::new(),
            server: i64::from(charge.server),
            waited_s: charge.time.seconds(),
        });
    }
    rows
}

pub(super) fn series_rows(from: &Sources<'_>) -> Vec<BlameSeriesRow> {
    let scenario = from.scenario;
    let row = |start: Time, pair: Pair, resource, place, waited: Time| BlameSeriesRow {
        start_s: start.seconds(),
        victim: pair.victim,
        victim_class: pair.victim_class,
        culprit: pair.culprit,
        culprit_class: pair.culprit_class,
        resource,
        place,
        waited_s: waited.seconds(),
    };
    let links = from.fabric.blame_series().map(|charge| {
        let pair = of_traffic(scenario, charge.victim, Some(charge.culprit));
        let (resource, place) = (
            RESOURCES[usize::from(charge.resource)],
            PLACES[usize::from(charge.place)],
        );
        row(charge.start, pair, resource, place, charge.time)
    });
    let servers = from.hosts.blame_series().map(|charge| {
        let is_fault = [FAULT, METADATA_FAULT].contains(&charge.resource);
        let pair = of_jobs(scenario, charge.victim, Some(charge.culprit).filter(|_| !is_fault));
        let resource = SERVER_RESOURCES[usize::from(charge.resource)];
        let place = place_of(scenario, charge.resource, charge.tier.into());
        row(charge.start, pair, resource, place, charge.time)
    });
    links.chain(servers).collect()
}
