//! The kinds of collectives.

/// The kind of a collective call, without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Broadcast,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Gatherv`.
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv`.
    Scatterv,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv`.
    Allgatherv,
    /// `MPI_Reduce_scatter`.
    ReduceScatter,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv` and `MPI_Alltoallw`.
    Alltoallv,
}

impl Kind {
    /// All kinds, by number.
    pub const ALL: [Kind; 16] = [
        Kind::Barrier,
        Kind::Broadcast,
        Kind::Allreduce,
        Kind::Reduce,
        Kind::Gather,
        Kind::Gatherv,
        Kind::Scatter,
        Kind::Scatterv,
        Kind::Allgather,
        Kind::Allgatherv,
        Kind::ReduceScatter,
        Kind::ReduceScatterBlock,
        Kind::Scan,
        Kind::Exscan,
        Kind::Alltoall,
        Kind::Alltoallv,
    ];

    /// Its name in prose.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Broadcast => "broadcast",
            Kind::Allreduce => "all-reduce",
            Kind::Reduce => "reduce",
            Kind::Gather => "gather",
            Kind::Gatherv => "gatherv",
            Kind::Scatter => "scatter",
            Kind::Scatterv => "scatterv",
            Kind::Allgather => "all-gather",
            Kind::Allgatherv => "all-gatherv",
            Kind::ReduceScatter => "reduce-scatter",
            Kind::ReduceScatterBlock => "reduce-scatter-block",
            Kind::Scan => "scan",
            Kind::Exscan => "exscan",
            Kind::Alltoall => "all-to-all",
            Kind::Alltoallv => "all-to-allv",
        }
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
