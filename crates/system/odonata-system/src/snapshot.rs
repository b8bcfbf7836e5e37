//! A run under way, saved to files, so that it can be resumed after its computer has failed.
//!
//! Each process of a shared run writes one file, with the states of its parts of the machine ([`state_file`] documents
//! the format). The files saved at the same moment form a set and identify it; files of different sets cannot be
//! combined. The code that names the files determines the newest complete set.
//!
//! States belong to parts, so that a different number of processes can resume a run: each reads the states of its parts
//! from whichever files contain them. There cannot be more processes than parts, and the parts stay the same.
//!
//! A snapshot belongs to one program, identified by a hash of its sources, and to one scenario; all others are refused.
//! Snapshots are for resuming runs and not for archiving; the results are for that.

mod state_file;

pub use state_file::SOURCES;
pub(crate) use state_file::write;

use crate::cost::Spent;
use crate::placement::Placement;
use crate::process_group::{ProcessGroup, share_of};
use crate::scenario::resolved::{ListedParts, Parts, Run, Scheduler};
use crate::scenario::{InputError, Resolved, Scenario};
use odonata_engine::saved::{Damaged, Loader};
use odonata_engine::{Digest, Pause, Time};
use serde::{Deserialize, Serialize};
use state_file::{PROGRAM, StateFile};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a file of a snapshot belongs to, and what all files of a set have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [Hash](identity) of the scenario and its placement.
    pub(crate) scenario: u128,
    /// Number of this process, and number of processes of the run.
    pub(crate) process: (usize, usize),
    /// When the run was saved, in nanoseconds since 1970 by the clock of one of its processes: identifies the set.
    pub(crate) saved_at: u64,
    /// How the run is divided.
    pub(crate) layout: Layout,
    /// Where it stands.
    pub(crate) standing: Standing,
    /// What the run had cost this process until then.
    pub(crate) spent: Spent,
}

impl Header {
    /// The numbers of the states in this file, if the header is valid.
    fn states(&self) -> Option<Range<usize>> {
        let (process, processes) = self.process;
        let states = self.layout.states();
        (process < processes && processes <= states).then(|| share_of(states, self.process))
    }
}

/// The state of a run apart from the states of its parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// Why the run does not continue, if it does not.
    pub(crate) pause: Option<Pause>,
    /// Simulated time of the last check of whether anything other than endless traffic is left.
    pub(crate) checked: Time,
    /// The time of its last event.
    pub(crate) now: Time,
}

/// The scheduler and the division of the machine, which must be the same for reading the states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) scheduler: Scheduler,
    /// The first router of each part, followed by the number of routers.
    pub(crate) bounds: Vec<u32>,
}

impl Layout {
    /// Requests this layout in `run`; other settings stay as they are.
    pub(crate) fn ask_for(&self, run: &mut Run) {
        let first_routers = self.bounds[..self.bounds.len().saturating_sub(1)].to_vec();
        run.scheduler = self.scheduler;
        run.parts = Parts::Listed(ListedParts { first_routers });
    }

    /// Number of states: one per part, or a single one if the parts only take turns.
    fn states(&self) -> usize {
        match self.scheduler {
            Scheduler::Sequential => 1,
            _ => self.bounds.len().saturating_sub(1),
        }
    }
}

/// A hash of everything that determines the course of a run: the placement, and the scenario without settings for how
/// it is executed.
pub(crate) fn identity(scenario: &Resolved, placement: &Placement) -> u128 {
    let mut scenario = scenario.clone();
    scenario.run.checkpoint_interval = None;
    scenario.run.memory_limit = None;
    scenario.run.spread_as(&Run::default());
    let mut digest = Digest::new();
    digest.text(&serde_json::to_string(&scenario).expect("a scenario can be written"));
    digest.text(&serde_json::to_string(placement).expect("a placement can be written"));
    digest.value()
}

/// Why a file cannot be used to resume a run.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is not a snapshot.
    Foreign,
    /// Its content has changed since it was written.
    Damaged(Damaged),
    /// Another version or another build of the program has saved it.
    OtherProgram(String),
    /// It belongs to another scenario.
    OtherScenario,
    /// It belongs to this process, of this many, instead of the expected one.
    OtherProcess {
        saved: (usize, usize),
        asking: (usize, usize),
    },
    /// It has fewer states than processes that would resume the run.
    TooFewParts { states: usize, processes: usize },
    /// The file of another process belongs to another moment.
    OtherMoment,
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Unreadable(error)
    }
}

impl From<Damaged> for Refused {
    fn from(error: Damaged) -> Self {
        Refused::Damaged(error)
    }
}

impl Refused {
    /// As an error of the input at `path`.
    pub(crate) fn error(&self, path: &Path) -> InputError {
        let (message, expected) = self.explain();
        InputError {
            file: path.display().to_string(),
            line: None,
            column: None,
            key: String::new(),
            message,
            value: None,
            expected,
            hint: None,
        }
    }

