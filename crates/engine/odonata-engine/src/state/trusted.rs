//! Access to cells without a check of their number: the only place in the project that leaves one out.
//!
//! A handler looks up some forty cells per packet-hop, and checking their numbers costs an eighth of its instructions.
//!
//! **Invariant.** A number given to [`cell`] or [`cell_mut`] under a mode without journal is below the number of cells.
//! It holds for numbers of three kinds, and callers use no others:
//! - constants of the model, such as the port of a link: they are computed with the cells, and their number is fixed;
//!   the receiver of a queued event too, because a queue takes events for its own LPs only;
//! - slots from [`Pool::allocate`](super::Pool::allocate) or its like: a pool never gets smaller;
//! - numbers read from such cells. A checkpoint of them has a checksum.
//!
//! Numbers that come from files, programs or hosts go through [`Store::get`](super::Store::get).
//!
//! Without a journal, handlers see only states that a run can reach. Speculation also sees others, such as a list that
//! ends too early, so its modes check. Debug builds check under every mode: the tests that run in them hold the
//! invariant.

#![allow(unsafe_code)]

use super::Mode;

/// Cell `i` of `cells`.
#[inline(always)]
pub fn cell<M: Mode, T>(cells: &[T], i: u32) -> &T {
    if M::JOURNAL || cfg!(debug_assertions) {
        return &cells[i as usize];
    }
    // SAFETY: the invariant of this module.
    unsafe { cells.get_unchecked(i as usize) }
}

/// Cell `i` of `cells`, to be changed.
#[inline(always)]
pub fn cell_mut<M: Mode, T>(cells: &mut [T], i: u32) -> &mut T {
    if M::JOURNAL || cfg!(debug_assertions) {
        return &mut cells[i as usize];
    }
    // SAFETY: the invariant of this module.
    unsafe { cells.get_unchecked_mut(i as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NIL, Plain, Speculative};

    #[test]
    fn every_mode_finds_every_cell() {
        let mut cells = [3, 4, 5];
        for i in 0..3 {
            *cell_mut::<Plain, _>(&mut cells, i) += 1;
            *cell_mut::<Speculative, _>(&mut cells, i) += 1;
            let both = (cell::<Plain, _>(&cells, i), cell::<Speculative, _>(&cells, i));
            assert_eq!(both, (&(i + 5), &(i + 5)));
        }
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn speculation_checks() {
        cell::<Speculative, _>(&[1, 2, 3], NIL);
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn speculation_checks_changes() {
        cell_mut::<Speculative, _>(&mut [1, 2, 3], 3);
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "out of bounds")]
    fn debug_builds_check_every_mode() {
        cell::<Plain, _>(&[1, 2, 3], 3);
    }
}
