//! Routing: one decision function over (where, header, local view).
//!
//! An algorithm is deterministic but for its [`Choice`]s: random picks and comparisons of load. In a
//! run they are answered by the router's random stream and its port counters; the deadlock check
//! ([`crate::deadlock`]) answers them in every possible way. So the dependency graph is
//! enumerated from the very function that runs.

mod dragonfly;

pub use dragonfly::{Algorithm, Divert, DragonflyRouting, Intermediate, VcRule};

/// No intermediate destination.
pub const NOWHERE: u32 = u32::MAX;

/// What a packet carries for its routing; 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Header {
    /// Node of destination.
    pub target: u32,
    /// Intermediate group or router, or [`NOWHERE`] while the route is minimal.
    pub via: u32,
    /// Whether `via` has been reached.
    pub via_reached: bool,
    /// How far it has come on the ladder of virtual channels; what counts as a step is the algorithm's business.
    pub level: u8,
    /// For the algorithm: what else it has to know of the way so far.
    pub notes: u16,
}

impl Header {
    /// The header of no packet.
    pub(crate) const NONE: Header = Header {
        target: NOWHERE,
        via: NOWHERE,
        via_reached: false,
        level: 0,
        notes: 0,
    };

    /// The header of a new packet for node `target`.
    pub fn new(target: u32) -> Self {
        Header {
            target,
            via: NOWHERE,
            via_reached: false,
            level: 0,
            notes: 0,
        }
    }
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Output port, numbered over the machine.
    pub port: u32,
    /// Level on it: which of the virtual channels that the routing needs on links of that class. Where there are more
    /// channels than levels, a level is a range of channels.
    pub level: u8,
    /// Whether this is only good for now: a packet that finds no room there is decided upon again, and does not wait.
    /// Nobody ever waits for such a channel, so that it takes no part in a deadlock. The header stays as it was.
    pub retry: bool,
    /// Whether there must be room for one more packet of full size than this one, because a ring is entered (bubble
    /// flow control).
    pub spare: bool,
}

impl Decision {
    /// To wait for `port` on `level`.
    #[inline]
    pub fn new(port: u32, level: u8) -> Self {
        Decision {
            port,
            level,
            retry: false,
            spare: false,
        }
    }
}

/// A path that is held against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its first port, at the router that decides.
    pub port: u32,
    /// Routers on it, from the one that decides to the destination's.
    pub hops: u32,
    /// A port of another router of the group on it whose load matters as well, for algorithms that know it; or
    /// [`NOWHERE`].
    pub remote: u32,
}

/// Answers the questions a routing algorithm has besides the header.
pub trait Choice {
    /// A number in `0..n`.
    fn pick(&mut self, n: u32) -> u32;
    /// How many of `n` random paths to draw and compare. The deadlock check draws one: with every answer
    /// to [`lighter`](Self::lighter) possible, any of them may be the lightest, so that one stands for all.
    fn draws(&self, n: u32) -> u32 {
        n
    }
    /// Whether port `a` is less loaded than port `b`.
    fn lighter(&mut self, a: u32, b: u32) -> bool;
    /// Whether a packet should leave its path `minimal` for the non-minimal path `other`.
    fn divert(&mut self, minimal: Path, other: Path) -> bool;
    /// Whether a packet could have a channel of `level` on `port` now.
    fn room(&mut self, port: u32, level: u8) -> bool;
}

/// The routing of a machine.
#[derive(Debug)]
pub enum Routing {
    /// On a dragonfly.
    Dragonfly(DragonflyRouting),
}

impl Routing {
    /// Decides where a packet with `header` goes from `router`, and updates the header as if the
    /// link had been taken.
    #[inline]
    pub fn decide(&self, router: u32, header: &mut Header, choice: &mut impl Choice) -> Decision {
        match self {
            Routing::Dragonfly(routing) => routing.decide(router, header, choice),
        }
    }

    /// Whether a packet that waits is decided upon again and again until it can go ([`Decision::retry`]). Such a decision
    /// draws nothing.
    pub fn decides_again(&self) -> bool {
        match self {
            Routing::Dragonfly(_) => false,
        }
    }

    /// Virtual channels needed per link class, computed from the levels that paths go through.
    pub fn virtual_channels(&self) -> crate::VirtualChannels {
        match self {
            Routing::Dragonfly(routing) => routing.virtual_channels(),
        }
    }

    /// The graph it routes on.
    pub fn topology(&self) -> &odonata_topology::Topology {
        match self {
            Routing::Dragonfly(routing) => routing.dragonfly().topology(),
        }
    }
}
