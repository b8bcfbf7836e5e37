//! The settings of storage servers: the keys of the table `storage`, as they are written and as they are resolved.

mod client;
mod device;
mod tier;

pub use client::{Client, LostReads, OnFailure};
pub use device::{Device, MOST_DEVICES};
pub use tier::{DrainPolicy, Eviction, FileSystem, MOST_TIERS, Policy, ReadPolicy, Tier, WritePolicy};

use odonata_device::{Rate, Rule};
use odonata_units::{Bandwidth, Bytes, Filled, Problem, Time};
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::{Fault, FaultKind, FaultPeriod, Layout, Locks, Metadata, Outage, ServerParams};

/// Storage servers (burst buffers) on nodes of the machine. Their nodes are never given to jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// Which nodes are servers. Default: one per 32 compute nodes, rounded up, spread evenly over the machine.
    #[schemars(extend("default" = { "per_group": null, "position": null, "routers": null, "list": null }))]
    pub nodes: Nodes,
    /// Which server the ranks on a compute node use, if the layout of a file does not determine it. Default:
    /// "by-group", and "round-robin" if `nodes` is left out.
    pub assignment: Filled<Assignment>,
    /// Which servers a file is on; jobs may set their own layout (`jobs.io.layout`).
    pub layout: Layout,
    /// Locks on ranges of files. Default: none.
    pub locks: Option<Locks>,
    /// Metadata servers. Default: none, opening, creating and removing files takes no time.
    pub metadata: Option<Metadata>,
    /// Unacknowledged bytes that a rank may have when a write returns; jobs may set their own value
    /// (`jobs.io.write_behind`). Default: "0 B", a write returns when it is acknowledged.
    pub write_behind: Bytes,
    /// What `fsync` waits for, in addition to the metadata server if there is one.
    #[serde(skip_serializing_if = "is_default")]
    pub sync: SyncDepth,
    /// How a server handles requests.
    pub manager: Manager,
    /// The device of each server.
    #[schemars(extend("default" = { "rate": Rate::default() }))]
    pub device: Device,
    /// The devices of each server if it has several, in place of `device`; each needs a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// Which of several devices takes a request: the first rule that fits, e.g. `[{ device = "ssd", below = "64 kB" },
    /// { device = "hdd" }]`. All data of a write request go to one device.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Faults: devices and metadata servers that are slow or stop for a while, and servers and devices that fail, e.g.
    /// `[{ server = 3, at = "1 s", duration = "500 ms", kind = { slow = 4.0 } }, { server = 5, at = "2 s", kind =
    /// "fail" }]`. Faults of one device must not overlap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// What clients do when a server does not answer in time. Default: they wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// How a server drains its data into the file system behind it. Default: written data stay, and writes wait while
    /// the device is full.
    pub drain: Option<Drain>,
    /// Where the buffers of jobs are: the same machine with its buffers elsewhere.
    #[serde(skip_serializing_if = "is_default")]
    pub architecture: Architecture,
    /// How a server uses the tier below it, `tiers` or `file_system`.
    #[serde(skip_serializing_if = "is_default")]
    pub policy: Policy,
    /// The tiers of servers below these, the next one first: drained data go there over the network, packet by packet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// The file system behind the servers of the last tier. Default: none, data stay on these servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// Nodes of buffers that another architecture has; jobs do not get them, so that they are placed alike.
    #[serde(skip)]
    pub spare: Option<Nodes>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Which nodes are servers: `{ per_group = 2, position = "last" }`, `{ routers = [15] }`, or `{ list = [0, 32] }`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Nodes {
    /// Servers in every group; server s of group g is number per_group x g + s. Default, with `position`: 2.
    pub per_group: Option<u32>,
    /// Whether these are the first or the last nodes of the group. Default: "first".
    pub position: Option<Position>,
    /// Routers of every group whose nodes are all servers, numbered from 0 in the group; instead of `per_group` and
    /// `position`. Servers have the order of their nodes.
    pub routers: Option<Vec<u32>>,
    /// Node numbers in the whole machine, instead of the other keys; server s is the s-th of them.
    pub list: Option<Vec<u32>>,
    /// All nodes of a class, instead of the other keys.
    pub class: Option<NodeClass>,
}

/// Where the buffers of jobs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// On `nodes`, which many compute nodes share (compute-side global burst buffers).
    #[default]
    ComputeSide,
    /// On each compute node, for its own ranks (node-local burst buffers), which reach it without the network; `nodes` stay empty.
    NodeLocal,
    /// On the servers of the first of `tiers`, the I/O nodes, with the devices of these (storage-side burst buffers); `nodes`
    /// stay empty, and `policy` is that of the I/O nodes.
    StorageSide,
}

