//! Guard against loops in no time: what a rank can do at one instant is bounded. A program that goes on without simulated time passing would go on for ever, and with
//! it the event in which it does.
//!
//! Operations that change something (send, receive, wait, open files) are few between two that take time; what changes
//! nothing has a closer bound, since a loop that waits for what its program is never told consists of it. Counted is what a
//! rank begins in one event. It is a matter of the model alone, so that a run fails alike under every scheduler.

use odonata_engine::Time;
use odonata_workload::OpKind;

/// The most operations of a rank at one instant.
pub(crate) const MOST: u32 = 1_000_000;

/// The most in a row that change nothing.
pub(crate) const MOST_IDLE: u32 = 100_000;

/// What a rank has begun in one event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ZeroTimeGuard {
    all: u32,
    idle: u32,
}

impl ZeroTimeGuard {
    /// Counts an operation; `false` if it is one too many.
    #[inline]
    pub(crate) fn allows(&mut self, kind: &OpKind) -> bool {
        self.all += 1;
        self.idle = if changes_nothing(kind) { self.idle + 1 } else { 0 };
        self.all <= MOST && self.idle <= MOST_IDLE
    }
}

/// Whether an operation takes no time and leaves the rank as it was, whatever the others do.
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

/// Of a program that was stopped at `kind`, which of the bounds it has come to, in words.
pub(crate) fn bound(kind: &OpKind) -> String {
    match changes_nothing(kind) {
        true => format!("{MOST_IDLE} operations that change nothing, or {MOST} in all,"),
        false => format!("{MOST} operations"),
    }
}
