//! Routing on a Slim Fly (M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014):
//! minimal, Valiant and UGAL-L, as on any network of [diameter two](super::diameter_two). Among several shortest paths
//! a packet takes a random one.

use super::Choice;
use super::diameter_two::{DiameterTwo, DiameterTwoRouting};
use odonata_topology::{SlimFly, Topology};

pub(super) use super::diameter_two::ALGORITHMS;

/// A routing algorithm on a Slim Fly.
pub type SlimFlyRouting = DiameterTwoRouting<SlimFly>;

impl DiameterTwo for SlimFly {
    const NAMED: &'static str = "a Slim Fly";

    fn topology(&self) -> &Topology {
        SlimFly::topology(self)
    }

    #[inline]
    fn adjacent(&self, one: u32, other: u32) -> bool {
        self.direct_port(one, other).is_some()
    }

    #[inline]
    fn next_port(&self, router: u32, to: u32, choice: &mut (impl Choice + ?Sized)) -> u32 {
        if let Some(port) = self.direct_port(router, to) {
            return port;
        }
        let n = self.middles(router, to);
        self.middle_port(router, to, if n > 1 { choice.pick(n) } else { 0 })
    }
}
