//! Saving and resuming a run.

use super::{Others, Simulation, ranges, share_of};
use crate::scenario::{InputError, Problem, Scenario};
use crate::snapshot::{self, Header, Layout, Refused, Snapshot, Standing};
use odonata_engine::Pause;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

impl Simulation {
    /// Resumes, in one process, the run of `scenario` that was [saved](Self::save_to) to `path`.
    ///
    /// # Errors
    /// Those of [`Snapshot::open`], and of [`new`](Self::new).
    pub fn resume(scenario: Scenario, path: &Path) -> Result<Self, InputError> {
        let others = Others::default();
        let snapshot = Snapshot::open(|_| path.to_owned(), &scenario, &others.group)?;
        Simulation::resume_shared(scenario, snapshot, others)
    }

    /// Resumes a run in one of several processes that share it, each with its `snapshot`; a different number of
    /// processes may have saved it. Collective.
    ///
    /// # Errors
    /// Those of [`shared`](Self::shared), or the snapshots were not saved together.
    pub fn resume_shared(scenario: Scenario, snapshot: Snapshot, mut others: Others) -> Result<Self, InputError> {
        let saved_at = others.group.share(snapshot.header().saved_at);
        let saved_at = saved_at.map_err(|text| scenario.document.locate(Problem::new("", text, "")))?;
        if saved_at.iter().any(|&other| other != saved_at[0]) {
            return Err(snapshot.error(&Refused::OtherMoment));
        }
        let Header { layout, standing, .. } = snapshot.header().clone();
        let mut run = Simulation::with(scenario, others, Some(&layout))?;
        run.meter.resume(snapshot.spent());
        snapshot.load(|part, from| run.scheduler.load_state(part, from))?;
        run.scheduler.go_on_from(standing.now);
        run.pause = standing.pause;
        run.checked = standing.checked;
        run.progress = run.look().progress(&run);
        Ok(run)
    }

    /// Saves the run's current state to `path`; an older snapshot there stays until the new one is complete. Returns
    /// its size in bytes. Collective; each process has a file of its own.
    ///
    /// # Errors
    /// The file cannot be written, or a process of the run and its state are lost; the older snapshot is still there.
    pub fn save_to(&mut self, path: &Path) -> io::Result<u64> {
        if let Some(Pause::Lost(text)) = &self.pause {
            return Err(io::Error::other(text.clone()));
        }
        if !self.group.all(!self.interrupt.was_raised()).map_err(io::Error::other)? {
            return Err(io::Error::other("it ended within an event"));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = Header {
            scenario: snapshot::identity(&self.scenario, &self.placement),
            process: self.group.place(),
            saved_at: self.group.least(now.as_nanos() as u64).map_err(io::Error::other)?,
            layout: Layout {
                scheduler: self.schedule.scheduler,
                bounds: self.schedule.partition.bounds().to_vec(),
            },
            standing: Standing {
                pause: self.pause.clone(),
                checked: self.checked,
                now: self.scheduler.now(),
            },
            spent: self.meter.spent(),
        };
        let (process, processes) = self.group.place();
        let parts = share_of(&self.schedule, process, processes).map_err(io::Error::other)?;
        let states = ranges(&self.schedule, parts).len();
        snapshot::write(path, &header, states, |part, to| self.scheduler.save_state(part, to))
    }
}
