//! Space on devices: what takes it, the requests that wait for it, and the clean copies that are evicted for it.
//!
//! Every byte in use is in one state ([`SpaceUse`]): `used = reserved + dirty + leaving + clean`. Space in use never exceeds the
//! capacity. A request waits only while it does not fit, or behind another that waits. The caller decides which request gets
//! returned space ([`Turns`](crate::sharing::Turns)).
//!
//! [`clean`] keeps and evicts clean copies. Units: bytes.

mod clean;

use odonata_engine::{List, Mode, Pool, Store, journalled};

use crate::devices::Devices;
use crate::index::{SpaceAccount, SpaceUse};
use crate::open_request::OpenRequest;
use clean::CleanRange;

/// The space of one device.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Space {
    /// Bytes in use: reserved and not drained.
    used: u64,
    /// Bytes of write requests that the device has written.
    written: u64,
    /// Bytes that are safe in the lower tier.
    drained: u64,
    /// Bytes in use by state; the others are reserved.
    dirty: u64,
    leaving: u64,
    clean: u64,
    /// Clean ranges, oldest first.
    ranges: List,
    /// Requests that wait for space, in the order of their arrival.
    waiting: List,
}

impl Space {
    fn state(&mut self, by: SpaceUse) -> Option<&mut u64> {
        match by {
            SpaceUse::Reserved => None,
            SpaceUse::Dirty => Some(&mut self.dirty),
            SpaceUse::Leaving => Some(&mut self.leaving),
            SpaceUse::Clean => Some(&mut self.clean),
        }
    }
}

/// The space of a set of devices.
#[derive(Debug)]
pub(crate) struct DeviceSpaces {
    capacities: Vec<u64>,
    spaces: Store<Space>,
    ranges: Pool<CleanRange>,
}
journalled!(DeviceSpaces { spaces, ranges });

impl SpaceAccount for DeviceSpaces {
    #[inline]
    fn occupy<M: Mode>(&mut self, device: u32, by: SpaceUse, bytes: u64) {
        let space = self.spaces.edit::<M>(device);
        space.used += bytes;
        if let Some(state) = space.state(by) {
            *state += bytes;
        }
    }

    #[inline]
    fn vacate<M: Mode>(&mut self, device: u32, by: SpaceUse, bytes: u64) {
        let space = self.spaces.edit::<M>(device);
        space.used -= bytes;
        if let Some(state) = space.state(by) {
            *state -= bytes;
        }
    }
}

impl DeviceSpaces {
    /// The space of `devices`, all free.
    pub(crate) fn new(devices: &Devices) -> Self {
        let capacities = (0..devices.len()).map(|device| devices.params(device).capacity.0);
        DeviceSpaces {
            capacities: capacities.collect(),
            spaces: Store::filled(devices.len() as usize, Space::default()),
            ranges: Pool::new(),
        }
    }

    /// Space of `device`, free or in use.
    pub(crate) fn capacity(&self, device: u32) -> u64 {
        self.capacities[device as usize]
    }

    /// Space of `device` in use.
    pub(crate) fn used(&self, device: u32) -> u64 {
        self.spaces.get(device).used
    }

    /// Free space of `device`.
    pub(crate) fn free(&self, device: u32) -> u64 {
        // Space in use never exceeds the capacity, so that the difference cannot wrap.
        self.capacity(device) - self.used(device)
    }

    /// Bytes on `device` alone that are not leaving.
    pub(crate) fn dirty(&self, device: u32) -> u64 {
        self.spaces.get(device).dirty
    }

    /// Space in use that no leaving block will free.
    pub(crate) fn staying(&self, device: u32) -> u64 {
        let Space { used, leaving, .. } = *self.spaces.get(device);
        used - leaving
    }

    /// Space in use that neither leaving blocks nor evictions will free.
    pub(crate) fn fixed(&self, device: u32) -> u64 {
        self.staying(device) - self.spaces.get(device).clean
    }

    /// Bytes in use change their state.
    pub(crate) fn change<M: Mode>(&mut self, device: u32, (from, to): (SpaceUse, SpaceUse), bytes: u64) {
        let space = self.spaces.edit::<M>(device);
        if let Some(state) = space.state(from) {
            *state -= bytes;
        }
        if let Some(state) = space.state(to) {
            *state += bytes;
        }
    }

    /// Lets `request` wait for space on `device`.
    pub(crate) fn wait<M: Mode>(&mut self, device: u32, request: u32, requests: &mut Pool<OpenRequest>) {
        self.spaces.edit::<M>(device).waiting.push::<M, _>(requests, request);
    }

    /// The requests that wait for space on `device`.
    pub(crate) fn waiting(&self, device: u32) -> List {
        self.spaces.get(device).waiting
    }

    /// The same, one by one.
    pub(crate) fn in_line<'a>(
        &'a self,
        device: u32,
        requests: &'a Pool<OpenRequest>,
    ) -> impl Iterator<Item = &'a OpenRequest> {
        let waiting = self.spaces.get(device).waiting.iter(requests);
        waiting.map(|slot| requests.get(slot))
    }

    /// Replaces the requests that wait for space on `device`.
    pub(crate) fn set_waiting<M: Mode>(&mut self, device: u32, waiting: List) {
        self.spaces.edit::<M>(device).waiting = waiting;
    }

    /// Counts bytes that `device` has written for requests.
    pub(crate) fn count_written<M: Mode>(&mut self, device: u32, bytes: u64) {
        self.spaces.edit::<M>(device).written += bytes;
    }

    /// Counts bytes that have left `device` for the lower tier.
    pub(crate) fn count_drained<M: Mode>(&mut self, device: u32, bytes: u64) {
        self.spaces.edit::<M>(device).drained += bytes;
    }

    /// Checks, when nothing is reserved, that the states add up to the space in use. Without an index, that is what was written and
    /// not drained.
    ///
    /// # Errors
    /// Names the sum that does not match.
    pub(crate) fn audit(&self, device: u32, is_indexed: bool) -> Result<(), String> {
        let Space {
            used,
            written,
            drained,
            dirty,
            leaving,
            clean,
            ..
        } = *self.spaces.get(device);
        if !is_indexed && (written < drained || used != written - drained) {
            return Err(format!(
                "{used} B are in use, {written} B were written, {drained} B drained"
            ));
        }
        if is_indexed && used != dirty + leaving + clean {
            return Err(format!(
                "{used} B are in use, {dirty} B are on a device alone, {leaving} B leave it, {clean} B are below as well"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