/// What the synchronization of a file (`fsync`) waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncDepth {
    /// Until all acknowledged data of the file are on devices of its servers, with volatile caches written out.
    #[default]
    Device,
    /// Until the data are in the last tier: data only in the buffers are drained, whatever the `policy`. Needs a tier
    /// below.
    Below,
}

/// A class of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeClass {
    /// Nodes of jobs: each has a server of its own, which its ranks reach without the network (node-local buffers). For
    /// the first tier only.
    Compute,
    /// Service nodes (`machine.service_routers`). For tiers below the first.
    Service,
}

/// Resolved: the one way in which they are named, with all its keys.
impl Serialize for Nodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct PerGroup {
            count: u32,
            position: Position,
        }
        let mut map = serializer.serialize_map(Some(1))?;
        if let Some(class) = &self.class {
            map.serialize_entry("class", class)?;
        } else if let Some(list) = &self.list {
            map.serialize_entry("list", list)?;
        } else if let Some(routers) = &self.routers {
            map.serialize_entry("routers", routers)?;
        } else if let Some(count) = self.per_group {
            let position = self.position.unwrap_or_default();
            map.serialize_entry("per-group", &PerGroup { count, position })?;
        }
        map.end()
    }
}

/// How a server handles a request: it moves the data in blocks, several of a request at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Manager {
    /// Size of the blocks in which data move.
    #[default(Bytes(1_000_000))]
    pub block: Bytes,
    /// Blocks of one request that may be in flight together, at least 1.
    #[schemars(range(min = 1))]
    #[default = 4]
    pub pieces_in_flight: u32,
    /// Memory for blocks in transit, over all requests; at least one block.
    #[default(Bytes(64_000_000_000))]
    pub memory: Bytes,
    /// Size of a request, pull or acknowledgement message.
    #[default(Bytes(128))]
    pub control_message: Bytes,
    /// Whether every file is an object of its own on the device. If not, all requests access one object from offset 0,
    /// as in the MFNetSim runs; blocks of different clients can then follow each other without a seek.
    #[default = true]
    pub object_per_file: bool,
    /// The order in which waiting jobs get space, memory or a device.
    pub sharing: Sharing,
    /// When a write is acknowledged.
    pub acknowledge: Acknowledge,
    /// Whether a server keeps the place of every byte of a file. Then overwriting takes no new space, reads go to the
    /// place of the data, and the end of a run audits every byte; otherwise every write takes new space. Needs
    /// `object_per_file`.
    pub extents: bool,
    /// The result of reading bytes that were never written. `"error"` needs `extents`.
    pub unwritten: Unwritten,
}

/// The result of reading bytes that were never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unwritten {
    /// An ordinary read: the input existed before the run.
    #[default]
    ExistsBelow,
    /// An error, which ends the run.
    Error,
}

/// The order in which waiting jobs are served: for space, memory or a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// First come, first served, across all jobs.
    #[default]
    Fifo,
    /// Jobs in turn, a request or a piece each.
    RoundRobin,
    /// Jobs in proportion to their `io_weight`, by bytes (start-time fair queueing).
    Weighted,
}

/// When a write is acknowledged. It is committed when its last byte is on a device, in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When it is on the device.
    #[default]
    Device,
    /// When all its data are in the memory of the server, which writes them to the device afterwards (write-back).
    Memory,
}

/// How a server drains its data into the file system behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Drain {
    /// Rate of one server towards the file system.
    #[default(Bandwidth(1.6e9))]
    pub bandwidth: Bandwidth,
    /// Time from a block's last byte to its acknowledgement, after which the server sends the next block.
    #[default(Time::from_ns(1_000))]
    pub latency: Time,
    /// Space in use above which a server drains; at most the capacity.
    pub threshold: Bytes,
}

/// Which nodes of a group are storage servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// The first ones; server `s` of the group is its node `s`.
    #[default]
    First,
    /// The last ones, counted from the end: server 0 of the group is its last node.
    Last,
}

/// Which server the ranks on a compute node use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// One of the node's own group; the compute nodes of a group are shared evenly among its servers, in order. A group
    /// without servers uses those of the next group with servers. ("even" is the same.)
    #[default]
    #[serde(alias = "even")]
    ByGroup,
    /// The server that is the fewest cables away; nodes at equal distance from several servers are shared evenly among
    /// them.
    Nearest,
    /// A random one for every compute node, drawn from the seed.
    Random,
    /// Compute node `c` (counted over the machine, servers left out) uses server `c mod servers`.
    RoundRobin,
    /// A server number for every compute node of the machine (counted with servers left out), in order.
    List(Vec<u32>),
}