    /// The problem, and the expectation.
    fn explain(&self) -> (String, String) {
        let (this, _) = PROGRAM;
        let version = format!("a snapshot of this program, version {this}");
        match self {
            Refused::Unreadable(error) => (format!("the snapshot cannot be read: {error}"), "a file".into()),
            Refused::Foreign => ("this is not a snapshot".into(), version),
            Refused::Damaged(what) => (format!("the snapshot is damaged: {what}"), "a whole one".into()),
            Refused::OtherProgram(other) if other == this => (
                format!("the snapshot was saved by another build of version {other}"),
                "the program that saved it".into(),
            ),
            Refused::OtherProgram(other) => (format!("the snapshot was saved by version {other}"), version),
            Refused::OtherScenario => (
                "the scenario differs from the saved one".into(),
                "the same scenario, placement, overrides and seed".into(),
            ),
            Refused::OtherProcess { saved, asking } => (
                format!("the snapshot belongs to process {} of {}", saved.0, saved.1),
                format!("the snapshot of process {} of {}", asking.0, asking.1),
            ),
            Refused::TooFewParts { states: 1, processes } => (
                format!("the run was saved in one piece, and {processes} processes would resume it"),
                "one process; only runs of a parallel scheduler can be shared by processes".into(),
            ),
            Refused::TooFewParts { states, processes } => (
                format!("the run was saved in {states} parts, and {processes} processes would resume it"),
                format!("{states} processes at most"),
            ),
            Refused::OtherMoment => (
                "the snapshots of the processes are from different saves".into(),
                "the snapshots of one save".into(),
            ),
        }
    }
}

/// A complete snapshot of a run: the files that contain the parts of a process.
pub struct Snapshot {
    files: Vec<StateFile>,
    /// The parts of this process.
    parts: Range<usize>,
}

impl Snapshot {
    /// The file of a process in the folder of a set.
    pub fn file_in(folder: &Path, process: usize) -> PathBuf {
        folder.join(format!("{process}.snapshot"))
    }

    /// Opens the files of a set that this process of `group` needs; the set must belong to `scenario`, and `file`
    /// returns the file of each process that saved it.
    ///
    /// # Errors
    /// A file cannot be read, is damaged, or belongs to something else; or there are more processes than parts.
    pub fn open(
        file: impl Fn(usize) -> PathBuf,
        scenario: &Scenario,
        group: &ProcessGroup,
    ) -> Result<Snapshot, InputError> {
        Snapshot::read(file, scenario, group.place()).map_err(|(path, refused)| refused.error(&path))
    }

    fn read(
        file: impl Fn(usize) -> PathBuf,
        scenario: &Scenario,
        (process, processes): (usize, usize),
    ) -> Result<Snapshot, (PathBuf, Refused)> {
        let identity = identity(&scenario.resolved, &scenario.placement);
        let open = |number: usize, saved: Option<usize>| {
            let one = StateFile::open(file(number))?;
            let Header { process, scenario, .. } = one.header;
            let asking = (number, saved.unwrap_or(process.1));
            let refused = if process != asking {
                Refused::OtherProcess { saved: process, asking }
            } else if scenario != identity {
                Refused::OtherScenario
            } else {
                return Ok(one);
            };
            Err((one.path, refused))
        };
        // Any file contains the division; the file of this process's number is most likely to contain its parts.
        let known = match file(process) {
            own if own.exists() => process,
            _ => 0,
        };
        let mut known = Some(open(known, None)?);
        let about = known.as_ref().map(|known| (known.header.clone(), known.path.clone()));
        let (about, path) = about.expect("it was opened");
        let states = about.layout.states();
        if states < processes {
            return Err((path, Refused::TooFewParts { states, processes }));
        }
        let parts = share_of(states, (process, processes));
        let mut files = Vec::new();
        for number in 0..about.process.1 {
            let there = share_of(states, (number, about.process.1));
            if there.end <= parts.start || parts.end <= there.start {
                continue;
            }
            let one = match known.take_if(|known| known.header.process.0 == number) {
                Some(known) => known,
                None => open(number, Some(about.process.1))?,
            };
            let of_a_set = |header: &Header| (header.saved_at, header.layout.clone(), header.standing.clone());
            if of_a_set(&one.header) != of_a_set(&about) {
                return Err((one.path, Refused::OtherMoment));
            }
            files.push(one);
        }
        Ok(Snapshot { files, parts })
    }

    /// What all files of the set have in common.
    pub(crate) fn header(&self) -> &Header {
        &self.files[0].header
    }

    /// The past cost of the run that this process takes over: the cost of each saving process is taken over by exactly
    /// one.
    pub(crate) fn spent(&self) -> Spent {
        let mut all = Spent::default();
        for StateFile { header, .. } in &self.files {
            let Spent { wall, cpu, peak_rss } = header.spent;
            all.wall = all.wall.max(wall);
            all.peak_rss = all.peak_rss.max(peak_rss);
            if header.states().is_some_and(|states| self.parts.contains(&states.start)) {
                all.cpu += cpu;
            }
        }
        all
    }

    /// Lets `state` read the state of each part of this process, by its number among them.
    ///
    /// # Errors
    /// A state cannot be read or has a different kind.
    pub(crate) fn load(
        mut self,
        mut state: impl FnMut(usize, &mut Loader<'_>) -> Result<(), Damaged>,
    ) -> Result<(), InputError> {
        for file in &mut self.files {
            let there = file.header.states().unwrap_or_default();
            for part in there.clone().filter(|part| self.parts.contains(part)) {
                let own = part - self.parts.start;
                let loaded = file.load(part - there.start, |from| state(own, from));
                loaded.map_err(|refused| refused.error(&file.path))?;
            }
        }
        Ok(())
    }

    /// The error that this snapshot cannot be resumed because of `refused`.
    pub(crate) fn error(&self, refused: &Refused) -> InputError {
        refused.error(&self.files[0].path)
    }
}
