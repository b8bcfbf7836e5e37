//! From the written to the resolved form: defaults filled in, rules checked.
//!
//! Rules that one value breaks by itself (units, signs, names) were checked when it was read; here are
//! those between values, and the bounds.

mod congestion;
mod jobs;
mod machine;
mod parallel;
mod router_keys;
mod routing;
mod routing_keys;
mod rules;
mod storage;
mod trace;
mod traffic;
mod traffic_classes;
mod workload;
mod worst_case;

use odonata_topology::LinkClass;
use odonata_units::{Bandwidth, Bytes, Time};

use super::document::Document;
use super::error::Problem;
use super::layout::Layout;
use super::resolved as r;
use super::written as w;

/// Flits of a packet are counted in 16 bits.
const MOST_FLITS: u64 = u16::MAX as u64;

/// Largest packet, in bytes: a whole one has to fit into every buffer.
const LARGEST_PACKET: u64 = 1 << 20;

/// Fastest link, 1,000 TB/s: far beyond all there are. A byte takes a thousandth of a picosecond on it.
const FASTEST_LINK: Bandwidth = Bandwidth(1e15);

/// Resolves `written`, which was read from `document`. `stem` is the name of a scenario without one; relative files start
/// from `folder`.
pub(super) fn resolve(
    written: w::Written,
    document: &Document,
    stem: &str,
    folder: &std::path::Path,
) -> Result<r::Resolved, Problem> {
    let (machine, layout) = machine::machine(written.machine, folder)?;
    let network = network(&written.network, document, &machine.kind)?;
    if !machine.failed_links.is_empty() {
        let refuse = |problem| Problem::new("machine.failed_links", problem, "cables that leave the routing a way");
        crate::build::routing_on(&machine, &network.routing).map_err(refuse)?;
    }
    let nic = nic(&written.nic)?;
    let mpi = mpi(&written.mpi)?;
    let storage = match &written.storage {
        Some(storage) => Some(storage::storage(storage, &layout)?),
        None => None,
    };
    let mut resolved = r::Resolved {
        name: name("name", written.name.unwrap_or_else(|| stem.into()))?,
        seed: written.seed,
        preset: written.preset,
        run: run(&written.run, &layout)?,
        machine,
        layout,
        network,
        nic,
        mpi,
        storage,
        jobs: Vec::new(),
    };
    resolved.jobs = jobs::jobs(written.jobs, &resolved, folder)?;
    let pipelined = resolved.network.router == r::RouterModel::Pipelined;
    if pipelined && written.run.blame == Some(true) {
        let error = Problem::new(
            "run.blame",
            "waits in pipelined routers are not charged to jobs",
            "false",
        );
        return Err(error);
    }
    resolved.run.blame = written.run.blame.unwrap_or(resolved.jobs.len() > 1 && !pipelined);
    Ok(resolved)
}

/// What is said of a scenario that has to have jobs and has none.
pub(super) fn no_jobs() -> Problem {
    let expected = format!("1 to {} tables [[jobs]]", jobs::MOST_JOBS);
    let problem = Problem::new("jobs", "there are no jobs", expected);
    problem.hint("odonata describe and odonata check need none")
}

/// Resolves the machine of `written` and its network, whatever else there is; see [`resolve`].
pub(super) fn hardware(
    written: w::Written,
    document: &Document,
    stem: &str,
    folder: &std::path::Path,
) -> Result<r::Hardware, Problem> {
    let (machine, layout) = machine::machine(written.machine, folder)?;
    let network = network(&written.network, document, &machine.kind)?;
    Ok(r::Hardware {
        name: name("name", written.name.unwrap_or_else(|| stem.into()))?,
        preset: written.preset,
        machine,
        layout,
        network,
    })
}

/// A name that fits into titles and tables.
fn name(key: &str, name: String) -> Result<String, Problem> {
    if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
        return Err(Problem::new(
            key,
            "unusable name",
            "1 to 200 bytes without control characters",
        ));
    }
    Ok(name)
}

fn positive(key: &str, time: Time) -> Result<Time, Problem> {
    if time == Time::ZERO {
        return Err(Problem::new(
            key,
            format!("{time} is not positive"),
            "a time of 1 ps at least",
        ));
    }
    Ok(time)
}

fn within<T: PartialOrd + std::fmt::Display>(key: &str, value: T, least: T, most: T) -> Result<T, Problem> {
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(Problem::new(
        key,
        format!("{value} is out of range"),
        format!("{least} to {most}"),
    ))
}

fn run(run: &w::Run, layout: &Layout) -> Result<r::Run, Problem> {
    if let Some(limit) = run.time_limit {
        positive("run.time_limit", limit)?;
    }
    if let Some(interval) = run.series_interval {
        positive("run.series_interval", interval)?;
    }
    if let Some(interval) = run.checkpoint_interval
        && interval.0 <= 0.0
    {
        let problem = format!("{interval} is not positive");
        return Err(Problem::new(
            "run.checkpoint_interval",
            problem,
            "a wall time such as \"10 min\"",
        ));
    }
    Ok(r::Run {
        time_limit: run.time_limit,
        message_rows: run.message_rows,
        io_rows: run.io_rows,
        series_interval: run.series_interval,
        // The default depends on the jobs, which come later.
        blame: run.blame.unwrap_or(false),
        baselines: run.baselines,
        parallel: parallel::parallel(run, layout.routers())?,
        checkpoint_interval: run.checkpoint_interval,
    })
}

