//! The run that proves that a saved state is complete.

use crate::rehearsal::fingerprint;
use crate::saved::{from_bytes, to_bytes};
use crate::{Model, Pause, Sequential, Time};

/// Runs a model to its end, handing its state over again and again: after as many events as `leg` says, a model that
/// `make` has just built gets the state of the one before as bytes, and goes on.
///
/// What it hands over must be equal on both sides, and saved again give the same bytes; the results of the last model
/// are to be compared with those of a run without a break. Slow (it reads the whole state for every leg): for
/// tests on small models.
///
/// # Errors
/// Names the number of events after which what was loaded was not what had been saved.
pub fn relay<M: Model>(mut make: impl FnMut() -> M, mut leg: impl FnMut() -> u64) -> Result<Sequential<M>, String> {
    let mut run = Sequential::new(make());
    while run.run(Time::NEVER, leg()) == Pause::Budget {
        let events = run.events();
        let bytes = to_bytes(&run);
        let mut next = Sequential::new(make());
        from_bytes(&mut next, &bytes).map_err(|error| format!("after {events} events: {error}"))?;
        if fingerprint(next.model()) != fingerprint(run.model()) {
            return Err(format!(
                "after {events} events the state was not loaded as it was saved"
            ));
        }
        if to_bytes(&next) != bytes || next.now() != run.now() || next.events() != events {
            return Err(format!(
                "after {events} events the queue was not loaded as it was saved"
            ));
        }
        run = next;
    }
    Ok(run)
}
