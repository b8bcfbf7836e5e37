//! Routing: one decision function over (where, header, local view).
//!
//! An algorithm is deterministic but for its [`Choice`]s: random picks and comparisons of load. In a
//! run they are answered by the router's random stream and its port counters; the deadlock check
//! ([`crate::deadlock`]) answers them in every possible way. So the dependency graph is
//! enumerated from the very function that runs.
//!
//! One file per family of networks: [`DragonflyRouting`], [`Dragonfly2dRouting`], [`DragonflyPlusRouting`],
//! [`FatTreeRouting`], [`HyperXRouting`], [`SlimFlyRouting`], [`TorusRouting`] for meshes too, and [`UpDownRouting`] for any
//! graph. Each says which levels its paths go through, and refuses networks whose failed cables it knows no way around.

mod dragonfly;
mod dragonfly2d;
mod dragonfly_plus;
mod fat_tree;
mod hyperx;
mod slim_fly;
mod torus;
mod up_down;

pub use dragonfly::{Algorithm, Divert, DragonflyRouting, Intermediate, VcRule};
pub use dragonfly_plus::{DragonflyPlusAlgorithm, DragonflyPlusRouting};
pub use dragonfly2d::Dragonfly2dRouting;
pub use fat_tree::{FatTreeAlgorithm, FatTreeRouting};
pub use hyperx::{HyperXAlgorithm, HyperXRouting};
use odonata_topology::Topology;
pub use slim_fly::{SlimFlyAlgorithm, SlimFlyRouting};
use std::ops::Range;
pub use torus::{Selection, TorusAlgorithm, TorusRouting};
pub use up_down::UpDownRouting;

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
    /// Nobody ever waits for such a channel, so that it takes no part in a deadlock. The next decision begins with the
    /// header of this one or, where it has not been taken, with the one before; both have to be right.
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
    /// Links between routers on it, from the one that decides to the destination's.
    pub hops: u32,
    /// The global port of another router of the group that it goes over, if it does: its load matters as well where it
    /// is known ([`Knowledge`](crate::Knowledge)). Where the router there has several that lead to the same group, one of
    /// them. Else [`NOWHERE`].
    pub remote: u32,
}

impl Path {
    /// Whether `other` begins at the same port and, if what lies beyond it counts, goes over the same remote one.
    #[inline]
    pub(crate) fn is_like(&self, other: &Path, beyond: bool) -> bool {
        self.port == other.port && (!beyond || self.remote == other.remote)
    }
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
    /// Whether path `a` is less loaded than path `b`, as far as is known.
    fn lighter_path(&mut self, a: Path, b: Path) -> bool {
        self.lighter(a.port, b.port)
    }
    /// Whether two paths that begin at the same port can differ in load.
    fn knows_beyond(&self) -> bool {
        false
    }
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
    /// On a dragonfly with two-dimensional groups.
    Dragonfly2d(Dragonfly2dRouting),
    /// On a dragonfly+.
    DragonflyPlus(DragonflyPlusRouting),
    /// On a fat tree.
    FatTree(FatTreeRouting),
    /// On a HyperX.
    HyperX(HyperXRouting),
    /// On a Slim Fly.
    SlimFly(SlimFlyRouting),
    /// On a torus or mesh.
    Torus(TorusRouting),
    /// On any graph.
    UpDown(UpDownRouting),
}

impl Routing {
    /// Decides where a packet with `header` goes from `router`, and updates the header as if the
    /// link had been taken.
    #[inline(always)]
    pub fn decide(&self, router: u32, header: &mut Header, choice: &mut impl Choice) -> Decision {
        match self {
            Routing::Dragonfly(routing) => routing.decide(router, header, choice),
            Routing::Dragonfly2d(routing) => routing.decide(router, header, choice),
            Routing::DragonflyPlus(routing) => routing.decide(router, header, choice),
            Routing::FatTree(routing) => routing.decide(router, header, choice),
            Routing::HyperX(routing) => routing.decide(router, header, choice),
            Routing::SlimFly(routing) => routing.decide(router, header, choice),
            Routing::Torus(routing) => routing.decide(router, header, choice),
            Routing::UpDown(routing) => routing.decide(router, header, choice),
        }
    }

    /// Whether a packet that waits is decided upon again and again until it can go ([`Decision::retry`]).
    pub fn decides_again(&self) -> bool {
        match self {
            Routing::Torus(routing) => routing.decides_again(),
            Routing::HyperX(routing) => routing.decides_again(),
            _ => false,
        }
    }

    /// Routers of a group, where source routers hold paths over global ports of other routers of their group against each
    /// other; the routers of a group have consecutive numbers. `None` where nobody has a use for the loads of such ports.
    pub fn routers_of_a_group(&self) -> Option<u32> {
        match self {
            Routing::Dragonfly(routing) => routing.routers_of_a_group(),
            Routing::Dragonfly2d(routing) => routing.routers_of_a_group(),
            Routing::DragonflyPlus(routing) => routing.routers_of_a_group(),
            Routing::FatTree(_) | Routing::HyperX(_) | Routing::SlimFly(_) | Routing::Torus(_) | Routing::UpDown(_) => {
                None
            }
        }
    }

