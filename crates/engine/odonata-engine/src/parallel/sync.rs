//! Synchronization primitives: those of the standard library, or those of [loom](https://docs.rs/loom), which runs a
//! test under every interleaving of its threads.

#[cfg(all(loom, test))]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(all(loom, test))]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(loom, test)))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(all(loom, test)))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

pub(super) use crossbeam_utils::CachePadded;
use std::sync::PoisonError;

/// Locks, also after a panic of a thread that held the lock: such panics are handled elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks unless another thread holds the lock, or panicked while holding it: the content may be inconsistent.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}

/// The content of a lock to which the caller has exclusive access.
pub(super) fn exclusive<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The content of a lock.
pub(super) fn into_inner<T>(mutex: Mutex<T>) -> T {
    match mutex.into_inner() {
        Ok(value) => value,
        Err(poisoned) => poisoned.into_inner(),
    }
}
