//! Routing on a PolarFly (K. Lakhotia et al., "PolarFly: a cost-effective and flexible low-diameter topology", SC 2022,
//! section VII): minimal, Valiant and UGAL-L, as on any network of [diameter two](super::diameter_two). The shortest
//! path is unique; its middle router is a cross product.
//!
//! The paper's variants through a random neighbor of the source (compact Valiant, UGAL-PF) are not implemented.

use super::Choice;
use super::diameter_two::{DiameterTwo, DiameterTwoRouting};
use odonata_topology::{PolarFly, Topology};

pub(super) use super::diameter_two::ALGORITHMS;

/// A routing algorithm on a PolarFly.
pub type PolarFlyRouting = DiameterTwoRouting<PolarFly>;

impl DiameterTwo for PolarFly {
    const NAMED: &'static str = "a PolarFly";

    fn topology(&self) -> &Topology {
        PolarFly::topology(self)
    }

    #[inline]
    fn adjacent(&self, one: u32, other: u32) -> bool {
        PolarFly::adjacent(self, one, other)
    }

    #[inline]
    fn next_port(&self, router: u32, to: u32, _: &mut (impl Choice + ?Sized)) -> u32 {
        PolarFly::next_port(self, router, to)
    }
}
