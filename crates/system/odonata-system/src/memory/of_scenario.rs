//! The memory that a run needs, item by item.
//!
//! *Least* follows from numbers of parts and sizes of cells alone: the graph, idle routers and nodes, ranks before their
//! first operation. A scenario whose least need does not fit is refused before anything is built. *Probable* adds the
//! packets in flight, waiting messages, records and tables that follow from the [counted traffic](crate::estimate).

use super::need::{Need, Spread};
use super::{Available, Bound};
use crate::build;
use crate::estimate::Estimate;
use crate::results::RowCounts;
use crate::scenario::resolved::{Algorithm, Fidelity, Resolved, RouterModel, Workload};
use crate::warnings::Warning;
use odonata_engine::wheel::{BUCKETS, CLUSTER_QUEUES, Scheduled, empty_bytes};
use odonata_host::{PathRecord, footprint};
use odonata_machine::Event;
use odonata_network::{
    FLIT_CREDIT_BYTES, Footprint, Histogram, LinkStats, MESSAGE_BYTES, MOST_SERIES_CELLS, NodeStats, PACKET_BYTES,
    SeriesCell, VirtualChannels,
};
use odonata_topology::{LinkClass, Topology};
use odonata_units::Bytes;

/// Least memory of the program itself: Python, its libraries, its code. Measured as the peak of runs of a few nodes, since
/// a run loads libraries after its check. A process that holds more counts in full.
const PROGRAM: u64 = 100 << 20;

/// Buffers for writing a table: at most, and as a multiple of the table; measured likewise.
const WRITER: (u64, u64) = (40 << 20, 3);

/// Used share of a vector that grows by doubling, on average.
const FILLED: f64 = 0.75;

/// Measured factor of a divided machine: its parts have indices, and both sides of a cut have a state.
const DIVIDED: f64 = 1.2;

/// Bytes of a pending event and of its link to the next.
const EVENT: u64 = (size_of::<Scheduled<Event>>() + size_of::<u32>()) as u64;

/// Maximum number of ranks with which a rank has messages in flight at the same time.
const MOST_PARTNERS: f64 = 32.0;

impl Need {
    /// The least need of a run of `scenario`, with the fewest virtual channels.
    pub(crate) fn least(scenario: &Resolved, spread: Spread) -> Need {
        Need::idle(scenario, build::least_virtual_channels(scenario), spread, 1.0)
    }

