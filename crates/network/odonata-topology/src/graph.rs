//! The graph itself: routers, ports, links, nodes.

use std::sync::Arc;

use odonata_units::{Bytes, Time};

/// The class of a port's link. Bandwidth, latency and buffers are set by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum LinkClass {
    /// Between a node's NIC and its router.
    Terminal = 0,
    /// Between routers of one group (green cables of a Cray XC).
    Local = 1,
    /// Between groups (blue cables of a Cray XC).
    Global = 2,
    /// The second kind inside a group, if there are two (black cables of a Cray XC: the columns of a group).
    Column = 3,
}

impl LinkClass {
    /// All classes, in the order of their numbers.
    pub const ALL: [LinkClass; LinkClass::COUNT] = [
        LinkClass::Terminal,
        LinkClass::Local,
        LinkClass::Global,
        LinkClass::Column,
    ];

    /// Number of classes.
    pub const COUNT: usize = 4;

    /// The name used in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            LinkClass::Terminal => "terminal",
            LinkClass::Local => "local",
            LinkClass::Global => "global",
            LinkClass::Column => "column",
        }
    }
}

/// The peer of a router port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Another router's port (numbered over the machine).
    Router {
        /// The router.
        router: u32,
        /// Its port.
        port: u32,
    },
    /// A node.
    Node(u32),
    /// Nothing.
    Free,
}

/// A bidirectional cable between two router ports, each given as (router, port of that router).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// One end.
    pub a: (u32, u32),
    /// The other end.
    pub b: (u32, u32),
    /// Its class; local or global.
    pub class: LinkClass,
}

/// Routers with numbered ports, and the peer of each port.
#[derive(Clone, Debug)]
pub struct Topology {
    /// First port of each router, and the number of ports at the end.
    first_port: Vec<u32>,
    port_router: Vec<u32>,
    peers: Vec<Peer>,
    /// Shared with those that look up a class at every hop.
    classes: Arc<[LinkClass]>,
    /// The port of each node at its router.
    node_port: Vec<u32>,
    /// The router of each node: used at every hop of every packet.
    node_router: Vec<u32>,
    /// First router of each block, and the number of routers at the end.
    blocks: Vec<u32>,
    /// The class whose bandwidth, latency and buffer each port's cable has; empty if it is its own for all.
    media: Vec<LinkClass>,
    /// Bandwidth of each port relative to its class; empty if all are 1.
    factors: Vec<f64>,
    /// Latency of each port's cable, [`Time::NEVER`] where it is that of its class; empty if it is for all.
    latencies: Vec<Time>,
    /// Buffer of each port's cable, per virtual channel; zero where it is that of its class; empty if it is for all.
    buffers: Vec<Bytes>,
    /// The two ports of each failed cable, which are free.
    failed: Vec<(u32, u32)>,
    /// Consecutive interfaces that belong to one node.
    interfaces: u32,
}

impl Topology {
    /// Builds the graph from the number of ports of each router, the port of each node (`(router, port of that
    /// router)`), and the cables.
    ///
    /// # Errors
    /// The port that is out of range or used twice, or a total of more than 2^28 ports.
    pub fn new(ports: &[u32], nodes: &[(u32, u32)], cables: &[Cable]) -> Result<Self, String> {
        let mut first_port = Vec::with_capacity(ports.len() + 1);
        let mut port_router = Vec::new();
        crate::sizes::check_ports(ports.iter().map(|&count| u64::from(count)).sum())?;
        let mut total = 0u32;
        for (router, &count) in ports.iter().enumerate() {
            first_port.push(total);
            port_router.extend(std::iter::repeat_n(router as u32, count as usize));
            total += count;
        }
        first_port.push(total);
        let mut this = Topology {
            first_port,
            port_router,
            peers: vec![Peer::Free; total as usize],
            classes: Arc::from([]),
            node_port: Vec::with_capacity(nodes.len()),
            node_router: nodes.iter().map(|&(router, _)| router).collect(),
            blocks: vec![0, ports.len() as u32],
            media: Vec::new(),
            factors: Vec::new(),
            latencies: Vec::new(),
            buffers: Vec::new(),
            failed: Vec::new(),
            interfaces: 1,
        };
        let mut classes = vec![LinkClass::Local; total as usize];
        for (node, &at) in nodes.iter().enumerate() {
            let port = this.free_port(at)?;
            this.peers[port as usize] = Peer::Node(node as u32);
            classes[port as usize] = LinkClass::Terminal;
            this.node_port.push(port);
        }
        for cable in cables {
            let a = this.free_port(cable.a)?;
            let b = this.free_port(cable.b)?;
            if a == b {
                return Err(format!(
                    "a cable connects port {} of router {} with itself",
                    cable.a.1, cable.a.0
                ));
            }
            this.peers[a as usize] = Peer::Router {
                router: cable.b.0,
                port: b,
            };
            this.peers[b as usize] = Peer::Router {
                router: cable.a.0,
                port: a,
            };
            (classes[a as usize], classes[b as usize]) = (cable.class, cable.class);
        }
        this.classes = classes.into();
        Ok(this)
    }