fn network(n: &w::Network, document: &Document, kind: &r::Kind) -> Result<r::Network, Problem> {
    if n.packet == Bytes::ZERO || n.packet.0 > LARGEST_PACKET {
        let problem = format!("a packet of {} is not possible", n.packet);
        return Err(Problem::new("network.packet", problem, "1 B to 1 MiB"));
    }
    if n.flit == Bytes::ZERO || n.flit > n.packet {
        let problem = format!("a flit of {} in a packet of {}", n.flit, n.packet);
        return Err(Problem::new(
            "network.flit",
            problem,
            format!("1 B to network.packet, {}", n.packet),
        ));
    }
    let flits = n.packet.0.div_ceil(n.flit.0);
    if flits > MOST_FLITS {
        let problem = format!("a packet of {} is {flits} flits of {}", n.packet, n.flit);
        let error = Problem::new(
            "network.flit",
            problem,
            format!("at most {MOST_FLITS} flits per packet"),
        );
        return Err(error.hint("make flits larger or packets smaller"));
    }
    pipelined(n)?;
    router_keys::check(n, document)?;
    // A worm is held by several buffers together.
    let least = if n.switching == r::Switching::Wormhole {
        n.flit
    } else {
        n.packet
    };
    let l = &n.links;
    let links = r::Links {
        terminal: link("terminal", &l.terminal, least, (16.0, 30, 32))?,
        local: link("local", &l.local, least, (5.25, 50, 16))?,
        global: link("global", &l.global, least, (4.7, 300, 16))?,
        column: link("column", &l.column.or(&l.local), least, (5.25, 50, 16))?,
    };
    if n.router == r::RouterModel::Pipelined {
        flits_take_time(n.flit, &links, kind)?;
    }
    let leftovers = document.leftovers("network.routing", "algorithm");
    let routing = routing::routing(n, &leftovers, &links, kind)?;
    router_keys::bubble(n, routing.algorithm)?;
    if routing.algorithm == r::Algorithm::Bubble {
        bubble(n, &links)?;
    }
    Ok(r::Network {
        packet: n.packet,
        flit: n.flit,
        switching: n.switching,
        router: n.router,
        input_queues: n.input_queues,
        // Pipelined routers have their stages instead.
        router_delay: if n.router == r::RouterModel::Pipelined {
            Time::ZERO
        } else {
            n.router_delay
        },
        pipeline: n.pipeline,
        routing,
        links,
        traffic_classes: traffic_classes::classes(n)?,
        congestion_control: congestion::control(n)?,
        clock: n.clock,
    })
}

/// A packet enters a ring if there is room for another one behind it: in smaller buffers none ever does.
fn bubble(n: &w::Network, links: &r::Links) -> Result<(), Problem> {
    let whole = n.packet.0.div_ceil(n.flit.0) * n.flit.0;
    for class in [LinkClass::Local, LinkClass::Global, LinkClass::Column] {
        let buffer = links.of(class).buffer;
        if buffer.0 / n.flit.0 * n.flit.0 < 2 * whole {
            let key = format!("network.links.{}.buffer", class.name());
            let problem = format!("a buffer of {buffer} does not hold two packets of {}", n.packet);
            let error = Problem::new(key, problem, format!("at least {}", Bytes(2 * whole)));
            return Err(error.hint("bubble flow control keeps room for one packet free in every ring"));
        }
    }
    Ok(())
}

/// What goes with pipelined routers, and with them only.
fn pipelined(n: &w::Network) -> Result<(), Problem> {
    n.pipeline.check()?;
    if n.router != r::RouterModel::Pipelined {
        if n.switching == r::Switching::Wormhole {
            let error = Problem::new(
                "network.switching",
                "only pipelined routers know of flits that are apart from their packet",
                "\"cut-through\", \"store-and-forward\", or network.router = \"pipelined\"",
            );
            return Err(error);
        }
        return Ok(());
    }
    let expected = "the period of a cycle, a whole number of picoseconds, such as \"1 ns\"";
    match n.clock.map(|clock| clock.ps()) {
        None => Err(Problem::new(
            "network.clock",
            "a pipelined router without a clock",
            expected,
        )),
        Some(ps) if ps != ps.round() || !(10.0..=1e12).contains(&ps) => {
            Err(Problem::new("network.clock", format!("a cycle of {ps} ps"), expected))
        }
        Some(_) => Ok(()),
    }
}

