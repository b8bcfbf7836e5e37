//! The routers of a fabric: all of one of the three models.

use super::input_queued::InputQueued;
use super::output_queued::OutputQueued;
use super::pipelined::Pipelined;
use crate::flow::{Flow, Links};
use crate::params::NetworkParams;
use crate::routing::Routing;
use crate::settings::RouterModel;
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_engine::{Digest, Journalled, Saved, Savepoint, Time};
use std::ops::Range;

/// The routers of a fabric: all of one model, chosen when the fabric is built.
///
/// An event asks once for the model, which takes five instructions. A fabric generic over its router would compile hosts
/// and schedulers once per model.
#[derive(Debug)]
pub(crate) enum AnyRouter {
    InputQueued(InputQueued),
    OutputQueued(OutputQueued),
    Pipelined(Box<Pipelined>),
}

/// Compiles `use` for each router model, and calls that of the model of `any`.
macro_rules! with_router {
    ($any:expr, |$router:ident| $use:expr) => {
        match $any {
            $crate::router::AnyRouter::InputQueued($router) => $use,
            $crate::router::AnyRouter::OutputQueued($router) => $use,
            $crate::router::AnyRouter::Pipelined($router) => {
                let $router = &mut **$router;
                $use
            }
        }
    };
}
pub(crate) use with_router;

impl AnyRouter {
    /// The routers of the model that `params` names, with the ports of `links`.
    pub(crate) fn new(params: &NetworkParams, links: &Links, routing: &Routing, routers: Range<u32>) -> AnyRouter {
        match params.router {
            RouterModel::InputQueued => AnyRouter::InputQueued(InputQueued::new(params, links, routing)),
            RouterModel::OutputQueued => AnyRouter::OutputQueued(OutputQueued::new(params)),
            RouterModel::Pipelined => AnyRouter::Pipelined(Box::new(Pipelined::new(links, params, routing, routers))),
        }
    }

    /// The routers, if they are pipelined.
    pub(crate) fn pipelined(&self) -> Option<&Pipelined> {
        match self {
            AnyRouter::Pipelined(router) => Some(router),
            AnyRouter::InputQueued(_) | AnyRouter::OutputQueued(_) => None,
        }
    }

    /// The FIFOs of input buffers, if the model has any.
    pub(crate) fn input_queued(&self) -> Option<&InputQueued> {
        match self {
            AnyRouter::InputQueued(router) => Some(router),
            AnyRouter::OutputQueued(_) | AnyRouter::Pipelined(_) => None,
        }
    }

    /// States the end of the run at `now`.
    pub(crate) fn run_ends(&mut self, flow: &mut Flow, now: Time) {
        if let AnyRouter::Pipelined(router) = self {
            router.run_ends(flow, now);
        }
    }
}

/// The state of output-queued routers is in the queues of their channels.
macro_rules! of_the_state {
    ($any:expr, |$router:ident| $use:expr, $none:expr) => {
        match $any {
            AnyRouter::InputQueued($router) => $use,
            AnyRouter::OutputQueued(_) => $none,
            AnyRouter::Pipelined($router) => $use,
        }
    };
}

impl Journalled for AnyRouter {
    fn undo(&mut self, from: Savepoint) {
        of_the_state!(self, |router| router.undo(from), ());
    }

    fn fossil_collect(&mut self, until: Savepoint) {
        of_the_state!(self, |router| router.fossil_collect(until), ());
    }

    fn commit(&mut self) {
        of_the_state!(self, |router| router.commit(), ());
    }

    fn logged(&self) -> usize {
        of_the_state!(self, |router| router.logged(), 0)
    }

    fn memory(&self) -> usize {
        of_the_state!(self, |router| router.memory(), 0)
    }

    fn fingerprint(&self, digest: &mut Digest) {
        of_the_state!(self, |router| router.fingerprint(digest), ());
    }
}

impl Saved for AnyRouter {
    fn save(&self, to: &mut Saver<'_>) {
        of_the_state!(self, |router| router.save(to), ());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Damaged> {
        of_the_state!(self, |router| router.load(from), Ok(()))
    }
}