    /// Bytes of a graph with these numbers of routers, nodes and ports, without the tables of its family.
    pub fn bytes(routers: u64, nodes: u64, ports: u64) -> u64 {
        let of = |count: u64, size: usize| count.saturating_mul(size as u64);
        let per_port = size_of::<u32>() + size_of::<Peer>() + size_of::<LinkClass>();
        let per_node = 2 * size_of::<u32>();
        of(routers, size_of::<u32>())
            .saturating_add(of(nodes, per_node))
            .saturating_add(of(ports, per_port))
    }

    /// Sets the *blocks*: ranges of consecutive routers with short links inside, such as the groups of a dragonfly, the
    /// planes of a torus, the pods of a fat tree. Partitioning cuts between blocks if possible. `bounds` are the first
    /// router of each block, and the number of routers at the end.
    ///
    /// # Errors
    /// The bounds are not ascending from 0 to the number of routers.
    pub fn with_blocks(self, bounds: Vec<u32>) -> Result<Self, String> {
        let whole = bounds.first() == Some(&0) && bounds.last() == Some(&self.routers());
        if !whole || bounds.len() < 2 || !bounds.is_sorted_by(|a, b| a < b) {
            return Err(format!(
                "blocks are not in ascending order from router 0 to {}",
                self.routers()
            ));
        }
        Ok(Topology { blocks: bounds, ..self })
    }

    /// The first router of each block, and the number of routers at the end; see [`with_blocks`](Self::with_blocks). By
    /// default the topology is one block.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Gives every node `interfaces` interfaces: interface `i` of node `n` is number `n * interfaces + i`. All other
    /// functions of the graph count interfaces and call them nodes, since most machines have one per node.
    ///
    /// # Errors
    /// The router whose interfaces do not make whole nodes.
    pub fn set_interfaces(&mut self, interfaces: u32) -> Result<(), String> {
        let mut count = vec![0u32; self.routers() as usize];
        self.node_router.iter().for_each(|&router| count[router as usize] += 1);
        let odd = (0..).zip(&count).find(|&(_, count)| !count.is_multiple_of(interfaces));
        if let Some((router, count)) = odd {
            return Err(format!(
                "router {router} has {count} links to nodes, not a multiple of {interfaces}"
            ));
        }
        self.interfaces = interfaces;
        Ok(())
    }

    /// Interfaces of each node.
    #[inline]
    pub fn interfaces(&self) -> u32 {
        self.interfaces
    }

    /// Number of nodes, each with all its interfaces.
    pub fn whole_nodes(&self) -> u32 {
        self.nodes() / self.interfaces
    }

    /// The numbers of the interfaces of whole node `node`.
    pub fn interfaces_of(&self, node: u32) -> std::ops::Range<u32> {
        node * self.interfaces..(node + 1) * self.interfaces
    }

    /// The router of whole node `node`.
    pub fn router_of_whole_node(&self, node: u32) -> u32 {
        self.node_router(node * self.interfaces)
    }

    fn free_port(&self, (router, port): (u32, u32)) -> Result<u32, String> {
        if router >= self.routers() || port >= self.ports_of(router).len() as u32 {
            return Err(format!("router {router} has no port {port}"));
        }
        let port_number = self.first_port[router as usize] + port;
        match self.peers[port_number as usize] {
            Peer::Free => Ok(port_number),
            _ => Err(format!("port {port} of router {router} is connected twice")),
        }
    }

    /// Number of routers.
    pub fn routers(&self) -> u32 {
        self.first_port.len() as u32 - 1
    }

    /// Number of nodes; with several [interfaces](Self::set_interfaces), of interfaces.
    pub fn nodes(&self) -> u32 {
        self.node_port.len() as u32
    }

    /// Number of ports of all routers.
    pub fn ports(&self) -> u32 {
        self.peers.len() as u32
    }

    /// The ports of `router`.
    pub fn ports_of(&self, router: u32) -> std::ops::Range<u32> {
        self.first_port[router as usize]..self.first_port[router as usize + 1]
    }

