//! Ending a run from outside, also in the midst of an event.
//!
//! A run is asked between two slices whether it is to go on. That is not enough where one event takes long: a rank's program
//! is somebody else's, and may compute for hours, or for ever, before its next operation. An interrupted run has ranks that
//! did not go on when they could: it can be ended, and what it has measured is right until then, but it can neither go on
//! nor be saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a run to come to its end at once; clones ask the same run. May be used from any thread.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    asked: AtomicBool,
    heard: AtomicBool,
}

impl Interrupt {
    /// No rank begins another operation from now on.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether a rank has left something undone because of it.
    pub fn was_heard(&self) -> bool {
        self.0.heard.load(Ordering::Relaxed)
    }

    /// Whether it was asked for; a rank that gets to know so goes no further.
    #[inline]
    pub(crate) fn hear(&self) -> bool {
        let asked = self.0.asked.load(Ordering::Relaxed);
        if asked {
            self.0.heard.store(true, Ordering::Relaxed);
        }
        asked
    }
}
