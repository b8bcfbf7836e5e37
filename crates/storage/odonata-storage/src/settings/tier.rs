//! The settings of tiers: the servers after the first tier, the policy of each tier towards its lower tier, and the file system at
//! the end.

use odonata_device::{DeviceModel, Rate, Rule};
use odonata_units::{Bandwidth, Bytes, Problem, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Assignment, Device, Drain, Manager, Nodes, Sharing, Unwritten, device};
use crate::{DeviceParams, Layout, ServerParams, Start, StripeCount, Striped};
use odonata_device::Choice;

/// Upper bound on tiers of servers after the first.
pub const MOST_TIERS: usize = 8;

/// Upper bound on object servers of a file system.
const MOST_OBJECT_SERVERS: u32 = 65_536;

/// Space of an object server: practically unlimited.
const ENDLESS: Bytes = Bytes(1 << 60);

/// A tier of storage servers below the first: their clients are the servers of the tier above, over the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Tier {
    /// Name in tables.
    pub name: String,
    /// Which nodes its servers are on; these are never given to jobs. Default: the service nodes of the machine; if it
    /// has none, one per 32 compute nodes, rounded up, spread evenly over the machine.
    #[schemars(extend("default" = { "per_group": null, "position": null, "routers": null, "list": null, "class": null }))]
    pub nodes: Nodes,
    /// Which server of the tier each server of the tier above uses, if the layout does not determine it. Default:
    /// "round-robin".
    #[default(Assignment::RoundRobin)]
    pub assignment: Assignment,
    /// Which servers of the tier an object of the tier above is on.
    pub layout: Layout,
    /// How a server handles requests; the size of control messages is that of `storage.manager`.
    pub manager: Manager,
    /// The device of each server. Default, without `devices`: none, the servers only forward data (I/O forwarding).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The devices of each server if it has several, in place of `device`; each needs a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// Which of several devices takes a request, as `storage.rules`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// How it uses the tier below it.
    pub policy: Policy,
    /// How its servers drain their data if there is no tier below, as `storage.drain`.
    pub drain: Option<Drain>,
}

/// How a tier uses the tier below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, smart_default::SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Where a write goes, and when it is acknowledged.
    pub write: WritePolicy,
    /// When written data go down to the next tier (`write = "back"`). With every value, a server also drains while a
    /// write waits for space.
    pub drain: DrainPolicy,
    /// With `drain = "above-watermark"`: bytes without a copy below, above which a server drains.
    pub watermark: Bytes,
    /// Blocks of a server in flight to the tier below, or from there to its device, 1 to 4,096. They have their own
    /// memory in addition to `manager.memory`, so requests that free memory never wait for it.
    #[schemars(range(min = 1, max = 4096))]
    #[default = 8]
    pub blocks_in_flight: u32,
    /// Whether drained data stay as a clean copy until their space is needed. If not, their space is free at once.
    pub keep: bool,
    /// Which clean copies leave first when space is needed.
    pub eviction: Eviction,
    /// Whether a server keeps data that it reads from below.
    pub read: ReadPolicy,
    /// Bytes that a server fetches from below ahead of a reader that continues where its last read ended, or begins a
    /// file. Needs `read = "cache"`. Default: "0 B", none.
    #[serde(skip_serializing_if = "no_bytes")]
    pub read_ahead: Bytes,
}

fn no_bytes(bytes: &Bytes) -> bool {
    *bytes == Bytes::ZERO
}

/// Where a write goes, and when it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// Write-back: to the server's own device, acknowledged as `manager.acknowledge` says, and drained later.
    #[default]
    Back,
    /// Write-through: to the device and to the next tier at once, acknowledged when both have it.
    Through,
    /// Write-around: to the next tier only, through the server's memory, acknowledged when the next tier has the data.
    Around,
}

/// When written data go down to the next tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrainPolicy {
    /// As soon as it is on a device.
    #[default]
    Immediately,
    /// While a server has more than `watermark` bytes without a copy below.
    AboveWatermark,
    /// When its job has ended.
    JobEnd,
}

/// Which clean copies leave first when space is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// The least recently read copies, approximately: in the order in which they became clean, but a copy that was read
    /// since its last turn is passed over once (second chance).
    #[default]
    Lru,
    /// In the order in which they became clean.
    Oldest,
}

