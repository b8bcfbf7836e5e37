//! The discrete-event engine: time, events, logical processes, schedulers. It knows no network.
//!
//! A *model* ([`Model`]) is a set of *logical processes* (LPs). An LP handles one event at a time,
//! changes its own state only, and schedules further events: for itself strictly later than now,
//! for others at least the declared *lookahead* later.
//!
//! **The order rule.** At one LP, events are handled in order of (time, sending LP, the sender's
//! sequence number), see [`Key`]. Because every delay is strictly positive, all events of an
//! instant are known before the instant comes, so this order, and with it every result, does not
//! depend on the scheduler, the number of threads or the number of processes.
//!
//! **State can be taken back.** A model keeps its mutable state in [`Store`]s and [`Pool`]s. Every
//! change goes through [`Store::edit`], which under a speculating [`Mode`] first writes the old
//! cell to an undo log, and under [`Plain`] compiles to a plain `&mut`. Rollback is therefore
//! derived, never hand-written; [`rehearse`](Rehearsal) runs every event do, undo, redo and proves it.
//!
//! **State can be saved.** The same stores can be written as bytes and read again ([`saved`]), between two calls of a
//! scheduler, together with its queue: a long run can be continued after its computer has failed.
//!
//! **A model can be divided.** A *part* is an instance of the model over a range of its LPs ([`Partition`]), with state, queue
//! and [`Outbox`] of its own. Inside a part everything is plain sequential code. What is for another part goes through the
//! outbox, by value, and lies at least the lookahead between the two parts ahead: *parcels* cause an event,
//! *tokens* only count from their time on.
//!
//! | [`Scheduler`] | parts | goes on |
//! |---|---|---|
//! | [`Sequential`] | one, the whole model | event by event; the reference for all others |
//! | [`Sequential`], in clusters | one, the whole model | cluster by cluster, as far as none can influence another |
//! | [`Parallel`], conservative | any number, on threads and processes | as far as nothing can come to a part any more |
//! | [`Parallel`], optimistic | the same | farther, and takes back what was too early |
//!
//! Processes are reached through a [`Transport`]: [`Alone`], or [`Crowd`] in tests; MPI has a crate of its own.
//!
//! Read [`model`] for the interface, [`state`] for the undo log, [`wheel`] for the event queue, [`sequential`] for the
//! reference scheduler, then [`partition`] and [`parallel`]. `tests/toy` is a model in 400 lines that has all
//! that makes a model hard to run in parallel.

mod clusters;
mod core;
pub mod digest;
mod growing;
pub mod model;
pub mod parallel;
pub mod partition;
pub mod random;
pub mod rehearsal;
pub mod relay;
pub mod saved;
pub mod scheduler;
pub mod sequential;
pub mod state;
pub mod transport;
pub mod wheel;
pub mod window;

pub use self::core::HALT_GRID;
pub use digest::Digest;
pub use growing::Growing;
pub use model::{Context, Key, Lp, Model, Never, Outbox, Wire};
pub use odonata_units::Time;
pub use parallel::{Optimism, Options, Parallel};
pub use partition::Partition;
pub use random::Stream;
pub use rehearsal::Rehearsal;
pub use relay::relay;
pub use saved::{Cell, Saved};
pub use scheduler::{Figures, PartView, Pause, Scheduler};
pub use sequential::Sequential;
pub use state::{Journalled, List, Mode, Moment, NIL, Plain, Pool, Rows, Slot, Speculative, Store};
pub use transport::{Alone, Crowd, Transport};
pub use window::{Sparse, Windowed};
