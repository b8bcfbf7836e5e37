//! Failures at the border to C: a status, and a text that the thread keeps.
//!
//! No panic crosses the border: [`guarded`] turns it into the status [`INTERNAL`].

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call: 0, or the kind of its failure.
pub type Status = i32;

/// The call has done its work.
pub const OK: Status = 0;
/// An argument or the scenario is invalid.
pub const INVALID: Status = 1;
/// A callback of the same network may not make this call.
pub const IN_CALLBACK: Status = 2;
/// A fault of the library.
pub const INTERNAL: Status = 3;

/// A failure: its kind, and its text for people.
pub(crate) type Failure = (Status, String);

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The text of an invalid argument.
pub(crate) fn invalid(text: impl Into<String>) -> Failure {
    (INVALID, text.into())
}

/// The status of `work`. The thread keeps the text of a failure or panic.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = format!("a fault of Odonata: {}; please report it", panic_text(&*panic));
        Err((INTERNAL, text))
    });
    match done {
        Ok(()) => OK,
        Err((status, text)) => {
            keep(text);
            status
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text")
}

fn keep(text: String) {
    let without_nul = text.replace('\0', "\\0");
    LAST.set(CString::new(without_nul).unwrap_or_default());
}

/// The text of the last failure on this thread; empty without one.
pub(crate) fn last_text() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// The UTF-8 text at `text`, the argument `name`.
///
/// # Safety
/// `text` is null, or the start of a C string that lives as long as the result is used.
pub(crate) unsafe fn text_of<'a>(text: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(invalid(format!("`{name}` is NULL; expected a text")));
    }
    // Safety: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|cause| invalid(format!("`{name}` is not UTF-8 text (byte {})", cause.valid_up_to())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> String {
        // Safety: this thread's text, which no other call changes meanwhile.
        unsafe { CStr::from_ptr(last_text()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_and_a_text() {
        assert_eq!(guarded(|| Ok(())), OK);
        assert_eq!(kept(), "");
        let number = 7;
        assert_eq!(guarded(|| panic!("no event {number}")), INTERNAL);
        assert_eq!(kept(), "a fault of Odonata: no event 7; please report it");
    }

    #[test]
    fn a_text_with_a_nul_is_kept_whole() {
        assert_eq!(guarded(|| Err(invalid("a\0b"))), INVALID);
        assert_eq!(kept(), "a\\0b");
    }

    #[test]
    fn each_thread_has_its_own_text() {
        assert_eq!(guarded(|| Err(invalid("here"))), INVALID);
        assert_eq!(std::thread::spawn(kept).join().ok().as_deref(), Some(""));
        assert_eq!(kept(), "here");
    }
}
