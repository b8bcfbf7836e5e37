//! Programs in sequence, repeatedly: phases of a job.

use std::sync::Arc;

use odonata_units::Time;

use crate::program::{ReportText, Seen, operations};
use crate::{After, Algorithm, Collective, Comm, Counts, Cursor, Group, LogGops, Op, OpId, OpKind, Program};

/// Programs that the same ranks run in sequence, the whole sequence several times.
///
/// A rank proceeds to the next phase when its own part of a phase is complete; only the programs synchronize ranks.
/// Names that would clash between phases are renumbered:
///
/// | name | in the phases |
/// |---|---|
/// | operations | numbered consecutively, including `After` |
/// | marks | numbered consecutively, in order of occurrence |
/// | files | separate per phase, with the phase in the upper 8 bits; or the files of [another phase](Phases::with_files). A repetition reuses the files |
/// | memory | each phase begins with zeros, except for [kept](Program::kept) words |
/// | communicators, size lists | separate per phase, except for [`Comm::WORLD`] |
/// | collectives with an algorithm chosen by the program | on a communicator of the phase with all ranks, instead of [`Comm::WORLD`] |
/// | requests | reused: a program has waited for all its requests when it ends |
/// | tags | reused: messages of one sender match in order of sending |
///
/// A wildcard receive at the end of a phase may therefore match a message of the next one, as in MPI. Streams are
/// independent: on each stream, the next phase begins when that stream is free. Nested phases are not supported; write
/// one list.
#[derive(Debug)]
pub struct Phases {
    phases: Vec<Arc<dyn Program>>,
    repeat: u32,
    /// The phase whose files each phase uses.
    files: Vec<u32>,
    /// Memory words shared by the phases.
    kept: usize,
}

/// The progress of a rank in [`Phases`]; zero in other programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PhaseCursor {
    /// Completed phases, over all repetitions.
    pub done: u32,
    /// Number of the first operation of the current phase.
    pub first_op: u32,
    /// Marks so far.
    pub marks: u32,
}

/// Bits of a file number available to the program.
pub const FILE_BITS: u32 = 56;
/// Bits of a communicator number available to the program; two 32-bit numbers derive from it.
const COMM_BITS: u32 = 23;
/// The phase-local communicator of all ranks on which its program chooses the algorithms.
const OWN_WORLD: u32 = (1 << COMM_BITS) - 1;
/// Bits of a size list's number available to the program.
const COUNTS_BITS: u32 = 24;

/// Maximum number of operations of the sampled ranks. A corner of a mesh of boxes has 7 neighbors and the inside 26, so
/// other ranks may have up to four times as many.
const MOST_OPERATIONS: u64 = 1 << 30;

impl Phases {
    /// The phase of report `report`, and its number there; a single program is phase 0.
    pub const fn split_report(report: u32) -> (u32, u32) {
        (report >> REPORT_BITS, report & ((1 << REPORT_BITS) - 1))
    }

    /// Maximum number of phases in a list.
    pub const MOST: usize = 128;