    /// The machine and its ranks before the first event, with `times` the state. Each process has the graph, and its share of
    /// the rest.
    fn idle(scenario: &Resolved, vcs: VirtualChannels, spread: Spread, times: f64) -> Need {
        let mut need = Need::default();
        let extent = scenario.layout.extent();
        let machine = format!("machine.{}", scenario.machine.kind.name());
        let (routers, nodes, ports) = (extent.routers, extent.nodes, extent.all_ports());
        // With the layout's tables of nodes and routers.
        let graph = Topology::bytes(routers, nodes, ports).saturating_add(8 * (routers + nodes));
        need.add(format!("the graph of {ports} ports"), &machine, graph);
        let share = |bytes: u64| (bytes as f64 * times) as u64 / spread.processes;
        if let Ok(params) = build::network(scenario) {
            let found = Footprint::new(&params, vcs, extent);
            need.add(
                format!("{routers} routers with {ports} ports"),
                &machine,
                share(found.ports),
            );
            let channels = "the virtual channels of their ports";
            let key = match scenario.network.routing.vcs {
                Some(_) => "network.routing.vcs",
                None => &machine,
            };
            need.add(channels, key, share(found.channels));
            need.add(
                format!("{nodes} nodes with their interfaces"),
                &machine,
                share(found.nodes),
            );
            let jobs = scenario.jobs.len() as u64;
            let histograms = found.traffics + 2 * jobs * Histogram::BYTES as u64;
            let what = format!("counters of {jobs} jobs");
            need.add(what, "jobs", histograms.saturating_mul(spread.parts));
        }
        let pairs = routers.saturating_mul(routers);
        let tables = match *scenario.network.routing.algorithm {
            Algorithm::UpDown => Some(("distances between routers", pairs.saturating_mul(4))),
            Algorithm::ShortestPaths => Some(("distances between routers", pairs.saturating_mul(2))),
            // About four cables of 8 bytes per path.
            Algorithm::KShortestPaths | Algorithm::Table => {
                let paths = u64::from(scenario.network.routing.paths.unwrap_or(1));
                let bytes = pairs.saturating_mul(paths.saturating_mul(36).saturating_add(6));
                Some(("paths between routers", bytes))
            }
            _ => None,
        };
        if let Some((what, bytes)) = tables {
            need.add(what, "network.routing.algorithm", bytes);
        }
        let programs: Vec<_> = scenario.jobs.iter().map(|job| job.program().ok().flatten()).collect();
        let states = programs.iter().flatten().any(|program| program.has_parallelism());
        let exposed = if states { footprint::EXPOSED } else { 0 };
        for (job, program) in scenario.jobs.iter().zip(&programs) {
            let synthetic = matches!(*job.workload, Workload::Synthetic(_));
            let words = program.as_ref().map_or(0, |program| footprint::words(program.memory()));
            let of_a_rank = footprint::of_a_rank(*job.ranks, synthetic, words) + exposed;
            let of_all = share(u64::from(*job.ranks).saturating_mul(of_a_rank));
            let what = format!("{} ranks of {}", *job.ranks, job.name);
            need.add(what, format!("jobs.{}.ranks", job.entry), of_all);
        }
        // A single part may run in clusters.
        let queues = if spread.parts == 1 {
            CLUSTER_QUEUES as u64
        } else {
            spread.parts
        };
        need.add("event queues", "run.parts", queues * empty_bytes(BUCKETS) as u64);
        need.idle = need.sum();
        need
    }

    /// The probable peak of a run of `scenario` in this process, which has taken so much `before` it.
    pub(crate) fn probable(
        scenario: &Resolved,
        vcs: VirtualChannels,
        estimate: &Estimate,
        spread: Spread,
        before: u64,
    ) -> Need {
        let divided = spread.parts * spread.processes > 1;
        let mut need = Need::idle(scenario, vcs, spread, if divided { DIVIDED } else { 1.0 });
        let state = need.sum() - need.items.first().map_or(0, |graph| graph.bytes);
        let traffic = traffic(scenario, vcs, estimate, spread);
        let run = traffic.sum();
        need.items.extend(traffic.items);
        // Measurements are copied beside the state; rows are made of them after it is dropped, then columns of the rows.
        let (records, measured, counts) = records(scenario, estimate);
        let tables = counts.bytes();
        let copies = measured.max((measured + tables.rows).saturating_sub(state + run + records));
        let writer = WRITER.0.min(WRITER.1 * tables.largest);
        let columns = (tables.rows + tables.columns).max(tables.columns + tables.largest + writer);
        let ending = copies.max(columns.saturating_sub(need.sum() + records));
        need.add(
            "recorded messages, accesses and iterations",
            "run.message_rows",
            records,
        );
        need.add("tables of results", "", ending);
        need.add("the program itself", "", before.max(PROGRAM));
        need
    }

    /// A warning if the run will probably exceed the `available` memory.
    pub(crate) fn doubt(&self, available: &Available) -> Option<Warning> {
        let sum = self.sum();
        if sum <= available.bytes {
            return None;
        }
        let (largest, others) = self.largest();
        let bound = match available.bound {
            Bound::Key => "the run may end as out-of-memory",
            _ => "the run may end as out-of-memory, or its computer become slow",
        };
        Some(Warning {
            key: largest.map_or(String::new(), |item| item.key.clone()),
            message: format!(
                "about {} of memory will be needed, {others}; {bound}",
                Bytes(sum).rounded()
            ),
            expected: format!(
                "at most {}, {}",
                Bytes(available.bytes).rounded(),
                available.bound.words()
            ),
        })
    }
}

