//! Control: traffic classes, congestion control, the ledger of who held up whom, and what messages have lost by it.

pub(crate) mod blame;
mod class_scheduler;
mod congestion;
pub(crate) mod lost;
mod rate_limits;

pub(crate) use blame::{BlameLedger, FlitOfMessage, has_input_lines};
pub(crate) use class_scheduler::ClassScheduler;
pub(crate) use congestion::{Congestion, Departure, HOLD, Notification};
pub(crate) use lost::{LostTime, OwnWait, PacketDelivery, Waiter};
