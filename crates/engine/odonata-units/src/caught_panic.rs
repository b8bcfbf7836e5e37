//! Catching panics without the usual report on standard error.
//!
//! Speculation rolls back an event that panicked. A reader of foreign files turns a panic of its decoder into an error.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether [`catch_panic`] will catch a panic of this thread. A panic hook should ignore such a panic.
pub fn is_panic_caught() -> bool {
    CAUGHT.get()
}

/// Runs `act` and catches its panic. Unlike [`catch_unwind`], it prints nothing to standard error: the first call
/// installs a panic hook that ignores caught panics and passes all others to the previous hook.
///
/// # Errors
/// The payload of the panic. Values that `act` was changing may be inconsistent.
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
    // `act` may call this function again.
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
        let result: Result<(), _> = inside;
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&"outer"));
        assert!(!is_panic_caught());
        assert_eq!(catch_panic(|| 7).ok(), Some(7));
    }
}