    /// `phases` in sequence, `repeat` times.
    ///
    /// # Errors
    /// There are none or more than [`Phases::MOST`], no repetition, programs with different numbers of ranks, or too
    /// many operations.
    pub fn new(phases: Vec<Arc<dyn Program>>, repeat: u32) -> Result<Self, String> {
        if phases.is_empty() || phases.len() > Phases::MOST {
            return Err(format!("{} phases: expected 1 to {}", phases.len(), Phases::MOST));
        }
        if repeat == 0 {
            return Err("no repetition: expected at least 1".into());
        }
        let ranks = phases[0].ranks();
        if let Some(other) = phases.iter().find(|phase| phase.ranks() != ranks) {
            return Err(format!("phases of {ranks} and {} ranks", other.ranks()));
        }
        let most = MOST_OPERATIONS / u64::from(repeat);
        for rank in [0, ranks / 2, ranks.saturating_sub(1)] {
            let mut total = 0;
            // The length of a program with memory is known only from its run.
            for phase in phases.iter().filter(|phase| phase.memory() == 0) {
                total += operations(phase.as_ref(), rank).take(most as usize + 1).count() as u64;
                if total > most {
                    return Err(format!(
                        "{repeat} repetitions of {total} or more operations: a rank can have 2^30 of them"
                    ));
                }
            }
        }
        if phases.len() as u64 * u64::from(repeat) >= u64::from(u32::MAX) {
            return Err(format!(
                "{repeat} repetitions of {} phases: too many to number",
                phases.len()
            ));
        }
        let kept = phases.iter().map(|phase| phase.kept()).max().unwrap_or(0);
        if let Some(other) = phases
            .iter()
            .map(|phase| phase.kept())
            .find(|&own| own != 0 && own != kept)
        {
            return Err(format!("phases with {kept} and {other} words of shared memory"));
        }
        Ok(Phases {
            files: (0..phases.len() as u32).collect(),
            phases,
            repeat,
            kept,
        })
    }

    /// Makes phase `i` use the files of phase `files[i]`.
    #[must_use]
    pub fn with_files(mut self, files: Vec<u32>) -> Phases {
        debug_assert_eq!(files.len(), self.phases.len());
        self.files = files;
        self
    }

    /// First memory word of phase `phase`.
    fn first_word(&self, phase: usize) -> usize {
        self.kept - self.phases[phase].kept()
    }
}

/// The file of an operation.
fn file_of(kind: &OpKind) -> Option<u64> {
    match *kind {
        OpKind::Open { file }
        | OpKind::Close { file }
        | OpKind::Metadata { file, .. }
        | OpKind::Read { file, .. }
        | OpKind::Write { file, .. }
        | OpKind::Iread { file, .. }
        | OpKind::Iwrite { file, .. } => Some(file),
        _ => None,
    }
}

/// Whether `program` chooses the algorithm of this collective of all ranks.
fn own_algorithm(program: &dyn Program, kind: &OpKind) -> bool {
    match kind {
        OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
            collective.comm() == Comm::WORLD && program.algorithm(collective).is_some()
        }
        _ => false,
    }
}

/// Renames `op` of phase number `phase`, which uses the files of phase `files`: names become unique over all phases.
fn rename(op: &mut Op, (phase, files): (u32, u32), cursor: &PhaseCursor, own_algorithm: bool) {
    op.id.0 += cursor.first_op;
    if cursor.first_op > 0 && !op.after.is_none() {
        let mut ids = [OpId(0); After::MOST];
        let mut count = 0;
        for (slot, id) in ids.iter_mut().zip(op.after.iter()) {
            *slot = OpId(id.0 + cursor.first_op);
            count += 1;
        }
        op.after = After::from_slice(&ids[..count]).unwrap_or(op.after);
    }
    if let OpKind::Collective(collective) | OpKind::Icollective { collective, .. } = &mut op.kind {
        if own_algorithm {
            *collective.comm_mut() = Comm(OWN_WORLD);
        }
        rename_collective(collective, phase);
    } else if let Some(comm) = op.kind.comm_mut() {
        *comm = comm_of(phase, *comm);
    }
    match &mut op.kind {
        OpKind::CommDup { new, .. } | OpKind::CommSplit { new, .. } | OpKind::CommCreate { new, .. } => {
            *new = comm_of(phase, *new);
        }
        OpKind::OneSided(call) => call.rename(|comm| comm_of(phase, comm)),
        OpKind::Open { file }
        | OpKind::Close { file }
        | OpKind::Metadata { file, .. }
        | OpKind::Read { file, .. }
        | OpKind::Write { file, .. }
        | OpKind::Iread { file, .. }
        | OpKind::Iwrite { file, .. } => *file |= u64::from(files) << FILE_BITS,
        OpKind::Mark { iteration } => *iteration = cursor.marks,
        OpKind::Report { report, .. } => *report = report_of(phase, *report),
        _ => {}
    }
}

