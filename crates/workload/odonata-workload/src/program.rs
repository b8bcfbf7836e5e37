//! Rank programs: the sources of operations.

use std::sync::Arc;

use odonata_units::Time;

use crate::aggregate::Aggregate;
use crate::phases::PhaseCursor;
use crate::{After, Algorithm, Collective, Comm, Counts, Group, LogGops, Op, OpId, OpKind, Parallelism};

/// The position of a rank in its program.
///
/// It holds all state of a rank in its program. So an engine that has run ahead rolls back a rank by restoring its
/// cursor, and 100,000 ranks cost 36 bytes each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Cursor {
    /// Number of the next operation; the default, 0, is the start of the program.
    pub op: u32,
    /// For the program's own use (loop counters, read positions).
    pub words: [u32; 5],
    /// For [`Phases`](crate::Phases), which lends the words to the current phase.
    pub phase: PhaseCursor,
}

impl Cursor {
    /// Returns the operation found by `find` as the next one of stream 0, without further predecessors: sufficient for
    /// a sequential program. `find` advances the [`words`](Cursor::words); if it finds none, they stay unchanged.
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

/// Inputs of a program besides its cursor.
#[derive(Debug)]
pub struct Seen<'a> {
    /// The rank's memory words, [`Program::memory`] of them, initially zero. They are kept, rolled back and saved like
    /// the cursor.
    pub memory: &'a mut [u64],
    /// Simulated time at the end of the previous operation; `None` without a clock, as in listings.
    pub now: Option<Time>,
    /// The tag that the rank's last wildcard receive took; 0 before.
    pub answer: u32,
    /// Whether data read since the last call is lost; for programs that [ask for it](Program::reads_survivors).
    pub lost: bool,
    /// The reason why the program cannot continue. Set by the program, which then ends.
    pub failure: Option<String>,
}

/// The layout of a report from the values that [`OpKind::Report`] recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportText {
    /// A line of text.
    Line {
        /// Texts, and indices of values.
        pieces: Vec<Result<String, u32>>,
        /// Number of values.
        values: u32,
    },
    /// Values in columns.
    Columns {
        /// The columns.
        columns: Vec<ReportColumn>,
        /// Number of values.
        values: u32,
    },
}

/// One column of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportColumn {
    /// Its heading: texts, and indices of values.
    pub label: Vec<Result<String, u32>>,
    /// The aggregate over several reports.
    pub aggregate: Aggregate,
    /// The value with the percentile.
    pub percent: Option<u32>,
    /// The value shown.
    pub value: u32,
}

/// A program of a parallel job, pulled one operation at a time.
///
/// [`next`](Program::next) is a pure function of rank and cursor: the same cursor always gives the same operation and
/// the same next cursor. It is lazy, and allocates nothing: the future of a rank is never stored.
#[auto_impl::auto_impl(Arc)]
pub trait Program: Send + Sync + std::fmt::Debug {
    /// Number of ranks of the job.
    fn ranks(&self) -> u32;

    /// The operation of `rank` at `cursor`, which advances; `None` (with the cursor unchanged) at the end of the
    /// program, or for an invalid rank.
    fn next(&self, rank: u32, cursor: &mut Cursor) -> Option<Op>;

    /// Maximum number of known, incomplete operations of a rank with several streams: later operations are not
    /// examined. For a graph, the number needed so that no operation is delayed by unrelated ones.
    fn look_ahead(&self) -> u32 {
        256
    }

    /// Whether all operations are in stream 0. If not, the executor of a rank searches for a second stream. Default: it
    /// searches.
    fn has_one_stream(&self) -> bool {
        false
    }

    /// The same program under the LogGOPS model, if the model runs it as a whole: the model gives the end of each rank
    /// ([`OpKind::Elapsed`]). Default: none.
    fn under_loggops(&self, params: &LogGops) -> Option<Arc<dyn Program>> {
        let _ = params;
        None
    }

    /// Whether it states which [parallelism](Program::parallelism) its communication serves, so that exposed times are
    /// recorded. Only for programs with one stream.
    fn has_parallelism(&self) -> bool {
        false
    }

    /// The parallelism that an operation serves.
    fn parallelism(&self, kind: &OpKind) -> Option<Parallelism> {
        let _ = kind;
        None
    }

    /// Number of iteration [marks](OpKind::Mark) of each rank, if known in advance and iterations are about equal.
    fn iterations(&self) -> Option<u32> {
        None
    }