/// Whether a server keeps data that it reads from below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// Data go to the client and are not kept.
    #[default]
    Pass,
    /// Data go to the client, and then to the server's device as a clean copy, if there is space or an older copy to
    /// evict.
    Cache,
}

/// The file system behind the servers of the last tier, which are its I/O nodes: object servers, each with a rate,
/// behind a link per I/O node. It is not simulated packet by packet: data use the I/O node's link, then queue at the
/// object server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileSystem {
    /// Number of object servers, 1 to 65,536. I/O node k mod (I/O nodes) keeps the queue of server k; other I/O nodes
    /// reach it by control messages.
    #[schemars(range(min = 1, max = 65536))]
    pub object_servers: u32,
    /// Rate of an object server, for reading and for writing.
    pub bandwidth: Bandwidth,
    /// Latency between an I/O node and an object server, for each block of data and for its acknowledgement.
    pub latency: Time,
    /// Rate of each I/O node's link to the file system, in either direction.
    pub link: Bandwidth,
    /// Which object servers an object of the tier above is on.
    pub layout: Layout,
    /// The order in which waiting jobs are served by an object server.
    pub sharing: Sharing,
}

impl Default for FileSystem {
    fn default() -> Self {
        FileSystem {
            object_servers: 16,
            bandwidth: Bandwidth(2e9),
            latency: Time::from_ns(50_000),
            link: Bandwidth(5e9),
            layout: Layout::Striped(Striped {
                stripe: Bytes(1_000_000),
                count: StripeCount::All,
                start: Start::Hash,
            }),
            sharing: Sharing::default(),
        }
    }
}

impl Policy {
    /// Checks the keys of the policy at `key` for servers with this much space.
    pub(super) fn check(&self, key: &str, capacity: Bytes) -> Result<(), Problem> {
        odonata_units::within(format!("{key}.blocks_in_flight"), self.blocks_in_flight, 1, 4_096)?;
        let marked = self.drain == DrainPolicy::AboveWatermark;
        if self.watermark != Bytes::ZERO && !marked {
            let problem = "a watermark that nothing looks at";
            let key = format!("{key}.watermark");
            return Err(Problem::new(key, problem, "drain = \"above-watermark\""));
        }
        if self.read_ahead != Bytes::ZERO && self.read != ReadPolicy::Cache {
            let problem = "reading ahead into servers that keep nothing that is read";
            return Err(Problem::new(format!("{key}.read_ahead"), problem, "read = \"cache\""));
        }
        if self.watermark > capacity {
            let problem = format!("draining would never begin below {}", self.watermark);
            let expected = format!("at most the capacity of a server, {capacity}");
            return Err(Problem::new(format!("{key}.watermark"), problem, expected));
        }
        Ok(())
    }
}

impl FileSystem {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let key = |name: &str| format!("storage.file_system.{name}");
        odonata_units::within(key("object_servers"), self.object_servers, 1, MOST_OBJECT_SERVERS)?;
        for (name, rate) in [("bandwidth", self.bandwidth), ("link", self.link)] {
            if !(rate.0.is_finite() && rate.0 > 0.0) {
                return Err(Problem::new(key(name), "no rate at all", "a positive rate"));
            }
        }
        if self.layout == Layout::Assigned {
            let expected = "hash, random, round-robin or striped";
            return Err(Problem::new(
                key("layout"),
                "no rank is assigned to an object server",
                expected,
            ));
        }
        self.layout.check(&key("layout"), self.object_servers)
    }

    /// The parameters of an object server that works in pieces of at most `block`.
    pub fn server(&self, (seed, number): (u64, u64), block: Bytes) -> ServerParams {
        let rate = Rate {
            read: self.bandwidth,
            write: self.bandwidth,
            overhead: Time::ZERO,
            seek: Time::ZERO,
            seek_window: Bytes::ZERO,
        };
        ServerParams {
            devices: vec![DeviceParams {
                name: "object-server".into(),
                model: DeviceModel::Rate(rate),
                capacity: ENDLESS,
                queue_depth: 1,
            }],
            rules: Choice::default(),
            manager: Manager {
                block,
                // The requesting I/O node has the data and keeps them: the object server reserves no space.
                memory: Bytes(block.0.saturating_mul(super::MOST_BLOCKS)),
                sharing: self.sharing,
                extents: true,
                ..Manager::default()
            },
            drain: None,
            next: None,
            tier: 0,
            random: (seed, number),
        }
    }
}

