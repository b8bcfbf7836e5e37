//! A graph under construction: the common content of both file formats, and its conversion to a topology.

use super::GraphFile;
use odonata_units::{Bytes, Time};

use crate::sizes;
use crate::{Cable, LinkClass, Topology};
use std::collections::HashMap;

/// The given settings of a router.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RouterSettings {
    pub(super) nodes: Option<u32>,
    pub(super) ports: Option<u32>,
    pub(super) block: Option<u32>,
}

impl RouterSettings {
    /// Whether routers have a setting `name`.
    pub(super) fn has(name: &str) -> bool {
        matches!(name, "nodes" | "ports" | "block")
    }

    /// # Errors
    /// The setting is unknown, given twice or not a number.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let slot = match name {
            "nodes" => &mut self.nodes,
            "ports" => &mut self.ports,
            "block" => &mut self.block,
            _ => {
                return Err(format!(
                    "no setting \"{name}\" of a router: nodes, ports, block are known"
                ));
            }
        };
        match slot.replace(number(name, value)?) {
            None => Ok(()),
            Some(_) => Err(format!("{name} is given twice")),
        }
    }
}

/// The given settings of a cable.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CableSettings {
    pub(super) cables: Option<u32>,
    pub(super) class: Option<LinkClass>,
    pub(super) bandwidth: Option<f64>,
    pub(super) latency: Option<Time>,
    pub(super) buffer: Option<Bytes>,
}

impl CableSettings {
    /// Whether cables have a setting `name`.
    pub(super) fn has(name: &str) -> bool {
        matches!(name, "cables" | "class" | "bandwidth" | "latency" | "buffer")
    }

    /// # Errors
    /// The setting is unknown, given twice or has an impossible value.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let again = match name {
            "cables" => self.cables.replace(number(name, value)?).is_some(),
            "class" => self.class.replace(class(value)?).is_some(),
            "bandwidth" => match value.parse::<f64>() {
                Ok(factor) if factor.is_finite() && factor > 0.0 => self.bandwidth.replace(factor).is_some(),
                _ => return Err(format!("bandwidth \"{value}\": a number above 0 is expected")),
            },
            "latency" => self.latency.replace(latency(value)?).is_some(),
            "buffer" => self.buffer.replace(buffer(value)?).is_some(),
            _ => {
                return Err(format!(
                    "no setting \"{name}\" of a cable: cables, class, bandwidth, latency, buffer are known"
                ));
            }
        };
        if again {
            return Err(format!("{name} is given twice"));
        }
        Ok(())
    }
}

pub(super) fn number(name: &str, value: &str) -> Result<u32, String> {
    value
        .parse()
        .map_err(|_| format!("{name} \"{value}\": a number from 0 to {} is expected", u32::MAX))
}

/// A latency with its unit, such as `300ns`.
///
/// # Errors
/// It is no time, or longer than [`Time::LONGEST`].
pub(crate) fn latency(value: &str) -> Result<Time, String> {
    match value.parse::<Time>() {
        Ok(latency) if latency <= Time::LONGEST => Ok(latency),
        Ok(_) => Err(format!("latency \"{value}\": at most {} is possible", Time::LONGEST)),
        Err(error) => Err(format!("latency: {error}")),
    }
}

/// Largest buffer of a virtual channel.
const LARGEST_BUFFER: Bytes = Bytes(1 << 40);

/// # Errors
/// It is no class of cables between routers.
pub(crate) fn class(value: &str) -> Result<LinkClass, String> {
    let known = LinkClass::ALL.into_iter().filter(|&class| class != LinkClass::Terminal);
    let names = || known.clone().map(LinkClass::name).collect::<Vec<_>>().join(", ");
    (known.clone().find(|class| class.name() == value))
        .ok_or_else(|| format!("class \"{value}\": one of {} is expected", names()))
}

/// A buffer with its unit, such as `64KiB`.
///
/// # Errors
/// It is no size, zero or too large.
pub(crate) fn buffer(value: &str) -> Result<Bytes, String> {
    match value.parse::<Bytes>() {
        Ok(buffer) if buffer > Bytes::ZERO && buffer <= LARGEST_BUFFER => Ok(buffer),
        Ok(_) => Err(format!("buffer \"{value}\": 1 B to {LARGEST_BUFFER} is possible")),
        Err(error) => Err(format!("buffer: {error}")),
    }
}

