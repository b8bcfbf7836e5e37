//! Conservation: what has become of the bytes that each job has committed.
//!
//! ```text
//! committed = in extents + overwritten + removed + gone with a server or device that failed
//! ```

use odonata_engine::{GrowableStore, Mode, Store, journalled};

/// The sums of all jobs, where jobs are counted.
#[derive(Debug)]
pub(super) struct JobBytes {
    /// Bytes of each job that came to a device, and the overwritten bytes among them.
    committed: Store<u64>,
    overwritten: Store<u64>,
    /// Bytes removed, per server and job.
    removed: GrowableStore<u64>,
}
journalled!(JobBytes {
    committed,
    overwritten,
    removed
});

/// Adds bytes to the count of a job.
fn count<M: Mode>(counts: &mut Store<u64>, owner: u16, bytes: u64) {
    if usize::from(owner) < counts.len() {
        *counts.edit::<M>(u32::from(owner)) += bytes;
    }
}

impl JobBytes {
    /// Of `jobs` jobs, without bytes.
    pub(super) fn new(jobs: usize) -> JobBytes {
        JobBytes {
            committed: Store::filled(jobs, 0),
            overwritten: Store::filled(jobs, 0),
            removed: GrowableStore::new(),
        }
    }

    /// Number of jobs.
    pub(super) fn jobs(&self) -> usize {
        self.committed.len()
    }

    pub(super) fn commit<M: Mode>(&mut self, owner: u16, bytes: u64) {
        count::<M>(&mut self.committed, owner, bytes);
    }

    pub(super) fn overwrite<M: Mode>(&mut self, owner: u16, bytes: u64) {
        count::<M>(&mut self.overwritten, owner, bytes);
    }

    pub(super) fn remove<M: Mode>(&mut self, server: u32, owner: u16, bytes: u64) {
        let jobs = self.jobs();
        if usize::from(owner) < jobs && bytes > 0 {
            *self.removed.edit::<M>(server as usize * jobs + usize::from(owner)) += bytes;
        }
    }

    /// Bytes removed, by server and job, where there are some.
    pub(super) fn removed(&self) -> impl Iterator<Item = (u32, u16, u64)> + use<'_> {
        let jobs = self.jobs().max(1);
        let cells = self.removed.iter();
        cells.map(move |(cell, &bytes)| ((cell / jobs) as u32, (cell % jobs) as u16, bytes))
    }

    /// Checks the sums of each job. `stored`: its bytes in extents; `gone`: those that were lost or dropped with a server or
    /// device.
    ///
    /// # Errors
    /// Names the first job whose sums do not match.
    pub(super) fn audit(&self, stored: &[u64], gone: &[u64]) -> Result<(), String> {
        let mut removed = vec![0_u64; self.jobs()];
        for (_, job, bytes) in self.removed() {
            removed[usize::from(job)] += bytes;
        }
        for (job, (stored, removed)) in stored.iter().zip(removed).enumerate() {
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