    /// The ports of a range of routers.
    pub fn ports_of_routers(&self, routers: std::ops::Range<u32>) -> std::ops::Range<u32> {
        self.first_port[routers.start as usize]..self.first_port[routers.end as usize]
    }

    /// The nodes of a range of routers, if nodes are numbered in the order of their routers.
    pub fn nodes_of_routers(&self, routers: std::ops::Range<u32>) -> Option<std::ops::Range<u32>> {
        if routers == (0..self.routers()) {
            return Some(0..self.nodes());
        }
        if !self.node_router.is_sorted() {
            return None;
        }
        let first = |router| self.node_router.partition_point(|&other| other < router) as u32;
        Some(first(routers.start)..first(routers.end))
    }

    /// The first port of `router`.
    #[inline]
    pub fn first_port(&self, router: u32) -> u32 {
        self.first_port[router as usize]
    }

    /// The router that `port` belongs to.
    #[inline]
    pub fn router_of_port(&self, port: u32) -> u32 {
        self.port_router[port as usize]
    }

    /// What `port` is connected to.
    #[inline]
    pub fn peer(&self, port: u32) -> Peer {
        self.peers[port as usize]
    }

    /// The class of `port`'s link.
    #[inline]
    pub fn class(&self, port: u32) -> LinkClass {
        self.classes[port as usize]
    }

    /// The class of each port's link.
    pub fn classes(&self) -> Arc<[LinkClass]> {
        self.classes.clone()
    }

    /// The port of `node` at its router.
    #[inline]
    pub fn node_port(&self, node: u32) -> u32 {
        self.node_port[node as usize]
    }

    /// The router of `node`.
    #[inline]
    pub fn node_router(&self, node: u32) -> u32 {
        self.node_router[node as usize]
    }

    /// The class whose bandwidth, latency and buffer the cable at `port` has: its own unless [set](Self::set_medium).
    #[inline]
    pub fn medium(&self, port: u32) -> LinkClass {
        self.media
            .get(port as usize)
            .copied()
            .unwrap_or(self.classes[port as usize])
    }

    /// Whether some cable has the bandwidth, latency and buffer of another class.
    pub fn has_media(&self) -> bool {
        !self.media.is_empty()
    }

    /// Gives the cable at `port` the bandwidth, latency and buffer of `class`. Its own class, by which packets are routed
    /// and links are counted, stays.
    pub fn set_medium(&mut self, port: u32, class: LinkClass) {
        if self.media.is_empty() {
            self.media = self.classes.to_vec();
        }
        self.media[port as usize] = class;
        if let Peer::Router { port: far, .. } = self.peer(port) {
            self.media[far as usize] = class;
        }
    }

    /// The bandwidth of `port` relative to its class; 1 unless [set](Self::set_factor).
    #[inline]
    pub fn factor(&self, port: u32) -> f64 {
        self.factors.get(port as usize).copied().unwrap_or(1.0)
    }

    /// Whether some port's [`factor`](Self::factor) is not 1.
    pub fn has_factors(&self) -> bool {
        !self.factors.is_empty()
    }

    /// The latency of `port`'s cable where it differs from that of its class; `None` if it does not.
    #[inline]
    pub fn latency(&self, port: u32) -> Option<Time> {
        let latency = self.latencies.get(port as usize).copied();
        latency.filter(|&latency| latency != Time::NEVER)
    }

    /// Sets the latency of the cable at `port`, in both directions.
    pub fn set_latency(&mut self, port: u32, latency: Time) {
        if self.latencies.is_empty() {
            self.latencies = vec![Time::NEVER; self.peers.len()];
        }
        self.latencies[port as usize] = latency;
        if let Peer::Router { port: far, .. } = self.peer(port) {
            self.latencies[far as usize] = latency;
        }
    }

    /// The buffer of `port`'s cable, per virtual channel, where it differs from that of its class; `None` if it does not.
    #[inline]
    pub fn buffer(&self, port: u32) -> Option<Bytes> {
        let buffer = self.buffers.get(port as usize).copied();
        buffer.filter(|&buffer| buffer > Bytes::ZERO)
    }

    /// Sets the buffers of the cable at `port`, one at each end.
    pub fn set_buffer(&mut self, port: u32, buffer: Bytes) {
        if self.buffers.is_empty() {
            self.buffers = vec![Bytes::ZERO; self.peers.len()];
        }
        self.buffers[port as usize] = buffer;
        if let Peer::Router { port: far, .. } = self.peer(port) {
            self.buffers[far as usize] = buffer;
        }
    }

