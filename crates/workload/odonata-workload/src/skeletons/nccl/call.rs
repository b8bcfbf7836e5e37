//! A call of NCCL within another program: its operations by position, for the members of a communicator.

use super::Nccl;
use crate::{Comm, Cursor, Op, OpKind, Program};

impl Nccl {
    /// Operations of a call, at most.
    pub(in crate::skeletons) fn operations(&self) -> u64 {
        let steps = u64::from(self.loops) * u64::from(self.steps);
        steps * self.operations_of_a_step() + 2 * u64::from(self.channels) + 2
    }

    /// Operations of a step over all channels, or of a chunk over all trees.
    pub(super) fn operations_of_a_step(&self) -> u64 {
        match self.params.algorithm.is_by_trees() {
            true => u64::from(self.blocks()) * u64::from(self.slots()),
            false => u64::from(self.channels * self.parts),
        }
    }

    /// Streams of a rank: for each channel one, and one for its pace; for each tree two.
    pub(in crate::skeletons) fn streams(&self) -> u16 {
        let of_channel = match self.params.algorithm.is_by_trees() {
            true => 4,
            false => 1 + u32::from(self.params.channel_bandwidth.is_some()),
        };
        (of_channel * self.channels) as u16
    }

    /// Number of positions of a call for [`next_of_call`](Self::next_of_call).
    pub(in crate::skeletons) fn positions(&self) -> u64 {
        let (inner, places) = self.radices();
        u64::from(self.loops) * u64::from(inner) * u64::from(places)
    }

    /// Steps or trees of a loop, and places of an iteration.
    fn radices(&self) -> (u32, u32) {
        match self.params.algorithm.is_by_trees() {
            true => (self.blocks(), self.places_of_trees()),
            false => (self.steps.max(1), self.joins_end() + 1),
        }
    }

    /// The operation of `member` of `comm` at `position`, below [`positions`](Self::positions) and from 0 on, of a call
    /// within another program; `None` at its end. `op` is its number, and `call` that of the first one.
    pub(in crate::skeletons) fn next_of_call(
        &self,
        (member, comm): (u32, Comm),
        op: u32,
        [position, call]: [&mut u32; 2],
    ) -> Option<Op> {
        let (inner, places) = self.radices();
        let (place, rest) = (*position % places, *position / places);
        let mut cursor = Cursor {
            op,
            words: [0, rest / inner, rest % inner, place, *call],
            ..Cursor::default()
        };
        let mut next = self.next(member, &mut cursor)?;
        if matches!(next.kind, OpKind::Mark { .. }) {
            return None;
        }
        if let Some(world) = next.kind.comm_mut() {
            *world = comm;
        }
        let [_, turn, step, place, first] = cursor.words;
        (*position, *call) = ((turn * inner + step) * places + place, first);
        Some(next)
    }
}
