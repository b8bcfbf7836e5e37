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
//! **State can be rolled back.** A model keeps its mutable state in [`Store`]s and [`Pool`]s. Every change goes through
//! [`Store::edit`], which under a speculating [`Mode`] first writes the old cell to an undo log, and under [`Plain`]
//! compiles to a plain `&mut`. Rollback is therefore derived, never hand-written. [`RollbackCheck`] tests it by doing,
//! undoing and redoing every event.
//!
//! **State can be saved.** The same stores, together with the event queue, can be written as a checkpoint and read
//! again ([`saved`]), between two calls of a scheduler. So a long run can be continued after its computer has failed.
//!
//! **A model can be divided.** A *part* is an instance of the model over a range of its LPs ([`Partition`]), with
//! state, event queue and [`SendBuffer`] of its own. Inside a part everything is plain sequential code. Messages for
//! another part are sent by value, at least the lookahead between the two parts ahead: *remote events* are handled like
//! events, *remote updates* change state from their time on.
//!
//! | [`Scheduler`] | parts | how far it goes |
//! |---|---|---|
//! | [`Sequential`] | one, the whole model | event by event; the reference for all others |
//! | [`Sequential`], in clusters | one, the whole model | cluster by cluster, within a window in which none affects another |
//! | [`Parallel`], conservative | any number, on threads and processes | before the time at which a message can still arrive |
//! | [`Parallel`], optimistic | the same | farther, and rolls back what was too early |
//!
//! Processes communicate through a [`Transport`]: [`SingleProcess`], or [`ThreadTransport`] in tests. The one over MPI
//! is a crate of its own.
//!
//! Read [`model`] for the interface, [`state`] for the undo log, [`wheel`] for the event queue, [`sequential`] for the
//! reference scheduler, then [`partition`] and [`parallel`]. `tests/toy` is a model in 400 lines that has everything
//! that makes a model hard to run in parallel.

mod clusters;
mod core;
pub mod digest;
mod growable;
pub mod model;
pub mod parallel;
pub mod partition;
pub mod partitioned;
pub mod random;
pub mod restart_check;
pub mod saved;
pub mod scheduler;
pub mod sequential;
pub mod state;
pub mod transport;
pub mod wheel;

pub use self::core::HALT_GRID;
pub use digest::Digest;
pub use growable::GrowableStore;
pub use model::{Context, Key, Lp, Model, Never, SendBuffer, WireFormat, read_compact, write_compact};
pub use odonata_units::Time;
pub use parallel::{Awake, Optimism, Options, Parallel, RollbackCheck};
pub use partition::Partition;
pub use partitioned::{RangeStore, SparseStore};
pub use random::Stream;
pub use restart_check::run_with_restarts;
pub use saved::{Cell, Saved};
pub use scheduler::{Figures, PartView, Pause, Scheduler, ThreadFigures, ThreadTrial};
pub use sequential::{Injection, Sequential};
pub use state::{CacheLine, Journalled, List, Mode, NIL, Plain, Pool, Rows, Savepoint, Slot, Speculative, Store};
pub use transport::{SingleProcess, ThreadTransport, Transport};
