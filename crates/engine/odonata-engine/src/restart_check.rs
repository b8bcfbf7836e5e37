//! A test harness for checkpoint and restart: a run that is saved and loaded repeatedly.

use crate::parallel::rollback_check::fingerprint;
use crate::saved::{from_bytes, to_bytes};
use crate::{Model, Pause, Sequential, Time};

/// Runs a model to its end. After as many events as `interval` returns, it saves the state and loads it into a new
/// model from `make`, which continues the run.
///
/// The state must be equal on both sides, and must give the same bytes when saved again. The caller compares the
/// results of the last model with those of a run without restarts. Slow, because every restart reads the whole state:
/// for tests on small models.
///
/// # Errors
/// The number of events after which a loaded state differed from the saved one.
pub fn run_with_restarts<M: Model>(
    mut make: impl FnMut() -> M,
    mut interval: impl FnMut() -> u64,
) -> Result<Sequential<M>, String> {
    let mut run = Sequential::new(make());
    while run.run(Time::NEVER, interval()) == Pause::Budget {
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
