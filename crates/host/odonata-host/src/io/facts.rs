//! The facts that the I/O layer states, and the trait that instruments implement.
//!
//! The model does not look into an [`Aside`], which it keeps between two facts.

use crate::context::Uses;
use crate::metrics::IoRecord;
use odonata_blame::lost::Stamp;
use odonata_engine::Time;
use odonata_storage::{RequestHeader, RequestLoss, RequestWaits, ServerAccess};

/// A block of a job on a link to or from a file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutsideBlock {
    /// Server of the part, and whether the direction is outward.
    pub(crate) link: (u32, bool),
    pub(crate) owner: u16,
    /// Arrival time, begin of the transfer, end of the transfer.
    pub(crate) ready: Time,
    pub(crate) begin: Time,
    pub(crate) end: Time,
}

/// What an instrument keeps while a server works for another request or for none.
#[derive(Debug)]
pub(crate) struct Aside(pub(crate) Option<Stamp>);

/// What servers have recorded of single requests in an input, by the number of the server in its part.
pub(crate) struct ServerWaits {
    pub(crate) storage: RequestWaits,
    pub(crate) locks: Vec<RequestLoss>,
    pub(crate) metadata: Vec<RequestLoss>,
}

/// An instrument, as an observer of the I/O layer: it implements the facts that it records.
#[allow(unused_variables)]
pub(crate) trait IoObserver {
    /// A read, a write or a call for metadata of `rank` ends.
    #[inline(always)]
    fn file_call_ends<M: Uses>(&mut self, rank: u32, record: &IoRecord) {}
    /// An access of a device of `server`, or a transfer of its drain, ends.
    #[inline(always)]
    fn access_ends<M: Uses>(&mut self, server: u32, access: &ServerAccess, now: Time) {}
    /// An attempt of job `owner` at `server` times out: when it was sent, now, and when the next is sent.
    #[inline(always)]
    fn attempt_times_out<M: Uses>(&mut self, server: u32, owner: u16, times: (Time, Time, Time)) {}
    /// The servers have handled an input. `numbers`: those on the machine of storage and of metadata servers.
    #[inline(always)]
    fn servers_have_worked<M: Uses>(&mut self, now: Time, waits: &ServerWaits, numbers: [&dyn Fn(u32) -> u32; 2]) {}
    /// A request has arrived at a storage server.
    #[inline(always)]
    fn request_arrives<M: Uses>(&mut self, request: RequestHeader) {}
    /// A piece of `request` has arrived at its storage server, from the client or from the lower tier.
    #[inline(always)]
    fn piece_arrives<M: Uses>(&mut self, request: impl Fn() -> Option<RequestHeader> + Copy) {}
    /// A storage server acts for `request`.
    #[inline(always)]
    fn server_acts<M: Uses>(&mut self, request: RequestHeader, now: Time) {}
    /// A message of a server has arrived at a rank, for its request in slot `request`.
    #[inline(always)]
    fn rank_hears<M: Uses>(&mut self, request: impl Fn() -> Option<u32> + Copy) {}
    /// A message of a server of the lower tier has arrived at a server, for `attempt`.
    #[inline(always)]
    fn server_hears_from_below<M: Uses>(&mut self, attempt: u32) {}
    /// The data of `attempt` have crossed the link from a file system.
    #[inline(always)]
    fn data_have_crossed<M: Uses>(&mut self, attempt: u32, now: Time) {}
    /// A part of `request` of a server has ended with `attempt`.
    #[inline(always)]
    fn attempt_ends<M: Uses>(&mut self, request: u32, attempt: u32) {}
    /// `attempt` of a server was answered after the server had given it up.
    #[inline(always)]
    fn attempt_is_late<M: Uses>(&mut self, attempt: u32) {}
    /// The last part of `request` has ended.
    #[inline(always)]
    fn request_is_complete<M: Uses>(&mut self, request: u32) {}
    /// A call has arrived at a metadata server.
    #[inline(always)]
    fn metadata_call_arrives<M: Uses>(&mut self, call: RequestHeader) {}
    /// A metadata server has ended `call`.
    #[inline(always)]
    fn metadata_call_ends<M: Uses>(&mut self, call: RequestHeader, now: Time) {}
    /// A file of `rank`, or those of a rank below it, have been staged.
    #[inline(always)]
    fn files_are_staged<M: Uses>(&mut self, rank: u32) {}
    /// All files of `rank` and of the ranks below it have been staged.
    #[inline(always)]
    fn rank_is_staged<M: Uses>(&mut self, rank: u32, now: Time) {}
}