fn rename_collective(collective: &mut Collective, phase: u32) {
    let comm = collective.comm_mut();
    *comm = comm_of(phase, *comm);
    if let Some(counts) = collective.counts_mut() {
        counts.0 |= phase << COUNTS_BITS;
    }
}

/// The number of communicator `comm` of phase `phase` among those of all phases.
fn comm_of(phase: u32, comm: Comm) -> Comm {
    match comm {
        Comm::WORLD => comm,
        Comm(number) => Comm(number | phase << COMM_BITS),
    }
}

/// Bits of a report's number available to the program.
const REPORT_BITS: u32 = 24;

/// The number of report `report` of phase `phase` among those of all phases.
fn report_of(phase: u32, report: u32) -> u32 {
    match report {
        u32::MAX => report,
        own => own | phase << REPORT_BITS,
    }
}

impl Phases {
    /// The next operation; or, without one, the failure of the current phase, if it failed.
    fn step(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Result<Op, Option<String>> {
        let count = self.phases.len() as u32;
        let mut at = *cursor;
        // A whole round without an operation for this rank is the end: further rounds would be equal.
        for _ in 0..=count {
            if at.phase.done >= count * self.repeat {
                return Err(None);
            }
            let phase = at.phase.done % count;
            let mut inner = Cursor {
                op: at.op - at.phase.first_op,
                words: at.words,
                ..Cursor::default()
            };
            let first = self.first_word(phase as usize);
            let mut own = Seen {
                memory: seen.memory.get_mut(first..).unwrap_or_default(),
                now: seen.now,
                answer: seen.answer,
                lost: seen.lost,
                failure: seen.failure.take(),
            };
            let found = self.phases[phase as usize].next_with(rank, &mut inner, &mut own);
            seen.failure = own.failure;
            if let Some(mut op) = found {
                if let Some(file) = file_of(&op.kind).filter(|file| count > 1 && file >> FILE_BITS > 0) {
                    let why = format!(
                        "operation {} of phase {phase} is on file {file}: files of phases have numbers below \
                         2^{FILE_BITS}",
                        op.id.0
                    );
                    if self.memory() > 0 {
                        seen.failure = Some(why.clone());
                    }
                    return Err(Some(why));
                }
                let own = own_algorithm(self.phases[phase as usize].as_ref(), &op.kind);
                rename(&mut op, (phase, self.files[phase as usize]), &at.phase, own);
                at.op = at.phase.first_op + inner.op;
                at.words = inner.words;
                at.phase.marks += u32::from(matches!(op.kind, OpKind::Mark { .. }));
                *cursor = at;
                return Ok(op);
            }
            if let Some(why) = self.phases[phase as usize].broken(rank, &inner) {
                return Err(Some(why));
            }
            if seen.failure.is_some() {
                *cursor = at;
                return Err(None);
            }
            seen.memory.iter_mut().skip(self.kept).for_each(|word| *word = 0);
            at.words = Default::default();
            at.phase.done += 1;
            at.phase.first_op = at.op;
            if self.memory() > 0 {
                // The memory of the next phase is valid now.
                *cursor = at;
            }
        }
        Err(None)
    }
}

/// Whether `comm` is the world of a program, or that of one of its phases.
pub(crate) fn is_world(comm: Comm) -> bool {
    comm == Comm::WORLD || comm.0 & OWN_WORLD == OWN_WORLD
}

impl Program for Phases {
    fn look_ahead(&self) -> u32 {
        self.phases.iter().map(|phase| phase.look_ahead()).max().unwrap_or(1)
    }

    fn has_one_stream(&self) -> bool {
        self.phases.iter().all(|phase| phase.has_one_stream())
    }

