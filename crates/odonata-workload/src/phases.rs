//! Programs one after the other, and again: phases of a job.

use std::sync::Arc;

use odonata_units::Time;

use crate::program::{ReportText, Seen, operations};
use crate::{After, Algorithm, Collective, Comm, Counts, Cursor, Group, LogGops, Op, OpId, OpKind, Program};

/// Programs that the same ranks run one after the other, the whole of it several times.
///
/// Every rank goes on to the next phase when its own part of a phase is complete; nobody waits for
/// anybody unless the programs do. What must not clash between phases is renumbered:
///
/// | what | in the phases |
/// |---|---|
/// | operations | numbered through, `After` along with them |
/// | marks | numbered through, in the order in which they come |
/// | files | each phase has its own: its place in the list stands in the upper 8 bits; or those of [another](Phases::with_files). A repetition uses the same files again |
/// | memory | each phase begins with its own at 0, but for what is [kept](Program::kept) |
/// | communicators, size lists | each phase has its own, except for [`Comm::WORLD`] |
/// | collectives with an algorithm of the program's own | on a communicator of the phase that has all ranks, where they were on [`Comm::WORLD`] |
/// | requests | used again: a program has waited for all of its own when it ends |
/// | tags | used again: messages of one sender match in the order of sending |
///
/// A wildcard receive at the end of a phase may therefore take a message of the next one, as in MPI. Streams
/// run through: with several of them, the next phase begins on each when that stream is free.
/// Phases of phases are not possible; write one list.
#[derive(Debug)]
pub struct Phases {
    phases: Vec<Arc<dyn Program>>,
    repeat: u32,
    /// The phase whose files each has.
    files: Vec<u32>,
    /// Words that phases share.
    kept: usize,
}

/// How far a rank is in a program of [`Phases`]; all zero in others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PhaseCursor {
    /// Phases that are complete, over all repetitions.
    pub done: u32,
    /// Number of the first operation of the phase under way.
    pub first_op: u32,
    /// Marks so far.
    pub marks: u32,
}

/// Bits of a file's number that are the program's own.
pub const FILE_BITS: u32 = 56;
/// Bits of a communicator's number that are the program's own; two numbers of 32 bits follow from it.
const COMM_BITS: u32 = 23;
/// The number, among a phase's own, of the communicator of all ranks on which its program names the algorithms.
const OWN_WORLD: u32 = (1 << COMM_BITS) - 1;
/// Bits of the number of a size list that are the program's own.
const COUNTS_BITS: u32 = 24;

/// The most operations of a rank: that of the ranks that are looked at. A corner of a box in a mesh has
/// 7 neighbors where the inside has 26, so others may have up to four times as many.
const MOST_OPERATIONS: u64 = 1 << 30;

impl Phases {
    /// The phase and the number in it of report `report`; those of a program by itself are of phase 0.
    pub const fn split_report(report: u32) -> (u32, u32) {
        (report >> REPORT_BITS, report & ((1 << REPORT_BITS) - 1))
    }

    /// The most phases in a list.
    pub const MOST: usize = 128;

    /// `phases`, one after the other, `repeat` times.
    ///
    /// # Errors
    /// There are none or more than [`Phases::MOST`], no repetition, programs of different numbers of ranks,
    /// or more operations than can be numbered.
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
            // How long a program with memory is, only its run can tell.
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
            return Err(format!("phases that share {kept} and {other} words of memory"));
        }
        Ok(Phases {
            files: (0..phases.len() as u32).collect(),
            phases,
            repeat,
            kept,
        })
    }

    /// The same with the files of phase `files[i]` for phase `i`.
    #[must_use]
    pub fn with_files(mut self, files: Vec<u32>) -> Phases {
        debug_assert_eq!(files.len(), self.phases.len());
        self.files = files;
        self
    }

    /// Where the words of phase `phase` begin among those of all.
    fn first_word(&self, phase: usize) -> usize {
        self.kept - self.phases[phase].kept()
    }
}

/// The file that an operation is on.
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

/// Whether `program` names the algorithm of this collective of all ranks.
fn own_algorithm(program: &dyn Program, kind: &OpKind) -> bool {
    match kind {
        OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
            collective.comm() == Comm::WORLD && program.algorithm(collective).is_some()
        }
        _ => false,
    }
}

/// `op` of phase number `phase`, which has the files of phase `files`, with the names that are unique over all phases.
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
    match &mut op.kind {
        OpKind::Send { comm, .. }
        | OpKind::Ssend { comm, .. }
        | OpKind::Isend { comm, .. }
        | OpKind::Issend { comm, .. }
        | OpKind::Recv { comm, .. }
        | OpKind::Irecv { comm, .. }
        | OpKind::Sendrecv { comm, .. }
        | OpKind::Probe { comm, .. }
        | OpKind::Iprobe { comm, .. }
        | OpKind::SendInit { comm, .. }
        | OpKind::RecvInit { comm, .. }
        | OpKind::CommFree { comm } => *comm = comm_of(phase, *comm),
        OpKind::CommDup { comm, new } | OpKind::CommSplit { comm, new } | OpKind::CommCreate { comm, new } => {
            *comm = comm_of(phase, *comm);
            *new = comm_of(phase, *new);
        }
        OpKind::Collective(collective) | OpKind::Icollective { collective, .. } => {
            if own_algorithm {
                *collective.comm_mut() = Comm(OWN_WORLD);
            }
            rename_collective(collective, phase);
        }
        OpKind::Open { file }
        | OpKind::Close { file }
        | OpKind::Metadata { file, .. }
        | OpKind::Read { file, .. }
        | OpKind::Write { file, .. }
        | OpKind::Iread { file, .. }
        | OpKind::Iwrite { file, .. } => *file |= u64::from(files) << FILE_BITS,
        OpKind::Mark { iteration } => *iteration = cursor.marks,
        OpKind::Report { report, .. } => *report = report_of(phase, *report),
        OpKind::Compute { .. }
        | OpKind::Elapsed(_)
        | OpKind::Start { .. }
        | OpKind::StartAll { .. }
        | OpKind::RequestFree { .. }
        | OpKind::Wait { .. }
        | OpKind::WaitAll { .. }
        | OpKind::WaitAny { .. }
        | OpKind::WaitSome { .. }
        | OpKind::Test { .. }
        | OpKind::TestAny { .. }
        | OpKind::TestAll { .. }
        | OpKind::TestSome { .. } => {}
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

/// Bits of the number of a report that are the program's own.
const REPORT_BITS: u32 = 24;

/// The number of report `report` of phase `phase` among those of all phases.
fn report_of(phase: u32, report: u32) -> u32 {
    match report {
        u32::MAX => report,
        own => own | phase << REPORT_BITS,
    }
}

impl Phases {
    /// The next operation; or, where there is none, why the phase under way cannot go on, if that is so.
    fn step(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Result<Op, Option<String>> {
        let count = self.phases.len() as u32;
        let mut at = *cursor;
        // A whole round without an operation for this rank is the end: the next one would be the same.
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
                        "operation {} of phase {phase} is on file {file}: the files of phases have numbers below 2^{FILE_BITS}",
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
                // The memory of the next phase is there now.
                *cursor = at;
            }
        }
        Err(None)
    }
}

impl Program for Phases {
    fn look_ahead(&self) -> u32 {
        self.phases.iter().map(|phase| phase.look_ahead()).max().unwrap_or(1)
    }

    /// If one of them is run as a whole: each rank begins with a phase when it has ended the one before.
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
        // One of them is in the middle of what it could not do.
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
