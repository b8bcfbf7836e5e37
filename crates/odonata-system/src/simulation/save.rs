//! A run saved on the way, and gone on with.

use super::{Others, Simulation};
use crate::cost::Spent;
use crate::scenario::{InputError, Scenario};
use crate::snapshot::{self, Header, Layout, Refused};
use odonata_engine::Pause;
use odonata_engine::saved::Damaged;
use std::path::Path;

impl Simulation {
    /// Goes on with the run of `scenario` that was [saved](Self::save_to) to `path`.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or another scenario or program has saved it; and those of
    /// [`new`](Self::new).
    pub fn resume(scenario: Scenario, path: &Path) -> Result<Self, InputError> {
        let wanted = Header::new(
            &scenario.resolved,
            &scenario.placement,
            (0, 1),
            Layout::default(),
            Spent::default(),
        );
        let resumed = snapshot::read(path, &wanted, |header, from| {
            let run = Simulation::with(scenario, Others::default(), Some(&header.layout));
            let mut run = run.map_err(|error| Damaged(error.message))?;
            run.pause = from.value()?;
            run.checked = from.value()?;
            run.scheduler.load(from)?;
            run.meter.resume(header.spent);
            run.progress = run.look().progress(&run);
            Ok(run)
        });
        resumed.map_err(|refused: Refused| refused.error(path))
    }

    /// Saves the run, as it stands, to `path`; an older snapshot there stays until the new one is whole. Returns its
    /// size in bytes.
    ///
    /// # Errors
    /// It cannot be written, or a process of the run is lost, and its state with it; the older one is still there.
    pub fn save_to(&mut self, path: &Path) -> std::io::Result<u64> {
        if let Some(Pause::Lost(text)) = &self.pause {
            return Err(std::io::Error::other(text.clone()));
        }
        snapshot::write(path, &self.header(), |to| {
            to.value(&self.pause);
            to.value(&self.checked);
            self.scheduler.save(to);
        })
    }

    fn header(&self) -> Header {
        let layout = Layout {
            scheduler: self.schedule.scheduler,
            bounds: self.schedule.partition.bounds().to_vec(),
        };
        Header::new(&self.scenario, &self.placement, (0, 1), layout, self.meter.spent())
    }
}
