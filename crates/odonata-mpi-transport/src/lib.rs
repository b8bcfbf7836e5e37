//! Runs over several processes: the engine's transport over a real MPI library.
//!
//! Nothing of simulated MPI is here: simulated ranks and the MPI that they call live in the crates above. Here MPI is the library (MPICH, Open MPI or one
//! with the interface of either) that carries what the parts of *one simulation* have for each other when they live in
//! several processes, as `mpirun` or `srun` starts them.
//!
//! The crate is empty without its feature `mpi`, so that everything builds and is tested where there is no MPI. With it,
//! the library is the one whose compiler wrapper the environment variable `MPICC` names (else `mpicc`). A program built
//! with one MPI library runs under that library's `mpirun` only.
//!
//! Two promises: a process waits without keeping others from the core ([`patience`]), and the death of one process
//! is the end of all ([`processes`]). An error of the MPI library itself ends all processes too, with the library's
//! message; that is MPI's default, and nothing could be saved otherwise.
//!
//! Read [`processes`] for the start and the end, [`transport`] for what goes over the wire.

#[cfg(feature = "mpi")]
pub mod patience;
#[cfg(feature = "mpi")]
pub mod processes;
#[cfg(feature = "mpi")]
pub mod transport;

#[cfg(feature = "mpi")]
pub use processes::{abort, finish, library, start};
#[cfg(feature = "mpi")]
pub use transport::Mpi;
