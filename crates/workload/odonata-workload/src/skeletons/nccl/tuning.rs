//! NCCL's choice of algorithm and protocol, by its own estimates of time.
//!
//! For n bytes, NCCL takes the combination with the least `latency + n / bandwidth` (`src/graph/tuning.cc` of NCCL 2.27).
//! For p ranks on h hosts of g GPUs, with s steps of a ring, of which s_n between hosts, and steps of l_i in a host and
//! l_n between hosts:
//!
//! | algorithm | latency | bus bandwidth of the simple protocol | bandwidth |
//! |---|---|---|---|
//! | ring | base + (s - s_n) l_i + s_n l_n, for large all-reduces between hosts 1.4 times | the slower of NVLink and the interfaces of a host | x p / s |
//! | tree | base + 2 ((g - 1) l_i + log2 h l_n) | 0.92 of that, at most a bound per channel | x 1/2 |
//! | PAT | base + log2 h l_n / 3.5 + 2.8 p | 0.75 of that | as it is |
//! | NVLS | l_i + 2 log2 h l_n | | the part of NVLink that switches reach; on several hosts at most 5/6 of the interfaces, half of that on more than two |
//!
//! Constants are those of Hopper GPUs with NVLink, and of hosts with Intel processors. NCCL leaves switches out in domains
//! of several hosts (multi-node NVLink): here, in hosts of more than 8 GPUs.

use odonata_units::{Bandwidth, Time};

use super::{NcclAlgorithm, NcclCollective, NcclParams, NcclProtocol};

/// A combination of algorithm and protocol, with NCCL's latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub algorithm: NcclAlgorithm,
    pub protocol: NcclProtocol,
    /// Base time of a call.
    pub launch: Time,
    /// Time of a step in a host.
    pub step: Time,
    /// The rate of a channel of a ring.
    pub channel_bandwidth: Bandwidth,
    /// NCCL's estimate of the time of the call, in us.
    pub estimate_us: f64,
}

const ALGORITHMS: [NcclAlgorithm; 4] = [
    NcclAlgorithm::Ring,
    NcclAlgorithm::Tree,
    NcclAlgorithm::Nvls,
    NcclAlgorithm::Pat,
];
const PROTOCOLS: [NcclProtocol; 3] = [NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple];

/// Most GPUs of a host whose switches sum.
const MOST_GPUS_WITH_SWITCHES: u32 = 8;

/// Base time, and time of a step over NVLink and over a network, in us (`baseLat`, `hwLat`). The step of a host by
/// switches stands for two exchanges.
fn latencies_us(algorithm: NcclAlgorithm, protocol: NcclProtocol) -> (f64, f64, f64) {
    match (algorithm, protocol) {
        (NcclAlgorithm::Tree, NcclProtocol::Ll) => (6.8, 0.6, 5.0),
        (NcclAlgorithm::Tree, NcclProtocol::Ll128) => (14.0, 1.25, 8.5),
        (NcclAlgorithm::Tree, _) => (8.4, 4.0, 14.0),
        (NcclAlgorithm::Nvls, _) => (0.0, 25.0, 20.9),
        // Steps between hosts only: there is one GPU in each.
        (NcclAlgorithm::Pat, _) => (8.0, 4.0, 14.0),
        (_, NcclProtocol::Ll) => (6.6, 0.6, 2.7),
        (_, NcclProtocol::Ll128) => (14.0, 1.9, 4.0),
        _ => (8.4, 3.4, 14.0),
    }
}

/// Work of the processor for each step of a ring between hosts, in us: three times for the simple protocol.
const NETWORK_OVERHEAD_US: f64 = 1.0;

/// Bounds on bandwidths in GB/s, for one host, two, and more: of LL, and per channel of trees by the simple protocol, of
/// rings and of trees by LL128.
const MOST_LL: [f64; 3] = [141.0, 39.0, 20.4];
const MOST_TREE: [f64; 3] = [38.7, 41.4, 36.0];
const MOST_RING_LL128: [f64; 3] = [36.7, 36.7, 36.7];
const MOST_TREE_LL128: [f64; 3] = [36.7, 36.7, 29.0];

/// Share of the estimated bandwidth that trees reach, by the binary logarithm of the size in units of 64 B
/// (`treeCorrectionFactor`).
const TREE_SHARES: [[f64; 23]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0,
        1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0,
        1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9,
        0.9,
    ],
];

/// Share of the interfaces' bandwidth that sums by switches reach between hosts.
const NVLS_NETWORK_SHARE: f64 = 5.0 / 6.0;

/// Time per rank of parallel aggregated trees, in us, and the share of the bandwidth of links that they reach.
const PAT_LINEAR_US: f64 = 2.8;
const PAT_SHARE: f64 = 0.75;

/// Factor of the latency of large all-reduces by rings between hosts.
const RING_PLATEAU: f64 = 1.4;

/// The combination that NCCL takes for a call of `params`, of those that the settings allow.
pub(super) fn choose(params: &NcclParams, ranks: u32) -> Option<Choice> {
    let mut best: Option<Choice> = None;
    for algorithm in ALGORITHMS {
        for protocol in PROTOCOLS {
            let is_wanted = [NcclAlgorithm::Auto, algorithm].contains(&params.algorithm)
                && [NcclProtocol::Auto, protocol].contains(&params.protocol);
            let found = is_wanted
                .then(|| estimate(params, ranks, (algorithm, protocol)))
                .flatten();
            // The first of several equal ones.
            if let Some(found) = found
                && best.is_none_or(|best| found.estimate_us < best.estimate_us)
            {
                best = Some(found);
            }
        }
    }
    best
}

