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

    /// Distance of the members of `comm`, and their number.
    fn stride_and_members(&self, comm: Comm) -> (u32, u32) {
        match comm {
            TENSOR => (1, self.tensor),
            DATA => (self.tensor, self.data),
            EXPERT => (self.tensor, self.expert),
            SAME_EXPERTS => (self.tensor * self.expert, self.data / self.expert),
            _ => (1, self.ranks() as u32),
        }
    }

    /// Members of `comm`.
    pub(super) fn members(&self, comm: Comm) -> u32 {
        self.stride_and_members(comm).1
    }

    /// Members of `comm` on a host of `gpus` consecutive ranks; `None` if groups differ in it. The groups of a kind that
    /// share a block of stride x members ranks begin one after the other in it.
    pub(super) fn members_per_host(&self, comm: Comm, gpus: u32) -> Option<u32> {
        let (stride, members) = self.stride_and_members(comm);
        let block = stride * members;
        if self.ranks() <= u64::from(gpus) || (block <= gpus && gpus.is_multiple_of(block)) {
            return Some(members);
        }
        match (block.is_multiple_of(gpus), gpus.is_multiple_of(stride)) {
            (true, true) => Some(gpus / stride),
            (true, false) if stride.is_multiple_of(gpus) => Some(1),
            _ => None,
        }
    }

    /// The members of `comm` as seen by `rank`.
    pub(super) fn group(&self, rank: u32, comm: Comm) -> Option<Group> {
        let (tensor, data, stage) = self.place(rank);
        let at = |tensor: u32, data: u32| tensor + self.tensor * (data + self.data * stage);
        let (stride, count) = self.stride_and_members(comm);
        let first = match comm {
            Comm::WORLD => 0,
            TENSOR => at(0, data),
            DATA => at(tensor, 0),
            EXPERT => at(tensor, data - data % self.expert),
            SAME_EXPERTS => at(tensor, data % self.expert),
            _ => return None,
        };
        Some(Group::Strided { first, stride, count })
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

    /// Where a number of members per host is stated, every group has as many consecutive members on each of its hosts.
    #[test]
    fn members_per_host_are_those_of_every_group() {
        let mut stated = 0;
        for (tensor, data, pipeline, expert) in [
            (8, 4, 2, 1),
            (2, 16, 1, 4),
            (16, 4, 1, 2),
            (4, 6, 2, 3),
            (3, 8, 1, 2),
            (1, 8, 3, 8),
        ] {
            let layout = Layout {
                tensor,
                data,
                pipeline,
                expert,
            };
            for gpus in [1, 2, 4, 8, 12, 64, 256] {
                for comm in [TENSOR, DATA, SAME_EXPERTS] {
                    let all = (0..layout.ranks() as u32).all(|rank| {
                        let group = layout.group(rank, comm).unwrap();
                        let hosts: Vec<u32> = (0..group.len())
                            .map(|member| group.rank(member).unwrap() / gpus)
                            .collect();
                        let sizes: Vec<usize> = hosts.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
                        let per_host = layout.members_per_host(comm, gpus);
                        sizes.iter().all(|&size| Some(size as u32) == per_host)
                    });
                    let is_stated = layout.members_per_host(comm, gpus).is_some();
                    assert!(all || !is_stated, "{layout:?} {comm:?} {gpus}");
                    stated += u32::from(is_stated);
                }
            }
        }
        assert!(stated > 60, "{stated}");
        let layout = Layout {
            tensor: 2,
            data: 16,
            pipeline: 1,
            expert: 1,
        };
        assert_eq!(
            [TENSOR, DATA].map(|comm| layout.members_per_host(comm, 8)),
            [Some(2), Some(4)]
        );
    }
}
