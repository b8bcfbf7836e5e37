//! Guard against loops in zero simulated time: it bounds the operations of a rank in one event.
//!
//! A program that loops without advancing simulated time would never end, and neither would the event that runs it.
//! Operations that change state (send, receive, wait, open) are rare between two that take time. Operations without
//! effect have a lower bound, since a polling loop that never gets an answer consists of them.
//!
//! The guard counts what a rank begins in one event. The count depends on the model alone, so that a run fails in the
//! same way under every scheduler.

use odonata_engine::Time;
use odonata_workload::OpKind;

/// Maximum number of operations of a rank at one instant.
pub(crate) const MOST: u32 = 1_000_000;

/// Maximum number of consecutive operations without effect.
pub(crate) const MOST_IDLE: u32 = 100_000;

/// The number of operations that a rank has begun in one event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ZeroTimeGuard {
    all: u32,
    idle: u32,
}

impl ZeroTimeGuard {
    /// Counts an operation; `false` if it exceeds a bound.
    #[inline]
    pub(crate) fn allows(&mut self, kind: &OpKind) -> bool {
        self.all += 1;
        self.idle = if changes_nothing(kind) { self.idle + 1 } else { 0 };
        self.all <= MOST && self.idle <= MOST_IDLE
    }
}

/// Whether an operation takes no time and leaves the state of the rank unchanged, whatever other ranks do.
fn changes_nothing(kind: &OpKind) -> bool {
    match kind {
        OpKind::Compute { duration } => *duration == Time::ZERO,
        OpKind::Mark { .. }
        | OpKind::Test { .. }
        | OpKind::TestAny { .. }
        | OpKind::TestAll { .. }
        | OpKind::TestSome { .. }
        | OpKind::Iprobe { .. } => true,
        _ => false,
    }
}

/// Describes the bound that a program stopped at `kind` has exceeded.
pub(crate) fn bound(kind: &OpKind) -> String {
    match changes_nothing(kind) {
        true => format!("{MOST_IDLE} consecutive operations without effect, or {MOST} in total,"),
        false => format!("{MOST} operations"),
    }
}