/// Upper bound on the blocks of a server's memory; each costs the simulator a few bytes.
const MOST_BLOCKS: u64 = 1 << 24;

impl Storage {
    /// Checks the keys of a server and fills in defaults. The machine decides which nodes are servers.
    ///
    /// # Errors
    /// The first key that is out of its range.
    pub fn check(&mut self) -> Result<(), Problem> {
        self.manager.check("storage.manager")?;
        self.locks.map_or(Ok(()), |locks| locks.check())?;
        self.metadata.as_ref().map_or(Ok(()), Metadata::check)?;
        self.client.map_or(Ok(()), |client| client.check())?;
        self.check_failures()?;
        device::resolve("storage", &mut self.device, &mut self.devices, &self.rules)?;
        let capacity = Bytes(self.all_devices().iter().map(|device| device.capacity.0).sum());
        let last = self.tiers.is_empty() && self.file_system.is_none();
        check_drain("storage.drain", self.drain.as_ref(), capacity, last)?;
        if last {
            if self.sync == SyncDepth::Below {
                let problem = "a way down for fsync where there is no tier below";
                let expected = "device, or storage.tiers or storage.file_system";
                return Err(Problem::new("storage.sync", problem, expected));
            }
            if self.policy != Policy::default() {
                let problem = "a policy for what there is no tier below for";
                let expected = "storage.tiers or storage.file_system";
                return Err(Problem::new("storage.policy", problem, expected));
            }
            return Ok(());
        }
        if !self.manager.object_per_file {
            let problem = "files that are one object, with a tier below";
            let key = "storage.manager.object_per_file";
            return Err(Problem::new(key, problem, "true"));
        }
        self.manager.extents = true;
        self.policy.check("storage.policy", capacity)?;
        if self.policy.read_ahead != Bytes::ZERO && self.manager.unwritten == Unwritten::Error {
            let problem = "reading ahead what may be an error to read";
            return Err(Problem::new(
                "storage.policy.read_ahead",
                problem,
                "storage.manager.unwritten = \"exists-below\"",
            ));
        }
        if self.tiers.len() > MOST_TIERS {
            let problem = format!("{} tiers below the first", self.tiers.len());
            return Err(Problem::new("storage.tiers", problem, format!("at most {MOST_TIERS}")));
        }
        self.file_system.map_or(Ok(()), |system| system.check())?;
        let (count, mut block) = (self.tiers.len(), self.manager.block);
        for number in 0..count {
            let key = format!("storage.tiers.{number}");
            let last = number + 1 == count && self.file_system.is_none();
            if self.tiers[number].name.is_empty() {
                self.tiers[number].name = format!("tier {}", number + 1);
            }
            self.tiers[number].check(&key, block, last)?;
            block = block.max(self.tiers[number].manager.block);
        }
        Ok(())
    }

    /// Moves the keys of the buffers to where `architecture` puts them. The first step of resolving.
    ///
    /// # Errors
    /// There is no tier of I/O nodes for storage-side buffers.
    pub fn arrange(&mut self) -> Result<(), Problem> {
        match self.architecture {
            Architecture::ComputeSide => {}
            Architecture::NodeLocal => {
                if self.nodes.class.is_none() {
                    let empty = std::mem::take(&mut self.nodes);
                    self.spare = (empty != Nodes::default()).then_some(empty);
                    self.nodes.class = Some(NodeClass::Compute);
                }
                self.assignment = Filled::EMPTY;
            }
            Architecture::StorageSide => {
                if self.tiers.is_empty() {
                    let problem = "storage-side buffers without a tier of I/O nodes";
                    return Err(Problem::new("storage.architecture", problem, "storage.tiers"));
                }
                let tier = self.tiers.remove(0);
                let empty = std::mem::replace(&mut self.nodes, tier.nodes);
                self.spare = (empty != Nodes::default()).then_some(empty);
                self.assignment = tier.assignment.into();
                self.manager = tier.manager;
                (self.device, self.devices, self.rules) = match tier.device {
                    None if tier.devices.is_empty() => (
                        std::mem::take(&mut self.device),
                        std::mem::take(&mut self.devices),
                        std::mem::take(&mut self.rules),
                    ),
                    device => (device.unwrap_or_default(), tier.devices, tier.rules),
                };
                self.drain = tier.drain;
            }
        }
        Ok(())
    }