/// Pipelined routers and their NICs send one flit after the other, each when the one before has left. Degraded cables are
/// slower than their class, never faster.
fn flits_take_time(flit: Bytes, links: &r::Links, kind: &r::Kind) -> Result<(), Problem> {
    for &class in kind.link_classes() {
        let bandwidth = links.of(class).bandwidth;
        if bandwidth.time_for(flit) == Time::ZERO {
            let key = format!("network.links.{}.bandwidth", class.name());
            let problem = format!("a flit of {flit} takes less than half a picosecond at {bandwidth}");
            let error = Problem::new(key, problem, "flits that take 1 ps at least");
            return Err(error.hint("make flits larger or the link slower"));
        }
    }
    Ok(())
}

/// A link class, with default bandwidth in GiB/s, latency in ns, buffer in KiB.
fn link(class: &str, link: &w::Link, packet: Bytes, defaults: (f64, u64, u64)) -> Result<r::Link, Problem> {
    let key = |name: &str| format!("network.links.{class}.{name}");
    let latency = positive(&key("latency"), link.latency.unwrap_or(Time::from_ns(defaults.1)))?;
    let buffer = link.buffer.unwrap_or(Bytes::kib(defaults.2));
    if buffer < packet {
        let problem = format!("a buffer of {buffer} does not hold one packet");
        let error = Problem::new(key("buffer"), problem, format!("at least network.packet, {packet}"));
        return Err(error.hint("the buffer is per virtual channel; make it larger or the packet smaller"));
    }
    if buffer.0 > 1 << 40 {
        return Err(Problem::new(
            key("buffer"),
            format!("a buffer of {buffer}"),
            "at most 1 TiB",
        ));
    }
    let bandwidth = link.bandwidth.unwrap_or(Bandwidth::gib_per_s(defaults.0));
    if bandwidth.0 > FASTEST_LINK.0 {
        let problem = format!("a bandwidth of {bandwidth}");
        return Err(Problem::new(key("bandwidth"), problem, "at most 1000 TB/s"));
    }
    Ok(r::Link {
        bandwidth,
        latency,
        buffer,
        credit_delay: positive(&key("credit_delay"), link.credit_delay.unwrap_or(latency))?,
    })
}

fn nic(nic: &w::Nic) -> Result<r::Nic, Problem> {
    Ok(r::Nic {
        message_delay: nic.message_delay,
        queue: within("nic.queue", nic.queue, 1, 16)?,
        rate: nic.rate,
        handoff: jitter("nic.handoff", nic.handoff)?,
    })
}

fn jitter(key: &str, jitter: Option<w::Jitter>) -> Result<Option<r::Jitter>, Problem> {
    match jitter {
        Some(w::Jitter { min, max }) if min > max => {
            let problem = format!("min, {min}, is above max, {max}");
            Err(Problem::new(format!("{key}.max"), problem, format!("at least {min}")))
        }
        jitter => Ok(jitter.map(|w::Jitter { min, max }| r::Jitter { min, max })),
    }
}

fn mpi(mpi: &w::Mpi) -> Result<r::Mpi, Problem> {
    let c = &mpi.collectives;
    if c.segment.0 > u64::from(u32::MAX) {
        let problem = format!("segments of {} are longer than any pipeline has", c.segment);
        return Err(Problem::new("mpi.collectives.segment", problem, "less than 4 GiB"));
    }
    if c.window == 0 {
        let problem = "all-to-alls that post nothing never end";
        return Err(Problem::new("mpi.collectives.window", problem, "at least 1"));
    }
    Ok(r::Mpi {
        send_delay: mpi.send_delay,
        send_per_byte: mpi.send_per_byte,
        send_overhead: mpi.send_overhead,
        recv_overhead: mpi.recv_overhead,
        call_jitter: jitter("mpi.call_jitter", mpi.call_jitter)?,
        local_latency: positive("mpi.local_latency", mpi.local_latency)?,
        local_bandwidth: mpi.local_bandwidth,
        eager_threshold: match mpi.eager_threshold {
            w::EagerThreshold::None => None,
            w::EagerThreshold::UpTo(bytes) => Some(bytes),
        },
        rendezvous_control: mpi.rendezvous_control,
        rendezvous_zero_copy: mpi.rendezvous_zero_copy,
        progress: mpi.progress,
        collectives: r::Collectives {
            library: c.library,
            barrier: c.barrier,
            broadcast: c.broadcast,
            reduce: c.reduce,
            allreduce: c.allreduce,
            gather: c.gather,
            scatter: c.scatter,
            allgather: c.allgather,
            allgatherv: c.allgatherv,
            reduce_scatter: c.reduce_scatter,
            reduce_scatter_block: c.reduce_scatter_block,
            scan: c.scan,
            exscan: c.exscan,
            alltoall: c.alltoall,
            alltoallv: c.alltoallv,
            segment: c.segment,
            window: c.window,
            allreduce_recursive_doubling_up_to: c.allreduce_recursive_doubling_up_to,
            broadcast_binomial_below: c.broadcast_binomial_below,
            broadcast_min_ranks: c.broadcast_min_ranks,
            broadcast_recursive_doubling_below: c.broadcast_recursive_doubling_below,
        },
    })
}
