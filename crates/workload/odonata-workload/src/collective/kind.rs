//! The kinds of collectives.

use crate::named;

named! {
    /// The kind of a collective call, without arguments.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum Kind {
        /// `MPI_Barrier`.
        Barrier = "barrier",
        /// `MPI_Bcast`.
        Broadcast = "broadcast",
        /// `MPI_Allreduce`.
        Allreduce = "all-reduce",
        /// `MPI_Reduce`.
        Reduce = "reduce",
        /// `MPI_Gather`.
        Gather = "gather",
        /// `MPI_Gatherv`.
        Gatherv = "gatherv",
        /// `MPI_Scatter`.
        Scatter = "scatter",
        /// `MPI_Scatterv`.
        Scatterv = "scatterv",
        /// `MPI_Allgather`.
        Allgather = "all-gather",
        /// `MPI_Allgatherv`.
        Allgatherv = "all-gatherv",
        /// `MPI_Reduce_scatter`.
        ReduceScatter = "reduce-scatter",
        /// `MPI_Reduce_scatter_block`.
        ReduceScatterBlock = "reduce-scatter-block",
        /// `MPI_Scan`.
        Scan = "scan",
        /// `MPI_Exscan`.
        Exscan = "exscan",
        /// `MPI_Alltoall`.
        Alltoall = "all-to-all",
        /// `MPI_Alltoallv` and `MPI_Alltoallw`.
        Alltoallv = "all-to-allv",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collective;

    #[test]
    fn kinds_are_numbered_by_their_place() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(Collective::name_of(number as u32), kind.name());
        }
        assert_eq!(Collective::name_of(Collective::KINDS), "unknown collective");
    }
}
