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
//! Read [`model`] for the interface, [`state`] for the undo log, [`wheel`] for the event queue,
//! [`sequential`] for the reference scheduler.

pub mod digest;
mod growing;
pub mod model;
pub mod random;
pub mod rehearsal;
pub mod sequential;
pub mod state;
pub mod wheel;

pub use digest::Digest;
pub use growing::Growing;
pub use model::{Context, Key, Lp, Model};
pub use odonata_units::Time;
pub use random::Stream;
pub use rehearsal::Rehearsal;
pub use sequential::Sequential;
pub use state::{Journalled, List, Mode, NIL, Plain, Pool, Rows, Slot, Speculative, Store};
