//! Cache prefetching. Unsafe code, as [`trusted`](super::trusted) is: a hint to the processor without visible effect, valid
//! for any address.

#![allow(unsafe_code)]

/// Bytes of a cache line.
const LINE: usize = 64;

/// The place of a value in memory, to be prefetched.
#[derive(Clone, Copy, Debug)]
pub struct CacheLine(*const u8);

impl CacheLine {
    /// The line where value `i` of `values` begins, whether it exists or not.
    #[inline(always)]
    pub(crate) fn of<T>(values: &[T], i: u32) -> CacheLine {
        CacheLine(values.as_ptr().wrapping_add(i as usize).cast())
    }

    /// Fetches the line into the cache, if it exists.
    #[inline(always)]
    pub fn prefetch(self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: the instruction is part of every x86-64, and affects only caches.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.cast()) }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = self.0;
    }
}

/// Prefetches the cache line where value `i` of `values` begins, if it exists.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T], i: u32) {
    CacheLine::of(values, i).prefetch();
}

/// Prefetches the cache lines of `count` values from value `first` on, if they exist.
#[inline(always)]
pub(crate) fn prefetch_span<T>(values: &[T], first: u32, count: u32) {
    let begin = values.as_ptr().wrapping_add(first as usize).cast::<u8>();
    let bytes = count as usize * size_of::<T>();
    let mut offset = 0;
    while offset < bytes {
        CacheLine(begin.wrapping_add(offset)).prefetch();
        offset += LINE;
    }
}
