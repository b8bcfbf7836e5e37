//! Blocking in finite buffers: packets that choose their links at random meet in one buffer, while other links wait.
//!
//! Saturated buffers of w packets for different links keep each of these links busy for about w / (w + 1) of the time (M.
//! Hluchyj, M. Karol, IEEE JSAC 6, 1988: 0.59, 0.70, 0.80, 0.88 for w = 1, 2, 4, 8). Each random choice on a path can
//! block. So a flow takes of the pipes and sets on its path
//!
//! ```text
//! 1 + c R / w times its rate;   w = buffer / packet,  R = random choices: the links up a tree, all links of a detour
//! ```
//!
//! where an adaptive choice counts half, since it avoids full buffers. c = 0.6 fits saturated uniform traffic and the
//! bulk traffic of `studies/fidelity`.

use super::paths::Network;
use odonata_topology::LinkClass;

/// The constant c.
const BLOCKING: f64 = 0.6;

impl Network<'_> {
    /// Random choices on a path with `links` links between routers.
    pub(super) fn random_choices(&self, links: usize) -> f64 {
        let chosen = match self.pipes.are_all() {
            // Half of the links of a tree lead up.
            true => links as f64 / 2.0,
            false => links as f64,
        };
        let weight = if self.pipes.compares_loads() { 0.5 } else { 1.0 };
        chosen * weight
    }

    /// The part of a pipe or set of `class` that a flow with so many random choices takes, as a multiple of its rate.
    pub(super) fn blocking(&self, class: LinkClass, choices: f64) -> f64 {
        let packets = self.params.link(class).buffer.0 as f64 / self.params.packet as f64;
        1.0 + BLOCKING * choices / packets
    }
}
