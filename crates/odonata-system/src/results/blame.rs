//! Who waited for whom: the tables `blame` and `blame_series`.
#![allow(missing_docs, reason = "each field is documented once, at its column")]

use super::collect::{CLASSES, Sources, ends};
use super::table::{Builder, Table};
use crate::scenario::resolved::Resolved;
use odonata_network::{PLACES, RESOURCES};
use odonata_storage::RESOURCES as SERVER_RESOURCES;

/// Who waited for whom: a job and the class of its traffic.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    pub victim: String,
    pub victim_class: &'static str,
    pub culprit: String,
    pub culprit_class: &'static str,
}

#[derive(Clone, Debug, Default)]
pub struct BlameRow {
    pub pair: Pair,
    pub resource: &'static str,
    pub place: &'static str,
    pub link: i64,
    pub name: String,
    pub server: i64,
    pub waited_s: f64,
}

#[derive(Clone, Debug, Default)]
pub struct BlameSeriesRow {
    pub start_s: f64,
    pub pair: Pair,
    pub resource: &'static str,
    pub place: &'static str,
    pub waited_s: f64,
}

/// Traffics of the fabric: two per job.
fn of_traffic(scenario: &Resolved, victim: u16, culprit: Option<u16>) -> Pair {
    let name = |traffic: u16| {
        let job = &scenario.jobs[usize::from(traffic / 2)];
        (job.name.clone(), CLASSES[usize::from(traffic % 2)])
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

pub(super) fn rows(from: &Sources<'_>) -> Vec<BlameRow> {
    let (scenario, topology) = (from.scenario, from.topology);
    let mut rows = Vec::new();
    for charge in &from.fabric.blame {
        let Some(ends) = ends(topology, charge.link) else {
            continue;
        };
        rows.push(BlameRow {
            pair: of_traffic(scenario, charge.victim, charge.culprit),
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
        rows.push(BlameRow {
            pair: of_jobs(scenario, charge.victim, charge.culprit),
            resource: SERVER_RESOURCES[usize::from(charge.resource)],
            place: "server",
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
    let links = from.fabric.blame_series().map(|charge| BlameSeriesRow {
        start_s: charge.start.seconds(),
        pair: of_traffic(scenario, charge.victim, Some(charge.culprit)),
        resource: RESOURCES[usize::from(charge.resource)],
        place: PLACES[usize::from(charge.place)],
        waited_s: charge.time.seconds(),
    });
    let servers = from.hosts.blame_series().map(|charge| BlameSeriesRow {
        start_s: charge.start.seconds(),
        pair: of_jobs(scenario, charge.victim, Some(charge.culprit)),
        resource: SERVER_RESOURCES[usize::from(charge.resource)],
        place: "server",
        waited_s: charge.time.seconds(),
    });
    links.chain(servers).collect()
}

const VICTIM: &str = "Job that waited.";
const CLASS: &str = "mpi or io: what of that job.";
const CULPRIT: &str =
    "Job that held what was waited for; may be the same. Empty where the run ended before it was known.";

pub(super) fn table(rows: &[BlameRow]) -> Table {
    Builder::new(
        "blame",
        "Who waited for whom, and where: one row per link or server, resource, victim and culprit; empty unless \
         run.blame. All waits are in it, those for the own job too: the rows of a victim add up to what it waited.",
        rows,
    )
    .text("victim", VICTIM, |r| r.pair.victim.clone())
    .text("victim_class", CLASS, |r| r.pair.victim_class.into())
    .text("culprit", CULPRIT, |r| r.pair.culprit.clone())
    .text("culprit_class", CLASS, |r| r.pair.culprit_class.into())
    .text(
        "resource",
        "What was waited for. At links: link (it was sending), credit (the buffer behind it was full), input (a packet \
         in front in the same FIFO). At servers: space, memory, device.",
        |r| r.resource.into(),
    )
    .text(
        "place",
        "nic (a node's link to its router), terminal, local or global (a router's link of that class), server.",
        |r| r.place.into(),
    )
    .id("link", "Link, as in the table links; -1: none.", |r| r.link)
    .text("name", "Name of the link.", |r| r.name.clone())
    .id("server", "Storage server; -1: none.", |r| r.server)
    .seconds(
        "waited_s",
        "How long: at routers summed over packets, at NICs over messages, at servers over requests.",
        |r| r.waited_s,
    )
    .done()
}

pub(super) fn series_table(rows: &[BlameSeriesRow]) -> Table {
    Builder::new(
        "blame_series",
        "The table blame over time, over all links or servers of a place; empty unless run.blame and \
         run.series_interval. A wait for a credit, space or memory counts in the interval in which it ends.",
        rows,
    )
    .seconds("start_s", "Start of the interval, simulated time.", |r| r.start_s)
    .text("victim", VICTIM, |r| r.pair.victim.clone())
    .text("victim_class", CLASS, |r| r.pair.victim_class.into())
    .text("culprit", CULPRIT, |r| r.pair.culprit.clone())
    .text("culprit_class", CLASS, |r| r.pair.culprit_class.into())
    .text("resource", "As in the table blame.", |r| r.resource.into())
    .text("place", "As in the table blame.", |r| r.place.into())
    .seconds("waited_s", "How long, summed as in the table blame.", |r| r.waited_s)
    .done()
}