    /// Number of tiers of servers, including the object servers of the file system.
    pub fn tier_count(&self) -> usize {
        1 + self.tiers.len() + usize::from(self.file_system.is_some())
    }

    /// The name of tier `tier`, counted from the first.
    pub fn tier_name(&self, tier: usize) -> &str {
        match tier.checked_sub(1) {
            None => "storage",
            Some(below) => self.tiers.get(below).map_or("file-system", |tier| &tier.name),
        }
    }

    /// The devices of a server.
    pub fn all_devices(&self) -> &[Device] {
        match self.devices.as_slice() {
            [] => std::slice::from_ref(&self.device),
            several => several,
        }
    }

    /// Whether a device is slow or stalls.
    pub fn has_slow_devices(&self) -> bool {
        self.faults.iter().any(|fault| fault.kind != FaultKind::Fail)
    }

    /// Whether a server or a device fails.
    pub fn has_failures(&self) -> bool {
        self.faults.iter().any(|fault| fault.kind == FaultKind::Fail)
    }

    /// Checks the keys that failing servers need at other servers and at clients. Turns the index on in all tiers, so that servers
    /// know what they have lost.
    fn check_failures(&mut self) -> Result<(), Problem> {
        let goes_elsewhere = self
            .client
            .is_some_and(|client| client.on_failure == OnFailure::ReRoute);
        if !self.has_failures() && !goes_elsewhere {
            return Ok(());
        }
        if self.client.is_none() {
            let problem = "missing although a server fails: its clients would wait forever";
            return Err(Problem::new("storage.client", problem, "e.g. { timeout = \"1 s\" }"));
        }
        if !self.manager.object_per_file {
            let problem =
                "with one object for all files, a failed server does not tell which bytes of which file it lost";
            return Err(Problem::new("storage.manager.object_per_file", problem, "true"));
        }
        self.manager.extents = true;
        for (number, tier) in self.tiers.iter_mut().enumerate() {
            if tier.device.is_none() && tier.devices.is_empty() {
                // It forwards only.
                continue;
            }
            if !tier.manager.object_per_file {
                let key = format!("storage.tiers.{number}.manager.object_per_file");
                let problem = "files that are one object, where servers fail";
                return Err(Problem::new(key, problem, "true"));
            }
            tier.manager.extents = true;
        }
        Ok(())
    }

    /// Checks the faults of a machine with this many storage servers, `first` of them in the first tier, and metadata servers.
    ///
    /// # Errors
    /// A fault names a missing component, or one that has another fault at the same time.
    pub fn check_faults(&self, (first, servers): (u32, u32), metadata: u32) -> Result<(), Problem> {
        let names: Vec<&str> = self
            .all_devices()
            .iter()
            .filter_map(|device| device.name.as_deref())
            .collect();
        for (number, fault) in self.faults.iter().enumerate() {
            fault.check(number)?;
            let key = |name: &str| format!("storage.faults.{number}.{name}");
            if fault.server >= servers + metadata {
                let problem = format!("there is no server {}", fault.server);
                let expected = match metadata {
                    0 => format!("0 to {}", servers - 1),
                    _ => format!(
                        "0 to {}, or {servers} to {} of metadata",
                        servers - 1,
                        servers + metadata - 1
                    ),
                };
                return Err(Problem::new(key("server"), problem, expected));
            }
            if let Some(device) = &fault.device
                && (fault.server >= first || !names.contains(&device.as_str()))
            {
                let problem = format!("server {} has no device \"{device}\"", fault.server);
                let expected = match names.as_slice() {
                    [] => "no such key: a server has one device".into(),
                    names => format!("one of {} of a storage server of the first tier", names.join(", ")),
                };
                return Err(Problem::new(key("device"), problem, expected));
            }
            if let Some(other) = self.faults[..number].iter().position(|other| other.overlaps(fault)) {
                let problem = format!("fault {other} is of the same device at the same time");
                return Err(Problem::new(key("at"), problem, "one after the other"));
            }
        }
        Ok(())
    }

    /// The faults of device `device` of storage server `server`, both counted from 0.
    pub fn faults_of(&self, server: u32, device: u32) -> Vec<FaultPeriod> {
        let name = self
            .all_devices()
            .get(device as usize)
            .and_then(|device| device.name.as_deref());
        let of = |fault: &&Fault| fault.server == server && fault.device.as_deref().is_none_or(|own| Some(own) == name);
        let passing = self.faults.iter().filter(|fault| fault.kind != FaultKind::Fail);
        passing.filter(of).map(Fault::period).collect()
    }

