//! Panics that are caught and dealt with, without the usual report on standard error.
//!
//! The one place of the simulator that does so: speculation rolls back the event that has panicked, and a reader of
//! foreign files makes an error of what its decoder takes for impossible.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will be caught by [`catch_panic`]. A panic hook should ignore it.
pub fn is_panic_caught() -> bool {
    CAUGHT.get()
}

/// Runs `act` and catches its panic. Unlike [`catch_unwind`] it prints nothing to standard error: the first call
/// installs a panic hook that ignores what will be caught and calls the previous hook for all else.
///
/// # Errors
/// What `act` has panicked with. What it was about to change may be inconsistent.
pub fn catch_panic<T>(act: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !CAUGHT.get() {
                usual(info);
            }
        }));
    });
    // `act` may do the same within.
    let outside = CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(act));
    CAUGHT.set(outside);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_within_another_and_known_to_be() {
        let inside = catch_panic(|| {
            let caught = catch_panic(|| panic!("inner"));
            assert!(caught.is_err() && is_panic_caught());
            panic!("outer")
        });
        let said: Result<(), _> = inside;
        assert_eq!(said.unwrap_err().downcast_ref(), Some(&"outer"));
        assert!(!is_panic_caught());
        assert_eq!(catch_panic(|| 7).ok(), Some(7));
    }
}
