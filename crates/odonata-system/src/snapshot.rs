//! A run under way, in a file, so that it can go on after its computer has failed.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | [`MAGIC`] |
//! | any | program, header ([`Header`]) and state, as [`odonata_engine::saved`] writes them |
//! | 8 | number of all bytes before |
//! | 16 | checksum over all bytes before ([`Digest`]) |
//!
//! A file is written beside its place, flushed to the disk, and moved there: at any time there is either the one
//! before or the new one, whole. It is read twice: for the checksum first, so that nothing of a damaged file is
//! believed. It belongs to one program, told apart by a hash of its sources, and to one scenario; all else is refused.
//! Snapshots are for going on with a run, not for keeping: what is to be kept is in the results.
//!
//! Each of several processes that share a run has a file of its own, with its parts of the machine. The files of one
//! moment are a set, and know it: those of two moments make no run. Which set is the newest whole one is the business of
//! whoever names the files.

use crate::cost::Spent;
use crate::placement::Placement;
use crate::process_group::ProcessGroup;
use crate::scenario::resolved::{ListedParts, Parts, Run, Scheduler};
use crate::scenario::{InputError, Resolved, Scenario};
use odonata_engine::Digest;
use odonata_engine::saved::{Damaged, Loader, Saver};
use odonata_workload::open_regular;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The beginning of every snapshot.
const MAGIC: [u8; 16] = *b"odonata snapshot";

/// Bytes behind the state.
const TRAILER: u64 = 24;

/// The version of the program that is running, and the hash of its sources.
const PROGRAM: (&str, &str) = (env!("CARGO_PKG_VERSION"), env!("ODONATA_SOURCES"));

/// What a snapshot belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [Hash](identity) of the scenario and its placement.
    pub(crate) scenario: u128,
    /// Which of how many processes of the run this is.
    pub(crate) process: (usize, usize),
    /// When the run was saved, nanoseconds since 1970 by the clock of one of its processes: the same in all files of
    /// a set, and in no other.
    pub(crate) saved_at: u64,
    /// How the run is divided.
    pub(crate) layout: Layout,
    /// What the run has cost this process until then.
    pub(crate) spent: Spent,
}

/// Who runs the events, over which parts: a state can only be read into the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) scheduler: Scheduler,
    /// The first router of each part, and the number of routers at the end.
    pub(crate) bounds: Vec<u32>,
}

impl Layout {
    /// Asks in `run` for it; what else is free to be chosen stays.
    pub(crate) fn ask_for(&self, run: &mut Run) {
        let first_routers = self.bounds[..self.bounds.len().saturating_sub(1)].to_vec();
        run.scheduler = self.scheduler;
        run.parts = Parts::Listed(ListedParts { first_routers });
    }
}

/// All that decides how a run goes: a hash of the scenario without what only says how it is carried out, and of where
/// everything is.
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

/// Why a run cannot go on from a file.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is no snapshot.
    Foreign,
    /// It is not as it was written.
    Damaged(Damaged),
    /// Another version has saved it, or another build of this one.
    OtherProgram(String),
    /// It is of another scenario.
    OtherScenario,
    /// It is that of a process, of so many, and another one asks for it.
    OtherProcess {
        saved: (usize, usize),
        asking: (usize, usize),
    },
    /// Another process has one of another moment.
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

    /// What is wrong, and what would be right.
    fn explain(&self) -> (String, String) {
        let (this, _) = PROGRAM;
        let version = format!("a snapshot of this program, version {this}");
        match self {
            Refused::Unreadable(error) => (format!("the snapshot cannot be read: {error}"), "a file".into()),
            Refused::Foreign => ("this is no snapshot of a run".into(), version),
            Refused::Damaged(what) => (format!("the snapshot is damaged: {what}"), "a whole one".into()),
            Refused::OtherProgram(other) if other == this => (
                format!("the snapshot was saved by another build of version {other}"),
                "the program that saved it".into(),
            ),
            Refused::OtherProgram(other) => (format!("the snapshot was saved by version {other}"), version),
            Refused::OtherScenario => (
                "the scenario is not the one that was saved".into(),
                "the same scenario, placement, overrides and seed".into(),
            ),
            Refused::OtherProcess {
                saved: (_, saved),
                asking: (_, asking),
            } if saved != asking => (
                format!("{} saved the run, and {asking} would go on with it", processes(*saved)),
                match saved {
                    1 => "one process".into(),
                    _ => format!("{saved} processes, as with mpirun -n {saved}"),
                },
            ),
            Refused::OtherProcess { saved, asking } => (
                format!("the snapshot is that of process {} of {}", saved.0, saved.1),
                format!("that of process {}", asking.0),
            ),
            Refused::OtherMoment => (
                "the snapshots of the processes were not saved together".into(),
                "a set as it was saved".into(),
            ),
        }
    }
}

fn processes(number: usize) -> String {
    match number {
        1 => "one process".into(),
        _ => format!("{number} processes"),
    }
}