/// One or more parallel cables.
#[derive(Clone, Copy, Debug)]
struct DraftCable {
    routers: [u32; 2],
    ports: [Option<u32>; 2],
    class: LinkClass,
    factor: f64,
    latency: Option<Time>,
    buffer: Option<Bytes>,
    line: u32,
}

/// A graph under construction.
#[derive(Debug, Default)]
pub(super) struct Draft {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    routers: Vec<RouterSettings>,
    /// The line of each router's first mention.
    lines: Vec<u32>,
    cables: Vec<DraftCable>,
    /// Lower bound of the number of ports so far.
    ports: u64,
    /// Nodes of routers without a number.
    pub(super) nodes: u32,
}

impl Draft {
    pub(super) fn new(nodes: u32) -> Self {
        Draft {
            nodes,
            ..Draft::default()
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The router of that name, created on first mention on `line`.
    pub(super) fn router(&mut self, name: &str, line: u32) -> u32 {
        if let Some(router) = self.find(name) {
            return router;
        }
        let router = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), router);
        self.names.push(name.to_owned());
        self.routers.push(RouterSettings::default());
        self.lines.push(line);
        router
    }

    /// Sets the settings of a router.
    ///
    /// # Errors
    /// More ports than a machine may have.
    pub(super) fn set_router(&mut self, router: u32, settings: RouterSettings) -> Result<(), String> {
        let least = settings.nodes.max(settings.ports).unwrap_or(0);
        self.count_ports(u64::from(least))?;
        self.routers[router as usize] = settings;
        Ok(())
    }

    fn count_ports(&mut self, more: u64) -> Result<(), String> {
        self.ports = self.ports.saturating_add(more);
        sizes::check_ports(self.ports)
    }

    /// Adds cables between two routers.
    ///
    /// # Errors
    /// The two routers are the same, the number of cables is zero or too large, or several cables share one port.
    pub(super) fn connect(
        &mut self,
        routers: [u32; 2],
        ports: [Option<u32>; 2],
        settings: CableSettings,
        line: u32,
    ) -> Result<(), String> {
        if routers[0] == routers[1] {
            return Err(format!(
                "router {} is connected with itself",
                self.names[routers[0] as usize]
            ));
        }
        let count = settings.cables.unwrap_or(1);
        if count == 0 {
            return Err("cables 0: at least one is expected".into());
        }
        if u64::from(count) > sizes::MOST_PORTS_PER_ROUTER {
            return Err(format!(
                "cables {count}: a router has at most {} ports",
                sizes::MOST_PORTS_PER_ROUTER
            ));
        }
        if count > 1 && ports != [None; 2] {
            return Err(format!("{count} cables at one port"));
        }
        self.count_ports(2 * u64::from(count))?;
        let cable = DraftCable {
            routers,
            ports,
            class: settings.class.unwrap_or(LinkClass::Local),
            factor: settings.bandwidth.unwrap_or(1.0),
            latency: settings.latency,
            buffer: settings.buffer,
            line,
        };
        self.cables.extend((0..count).map(|_| cable));
        Ok(())
    }