    /// Whether its operations come from user code, which may take any time: no more of it runs than needed.
    fn runs_user_code(&self) -> bool {
        false
    }

    /// The programs that this one runs in sequence, and the number of repetitions, if it consists of phases.
    fn phases(&self) -> Option<(&[Arc<dyn Program>], u32)> {
        None
    }

    /// Bytes that the program itself holds for a rank that has had this many operations, besides cursor and memory.
    fn bytes_per_rank(&self, operations: u64) -> u64 {
        let _ = operations;
        0
    }

    /// Number of memory words per rank besides the cursor. If nonzero, operations come from
    /// [`next_with`](Program::next_with), all in stream 0.
    fn memory(&self) -> usize {
        0
    }

    /// Number of leading memory words that phases share: each phase finds them as the previous one left them.
    fn kept(&self) -> usize {
        0
    }

    /// Like [`next`](Program::next), for a program with [memory](Program::memory): a pure function of rank, cursor and
    /// `seen`, called when all previous operations have ended.
    fn next_with(&self, rank: u32, cursor: &mut Cursor, seen: &mut Seen) -> Option<Op> {
        let _ = seen;
        self.next(rank, cursor)
    }

    /// Whether the program, at `cursor`, handles data lost with a storage server: it is informed ([`Seen::lost`]), and
    /// the run continues. Only for programs with [memory](Program::memory). Default: no, and the client decides about
    /// lost data.
    fn reads_survivors(&self, cursor: &Cursor) -> bool {
        let _ = cursor;
        false
    }

    /// The failure of `rank`'s program, whose `memory` is that at the failure at `now`: the text of [`Seen::failure`]
    /// again.
    fn failure(&self, rank: u32, memory: &[u64], now: Time) -> Option<String> {
        let _ = (rank, memory, now);
        None
    }

    /// The first use of time on which operations depend, as text; `None` if the operations are equal on every machine
    /// and can be listed.
    fn clock(&self) -> Option<String> {
        None
    }

    /// The layout of report number `report`; `None` if it does not exist.
    fn report(&self, report: u32) -> Option<ReportText> {
        let _ = report;
        None
    }

    /// The reason why the program of `rank` cannot continue at `cursor`, where [`next`](Program::next) finds no
    /// operation; `None` if it is complete there. A pure function of rank and cursor, like `next`; programs with memory
    /// use [`Seen::failure`]. Default: programs complete.
    fn broken(&self, rank: u32, cursor: &Cursor) -> Option<String> {
        let _ = (rank, cursor);
        None
    }

    /// The members of communicator `comm` as seen by `rank`; `None` if the rank has no such communicator.
    ///
    /// The members are part of a program's definition, like its operations; the call that creates the communicator
    /// costs its messages, but carries no names. Members of a communicator must use the same number and get the same
    /// answer; disjoint communicators, such as the rows of a grid, may share a number. Default: all ranks of the job,
    /// for every number.
    fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let _ = (rank, comm);
        Some(Group::world(self.ranks()))
    }

    /// The sizes of list `counts` as seen by `rank`: bytes that member `from` of the communicator gives to member `to`.
    /// If a member gives the same to all (all-gather), `to` has no meaning; if blocks are shares of a common result
    /// (reduce-scatter), `from` has none.
    ///
    /// A rank queries only what MPI lets it know: its own sends and receives, and the whole list if the call has it as
    /// an argument.
    fn bytes(&self, rank: u32, counts: Counts, from: u32, to: u32) -> u64 {
        let _ = (rank, counts, from, to);
        0
    }

    /// The program's own choice of algorithm for `collective`, instead of the scenario's; segments and windows come
    /// from the [rules](crate::collective::Rules::sizes). All ranks of the communicator get the same answer. Default:
    /// none.
    fn algorithm(&self, collective: &Collective) -> Option<Algorithm> {
        let _ = collective;
        None
    }

    /// Whether [`algorithm`](Self::algorithm) names `algorithm` for some collective.
    fn names(&self, algorithm: Algorithm) -> bool {
        let _ = algorithm;
        false
    }

    /// A description, one line: name, layout, sizes.
    fn describe(&self) -> String;
}

/// All operations of one rank from the start, without a clock; for tests, listings and exports.
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
/// There are no iterations, or too many operations.
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
