//! GOAL as a trace format: text (`.goal`), and the binary form of LogGOPSim, detected by its first bytes. A folder
//! stands for the only schedule in it.

use crate::error::GoalError;
use crate::program::GoalProgram;
use crate::schedule::{RankSchedule, Schedule, TaskKind};
use crate::{binary, text};
use odonata_trace_format::{FormatError, Opened, ReadOptions, TraceFormat};
use odonata_workload::read_regular;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Schedules of LogGOPSim and ATLAHS.
#[derive(Clone, Copy, Debug)]
pub struct Goal;

/// Longest file, in bytes: schedules are held in memory.
const LONGEST: u64 = 1 << 36;

/// Maximum number of schedules named in the error for an ambiguous folder.
const MOST_NAMES: usize = 8;

/// The contents of a schedule.
#[derive(Serialize)]
struct Inspection {
    format: &'static str,
    form: &'static str,
    name: Option<String>,
    nranks: u32,
    ranks: Vec<RankInspection>,
    total_calc_ns: u64,
    total_collective_calls: BTreeMap<&'static str, u64>,
    total_irequires: u64,
    total_op_counts: BTreeMap<&'static str, u64>,
    total_persistent_starts: u64,
    total_records: u64,
    total_recv_bytes: u64,
    total_recvs_posted: u64,
    total_requires: u64,
    total_send_bytes: u64,
    total_sends: u64,
}

/// The contents of a rank's schedule.
#[derive(Clone, Default, Serialize)]
struct RankInspection {
    rank: u32,
    sends: u64,
    recvs: u64,
    calcs: u64,
    send_bytes: u64,
    recv_bytes: u64,
    calc_ns: u64,
    requires: u64,
    irequires: u64,
    roots: u64,
    cpus: u32,
    nics: u32,
}

impl RankInspection {
    fn of(rank: u32, schedule: &RankSchedule) -> RankInspection {
        let mut sums = RankInspection {
            rank,
            requires: schedule.ends().len() as u64,
            irequires: schedule.begins().len() as u64,
            roots: schedule.roots().len() as u64,
            ..RankInspection::default()
        };
        for task in schedule.tasks() {
            let (count, sum) = match task.kind {
                TaskKind::Send => (&mut sums.sends, &mut sums.send_bytes),
                TaskKind::Recv => (&mut sums.recvs, &mut sums.recv_bytes),
                TaskKind::Calc => (&mut sums.calcs, &mut sums.calc_ns),
            };
            *count += 1;
            *sum = sum.saturating_add(task.size);
            sums.cpus = sums.cpus.max(u32::from(task.cpu) + 1);
            sums.nics = sums.nics.max(u32::from(task.nic) + 1);
        }
        sums
    }
}

fn is_binary(file: &[u8]) -> bool {
    file.starts_with(&binary::COOKIE.to_le_bytes())
}

fn is_goal(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("goal"))
}

/// The schedules in a folder, by name: `.goal`, and `.bin` with the start of the binary form. Other files are not
/// opened, because a folder may be large.
fn schedules_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let is_bin = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("bin"));
            // Archives made on macOS contain files named ._NAME that hold no schedule.
            let hidden = path
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            !hidden && path.is_file() && (is_goal(path) || is_bin && is_binary(&first_bytes(path)))
        })
        .collect();
    found.sort();
    found
}

/// The file meant by `path`: itself, or the only schedule of a folder.
fn file_of(path: &Path) -> Result<PathBuf, FormatError> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    let mut found = schedules_in(path);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(FormatError::about(
            path,
            "there is no GOAL schedule in the folder",
            "a GOAL schedule",
        )),
        count => {
            let names = found.iter().take(MOST_NAMES).filter_map(|file| file.file_name());
            let names: Vec<_> = names.map(std::ffi::OsStr::to_string_lossy).collect();
            let more = if count > MOST_NAMES { ", ..." } else { "" };
            let problem = format!("the folder holds {count} GOAL schedules: {}{more}", names.join(", "));
            Err(FormatError::about(path, problem, "the path of one of them"))
        }
    }
}

