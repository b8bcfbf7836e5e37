//! Rank programs: where operations come from.

use std::sync::Arc;

use odonata_units::Time;

use crate::aggregate::Aggregate;
use crate::phases::PhaseCursor;
use crate::{After, Algorithm, Collective, Comm, Counts, Group, LogGops, Op, OpId, OpKind};

/// Where a rank stands in its program.
///
/// All that a program may remember of a rank is in here, so that an engine which has run ahead can
/// take a rank back by restoring its cursor, and 100,000 ranks cost 36 bytes each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cursor {
    /// Number of the next operation; the default, 0, is the start of the program.
    pub op: u32,
    /// For the program's own use (loop counters, read positions).
    pub words: [u32; 5],
    /// For [`Phases`](crate::Phases), which lends the words to the phase under way.
    pub phase: PhaseCursor,
}

impl Cursor {
    /// Hands out the operation that `find` arrives at as the next one of stream 0, after nothing but
    /// its predecessor: all that a sequential program needs. `find` gets the [`words`](Cursor::words)
    /// to move them on; where it finds none, they stay as they were.
    #[inline]
    pub fn advance(&mut self, find: impl FnOnce(&mut [u32; 5]) -> Option<OpKind>) -> Option<Op> {
        let mut words = self.words;
        let kind = find(&mut words)?;
        let id = OpId(self.op);
        *self = Cursor {
            op: self.op.wrapping_add(1),
            words,
            phase: self.phase,
        };
        Some(Op {
            id,
            stream: 0,
            after: After::NONE,
            kind,
        })
    }
}

/// What a program may know at a point beside its cursor.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The rank's words, [`Program::memory`] of them, zero at the start. They are kept, rolled back and saved as the
    /// cursor is.
    pub memory: &'a mut [u64],
    /// Simulated time: when the operation before has ended; `None` where there is no clock, as in listings.
    pub now: Option<Time>,
    /// The tag of the message that the rank's last receive of any tag took; 0 before.
    pub answer: u32,
    /// Whether some of what it has read since it was asked last is lost; of programs that
    /// [want to know](Program::reads_survivors).
    pub lost: bool,
    /// Why the program cannot go on: a text for people. Set by the program, which then ends.
    pub failure: Option<String>,
}

/// How a report is put together from the values that [`OpKind::Report`] brought, one by one.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportText {
    /// A line of text.
    Line {
        /// Texts, and numbers of values.
        pieces: Vec<Result<String, u32>>,
        /// How many values there are.
        values: u32,
    },
    /// Values in columns.
    Columns {
        /// The columns.
        columns: Vec<ReportColumn>,
        /// How many values there are.
        values: u32,
    },
}

/// One column of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportColumn {
    /// Its heading: texts, and numbers of values.
    pub label: Vec<Result<String, u32>>,
    /// What is made of the values of several reports.
    pub aggregate: Aggregate,
    /// Which value says the percentile.
    pub percent: Option<u32>,
    /// Which value it shows.
    pub value: u32,
}

/// A program of a parallel job, pulled one operation at a time.
///
/// [`next`](Program::next) is a pure function of rank and cursor: the same cursor gives the same
/// operation and the same cursor afterwards, whoever asks and however often. It is lazy, and
/// allocates nothing: the future of a rank is never laid out in memory.
pub trait Program: Send + Sync + std::fmt::Debug {
    /// Number of ranks of the job.
    fn ranks(&self) -> u32;

    /// The operation of `rank` at `cursor`, which moves on to the following one; `None` (and the
    /// cursor stays) at the end of the program, or for a rank that the job does not have.
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op>;

    /// How many operations of a rank may be known and not complete, where it has several streams: an operation further on is not
    /// looked at. Of a graph, so many that none is kept from beginning by ones that it does not wait for.
    fn look_ahead(&self) -> u32 {
        256
    }

    /// The same program under the LogGOPS model, if it is one that this model runs as a whole: each rank comes to its end
    /// when the model says ([`OpKind::Elapsed`]). Default: it is not.
    fn under_loggops(&self, params: &LogGops) -> Option<Arc<dyn Program>> {
        let _ = params;
        None
    }

    /// How often each rank [marks](OpKind::Mark) the end of an iteration, if it is known without going through the program and one
    /// iteration does about as much as another.
    fn iterations(&self) -> Option<u32> {
        None
    }

    /// Whether its operations come from code of the user, which may take any time: no more of it runs than is needed.
    fn runs_user_code(&self) -> bool {
        false
    }

    /// The programs that this one runs one after the other, and how many times all of them, if it is made of such.
    fn phases(&self) -> Option<(&[Arc<dyn Program>], u32)> {
        None
    }

    /// How many words of memory a rank has beside its cursor. With any, operations are asked of
    /// [`next_with`](Program::next_with), and all are in stream 0.
    fn memory(&self) -> usize {
        0
    }

    /// How many of these words, the first ones, the programs of a list share: each finds them as the one before has left them.
    fn kept(&self) -> usize {
        0
    }

