//! The facts that the I/O layer states, and the trait that its instrument implements.
//!
//! The model does not look into an [`Aside`], which it keeps between two facts.

use odonata_blame::lost::Stamp;
use odonata_engine::{Mode, Time};
use odonata_storage::RequestHeader;

use crate::Hosts;
use crate::lost::{LostTime, OutsideBlock};

/// What an instrument keeps while a server works for another request or for none.
#[derive(Debug)]
pub(crate) struct Aside(pub(crate) Option<Stamp>);

/// An instrument of the I/O layer. Each method is a fact.
pub(crate) trait IoObserver {
    /// A request has arrived at a storage server.
    fn request_arrives<M: Mode>(&mut self, request: RequestHeader);

    /// A piece of `request` has arrived at its storage server, from the client or from the lower tier.
    fn piece_arrives<M: Mode>(&mut self, request: impl FnOnce() -> Option<RequestHeader>);

    /// A storage server acts for `request`.
    fn server_acts(&mut self, request: RequestHeader, now: Time);

    /// A storage server asks the lower tier for `request`, or for no request. Followed by [`resume`](Self::resume).
    fn server_asks_below(&mut self, request: Option<RequestHeader>, now: Time) -> Aside;

    /// `block` crosses the link of I/O server `server` to a file system. Followed by [`resume`](Self::resume).
    fn block_crosses<M: Mode>(&mut self, block: OutsideBlock, server: u32) -> Aside;

    /// The event goes on as before `aside`.
    fn resume(&mut self, aside: Aside);

    /// A message of a server has arrived at a rank, for its request in slot `request`.
    fn rank_hears<M: Mode>(&mut self, request: impl FnOnce() -> Option<u32>);

    /// A message of a server of the lower tier has arrived at a server, for `attempt`.
    fn server_hears_from_below<M: Mode>(&mut self, attempt: u32);

    /// The data of `attempt` have crossed the link from a file system.
    fn data_have_crossed(&mut self, attempt: u32, now: Time);

    /// A part of `request` of a server has ended with `attempt`.
    fn attempt_ends<M: Mode>(&mut self, request: u32, attempt: u32);

    /// `attempt` of a server was answered after the server had given it up.
    fn attempt_is_late<M: Mode>(&mut self, attempt: u32);

    /// The last part of `request` has ended.
    fn request_is_complete<M: Mode>(&mut self, request: u32);

    /// A call has arrived at a metadata server.
    fn metadata_call_arrives<M: Mode>(&mut self, call: RequestHeader);

    /// A metadata server has ended `call`.
    fn metadata_call_ends<M: Mode>(&mut self, call: RequestHeader, now: Time);

    /// A file of `rank`, or those of a rank below it, have been staged.
    fn files_are_staged<M: Mode>(&mut self, rank: u32);

    /// All files of `rank` and of the ranks below it have been staged.
    fn rank_is_staged<M: Mode>(&mut self, rank: u32, now: Time);
}

impl Hosts {
    /// The instrument of the I/O layer.
    #[inline(always)]
    pub(crate) fn io_observer(&mut self) -> &mut LostTime {
        &mut self.observers.lost
    }
}