/// NCCL's estimate for a combination; `None` if it is not possible.
pub(super) fn estimate(
    params: &NcclParams,
    ranks: u32,
    (algorithm, protocol): (NcclAlgorithm, NcclProtocol),
) -> Option<Choice> {
    let is_all_reduce = params.collective == NcclCollective::AllReduce;
    let is_of_pat = matches!(
        params.collective,
        NcclCollective::AllGather | NcclCollective::ReduceScatter
    );
    let has_it = match algorithm {
        NcclAlgorithm::Ring => true,
        NcclAlgorithm::Pat => is_of_pat && protocol == NcclProtocol::Simple && params.gpus_per_host == 1 && ranks > 1,
        _ => is_all_reduce,
    };
    if !has_it {
        return None;
    }
    let gpus = params.gpus_per_host.clamp(1, ranks.max(1));
    let hosts = (ranks / gpus).max(1);
    if algorithm == NcclAlgorithm::Nvls
        && (protocol != NcclProtocol::Simple || !(2..=MOST_GPUS_WITH_SWITCHES).contains(&gpus))
    {
        return None;
    }
    let (p, g, h) = (f64::from(ranks.max(1)), f64::from(gpus), f64::from(hosts));
    let (base, inside, mut network) = latencies_us(algorithm, protocol);
    if gpus == 1 {
        // With one GPU per host NCCL takes the latency of trees.
        network = latencies_us(NcclAlgorithm::Tree, protocol).2;
    }
    let is_simple = protocol == NcclProtocol::Simple;
    // The simple protocol waits for a flush as well.
    let trips = if is_simple { 2.0 } else { 1.0 };
    let between = network + trips * params.network_latency.nanoseconds() / 1e3;
    let overhead = NETWORK_OVERHEAD_US * if is_simple { 3.0 } else { 1.0 };
    let inside = if algorithm == NcclAlgorithm::Ring && hosts > 1 {
        inside.max(overhead)
    } else {
        inside
    };
    let (steps, between_hosts) = match params.collective {
        NcclCollective::AllReduce => (2.0 * (p - 1.0), 2.0 * (h - 1.0)),
        NcclCollective::AllGather | NcclCollective::ReduceScatter => (p - 1.0, h - 1.0),
        NcclCollective::Broadcast => (p, h - 1.0),
    };
    let levels = f64::from(hosts.ilog2());
    let latency = base
        + match algorithm {
            NcclAlgorithm::Tree => 2.0 * ((g - 1.0) * inside + levels * between),
            NcclAlgorithm::Nvls => inside + 2.0 * levels * between,
            NcclAlgorithm::Pat => levels * between / 3.5 + p * PAT_LINEAR_US,
            _ => (steps - between_hosts) * inside + between_hosts * between,
        };

    let gb_per_s = |rate: Bandwidth| rate.0 / 1e9;
    let (nvlink, interfaces) = (
        gb_per_s(params.nvlink_bandwidth),
        g * gb_per_s(params.network_bandwidth),
    );
    let link = if hosts == 1 { nvlink } else { nvlink.min(interfaces) };
    let size = (hosts.min(3) - 1) as usize;
    let channels = f64::from(params.channels);
    let bytes = params.bytes.0;
    let bandwidth = match algorithm {
        NcclAlgorithm::Tree => {
            // On two hosts NVLink alone counts.
            let whole = (if hosts <= 2 { nvlink } else { link } * 0.92).min(channels * MOST_TREE[size]);
            let bus = match protocol {
                NcclProtocol::Ll => (whole / 3.8).min(MOST_LL[size]),
                NcclProtocol::Ll128 => {
                    let share = if hosts == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 };
                    (whole * share).min(channels * MOST_TREE_LL128[size])
                }
                _ => whole,
            };
            let shares = &TREE_SHARES[PROTOCOLS.iter().position(|&one| one == protocol)?];
            let share = shares.get((bytes >> 6).max(1).ilog2() as usize).unwrap_or(&1.0);
            bus * 0.5 * share
        }
        NcclAlgorithm::Nvls => {
            let alone = params.nvls_efficiency.given().unwrap_or(&NVLS_EFFICIENCY) * nvlink;
            let outside = match hosts {
                1 => f64::INFINITY,
                2 => interfaces,
                _ => interfaces / 2.0,
            };
            alone.min(outside * NVLS_NETWORK_SHARE)
        }
        NcclAlgorithm::Pat => link * PAT_SHARE,
        _ => {
            let bus = match protocol {
                NcclProtocol::Ll => (link * 0.5).min(MOST_LL[size]),
                NcclProtocol::Ll128 => (link * 0.92).min(channels * MOST_RING_LL128[size]),
                _ => link,
            };
            bus * p / steps.max(1.0)
        }
    };
    let is_large = is_simple && hosts > 1 && is_all_reduce && bytes / u64::from(params.channels * ranks.max(1)) >= 64;
    let plateau = if algorithm == NcclAlgorithm::Ring && is_large {
        RING_PLATEAU
    } else {
        1.0
    };
    let us = |us: f64| Time::from_ns((us * 1e3).round() as u64);
    // A host's step by switches is two exchanges here.
    let exchanges = if algorithm == NcclAlgorithm::Nvls { 2.0 } else { 1.0 };
    Some(Choice {
        algorithm,
        protocol,
        launch: us(base),
        step: us(inside / exchanges),
        channel_bandwidth: Bandwidth(link * 1e9 / f64::from(params.channels_in_use())),
        estimate_us: latency * plateau + bytes as f64 / (1e3 * bandwidth),
    })
}

/// Share of the rate of NVLink that Hopper's switches reach (`nvlsEfficiency`).
pub(super) const NVLS_EFFICIENCY: f64 = 0.85;
