//! Groups: the members of communicators.

use std::sync::Arc;

/// The ranks of a communicator, in order. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// `count` ranks of the job from `first` on, `stride` apart: the world, a row or a column of a grid.
    Strided {
        /// Rank of the job that is number 0.
        first: u32,
        /// From one member to the next; at least 1.
        stride: u32,
        /// Number of members.
        count: u32,
    },
    /// These ranks of the job, all different.
    List(Arc<[u32]>),
}

impl Group {
    /// All `ranks` ranks of a job.
    pub const fn world(ranks: u32) -> Group {
        Group::Strided {
            first: 0,
            stride: 1,
            count: ranks,
        }
    }

    /// Number of members.
    pub fn len(&self) -> u32 {
        match self {
            Group::Strided { count, .. } => *count,
            Group::List(list) => list.len() as u32,
        }
    }

    /// Whether the group is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank of the job that is number `member`, if there is one.
    pub fn rank(&self, member: u32) -> Option<u32> {
        match self {
            Group::Strided { first, stride, count } => (member < *count)
                .then(|| member.checked_mul(*stride)?.checked_add(*first))
                .flatten(),
            Group::List(list) => list.get(member as usize).copied(),
        }
    }

    /// The number of rank `rank` of the job, if it is a member.
    pub fn member(&self, rank: u32) -> Option<u32> {
        match self {
            Group::Strided { first, stride, count } => {
                let distance = rank.checked_sub(*first)?;
                (distance.is_multiple_of((*stride).max(1)) && distance / (*stride).max(1) < *count)
                    .then(|| distance / (*stride).max(1))
            }
            Group::List(list) => list.iter().position(|&other| other == rank).map(|at| at as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_members_are_inverse() {
        let column = Group::Strided {
            first: 2,
            stride: 5,
            count: 4,
        };
        let list = Group::List([7, 3, 9].into());
        for group in [Group::world(6), column, list] {
            for member in 0..group.len() {
                assert_eq!(group.member(group.rank(member).unwrap()), Some(member), "{group:?}");
            }
            assert_eq!(group.rank(group.len()), None);
        }
        let column = Group::Strided {
            first: 2,
            stride: 5,
            count: 4,
        };
        assert_eq!(
            [1, 3, 22, 17].map(|rank| column.member(rank)),
            [None, None, None, Some(3)]
        );
    }
}