/// Packets in flight, waiting messages, calls, and charges of waits.
fn traffic(scenario: &Resolved, vcs: VirtualChannels, estimate: &Estimate, spread: Spread) -> Need {
    let mut need = Need::default();
    let processes = spread.processes as f64;
    let extent = scenario.layout.extent();
    let network = &scenario.network;
    let bytes = |count: f64, size: u64| (count * size as f64 / FILLED / processes) as u64;
    let (packets, busy_s) = (estimate.packets(), estimate.busy_s);
    // Overloaded sources fill a quarter of the buffers on average.
    let idle = if busy_s > 0.0 {
        packets / busy_s * estimate.flight_s
    } else {
        0.0
    };
    let full = LinkClass::ALL.into_iter().map(|class| {
        let room = (network.links.of(class).buffer.0 / network.packet.0).max(1) as f64;
        extent.ports[class as usize] as f64 * f64::from(vcs[class as usize]) * room
    });
    let full = 0.25 * full.sum::<f64>();
    let overloaded = estimate.jobs.iter().any(|job| job.waiting > 0.0);
    let under_way = if overloaded { full.max(idle) } else { idle }.min(packets);
    let messages: f64 = estimate.jobs.iter().map(|job| job.messages).sum();
    let message_share = (messages / packets.max(1.0)).min(1.0);
    let mut of_packets = bytes(under_way, PACKET_BYTES) + bytes(under_way * message_share, MESSAGE_BYTES);
    if network.router == RouterModel::Pipelined {
        let flits = network.packet.0.div_ceil(network.flit.0) as f64;
        // A returning credit for each flit, and about as many events.
        of_packets += bytes(2.0 * under_way * flits, FLIT_CREDIT_BYTES + 16);
    }
    need.add("packets under way", "", of_packets);
    if scenario.has_fidelity(Fidelity::Ethernet)
        && let Ok(params) = build::network(scenario)
    {
        let flow = Footprint::new(&params, vcs, extent).flow;
        need.add(
            "flows of the Ethernet",
            "network.ethernet.window",
            bytes(flows(scenario, estimate), flow),
        );
    }
    let ranks: f64 = scenario.jobs.iter().map(|job| f64::from(*job.ranks)).sum();
    // Each rank has a pending event.
    need.add("events of ranks", "", bytes(ranks, EVENT));
    for (job, one) in scenario.jobs.iter().zip(&estimate.jobs) {
        let limit = f64::from(scenario.nic.message_queue) * f64::from(job.nodes());
        let waiting = one.waiting.min(limit);
        let what = format!("messages of {} that wait for their links", job.name);
        need.add(
            what,
            format!("jobs.{}.workload", job.entry),
            bytes(waiting, MESSAGE_BYTES),
        );
        if !matches!(*job.workload, Workload::Synthetic(_)) {
            // A message to and one from each partner at the same time.
            let partners = one.peers.clamp(1.0, MOST_PARTNERS);
            let exchanges = partners * (footprint::EXCHANGE + MESSAGE_BYTES) as f64;
            let peers = one.peers * footprint::PEER as f64;
            let calls = f64::from(*job.ranks) * (footprint::CALL as f64 + exchanges + peers);
            let what = format!("calls and partners of the ranks of {}", job.name);
            need.add(what, format!("jobs.{}.ranks", job.entry), bytes(calls, 1));
        }
        if let Workload::Python(python) = &*job.workload {
            let what = format!("generators of {} and their last operations", job.name);
            let ranks = f64::from(*job.ranks);
            let of_a_rank = python.program().bytes_per_rank((one.operations / ranks) as u64);
            let of_all = (ranks * of_a_rank as f64 / processes) as u64;
            need.add(what, format!("jobs.{}.ranks", job.entry), of_all);
        }
    }
    if *scenario.run.blame {
        let kinds = (2 * scenario.jobs.len()) as f64;
        let links = (extent.all_ports() + extent.nodes) as f64;
        // Few of the possible pairs of jobs meet at a link.
        need.add(
            "interference between jobs",
            "run.blame",
            bytes(links * kinds.min(8.0), 48),
        );
        if scenario.run.lost_time {
            let ranks: f64 = scenario.jobs.iter().map(|job| f64::from(*job.ranks)).sum();
            // A stamp with a few losses for each charge, and for the operations, requests and messages of each rank.
            let stamps = links * kinds.min(8.0) + 8.0 * ranks;
            need.add("lost time", "run.lost_time", bytes(stamps, 160));
            let waits = ranks * f64::from(scenario.run.lost_time_path);
            need.add(
                "the last waits of ranks",
                "run.lost_time_path",
                bytes(waits, size_of::<PathRecord>() as u64),
            );
        }
    }
    need
}