impl Tier {
    /// Whether its servers have no device.
    pub fn forwards(&self) -> bool {
        self.device.is_none() && self.devices.is_empty()
    }

    /// Checks the keys of the tier at `key` and fills in defaults. `above`: the largest block of the upper tiers. `last`: there is
    /// no lower tier and no file system.
    pub(super) fn check(&mut self, key: &str, above: Bytes, last: bool) -> Result<(), Problem> {
        let at = |name: &str| format!("{key}.{name}");
        odonata_units::check_name(&at("name"), &self.name)?;
        self.manager.check(&at("manager"))?;
        if self.manager.unwritten != Unwritten::default() {
            let problem = "a lower tier, which has the inputs";
            return Err(Problem::new(
                at("manager.unwritten"),
                problem,
                "exists-below; storage.manager.unwritten may say error",
            ));
        }
        if self.forwards() {
            if last {
                let problem = "servers without a device that have nowhere to pass on to";
                return Err(Problem::new(
                    key,
                    problem,
                    "a device, a tier below, or storage.file_system",
                ));
            }
            if self.policy != Policy::default() {
                let problem = "a policy for servers without a device";
                return Err(Problem::new(at("policy"), problem, "a device"));
            }
            if !self.rules.is_empty() {
                return Err(Problem::new(
                    at("rules"),
                    "rules for servers without a device",
                    "devices",
                ));
            }
        } else {
            let mut one = self.device.take().unwrap_or_default();
            device::resolve(key, &mut one, &mut self.devices, &self.rules)?;
            self.device = self.devices.is_empty().then_some(one);
            let least = self.all_devices().iter().map(|device| *device.capacity).min();
            if let Some(least) = least
                && least < above
            {
                let problem = format!("a device of {least} for blocks of {above} from above");
                return Err(Problem::new(key, problem, "devices that hold a block"));
            }
            self.policy.check(&at("policy"), self.capacity())?;
            if last && self.policy != Policy::default() {
                let problem = "a policy for what there is no tier below for";
                return Err(Problem::new(
                    at("policy"),
                    problem,
                    "a tier below, or storage.file_system",
                ));
            }
        }
        super::check_drain(&at("drain"), self.drain.as_ref(), self.capacity(), last)?;
        if let Assignment::List(_) = self.assignment {
            let expected = "by-group, nearest, random or round-robin";
            return Err(Problem::new(
                at("assignment"),
                "a list of servers is one of compute nodes",
                expected,
            ));
        }
        Ok(())
    }

    /// The devices of a server; none for a server that forwards only.
    pub fn all_devices(&self) -> &[Device] {
        match (&self.device, self.devices.as_slice()) {
            (Some(device), []) => std::slice::from_ref(device),
            (_, several) => several,
        }
    }

    fn capacity(&self) -> Bytes {
        Bytes(self.all_devices().iter().map(|device| device.capacity.0).sum())
    }

    /// The parameters of a server, from resolved settings. `last`: there is no lower tier.
    pub(super) fn server(&self, random: (u64, u64), last: bool) -> ServerParams {
        let forwards = self.forwards();
        let mut params = ServerParams {
            devices: self.all_devices().iter().map(Device::params).collect(),
            rules: device::choice("storage", self.all_devices(), &self.rules).unwrap_or_default(),
            manager: Manager {
                extents: !forwards,
                ..self.manager
            },
            drain: self.drain,
            next: (!last).then_some(self.policy),
            tier: 0,
            random,
        };
        if forwards {
            // Ledgers and queues are kept per device; no data are ever stored on this one.
            params.devices.push(DeviceParams {
                name: "none".into(),
                model: DeviceModel::Rate(Rate::default()),
                capacity: Bytes::ZERO,
                queue_depth: 1,
            });
            params.next = Some(Policy {
                write: WritePolicy::Around,
                ..self.policy
            });
        }
        params
    }
}
