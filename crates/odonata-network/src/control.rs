//! Control: traffic classes, congestion control, and the ledger of who held up whom.

pub(crate) mod blame;
mod class_scheduler;
mod congestion;
mod rate_limits;

pub(crate) use blame::BlameLedger;
pub(crate) use class_scheduler::ClassScheduler;
pub(crate) use congestion::{Congestion, Departure, HOLD, Notification};
