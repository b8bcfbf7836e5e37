//! The audit of the index: conservation of bytes, and the space in use on each device.

use super::extents::Place;
use super::{ContentIndex, IndexedServer};

impl ContentIndex {
    /// Checks that every byte is in one place and that all sums match. `used`: the space in use on a device. `gone`: bytes of each job
    /// that were lost or dropped with a server or device.
    ///
    /// # Errors
    /// Names the sum that does not match.
    pub(crate) fn audit(&self, used: impl Fn(u32) -> u64, gone: &[u64]) -> Result<(), String> {
        let jobs = self.committed.len();
        let mut stored = vec![0_u64; jobs];
        for server in (0..self.servers.len() as u32).filter(|&server| self.is_kept(server)) {
            let mut of_devices = [0; crate::settings::MOST_DEVICES];
            for (object, extent) in self.of(server).filter(|(_, extent)| extent.place != Place::Lost) {
                if !extent.place.is_committed() {
                    return Err(format!(
                        "storage server {server}: bytes {} to {} of object {object} were never written to a device",
                        extent.start, extent.end
                    ));
                }
                if let Some(device) = extent.place.device() {
                    of_devices[usize::from(device)] += extent.bytes();
                }
                if let Some(sum) = stored.get_mut(usize::from(extent.owner)) {
                    *sum += extent.bytes();
                }
            }
            let IndexedServer { first_device, end, .. } = self.servers[server as usize];
            for device in first_device..end {
                let (extents, used) = (of_devices[(device - first_device) as usize], used(device));
                if used != extents {
                    return Err(format!(
                        "storage server {server}: {used} B are in use, {extents} B are in extents"
                    ));
                }
            }
        }
        let mut removed = vec![0_u64; jobs];
        for (_, job, bytes) in self.removed() {
            removed[usize::from(job)] += bytes;
        }
        for (job, (stored, removed)) in stored.into_iter().zip(removed).enumerate() {
            let committed = *self.committed.get(job as u32);
            let overwritten = *self.overwritten.get(job as u32);
            let gone = gone.get(job).copied().unwrap_or(0);
            if committed != stored + overwritten + gone + removed {
                return Err(format!(
                    "storage: job {job} has committed {committed} B, of which {stored} B are stored, {overwritten} B overwritten, \
                     {removed} B removed and {gone} B gone with servers that failed"
                ));
            }
        }
        Ok(())
    }
}
