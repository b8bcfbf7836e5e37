//! Roles and groups of ranks: rank t + T (d + D s), with tensor, data and pipeline ranks in Megatron-LM's order.

use super::{DATA, EXPERT, SAME_EXPERTS, TENSOR};
use crate::{Comm, Group};

/// Number of parallel ranks of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// T.
    pub tensor: u32,
    /// D.
    pub data: u32,
    /// Stages.
    pub pipeline: u32,
    /// Ranks of an expert group, which are consecutive data-parallel ranks.
    pub expert: u32,
}

impl Layout {
    /// All ranks.
    pub(super) fn ranks(&self) -> u64 {
        [self.tensor, self.data, self.pipeline]
            .into_iter()
            .fold(1, |product: u64, factor| product.saturating_mul(u64::from(factor)))
    }

    /// Ranks of a stage.
    pub(super) fn stage_stride(&self) -> u32 {
        self.tensor * self.data
    }

    /// Tensor rank, data rank and stage of `rank`.
    pub(super) fn place(&self, rank: u32) -> (u32, u32, u32) {
        (
            rank % self.tensor,
            rank / self.tensor % self.data,
            rank / self.stage_stride(),
        )
    }

    /// The members of `comm` as seen by `rank`.
    pub(super) fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let (tensor, data, stage) = self.place(rank);
        let at = |tensor: u32, data: u32| tensor + self.tensor * (data + self.data * stage);
        let strided = |first, stride, count| Some(Group::Strided { first, stride, count });
        match comm {
            Comm::WORLD => Some(Group::world(self.ranks() as u32)),
            TENSOR => strided(at(0, data), 1, self.tensor),
            DATA => strided(at(tensor, 0), self.tensor, self.data),
            EXPERT => strided(at(tensor, data - data % self.expert), self.tensor, self.expert),
            SAME_EXPERTS => strided(
                at(tensor, data % self.expert),
                self.tensor * self.expert,
                self.data / self.expert,
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rank is in its groups, members of a group agree on it, and groups of a kind partition the ranks.
    #[test]
    fn groups_of_a_kind_part_the_ranks() {
        let layout = Layout {
            tensor: 2,
            data: 6,
            pipeline: 3,
            expert: 3,
        };
        for (comm, members) in [(TENSOR, 2), (DATA, 6), (EXPERT, 3), (SAME_EXPERTS, 2)] {
            for rank in 0..36 {
                let group = layout.group(rank, comm).unwrap();
                assert_eq!(group.len(), members);
                assert!(group.member(rank).is_some(), "{comm:?} of {rank}");
                for member in 0..members {
                    assert_eq!(layout.group(group.rank(member).unwrap(), comm), Some(group.clone()));
                }
            }
        }
        assert_eq!(layout.place(2 + 1 + 2 * 6 * 2), (1, 1, 2));
        assert_eq!(layout.group(0, Comm(9)), None);
    }
}
