//! What a run that measured its threads says of them.

use odonata_engine::{ThreadFigures, ThreadTrial};
use odonata_units::counted;

/// Which number of threads handled most events, and why.
pub(crate) fn in_words(figures: &ThreadFigures) -> String {
    let mut text = counted(figures.threads as u64, "thread");
    if figures.share < 0.9 {
        text += &format!(" for {:.0}% of the events", 100.0 * figures.share);
    }
    let Some(trial) = figures.trial else {
        return text + ": the run was too short to try another number";
    };
    let (clock, cpu) = (change(trial.clock), change(trial.cpu));
    if trial.pays() {
        return format!(
            "{text}: {clock} elapsed time and {cpu} CPU time than with {}",
            trial.fewer
        );
    }
    let (more, least) = (trial.more, 100.0 * ThreadTrial::LEAST_GAIN);
    format!("{text}: a trial of {more} took {clock} elapsed time ({least:.0}% less needed) and {cpu} CPU time")
}

/// What a factor changes.
fn change(factor: f64) -> String {
    let percent = 100.0 * (factor - 1.0);
    let word = if percent < 0.0 { "less" } else { "more" };
    format!("{:.0}% {word}", percent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(threads: usize, share: f64, clock: f64, cpu: f64) -> String {
        let trial = ThreadTrial {
            fewer: 1,
            more: 2,
            clock,
            cpu,
        };
        in_words(&ThreadFigures {
            threads,
            share,
            trials: 3,
            trial: Some(trial),
        })
    }

    #[test]
    fn the_choice_is_told_with_what_was_measured() {
        assert_eq!(
            reason(1, 0.97, 0.97, 1.71),
            "1 thread: a trial of 2 took 3% less elapsed time (25% less needed) and 71% more CPU time"
        );
        assert_eq!(
            reason(2, 0.62, 0.59, 1.12),
            "2 threads for 62% of the events: 41% less elapsed time and 12% more CPU time than with 1"
        );
        let untried = ThreadFigures {
            threads: 1,
            share: 1.0,
            trials: 0,
            trial: None,
        };
        assert_eq!(
            in_words(&untried),
            "1 thread: the run was too short to try another number"
        );
    }
}