    /// The outages of storage server `server`, in order.
    pub fn outages_of(&self, server: u32) -> Vec<Outage> {
        let own = (self.faults.iter()).filter(|fault| fault.server == server && fault.device.is_none());
        let mut outages: Vec<Outage> = own.filter_map(Fault::outage).collect();
        outages.sort_by_key(|outage| outage.from);
        outages
    }

    /// The outages of device `device` of storage server `server` alone, both counted from 0, in order.
    pub fn device_outages_of(&self, server: u32, device: u32) -> Vec<Outage> {
        let all = self.all_outages().into_iter();
        let own = all.filter(|&(of, number, _)| (of, number) == (server, Some(device)));
        let mut outages: Vec<Outage> = own.map(|(_, _, outage)| outage).collect();
        outages.sort_by_key(|outage| outage.from);
        outages
    }

    /// All outages: server, number of its device for a failure of a device alone, outage.
    pub fn all_outages(&self) -> Vec<(u32, Option<u32>, Outage)> {
        let number = |name: &str| {
            let mut devices = self.all_devices().iter();
            devices.position(|device| device.name.as_deref() == Some(name))
        };
        let of = |fault: &Fault| {
            let device = fault.device.as_deref().and_then(number);
            Some((fault.server, device.map(|device| device as u32), fault.outage()?))
        };
        self.faults.iter().filter_map(of).collect()
    }

    /// The parameters of a server of tier `tier`, server `number` of the machine, in a run with `seed`; from resolved settings.
    pub fn server(&self, tier: usize, seed: u64, number: u64) -> ServerParams {
        let below = self.tier_count() - 1;
        let random = (seed, number);
        let params = match tier.checked_sub(1) {
            None => ServerParams {
                devices: self.all_devices().iter().map(Device::params).collect(),
                rules: device::choice("storage", self.all_devices(), &self.rules).unwrap_or_default(),
                manager: self.manager,
                drain: self.drain,
                next: (below > 0).then_some(self.policy),
                tier: 0,
                random,
            },
            Some(lower) => match (self.tiers.get(lower), self.file_system) {
                (Some(settings), _) => settings.server(random, tier == below),
                (None, Some(system)) => {
                    let blocks = self.tiers.iter().map(|tier| tier.manager.block);
                    system.server(random, blocks.fold(self.manager.block, Bytes::max))
                }
                (None, None) => unreachable!("there are {} tiers", below + 1),
            },
        };
        ServerParams {
            tier: tier as u8,
            ..params
        }
    }
}

/// Checks the drain at `key` of servers with this much space. `last`: there is no lower tier.
fn check_drain(key: &str, drain: Option<&Drain>, capacity: Bytes, last: bool) -> Result<(), Problem> {
    let Some(drain) = drain else { return Ok(()) };
    if !last {
        let problem = "a way down beside the tier below";
        return Err(Problem::new(
            key,
            problem,
            "policy says when servers drain to the tier below",
        ));
    }
    if drain.threshold > capacity {
        let problem = format!("draining would never begin below {}", drain.threshold);
        let expected = format!("at most the capacity of a server, {capacity}");
        return Err(Problem::new(format!("{key}.threshold"), problem, expected));
    }
    Ok(())
}

impl Manager {
    fn check(&self, key: &str) -> Result<(), Problem> {
        let key = |name: &str| format!("{key}.{name}");
        if self.block == Bytes::ZERO {
            return Err(Problem::new(key("block"), "a block of no bytes", "at least 1 B"));
        }
        if self.pieces_in_flight == 0 {
            return Err(Problem::new(
                key("pieces_in_flight"),
                "no block may be in flight",
                "at least 1",
            ));
        }
        if self.extents && !self.object_per_file {
            let problem = "an index of files that are one object";
            return Err(Problem::new(key("extents"), problem, "object_per_file = true"));
        }
        if self.unwritten == Unwritten::Error && !self.extents {
            let problem = "without an index, a server does not know which bytes were written";
            return Err(Problem::new(key("unwritten"), problem, "extents = true"));
        }
        let blocks = self.memory.0 / self.block.0;
        if blocks == 0 {
            let problem = format!("a memory of {} does not hold one block", self.memory);
            return Err(Problem::new(
                key("memory"),
                problem,
                format!("at least storage.manager.block, {}", self.block),
            ));
        }
        if blocks > MOST_BLOCKS {
            let problem = format!("{} holds {blocks} blocks of {}", self.memory, self.block);
            return Err(Problem::new(
                key("memory"),
                problem,
                format!("at most {MOST_BLOCKS} blocks"),
            ));
        }
        Ok(())
    }
}