    /// The topology.
    ///
    /// # Errors
    /// There is no router, a port is used twice or belongs to a node, or blocks descend or are missing for some
    /// routers.
    pub(super) fn finish(self) -> Result<GraphFile, String> {
        if self.names.is_empty() {
            return Err("there is no router".into());
        }
        let nodes: Vec<u32> = self
            .routers
            .iter()
            .map(|router| router.nodes.unwrap_or(self.nodes))
            .collect();
        let counts = self.port_counts(&nodes)?;
        let mut first = Vec::with_capacity(counts.len());
        let mut total = 0usize;
        for &count in &counts {
            first.push(total);
            total += count as usize;
        }
        let mut used = vec![false; total];
        for (&first, &nodes) in first.iter().zip(&nodes) {
            used[first..first + nodes as usize].fill(true);
        }
        for cable in &self.cables {
            for end in 0..2 {
                let router = cable.routers[end] as usize;
                if let Some(port) = cable.ports[end]
                    && std::mem::replace(&mut used[first[router] + port as usize], true)
                {
                    return Err(format!(
                        "line {}: port {port} of router {} is connected twice",
                        cable.line, self.names[router]
                    ));
                }
            }
        }
        let mut next = vec![0u32; counts.len()];
        let mut cables = Vec::with_capacity(self.cables.len());
        for cable in &self.cables {
            let mut ends = [(0, 0); 2];
            for (end, place) in ends.iter_mut().enumerate() {
                let router = cable.routers[end] as usize;
                let port = cable.ports[end].unwrap_or_else(|| {
                    while used[first[router] + next[router] as usize] {
                        next[router] += 1;
                    }
                    used[first[router] + next[router] as usize] = true;
                    next[router]
                });
                *place = (cable.routers[end], port);
            }
            cables.push(Cable {
                a: ends[0],
                b: ends[1],
                class: cable.class,
            });
        }
        let ports_of_nodes: Vec<(u32, u32)> = (0..)
            .zip(&nodes)
            .flat_map(|(router, &count)| (0..count).map(move |port| (router, port)))
            .collect();
        let mut topology = Topology::new(&counts, &ports_of_nodes, &cables)?;
        for (draft, cable) in self.cables.iter().zip(&cables) {
            if draft.factor != 1.0 {
                topology.set_factor(topology.first_port(cable.a.0) + cable.a.1, draft.factor)?;
            }
            if let Some(latency) = draft.latency {
                topology.set_latency(topology.first_port(cable.a.0) + cable.a.1, latency);
            }
            if let Some(buffer) = draft.buffer {
                topology.set_buffer(topology.first_port(cable.a.0) + cable.a.1, buffer);
            }
        }
        topology.check_latencies()?;
        if let Some(bounds) = self.blocks()? {
            topology = topology.with_blocks(bounds)?;
        }
        Ok(GraphFile {
            topology,
            names: self.names,
        })
    }

    /// Ports of each router: at least the given number.
    fn port_counts(&self, nodes: &[u32]) -> Result<Vec<u32>, String> {
        let mut needed: Vec<u64> = nodes.iter().map(|&count| u64::from(count)).collect();
        let mut least: Vec<u64> = self
            .routers
            .iter()
            .map(|router| u64::from(router.ports.unwrap_or(0)))
            .collect();
        for cable in &self.cables {
            for (&router, &port) in cable.routers.iter().zip(&cable.ports) {
                needed[router as usize] += 1;
                let end = port.map_or(0, |port| u64::from(port) + 1);
                least[router as usize] = least[router as usize].max(end);
            }
        }
        for (name, (&needed, &least)) in self.names.iter().zip(needed.iter().zip(&least)) {
            let count = needed.max(least);
            if count > sizes::MOST_PORTS_PER_ROUTER {
                return Err(format!(
                    "router {name} has {count} ports: at most {} are possible",
                    sizes::MOST_PORTS_PER_ROUTER
                ));
            }
        }
        let counts = || needed.iter().zip(&least).map(|(&needed, &least)| needed.max(least));
        sizes::check_ports(counts().fold(0, u64::saturating_add))?;
        Ok(counts().map(|count| count as u32).collect())
    }

    fn blocks(&self) -> Result<Option<Vec<u32>>, String> {
        let Some(with) = self.routers.iter().position(|router| router.block.is_some()) else {
            return Ok(None);
        };
        if let Some(without) = self.routers.iter().position(|router| router.block.is_none()) {
            return Err(format!(
                "line {}: router {} has no block, but router {} has one (line {}): all or none are expected",
                self.lines[without], self.names[without], self.names[with], self.lines[with]
            ));
        }
        let mut bounds = vec![0];
        for (index, pair) in (1..).zip(self.routers.windows(2)) {
            let (before, after) = (pair[0].block.unwrap_or(0), pair[1].block.unwrap_or(0));
            if after < before {
                let (name, line) = (&self.names[index as usize], self.lines[index as usize]);
                return Err(format!(
                    "line {line}: router {name} has block {after}, the one before it block {before}: block numbers \
                     ascend"
                ));
            }
            if after > before {
                bounds.push(index);
            }
        }
        bounds.push(self.routers.len() as u32);
        Ok(Some(bounds))
    }
}
