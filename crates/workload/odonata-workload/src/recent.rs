//! A cache for data read in parts.

use std::sync::{Arc, Mutex, PoisonError};

/// The two most recent parts: a rank moves from one part to the next, and a rollback or look-ahead needs the
/// neighboring one.
#[derive(Debug)]
pub struct Recent<T>(Mutex<[Part<T>; 2]>);

/// A part and its number.
type Part<T> = Option<(u64, Arc<T>)>;

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Recent(Mutex::new([None, None]))
    }
}

impl<T> Recent<T> {
    /// Part `index`, from the cache or created by `make`.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get<E>(&self, index: u64, make: impl FnOnce() -> Result<Arc<T>, E>) -> Result<Arc<T>, E> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = recent
            .iter()
            .position(|part| part.as_ref().is_some_and(|&(number, _)| number == index));
        if let Some(at) = at {
            // The most recent part comes first.
            recent.rotate_left(at);
            if let Some((_, part)) = &recent[0] {
                return Ok(part.clone());
            }
        }
        let part = make()?;
        recent[1] = recent[0].replace((index, part.clone()));
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_stay_and_the_third_replaces_the_one_that_was_asked_for_first() {
        let recent = Recent::default();
        let mut made = Vec::new();
        for index in [1, 2, 1, 3, 1, 2] {
            let part: Result<Arc<u64>, ()> = recent.get(index, || {
                made.push(index);
                Ok(Arc::new(index))
            });
            assert_eq!(part.map(|part| *part), Ok(index));
        }
        assert_eq!(made, [1, 2, 3, 2]);
        assert_eq!(recent.get(9, || Err("unreadable")), Err("unreadable"));
    }
}