/// Writes a snapshot to `path`, where an older one stays until this one is whole; its size in bytes.
///
/// # Errors
/// It cannot be written; then the older one is still there.
pub(crate) fn write(path: &Path, header: &Header, state: impl FnOnce(&mut Saver<'_>)) -> io::Result<u64> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let beside = Path::new(&beside);
    let written = write_whole(beside, header, state).and_then(|bytes| {
        std::fs::rename(beside, path)?;
        // The new name is on the disk when the folder is; not every system can say so of a folder.
        if let Some(folder) = path.parent() {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            File::open(folder).and_then(|folder| folder.sync_all()).ok();
        }
        Ok(bytes)
    });
    if written.is_err() {
        std::fs::remove_file(beside).ok();
    }
    written
}

fn write_whole(path: &Path, header: &Header, state: impl FnOnce(&mut Saver<'_>)) -> io::Result<u64> {
    let mut file = Summed::new(File::create(path)?);
    file.write_all(&MAGIC)?;
    let mut saver = Saver::new(&mut file);
    saver.value(&PROGRAM);
    saver.value(header);
    state(&mut saver);
    saver.finish()?;
    let Summed { mut to, sum } = file;
    to.write_all(&sum.bytes.to_le_bytes())?;
    to.write_all(&sum.value().to_le_bytes())?;
    to.sync_all()?;
    Ok(sum.bytes + TRAILER)
}

/// A snapshot that is whole, and belongs to a run.
pub struct Snapshot {
    path: PathBuf,
    file: BufReader<File>,
    /// Where its state ends.
    end: u64,
    pub(crate) header: Header,
}

impl Snapshot {
    /// Opens the one at `path`, which is to be of `scenario` and of this process of `group`.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or belongs to something else.
    pub fn open(path: &Path, scenario: &Scenario, group: &ProcessGroup) -> Result<Snapshot, InputError> {
        Snapshot::read(path, scenario, group.place()).map_err(|refused| refused.error(path))
    }

    fn read(path: &Path, scenario: &Scenario, asking: (usize, usize)) -> Result<Snapshot, Refused> {
        let mut file = BufReader::with_capacity(1 << 16, open_regular(path)?);
        let end = check(&mut file)?;
        let header = header(&mut Loader::new(&mut content(&mut file, end)?))?;
        if header.process != asking {
            let saved = header.process;
            return Err(Refused::OtherProcess { saved, asking });
        }
        if header.scenario != identity(&scenario.resolved, &scenario.placement) {
            return Err(Refused::OtherScenario);
        }
        Ok(Snapshot {
            path: path.to_owned(),
            file,
            end,
            header,
        })
    }

    /// Lets `state` take the state.
    ///
    /// # Errors
    /// It cannot be read, or is no state of that kind.
    pub(crate) fn load(mut self, state: impl FnOnce(&mut Loader<'_>) -> Result<(), Damaged>) -> Result<(), InputError> {
        let load = || {
            let mut content = content(&mut self.file, self.end)?;
            let mut loader = Loader::new(&mut content);
            header(&mut loader)?;
            state(&mut loader)?;
            Ok(loader.finish()?)
        };
        load().map_err(|refused: Refused| refused.error(&self.path))
    }

    /// The error that this one cannot be gone on from, because of `refused`.
    pub(crate) fn error(&self, refused: &Refused) -> InputError {
        refused.error(&self.path)
    }
}

/// What stands between the beginning and `end` of a file.
fn content(file: &mut BufReader<File>, end: u64) -> io::Result<impl Read> {
    file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
    Ok(file.take(end - MAGIC.len() as u64))
}

/// The header, if this program has written it.
fn header(from: &mut Loader<'_>) -> Result<Header, Refused> {
    let (version, sources): (String, String) = from.value()?;
    if (version.as_str(), sources.as_str()) != PROGRAM {
        return Err(Refused::OtherProgram(version));
    }
    Ok(from.value()?)
}

/// Whether a file is whole; the number of its bytes up to the trailer.
fn check(file: &mut (impl Read + Seek)) -> Result<u64, Refused> {
    let length = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut magic = [0; MAGIC.len()];
    if file.read_exact(&mut magic).is_err() || magic != MAGIC {
        return Err(Refused::Foreign);
    }
    let damaged = |text: &str| Refused::Damaged(Damaged(text.into()));
    let Some(end) = length.checked_sub(TRAILER).filter(|&end| end >= MAGIC.len() as u64) else {
        return Err(damaged("it ends too early"));
    };
    file.rewind()?;
    let mut summed = Summed::new(io::sink());
    io::copy(&mut file.take(end), &mut summed)?;
    let (mut bytes, mut sum) = ([0; 8], [0; 16]);
    file.read_exact(&mut bytes)?;
    file.read_exact(&mut sum)?;
    if u64::from_le_bytes(bytes) != end {
        return Err(damaged("it does not have the length that was written"));
    }
    if u128::from_le_bytes(sum) != summed.sum.value() {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(end)
}

/// A writer that sums up what goes through it.
struct Summed<W> {
    to: W,
    sum: Sum,
}

/// A checksum over bytes, however they are cut into pieces. One changed word always changes it.
#[derive(Clone, Debug)]
struct Sum {
    digest: Digest,
    /// The last bytes, which do not yet fill a word.
    word: [u8; 8],
    bytes: u64,
}

impl Sum {
    fn add(&mut self, mut bytes: &[u8]) {
        let begun = (self.bytes % 8) as usize;
        self.bytes += bytes.len() as u64;
        if begun > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(8 - begun));
            self.word[begun..begun + first.len()].copy_from_slice(first);
            if begun + first.len() < 8 {
                return;
            }
            self.digest.word(u64::from_le_bytes(self.word));
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks();
        words
            .iter()
            .for_each(|&word| self.digest.word(u64::from_le_bytes(word)));
        self.word[..rest.len()].copy_from_slice(rest);
    }

    fn value(&self) -> u128 {
        let mut digest = self.digest;
        let mut last = [0; 8];
        let begun = (self.bytes % 8) as usize;
        last[..begun].copy_from_slice(&self.word[..begun]);
        digest.word(u64::from_le_bytes(last));
        digest.word(self.bytes);
        digest.value()
    }
}

impl<W> Summed<W> {
    fn new(to: W) -> Self {
        let sum = Sum {
            digest: Digest::new(),
            word: [0; 8],
            bytes: 0,
        };
        Summed { to, sum }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.sum.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
