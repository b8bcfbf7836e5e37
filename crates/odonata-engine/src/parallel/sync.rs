//! What threads share: the standard library's, or [loom](https://docs.rs/loom)'s, which runs a test under every order
//! in which threads can do things.

#[cfg(all(loom, test))]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(all(loom, test))]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(loom, test)))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(all(loom, test)))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};

use std::ops::Deref;
use std::sync::PoisonError;

/// Locks; a thread that panicked with the lock held is dealt with elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks, if nobody else has the lock, or has panicked with it: what is in it may be half done.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}

/// What is in a lock that nobody else can have.
pub(super) fn alone<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// What was in a lock.
pub(super) fn into_inner<T>(mutex: Mutex<T>) -> T {
    match mutex.into_inner() {
        Ok(value) => value,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// A value in cache lines of its own: two, for processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

impl<T> Deref for Padded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
