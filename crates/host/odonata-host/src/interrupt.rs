//! Interruption of a run from outside, even in the middle of an event.
//! The run checks between two slices whether to continue. That check is too late if a single event takes long: the
//! program of a rank is user code and may compute for hours, or forever, before its next operation.
//!
//! After an interruption, some ranks have not continued although they could. The run can be ended, and its measurements
//! are correct up to that point. It can neither continue nor be saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests that a run end immediately. Clones refer to the same run; any thread may use them.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    asked: AtomicBool,
    raised: AtomicBool,
}

impl Interrupt {
    /// From now on, no rank begins another operation.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether a rank skipped work because of the interruption.
    pub fn was_raised(&self) -> bool {
        self.0.raised.load(Ordering::Relaxed)
    }

    /// Whether an interruption was requested. A rank that sees `true` stops here.
    #[inline]
    pub(crate) fn hear(&self) -> bool {
        let asked = self.0.asked.load(Ordering::Relaxed);
        if asked {
            self.0.raised.store(true, Ordering::Relaxed);
        }
        asked
    }
}