/// Flows of an Ethernet at the same time: a message of each rank to each of its partners.
fn flows(scenario: &Resolved, estimate: &Estimate) -> f64 {
    let of_job = |(job, one): (&crate::scenario::resolved::Job, &crate::estimate::JobEstimate)| {
        let partners = one.peers.clamp(1.0, MOST_PARTNERS);
        (f64::from(*job.ranks) * partners).min(one.messages)
    };
    scenario.jobs.iter().zip(&estimate.jobs).map(of_job).sum()
}

/// Bytes of the records, bytes of the copied measurements, and the rows of the tables.
fn records(scenario: &Resolved, estimate: &Estimate) -> (u64, u64, RowCounts) {
    let extent = scenario.layout.extent();
    let sum = |of: fn(&crate::estimate::JobEstimate) -> f64| estimate.jobs.iter().map(of).sum::<f64>();
    let (messages, accesses) = (sum(|job| job.messages), sum(|job| job.accesses));
    let kept = |count: f64, limit: u64| count.min(limit as f64);
    let (message_rows, io_rows) = (
        kept(messages, scenario.run.message_rows),
        kept(accesses, scenario.run.io_rows),
    );
    let recorded = message_rows * footprint::MESSAGE_RECORD as f64
        + io_rows * footprint::IO_RECORD as f64
        + sum(|job| job.records) * footprint::RECORD as f64;
    // A message has a call at both ends and three steps; a wait is a call as well.
    let timeline = scenario.run.timeline.as_ref();
    let of_timeline =
        |count: f64| timeline.map_or(0.0, |timeline| kept(count / f64::from(timeline.every), timeline.rows));
    let [calls, steps, server_accesses] = [3.0 * messages + 2.0 * accesses, 4.0 * messages, accesses].map(of_timeline);
    let [call, step, access] = footprint::TIMELINE_RECORDS.map(|bytes| bytes as f64);
    let recorded = recorded + calls * call + steps * step + server_accesses * access;
    let links = extent.all_ports() + extent.nodes;
    let ranks: u64 = scenario.jobs.iter().map(|job| u64::from(*job.ranks)).sum();
    let width = (2 * scenario.jobs.len() + LinkClass::COUNT) as f64;
    let ends_s = estimate
        .jobs
        .iter()
        .map(|job| job.start_s + job.lasts_s)
        .fold(0.0, f64::max);
    let cells = scenario.run.series_interval.map_or(0.0, |interval| {
        (ends_s / interval.seconds() * width).min(MOST_SERIES_CELLS as f64)
    });
    let measured = links as f64 * size_of::<LinkStats>() as f64
        + extent.nodes as f64 * size_of::<NodeStats>() as f64
        + ranks as f64 * footprint::METRICS as f64
        + cells * 3.0 * size_of::<SeriesCell>() as f64
        + recorded;
    let counts = RowCounts {
        links,
        ranks,
        // Tables beyond their limit are left out.
        messages: if messages > message_rows { 0 } else { messages as u64 },
        routers: extent.routers,
        io: if accesses > io_rows { 0 } else { accesses as u64 },
        series: cells as u64,
        calls: calls as u64,
        flows: (steps / 4.0) as u64,
        accesses: server_accesses as u64,
    };
    ((recorded / FILLED) as u64, measured as u64, counts)
}
