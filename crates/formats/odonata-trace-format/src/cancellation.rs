//! Cancellation of long work on files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared request to stop work early; clones refer to the same work. May be used from any thread.
///
/// Readers check it once per record or operation, and return an error that is never shown: the requester knows the
/// reason.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Requests the stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop is requested.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
