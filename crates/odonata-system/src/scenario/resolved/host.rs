//! What happens to a message inside a node.

use odonata_units::{Bandwidth, Bytes, PerByte, Time};
use serde::Serialize;

use crate::scenario::choices::{
    Allgather, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Gather, Library, Progress, Reduce, ReduceScatter,
    Scan, Scatter,
};

/// The interface between a node and its router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nic {
    /// From a message's hand-over to the interface until it joins the interface's queue.
    pub message_delay: Time,
    /// Packets prepared ahead of the terminal link, 1 to 16.
    pub queue: u32,
    /// What the interface sends at most; `None`: what its link can.
    pub rate: Option<Bandwidth>,
    /// Random delay of each hand-off between host software and interface.
    pub handoff: Option<Jitter>,
}

/// A delay that is uniform in `min..=max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Jitter {
    /// Least delay.
    pub min: Time,
    /// Greatest delay; not less than `min`.
    pub max: Time,
}

/// Costs and protocols of MPI calls, algorithms of collectives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mpi {
    /// From a send call to the interface; does not occupy the rank.
    pub send_delay: Time,
    /// The part of it that grows with the message: the copy.
    pub send_per_byte: PerByte,
    /// Time that a send call occupies the rank.
    pub send_overhead: Time,
    /// Time that completing a receive occupies the rank.
    pub recv_overhead: Time,
    /// Random delay of each call.
    pub call_jitter: Option<Jitter>,
    /// Latency between ranks of one node.
    pub local_latency: Time,
    /// Rate between ranks of one node.
    pub local_bandwidth: Bandwidth,
    /// Longer messages go by rendezvous; `None`: none does.
    pub eager_threshold: Option<Bytes>,
    /// Size of the control messages of a rendezvous.
    pub rendezvous_control: Bytes,
    /// Whether the data of a rendezvous leave without the copy.
    pub rendezvous_zero_copy: bool,
    /// When the MPI library does protocol work.
    pub progress: Progress,
    /// Algorithms of collectives.
    pub collectives: Collectives,
}

/// Algorithms of collectives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Collectives {
    /// Whose decisions `auto` means.
    pub library: Library,
    /// Algorithm of barriers.
    pub barrier: Barrier,
    /// Algorithm of broadcasts.
    pub broadcast: Broadcast,
    /// Algorithm of reductions to one rank.
    pub reduce: Reduce,
    /// Algorithm of all-reduces.
    pub allreduce: Allreduce,
    /// Algorithm of gathers.
    pub gather: Gather,
    /// Algorithm of scatters.
    pub scatter: Scatter,
    /// Algorithm of all-gathers.
    pub allgather: Allgather,
    /// Algorithm of all-gathers of blocks of different sizes.
    pub allgatherv: Allgather,
    /// Algorithm of reduce-scatters.
    pub reduce_scatter: ReduceScatter,
    /// Algorithm of reduce-scatters of equal blocks.
    pub reduce_scatter_block: ReduceScatter,
    /// Algorithm of inclusive scans.
    pub scan: Scan,
    /// Algorithm of exclusive scans.
    pub exscan: Scan,
    /// Algorithm of all-to-alls of equal blocks.
    pub alltoall: Alltoall,
    /// Algorithm of all-to-alls of listed sizes.
    pub alltoallv: Alltoallv,
    /// Size of the messages of a pipeline whose algorithm is named; zero cuts nothing.
    pub segment: Bytes,
    /// Messages that a scattered all-to-all that is named posts at once.
    pub window: u32,
    /// `auto` of MPICH: all-reduces of at most so many bytes double recursively.
    pub allreduce_recursive_doubling_up_to: Bytes,
    /// `auto` of MPICH: broadcasts of fewer bytes take the binomial tree.
    pub broadcast_binomial_below: Bytes,
    /// `auto` of MPICH: on fewer ranks every broadcast takes the binomial tree.
    pub broadcast_min_ranks: u32,
    /// `auto` of MPICH: longer broadcasts on a power of two of ranks gather by recursive doubling below so many bytes.
    pub broadcast_recursive_doubling_below: Bytes,
}
