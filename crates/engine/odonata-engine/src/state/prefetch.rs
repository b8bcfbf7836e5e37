//! Cache prefetching. Unsafe code, as [`trusted`](super::trusted) is: a hint to the processor without visible effect, valid
//! for any address.

#![allow(unsafe_code)]

/// Prefetches the cache line where value `i` of `values` begins, if it exists.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T], i: u32) {
    let value = values.as_ptr().wrapping_add(i as usize);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of every x86-64, and affects only caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(value.cast()) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = value;
}
