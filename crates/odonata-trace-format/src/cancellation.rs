//! Cancellation of long work on files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks work to end before it is complete; clones ask the same work. May be used from any thread.
///
/// Readers look at it once per record or operation, and return an error that nobody is shown: whoever asked knows why.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