    /// As [`next`](Program::next), of a program with [memory](Program::memory): a pure function of the rank, the
    /// cursor and what is `seen`, which is asked when all operations before have ended.
    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        let _ = seen;
        self.next(rank, cursor)
    }

    /// Whether the program, at `cursor`, reads what may be lost with a storage server: it is told ([`Seen::lost`]), and the run
    /// goes on. Only of programs with [memory](Program::memory). Default: it does not, and what is lost is a matter of the client.
    fn reads_survivors(&self, cursor: &Cursor) -> bool {
        let _ = cursor;
        false
    }

    /// Why the program of `rank`, whose `memory` is that of the failure at `now`, has failed: the text of
    /// [`Seen::failure`] again.
    fn failure(&self, rank: u32, memory: &[u64], now: Time) -> Option<String> {
        let _ = (rank, memory, now);
        None
    }

    /// What in the program asks for the time so that operations follow from it, in words; `None` if they are the same
    /// whatever the machine, so that they can be listed.
    fn clock(&self) -> Option<String> {
        None
    }

    /// How the values of report number `report` are put together; `None` if there is no such report.
    fn report(&self, report: u32) -> Option<ReportText> {
        let _ = report;
        None
    }

    /// Why the program of `rank` cannot go on at `cursor`, where [`next`](Program::next) finds no operation; `None` if it
    /// is complete there. A pure function of rank and cursor, like `next`; programs with memory have
    /// [`Seen::failure`]. Default: programs end as they should.
    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        let _ = (rank, cursor);
        None
    }

    /// The members of communicator `comm` as `rank` knows it; `None` if the rank has no such communicator.
    ///
    /// Who is in a communicator is part of a program's definition, as its operations are; the call that
    /// creates it costs its messages, but carries no names. Ranks that are members of the same
    /// communicator must call it by the same number and get the same answer; disjoint
    /// communicators, such as the rows of a grid, may share a number. Default: all ranks of the job,
    /// under every number.
    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let _ = (rank, comm);
        Some(Group::world(self.ranks()))
    }

    /// What list `counts` says, as `rank` knows it, in bytes: how much member `from` of the communicator
    /// gives to member `to`. Where all give the same to everybody (all-gather), `to` is without
    /// meaning; where what is given is a share of a common result (reduce-scatter), `from` is.
    ///
    /// A rank asks only for what MPI lets it know: what it gives or gets itself, and where the call has
    /// the whole list as an argument, that.
    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let _ = (rank, counts, from, to);
        0
    }

    /// The algorithm that the program itself names for `collective`, in place of that of the scenario; its segments and windows are
    /// those of the [rules](crate::collective::Rules::sizes). All ranks of the communicator get the same answer. Default: none.
    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        let _ = collective;
        None
    }

    /// One line for people: name, layout, sizes.
    fn describe(&self) -> String;
}

impl<P: Program + ?Sized> Program for Arc<P> {
    fn ranks(&self) -> u32 {
        (**self).ranks()
    }

    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op> {
        (**self).next(rank, cursor)
    }

    fn look_ahead(&self) -> u32 {
        (**self).look_ahead()
    }

    fn under_loggops(&self, params: &LogGops) -> Option<Arc<dyn Program>> {
        (**self).under_loggops(params)
    }

    fn iterations(&self) -> Option<u32> {
        (**self).iterations()
    }

    fn runs_user_code(&self) -> bool {
        (**self).runs_user_code()
    }

    fn phases(&self) -> Option<(&[Arc<dyn Program>], u32)> {
        (**self).phases()
    }

    fn memory(&self) -> usize {
        (**self).memory()
    }

    fn kept(&self) -> usize {
        (**self).kept()
    }

    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        (**self).next_with(rank, cursor, seen)
    }

    fn reads_survivors(&self, cursor: &Cursor) -> bool {
        (**self).reads_survivors(cursor)
    }

    fn failure(&self, rank: u32, memory: &[u64], now: Time) -> Option<String> {
        (**self).failure(rank, memory, now)
    }

    fn clock(&self) -> Option<String> {
        (**self).clock()
    }

    fn report(&self, report: u32) -> Option<ReportText> {
        (**self).report(report)
    }

    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        (**self).broken(rank, cursor)
    }

    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        (**self).group(rank, comm)
    }

    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        (**self).bytes(rank, counts, from, to)
    }

    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        (**self).algorithm(collective)
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// All operations of one rank, from the start; for tests, listings and exports. There is no clock.
pub fn operations(program: &dyn Program, rank: u32) -> impl Iterator<Item = Op> {
    let mut cursor = Cursor::default();
    let mut memory = vec![0; program.memory()];
    std::iter::from_fn(move || {
        let mut seen = Seen {
            memory: &mut memory,
            now: None,
            answer: 0,
            lost: false,
            failure: None,
        };
        program.next_with(rank, &mut cursor, &mut seen)
    })
}

/// Checks that a rank's program of `iterations` times `each` operations can be numbered.
///
/// # Errors
/// There are no iterations, or more operations than [`OpId`] has numbers.
pub(crate) fn check_length(iterations: u32, each: u64) -> Result<(), String> {
    if iterations == 0 {
        return Err("iterations is 0: expected at least 1".into());
    }
    match each.checked_mul(u64::from(iterations)) {
        Some(total) if total < u64::from(u32::MAX) => Ok(()),
        _ => Err(format!(
            "{iterations} iterations of {each} operations: a rank can have 2^32 - 2 operations at most"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_that_finds_nothing_stays() {
        let mut cursor = Cursor {
            op: 3,
            words: [1; 5],
            ..Cursor::default()
        };
        let before = cursor;
        let nothing = cursor.advance(|words| {
            words[0] = 9;
            None
        });
        assert_eq!((nothing, cursor), (None, before));
        let op = cursor.advance(|words| {
            words[0] = 9;
            Some(OpKind::Mark { iteration: 0 })
        });
        assert_eq!(op.map(|op| op.id), Some(OpId(3)));
        assert_eq!((cursor.op, cursor.words[0]), (4, 9));
    }

    #[test]
    fn a_program_that_cannot_be_numbered_is_an_error() {
        assert!(check_length(1, u64::from(u32::MAX) - 1).is_ok());
        assert!(check_length(1, u64::from(u32::MAX)).is_err());
        assert!(check_length(2, u64::MAX).is_err());
        assert!(check_length(0, 1).is_err());
    }
}