    /// If a phase runs as a whole, each rank begins a phase when it has ended the previous one.
    fn under_loggops(&self, params: &LogGops) -> Option<Arc<dyn Program>> {
        let modelled: Vec<_> = self.phases.iter().map(|phase| phase.under_loggops(params)).collect();
        modelled.iter().any(Option::is_some).then(|| {
            let phases = modelled.into_iter().zip(&self.phases);
            let phases = phases.map(|(modelled, phase)| modelled.unwrap_or_else(|| phase.clone()));
            Arc::new(Phases {
                phases: phases.collect(),
                repeat: self.repeat,
                files: self.files.clone(),
                kept: self.kept,
            }) as Arc<dyn Program>
        })
    }

    fn ranks(&self) -> u32 {
        self.phases[0].ranks()
    }

    fn phases(&self) -> Option<(&[Arc<dyn Program>], u32)> {
        Some((&self.phases, self.repeat))
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        let mut seen = Seen {
            memory: &mut [],
            now: None,
            answer: 0,
            lost: false,
            failure: None,
        };
        self.next_with(rank, cursor, &mut seen)
    }

    fn memory(&self) -> usize {
        let own = self.phases.iter().map(|phase| phase.memory() - phase.kept());
        self.kept + own.max().unwrap_or(0)
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        self.step(rank, cursor, seen).ok()
    }

    fn reads_survivors(&self, cursor: &Cursor) -> bool {
        let phase = cursor.phase.done as usize % self.phases.len();
        self.phases[phase].reads_survivors(cursor)
    }

    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        if self.memory() > 0 {
            return None;
        }
        let mut seen = Seen {
            memory: &mut [],
            now: None,
            answer: 0,
            lost: false,
            failure: None,
        };
        self.step(rank, &mut { *cursor }, &mut seen).err().flatten()
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let phase = self.phases.get((comm.0 >> COMM_BITS) as usize)?;
        match comm.0 & OWN_WORLD {
            OWN_WORLD => Some(Group::world(self.ranks())),
            own => phase.group(rank, Comm(own)),
        }
    }

    fn names(&self, algorithm: Algorithm) -> bool {
        self.phases.iter().any(|phase| phase.names(algorithm))
    }

    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        let (phase, own) = (collective.comm().0 >> COMM_BITS, collective.comm().0 & OWN_WORLD);
        let mut as_it_was = *collective;
        *as_it_was.comm_mut() = match own {
            OWN_WORLD => Comm::WORLD,
            _ if collective.comm() == Comm::WORLD => return None,
            own => Comm(own),
        };
        self.phases.get(phase as usize)?.algorithm(&as_it_was)
    }

    fn failure(&self, rank: u32, memory: &[u64], now: Time) -> Option<String> {
        // A phase failed midway.
        let of = |(number, phase): (usize, &Arc<dyn Program>)| {
            let own = memory.get(self.first_word(number)..).unwrap_or_default();
            phase.failure(rank, own, now)
        };
        self.phases.iter().enumerate().find_map(of)
    }

    fn clock(&self) -> Option<String> {
        self.phases.iter().find_map(|phase| phase.clock())
    }

    fn report(&self, report: u32) -> Option<ReportText> {
        let (phase, own) = Phases::split_report(report);
        self.phases.get(phase as usize)?.report(own)
    }

    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let phase = self.phases.get((counts.0 >> COUNTS_BITS) as usize);
        let own = Counts(counts.0 & ((1 << COUNTS_BITS) - 1));
        phase.map_or(0, |phase| phase.bytes(rank, own, from, to))
    }

    fn describe(&self) -> String {
        let phases: Vec<String> = self.phases.iter().map(|phase| phase.describe()).collect();
        let times = match self.repeat {
            1 => String::new(),
            n => format!("{n} times "),
        };
        let (open, close) = if self.repeat > 1 && phases.len() > 1 {
            ("(", ")")
        } else {
            ("", "")
        };
        format!("{times}{open}{}{close}", phases.join("; then "))
    }
}
