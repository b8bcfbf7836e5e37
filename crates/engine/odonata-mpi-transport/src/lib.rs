//! Runs over several processes: the engine's transport over a real MPI library.
//!
//! Simulated ranks and the MPI that they call are in the crates above. Here MPI is the library (MPICH, Open MPI, or one with the interface of
//! either) that carries messages between the parts of *one simulation* in several processes, started by `mpirun` or `srun`.
//!
//! Without its feature `mpi` the crate is empty, so everything builds and is tested on machines without MPI. With it, the environment
//! variable `MPICC` names the library's compiler wrapper (default `mpicc`). A program built with one MPI library runs under that
//! library's `mpirun` only.
//!
//! Two promises hold: a waiting process leaves its core to others ([`patience`]), and the death of one process ends all
//! ([`processes`]). An error of the MPI library also ends all processes, with the library's message, which is MPI's default.
//!
//! Read [`processes`] for start and end, [`transport`] for the messages.

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