/// The schedule at `path`, and whether it is binary.
fn read(path: &Path, options: &ReadOptions) -> Result<(Schedule, bool), FormatError> {
    let path = &file_of(path)?;
    let file =
        read_regular(path, LONGEST).map_err(|cause| FormatError::about(path, cause.to_string(), "a GOAL schedule"))?;
    let stop = || options.cancellation.is_requested();
    let binary = is_binary(&file);
    let schedule = match binary {
        true => binary::read(&file, &stop),
        false => text::read(&file, &stop),
    };
    match schedule {
        Ok(schedule) => Ok((schedule, binary)),
        Err(_) if stop() => Err(FormatError::cancelled(path)),
        Err(GoalError {
            place,
            problem,
            expected,
        }) => Err(FormatError {
            place: place.to_string(),
            ..FormatError::about(path, problem, expected)
        }),
    }
}

/// The first bytes of a file; empty if it is not a file.
fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    if path.is_file()
        && let Ok(file) = std::fs::File::open(path)
    {
        // An unreadable file has no format.
        let _ = file.take(4096).read_to_end(&mut bytes);
    }
    bytes
}

impl TraceFormat for Goal {
    fn name(&self) -> &'static str {
        "GOAL"
    }

    fn files(&self) -> &'static str {
        "a GOAL schedule (.goal, LogGOPSim's binary form, or the folder of one)"
    }

    fn detect(&self, path: &Path) -> bool {
        if is_goal(path) && path.is_file() {
            return true;
        }
        let bytes = first_bytes(path);
        is_binary(&bytes) || bytes.trim_ascii_start().starts_with(b"num_ranks")
    }

    fn is_among(&self, folder: &Path) -> bool {
        !schedules_in(folder).is_empty()
    }

    /// A task of the binary form takes 39 bytes, and two operations of some 80 bytes in memory.
    fn least_memory(&self, path: &Path) -> u64 {
        let length = |file: PathBuf| std::fs::metadata(file).map_or(0, |file| file.len());
        file_of(path).map_or(0, length).saturating_mul(4)
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Opened, FormatError> {
        let (schedule, _) = read(path, options)?;
        let stop = || options.cancellation.is_requested();
        let program = match GoalProgram::new(schedule, options.compute_scale, &stop) {
            None => return Err(FormatError::cancelled(path)),
            Some(program) => program.map_err(|problem| FormatError::about(path, problem, "fewer"))?,
        };
        Ok(Opened {
            program: Arc::new(program),
            does_io: false,
            damage: None,
        })
    }

    fn inspect(&self, path: &Path, options: &ReadOptions) -> Result<String, FormatError> {
        let (schedule, binary) = read(path, options)?;
        let ranks: Vec<RankInspection> = (0..)
            .zip(schedule.ranks())
            .map(|(rank, schedule)| RankInspection::of(rank, schedule))
            .collect();
        let sum = |of: fn(&RankInspection) -> u64| ranks.iter().map(of).fold(0, u64::saturating_add);
        let counts = [
            ("calc", sum(|rank| rank.calcs)),
            ("recv", sum(|rank| rank.recvs)),
            ("send", sum(|rank| rank.sends)),
        ];
        let inspection = Inspection {
            format: "goal",
            form: if binary { "binary" } else { "text" },
            name: file_of(path)?
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            nranks: ranks.len() as u32,
            total_calc_ns: sum(|rank| rank.calc_ns),
            total_collective_calls: BTreeMap::new(),
            total_irequires: sum(|rank| rank.irequires),
            total_op_counts: counts.into_iter().filter(|&(_, count)| count > 0).collect(),
            total_persistent_starts: 0,
            total_records: counts.iter().map(|(_, count)| count).sum(),
            total_recv_bytes: sum(|rank| rank.recv_bytes),
            total_recvs_posted: sum(|rank| rank.recvs),
            total_requires: sum(|rank| rank.requires),
            total_send_bytes: sum(|rank| rank.send_bytes),
            total_sends: sum(|rank| rank.sends),
            ranks,
        };
        serde_json::to_value(inspection)
            .map(|value| value.to_string())
            .map_err(|cause| FormatError::about(path, format!("cannot be shown: {cause}"), ""))
    }
}