    /// The port of the cable with the least buffer of its own, and that buffer; free ports do not count.
    pub fn least_buffer(&self) -> Option<(u32, Bytes)> {
        let connected = (0..self.buffers.len() as u32).filter(|&port| self.neighbour(port).is_some());
        let own = connected.filter_map(|port| Some((port, self.buffer(port)?)));
        own.min_by_key(|&(port, buffer)| (buffer, port))
    }

    /// Whether some cable has a latency of its own.
    pub fn has_latencies(&self) -> bool {
        !self.latencies.is_empty()
    }

    /// Checks that the latencies of cables are few enough: simulations number the delays of all classes by 16 bits.
    ///
    /// # Errors
    /// There are more different ones than [`Topology::MOST_LATENCIES`].
    pub(crate) fn check_latencies(&self) -> Result<(), String> {
        let mut different: Vec<Time> = self.latencies.clone();
        different.sort_unstable();
        different.dedup();
        let count = different.iter().filter(|&&latency| latency != Time::NEVER).count();
        if count > Self::MOST_LATENCIES {
            let most = Self::MOST_LATENCIES;
            return Err(format!(
                "{count} different latencies of cables: at most {most} are possible"
            ));
        }
        Ok(())
    }

    /// Most different latencies of cables. With that of its class, each of four classes then has up to 2^14.
    pub const MOST_LATENCIES: usize = (1 << 14) - 1;

    /// The cables between routers that have a latency of their own: how many, and the shortest and longest latency.
    pub fn own_latencies(&self) -> Option<(u64, Time, Time)> {
        let (mut count, mut least, mut most) = (0, Time::NEVER, Time::ZERO);
        for port in 0..self.latencies.len() as u32 {
            let (Some(latency), Peer::Router { port: far, .. }) = (self.latency(port), self.peer(port)) else {
                continue;
            };
            count += u64::from(port < far);
            (least, most) = (least.min(latency), most.max(latency));
        }
        (count > 0).then_some((count, least, most))
    }

    /// Sets the bandwidth of `port` and of its peer, relative to their class.
    ///
    /// # Errors
    /// The factor is not a number above 0.
    pub fn set_factor(&mut self, port: u32, factor: f64) -> Result<(), String> {
        if !factor.is_finite() || factor <= 0.0 {
            return Err(format!("a bandwidth factor of {factor}: a number above 0 is expected"));
        }
        if self.factors.is_empty() {
            if factor == 1.0 {
                return Ok(());
            }
            self.factors = vec![1.0; self.peers.len()];
        }
        self.factors[port as usize] = factor;
        if let Peer::Router { port: far, .. } = self.peer(port) {
            self.factors[far as usize] = factor;
        }
        Ok(())
    }

    /// Removes the cable at `port`: both its ports become free.
    pub(crate) fn disconnect(&mut self, port: u32) {
        if let Peer::Router { port: far, .. } = self.peer(port) {
            self.peers[port as usize] = Peer::Free;
            self.peers[far as usize] = Peer::Free;
            self.failed.push((port, far));
        }
    }

    /// The two ports of each cable that [failed](crate::Fault); their peers are [`Peer::Free`].
    pub fn failed(&self) -> &[(u32, u32)] {
        &self.failed
    }

    /// Whether `port` is connected.
    #[inline]
    pub fn is_live(&self, port: u32) -> bool {
        self.peer(port) != Peer::Free
    }

    /// Number of connected ports among `ports`. Meant for ports that are all connected unless a cable failed: without
    /// failures, it looks at none.
    #[inline]
    pub fn live(&self, ports: std::ops::Range<u32>) -> u32 {
        if self.failed.is_empty() {
            return ports.end - ports.start;
        }
        ports.filter(|&port| self.is_live(port)).count() as u32
    }

    /// The `n`-th connected port of `ports`; `n` is below [`live`](Self::live).
    #[inline]
    pub fn nth_live(&self, mut ports: std::ops::Range<u32>, n: u32) -> u32 {
        if self.failed.is_empty() {
            return ports.start + n;
        }
        let last = ports.end - 1;
        ports
            .by_ref()
            .filter(|&port| self.is_live(port))
            .nth(n as usize)
            .unwrap_or(last)
    }

    /// The router at the other end of `port`'s cable, if there is one.
    #[inline]
    pub fn neighbour(&self, port: u32) -> Option<u32> {
        match self.peer(port) {
            Peer::Router { router, .. } => Some(router),
            _ => None,
        }
    }
}
