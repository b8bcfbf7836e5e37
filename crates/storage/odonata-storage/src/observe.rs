//! Observers: the instruments that record what happens at storage servers.
//!
//! [`Servers`](crate::Servers) states facts: a request waits, an access begins, room is freed. [`Observers`] passes each fact to every
//! instrument that implements it ([`Observer`]). An instrument reads the [`ServerParts`] of the servers; these never read an instrument.
//!
//! | instrument | records |
//! |---|---|
//! | [`Counters`] | requests, bytes, accesses and waits of servers, devices, tiers and stages |
//! | [`OccupancySeries`] | resources in use over time |
//! | [`Contention`] | which job delays which, as a ledger of all waits and as the waits of single requests |
//!
//! An instrument checks for itself whether it is on. To add one, implement the facts that it needs and add it to [`Observers`]. Locks
//! and metadata servers are models of their own with an instrument each ([`lock_waits`], [`metadata_waits`]).

mod accesses;
mod charges;
mod contention;
mod counters;
mod facts;
mod lock_waits;
mod metadata_waits;
mod occupancy;

pub use charges::{
    DIRECTORY, DeviceAccess, FAULT, LOCK, METADATA_FAULT, RESERVED, RESOURCES, RequestLoss, RequestWaits,
    SERVER_RESOURCES, ServerCharge, ServerWaitSeries, THREAD,
};
use contention::Contention;
use counters::Counters;
pub use counters::{DeviceMetrics, Metrics, StageMetrics, TierMetrics};
pub(crate) use facts::{BlockStep, Observer, Staged};
pub(crate) use lock_waits::LockWaits;
pub use lock_waits::{LockCharge, LockMetrics};
pub use metadata_waits::MetadataCharge;
pub(crate) use metadata_waits::{MetadataWaits, ObservedCall};
pub use occupancy::Occupancy;
use occupancy::OccupancySeries;

use odonata_device::Access;
use odonata_engine::{Mode, Time};

use crate::open_request::Piece;
use crate::servers::ServerParts;

/// The instruments of a set of servers.
#[derive(Debug)]
pub(crate) struct Observers {
    counters: Counters,
    occupancy: OccupancySeries,
    contention: Contention,
}
odonata_engine::journalled!(Observers {
    counters,
    occupancy,
    contention
});

/// Passes each fact on to all instruments, in this order.
macro_rules! pass_on {
    ($(fn $fact:ident($($argument:ident: $type:ty),*);)+) => {
        impl Observer for Observers {
            $(
                #[inline(always)]
                fn $fact<M: Mode>(&mut self, parts: &ServerParts, $($argument: $type),*) {
                    self.counters.$fact::<M>(parts, $($argument),*);
                    self.occupancy.$fact::<M>(parts, $($argument),*);
                    self.contention.$fact::<M>(parts, $($argument),*);
                }
            )+
        }
    };
}

pass_on! {
    fn empty_request_is_answered(server: u32);
    fn request_waits_for_space(now: Time, request: u32);
    fn request_has_space(now: Time, request: u32);
    fn request_advances(now: Time, request: u32);
    fn request_is_answered(now: Time, request: u32);
    fn request_dies(now: Time, request: u32);
    fn write_is_committed(now: Time, request: u32);
    fn memory_is_granted(now: Time, piece: u32);
    fn access_is_queued(device: u32, accesses: u32);
    fn access_is_handed(piece: u32, access: Access);
    fn access_begins(now: Time, piece: u32);
    fn access_ends(now: Time, piece: u32);
    fn space_is_freed(now: Time, device: u32, owner: u16);
    fn memory_is_freed(now: Time, server: u32, owner: u16);
    fn reserve_is_freed(now: Time, server: u32, owner: u16);
    fn server_fails(now: Time, server: u32);
    fn device_fails(now: Time, device: u32);
    fn piece_is_delivered(piece: &Piece);
    fn data_are_received(piece: &Piece);
    fn data_are_found(piece: &Piece);
    fn data_leave(now: Time, piece: &Piece);
    fn data_are_below(now: Time, piece: &Piece);
    fn data_are_fetched(piece: &Piece);
    fn data_are_drained(piece: &Piece);
    fn copy_is_made(piece: &Piece, bytes: u64, inputs: u64);
    fn copy_is_evicted(device: u32, owner: u16, bytes: u64);
    fn stage_moves(owner: u16, what: Staged, bytes: u64);
    fn block_moves(now: Time, piece: &Piece, from: Option<BlockStep>, to: Option<BlockStep>);
    fn sync_begins(sync: u32);
    fn sync_drains(sync: u32);
    fn sync_advances(now: Time, sync: u32);
    fn sync_waits_for_cache(now: Time, sync: u32, device: u32);
    fn sync_ends_wait(now: Time, sync: u32);
    fn blocks_have_left(now: Time, server: u32);
    fn levels_change(now: Time, server: u32);
    fn run_ends(now: Time);
}

/// Which instruments are on.
impl Observers {
    /// Counters of `servers` servers with `devices` devices; all other instruments are off.
    pub(crate) fn new(servers: usize, devices: usize) -> Observers {
        Observers {
            counters: Counters::new(servers, devices),
            occupancy: OccupancySeries::off(),
            contention: Contention::off(),
        }
    }

    /// Counts what each of `jobs` jobs commits.
    pub(crate) fn count_jobs(&mut self, jobs: usize) {
        self.counters.count_jobs(jobs);
    }

    /// Counts the bytes of `tiers` tiers and `jobs` jobs.
    pub(crate) fn count_tiers(&mut self, tiers: usize, jobs: usize) {
        self.counters.count_tiers(tiers, jobs);
    }

    /// Keeps a time series of resources in use for `own` servers of a machine with `servers` in all.
    pub(crate) fn record_occupancy(&mut self, interval: Time, own: usize, servers: u32) {
        self.occupancy = OccupancySeries::new(interval, own, servers);
    }

    /// Keeps a ledger of waits, see [`ServersBuilder::with_blame`](crate::ServersBuilder::with_blame).
    pub(crate) fn record_waits(
        &mut self,
        parts: &ServerParts,
        jobs: u16,
        interval: Option<Time>,
        charges_faults: bool,
    ) {
        self.contention = Contention::new(parts, jobs, interval, charges_faults);
    }

    /// Records the waits of single requests too, if there is a ledger.
    pub(crate) fn record_requests(&mut self, parts: &ServerParts) {
        self.contention.record_requests(parts);
    }
}

/// What they have recorded, for reports and for the instruments of hosts.
impl Observers {
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn occupancy(&self) -> &OccupancySeries {
        &self.occupancy
    }

    pub(crate) fn contention(&self) -> &Contention {
        &self.contention
    }

    /// The waits and accesses of single requests that the last input began or ended, if they are recorded.
    pub(crate) fn take_waits(&mut self, parts: &ServerParts) -> RequestWaits {
        self.contention.take_waits(parts)
    }
}
