//! Rank programs: where operations come from.

use crate::{After, Op, OpId, OpKind};

/// Where a rank stands in its program.
///
/// All that a program may remember of a rank is in here, so that an engine which has run ahead can
/// take a rank back by restoring its cursor, and 100,000 ranks cost 24 bytes each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Number of the next operation; the default, 0, is the start of the program.
    pub op: u32,
    /// For the program's own use (loop counters, read positions).
    pub words: [u32; 5],
}

impl Cursor {
    /// Hands out `kind` as the next operation of stream 0, after nothing but its predecessor, and
    /// moves on: all that a sequential program needs.
    #[inline]
    pub fn emit(&mut self, kind: OpKind) -> Op {
        let id = OpId(self.op);
        self.op = self.op.wrapping_add(1);
        Op {
            id,
            stream: 0,
            after: After::NONE,
            kind,
        }
    }
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

    /// One line for people: name, layout, sizes.
    fn describe(&self) -> String;
}

/// All operations of one rank, from the start; for tests, listings and exports.
pub fn operations(program: &dyn Program, rank: u32) -> impl Iterator<Item = Op> {
    let mut cursor = Cursor::default();
    std::iter::from_fn(move || program.next(rank, &mut cursor))
}
