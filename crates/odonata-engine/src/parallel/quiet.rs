//! Panics that are no news.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread handles events that may be taken back: a panic is no news then, and no hook should make it one.
pub fn is_speculating() -> bool {
    QUIET.get()
}

/// Runs `act`, which may panic. Unlike with [`catch_unwind`] alone, nothing is then written to standard error.
///
/// The first call puts a hook before the one that the program has.
pub(super) fn catch(act: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(act));
    QUIET.set(false);
    result
}
