//! The memory of a run: computed before anything large is built ([`Need`]), compared with the memory that this process
//! may use ([`Available`]), and monitored during the run ([`Watch`]).
//!
//! Results do not depend on it, except that a run may end early as out of memory. `nic.message_queue` bounds waiting
//! messages independently of the computer.

mod available;
mod need;
mod of_scenario;
mod watch;

pub(crate) use available::system::peak_resident;
pub(crate) use available::{Available, Bound, available};
pub use need::{MemoryItem, MemoryReport};
pub(crate) use need::{Need, Spread};
pub(crate) use watch::{Exceeded, Watch};
