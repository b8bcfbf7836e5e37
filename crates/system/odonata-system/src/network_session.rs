//! A machine's network without jobs, driven by another program.

use std::path::Path;

use odonata_backend::{MessageEvent, Network};
use odonata_network::settings::Fidelity;
use odonata_network::{Blueprint, NetworkParams};
use odonata_topology::Peer;
use odonata_units::Time;
use serde::Serialize;

use crate::build;
use crate::scenario::{self, InputError, presets};
use crate::text_file::read_text;

/// The network of a scenario; its jobs and storage are left out.
pub struct NetworkSession {
    network: Network,
}

/// The counters of all messages together.
#[derive(Debug, Serialize)]
pub struct Totals {
    /// Messages delivered.
    pub messages: u64,
    /// Packets delivered.
    pub packets: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Routers visited by the packets, summed.
    pub hops: u64,
    /// Mean latency of packets from their start on the terminal link; 0 without packets.
    pub packet_latency_mean_s: f64,
    /// The largest latency of a packet.
    pub packet_latency_max_s: f64,
}

/// The counters of a direction of a link.
#[derive(Debug, Serialize)]
pub struct LinkCounters {
    /// The sending router; none where a node sends.
    pub from_router: Option<u32>,
    /// The receiving router; none where a node receives.
    pub to_router: Option<u32>,
    /// The node at one end, if there is one.
    pub node: Option<u32>,
    /// The class.
    pub class: &'static str,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Time in which the link transmitted.
    pub busy_s: f64,
    /// Time in which exhausted buffers stalled the link.
    pub stall_s: f64,
}

/// The longest scenario file, in bytes.
const LONGEST_SCENARIO: u64 = 16 << 20;

impl NetworkSession {
    /// Loads `source`, a scenario file or the name of a preset. A file comes before a preset of the same name.
    ///
    /// # Errors
    /// There is neither, or see [`NetworkSession::load`].
    pub fn open(source: &str, overrides: &[String]) -> Result<NetworkSession, InputError> {
        let path = Path::new(source);
        if !path.exists() && presets::names().any(|name| name == source) {
            return Self::load(&format!("preset = \"{source}\"\n"), source, overrides, None, "");
        }
        let text = read_text(path, LONGEST_SCENARIO).map_err(|problem| InputError {
            expected: "a scenario in TOML, or the name of a preset".into(),
            hint: scenario::nearest(source, presets::names()).filter(|_| !path.exists()),
            ..refusal(source, problem)
        })?;
        Self::load(&text, source, overrides, None, path.parent().unwrap_or(Path::new("")))
    }

    /// Loads the scenario `text` of the file `name`; see [`scenario::load_to_check`].
    ///
    /// # Errors
    /// The scenario is invalid, or its network cannot be built.
    pub fn load(
        text: &str,
        name: &str,
        overrides: &[String],
        seed: Option<u64>,
        folder: impl AsRef<Path>,
    ) -> Result<NetworkSession, InputError> {
        let loaded = scenario::load_to_check(text, name, overrides, seed, folder)?;
        let refuse = |problem: String| refusal(name, problem);
        let mut resolved = loaded.resolved;
        resolved.jobs.clear();
        if resolved.network.fidelity == Fidelity::Analytic {
            return Err(refuse("the analytic model has no network that can be driven".into()));
        }
        let routing = build::routing(&resolved).map_err(refuse)?;
        let vcs = build::virtual_channels(&resolved, &routing);
        let params = NetworkParams {
            traffics: 1,
            series: None,
            blame: false,
            lost_time: false,
            lost_places: false,
            ..build::network(&resolved).map_err(refuse)?
        };
        let fabric = Blueprint::new(params, routing, vcs).whole();
        Ok(NetworkSession {
            network: Network::new(fabric),
        })
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.network.routing().topology().nodes()
    }

    /// See [`Network::now`].
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// See [`Network::is_idle`].
    pub fn is_idle(&self) -> bool {
        self.network.is_idle()
    }

    /// See [`Network::next_time`].
    pub fn next_time(&self) -> Option<Time> {
        self.network.next_time()
    }

    /// See [`Network::send`].
    ///
    /// # Errors
    /// Those of [`Network::send`].
    pub fn send(&mut self, ends: (u32, u32), bytes: u64, at: Option<Time>, notify_sent: bool) -> Result<u32, String> {
        self.network.send(ends, bytes, at, notify_sent)
    }

    /// See [`Network::advance`].
    pub fn advance(&mut self, until: Time) -> Vec<MessageEvent> {
        self.network.advance(until)
    }

    /// The counters of all messages together.
    pub fn totals(&self) -> Totals {
        let all = self.network.totals();
        Totals {
            messages: all.messages,
            packets: all.packets,
            bytes: all.bytes,
            hops: all.hops,
            packet_latency_mean_s: all.latency_ps as f64 / all.packets.max(1) as f64 * 1e-12,
            packet_latency_max_s: all.latency_max.seconds(),
        }
    }

    /// The counters of every link, those of routers first.
    pub fn links(&self) -> Vec<LinkCounters> {
        let topology = self.network.routing().topology();
        let ends = |link: u32| match link.checked_sub(topology.ports()) {
            Some(node) => (None, Some(topology.node_router(node)), Some(node)),
            None => match topology.peer(link) {
                Peer::Router { router, .. } => (Some(topology.router_of_port(link)), Some(router), None),
                Peer::Node(node) => (Some(topology.router_of_port(link)), None, Some(node)),
                Peer::Free => (None, None, None),
            },
        };
        let counted = |(link, stats): (u32, odonata_network::LinkStats)| {
            let (from_router, to_router, node) = ends(link);
            (from_router.is_some() || to_router.is_some()).then(|| LinkCounters {
                from_router,
                to_router,
                node,
                class: match node {
                    Some(_) => "terminal",
                    None => topology.class(link).name(),
                },
                bytes: stats.bytes,
                packets: stats.packets,
                busy_s: stats.busy.seconds(),
                stall_s: stats.stall.seconds(),
            })
        };
        (0..).zip(self.network.links()).filter_map(counted).collect()
    }
}

/// The error `problem` of the scenario `file` as a whole.
fn refusal(file: &str, problem: String) -> InputError {
    InputError {
        file: file.into(),
        line: None,
        column: None,
        key: String::new(),
        message: problem,
        value: None,
        expected: String::new(),
        hint: None,
    }
}