    /// Virtual channels needed per link class, computed from the levels that paths go through.
    pub fn virtual_channels(&self) -> crate::VirtualChannels {
        match self {
            Routing::Dragonfly(routing) => routing.virtual_channels(),
            Routing::Dragonfly2d(routing) => routing.virtual_channels(),
            Routing::DragonflyPlus(routing) => routing.virtual_channels(),
            Routing::FatTree(routing) => routing.virtual_channels(),
            Routing::HyperX(routing) => routing.virtual_channels(),
            Routing::SlimFly(routing) => routing.virtual_channels(),
            Routing::Torus(routing) => routing.virtual_channels(),
            Routing::UpDown(routing) => routing.virtual_channels(),
        }
    }

    /// The graph it routes on.
    pub fn topology(&self) -> &Topology {
        match self {
            Routing::Dragonfly(routing) => routing.dragonfly().topology(),
            Routing::Dragonfly2d(routing) => routing.dragonfly().topology(),
            Routing::DragonflyPlus(routing) => routing.dragonfly_plus().topology(),
            Routing::FatTree(routing) => routing.tree().topology(),
            Routing::HyperX(routing) => routing.hyperx().topology(),
            Routing::SlimFly(routing) => routing.fly().topology(),
            Routing::Torus(routing) => routing.torus().topology(),
            Routing::UpDown(routing) => routing.topology(),
        }
    }

    /// The ring that `port` is part of, named by one of its ports, where bubble flow control keeps a packet's room free
    /// in each ring: packets in it never wait for each other in a circle, and it counts as one channel.
    pub fn ring(&self, port: u32) -> Option<u32> {
        match self {
            Routing::Torus(routing) => routing.ring(port),
            _ => None,
        }
    }
}

/// # Errors
/// A cable of `family` failed, which its algorithms need.
fn refuse_failed(topology: &Topology, family: &str) -> Result<(), String> {
    match topology.failed().first() {
        None => Ok(()),
        Some(&(a, b)) => Err(format!(
            "the cable between routers {} and {} failed: this routing on {family} knows no way around it, up*/down* does",
            topology.router_of_port(a),
            topology.router_of_port(b)
        )),
    }
}

/// One of the parallel cables at `ports`: the only one that is left, a random one, or the lightest.
#[inline]
fn parallel(topology: &Topology, ports: Range<u32>, adaptive: bool, choice: &mut impl Choice) -> u32 {
    let live = topology.live(ports.clone());
    if live < 2 {
        return topology.nth_live(ports, 0);
    }
    let nth = |n| topology.nth_live(ports.clone(), n);
    match adaptive {
        true => lightest(live, choice, |n, _| nth(n)),
        false => nth(choice.pick(live)),
    }
}

/// The lightest of `count` ports, of which `nth` gives each; from a random one on, so that equal loads are shared out.
#[inline]
fn lightest<C: Choice>(count: u32, choice: &mut C, nth: impl Fn(u32, &mut C) -> u32) -> u32 {
    let start = choice.pick(count);
    let mut best = nth(start, choice);
    for step in 1..choice.draws(count) {
        let n = if start + step < count {
            start + step
        } else {
            start + step - count
        };
        let port = nth(n, choice);
        if choice.lighter(port, best) {
            best = port;
        }
    }
    best
}

/// A random one of `groups` groups, at least three, other than two different ones.
#[inline]
fn other_group(groups: u32, here: u32, goal: u32, choice: &mut impl Choice) -> u32 {
    let (low, high) = (here.min(goal), here.max(goal));
    let mut group = choice.pick(groups - 2);
    group += u32::from(group >= low);
    group + u32::from(group >= high)
}

/// The lightest of so many `candidates`, each with its first port, that `draw` makes at random; `None` if it makes none.
/// Those that begin like the one that is kept are passed over: it is no lighter than itself.
#[inline]
fn lightest_port<T: Copy, C: Choice>(
    candidates: u32,
    choice: &mut C,
    draw: impl FnMut(&mut C) -> Option<(T, u32)>,
) -> Option<(T, u32)> {
    let less = |choice: &mut C, &(_, a): &(T, u32), &(_, b): &(T, u32)| a != b && choice.lighter(a, b);
    lightest_drawn(candidates, choice, draw, less)
}

/// Likewise of paths, of which more may be known than the load of their first port.
#[inline]
fn lightest_path<T: Copy, C: Choice>(
    candidates: u32,
    choice: &mut C,
    draw: impl FnMut(&mut C) -> Option<(T, Path)>,
) -> Option<(T, Path)> {
    let beyond = choice.knows_beyond();
    let less =
        |choice: &mut C, (_, a): &(T, Path), (_, b): &(T, Path)| !b.is_like(a, beyond) && choice.lighter_path(*a, *b);
    lightest_drawn(candidates, choice, draw, less)
}

#[inline]
fn lightest_drawn<T, C: Choice>(
    candidates: u32,
    choice: &mut C,
    mut draw: impl FnMut(&mut C) -> Option<T>,
    less: impl Fn(&mut C, &T, &T) -> bool,
) -> Option<T> {
    let mut best: Option<T> = None;
    for _ in 0..choice.draws(candidates) {
        let Some(found) = draw(choice) else { continue };
        best = match best {
            Some(other) if !less(choice, &found, &other) => Some(other),
            _ => Some(found),
        };
    }
    best
}
