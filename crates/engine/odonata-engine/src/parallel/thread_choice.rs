//! The number of working threads of a process, chosen by measurement during the run.
//!
//! More threads always cost CPU time. They shorten the run only if windows hold enough events and the cores are free. A
//! measured run begins on one thread. Now and then a *trial* compares a number of threads with twice that number:
//! stretches of the run alternate between the two, in the order fewer, more, more, fewer. The run takes more threads if
//! they save a quarter of the wall time or more, both in the median of the pairs of stretches and in total. Otherwise
//! it takes fewer. Each trial that changes nothing doubles the distance to the next trial.
//!
//! Results do not depend on the number of threads.

use crate::scheduler::{ThreadFigures, ThreadTrial};
use std::time::Duration;

/// The threads that work in a round of a parallel scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awake {
    /// All threads.
    #[default]
    All,
    /// The number that pays, by measurement.
    Measured,
    /// For tests: hexadecimal digit `r` of this number, modulo the number of threads, plus one, is the number of
    /// threads in round `r`.
    Planted(u64),
}

/// Events of a stretch: some ten milliseconds.
const STRETCH: u64 = 1 << 15;
/// Pairs of stretches of a trial.
const PAIRS: usize = 5;
/// Events before the first trial, and the initial and maximum distance between two trials.
const FIRST_TRIAL: u64 = 1 << 17;
const LEAST_DISTANCE: u64 = 1 << 21;
const MOST_DISTANCE: u64 = 1 << 25;

/// The cost of a stretch of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    events: u64,
    clock: Duration,
    cpu: Duration,
}

impl Stretch {
    fn add(&mut self, other: Stretch) {
        self.events += other.events;
        self.clock += other.clock;
        self.cpu += other.cpu;
    }

    /// Wall seconds and CPU seconds per event.
    fn costs(&self) -> (f64, f64) {
        let events = self.events.max(1) as f64;
        (self.clock.as_secs_f64() / events, self.cpu.as_secs_f64() / events)
    }
}

/// Judges a trial by its stretches, in the order of running.
fn judge(fewer: usize, more: usize, stretches: &[Stretch]) -> ThreadTrial {
    let mut sums = [Stretch::default(); 2];
    let mut ratios = Vec::with_capacity(stretches.len() / 2);
    for (pair, two) in stretches.chunks_exact(2).enumerate() {
        let places = [has_more(2 * pair), has_more(2 * pair + 1)];
        let mut clock = [0.0; 2];
        for (&place, stretch) in places.iter().zip(two) {
            clock[usize::from(place)] = stretch.costs().0;
            sums[usize::from(place)].add(*stretch);
        }
        ratios.push(ratio(clock[1], clock[0]));
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
    let [one, other] = sums.map(|sum| sum.costs());
    ThreadTrial {
        fewer,
        more,
        clock: median.max(ratio(other.0, one.0)),
        cpu: ratio(other.1, one.1),
    }
}

/// `value / base`; 1 if the clock is too coarse for the base.
fn ratio(value: f64, base: f64) -> f64 {
    if base > 0.0 { value / base } else { 1.0 }
}

/// Whether stretch number `place` of a trial has more threads.
fn has_more(place: usize) -> bool {
    matches!(place % 4, 1 | 2)
}

/// A trial that is under way.
#[derive(Clone, Debug)]
struct Trial {
    /// The level with fewer threads; the trial compares it with the next level.
    fewer: usize,
    stretches: Vec<Stretch>,
    /// The level before the first trial of this series.
    before: usize,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct ThreadChoice {
    awake: Awake,
    /// The numbers of threads to choose from: 1, 2, 4, ..., all.
    levels: Vec<usize>,
    /// The current level.
    level: usize,
    trial: Option<Trial>,
    /// The current stretch of a trial.
    stretch: Stretch,
    /// Events until the next trial, and the last distance between trials.
    left: u64,
    distance: u64,
    /// For each level: its events, and the last trial that chose it.
    events: Vec<u64>,
    chosen_by: Vec<Option<ThreadTrial>>,
    trials: u64,
    /// Wall time, and the sum over the threads that were awake.
    clock: Duration,
    thread_time: Duration,
}

impl ThreadChoice {
    pub(super) fn new(threads: usize, awake: Awake) -> ThreadChoice {
        let mut levels: Vec<usize> = match awake {
            Awake::Measured => std::iter::successors(Some(1), |&level| Some(2 * level))
                .take_while(|&level| level < threads)
                .collect(),
            Awake::All | Awake::Planted(_) => Vec::new(),
        };
        levels.push(threads);
        ThreadChoice {
            awake,
            level: 0,
            trial: None,
            stretch: Stretch::default(),
            left: FIRST_TRIAL,
            distance: LEAST_DISTANCE / 2,
            events: vec![0; levels.len()],
            chosen_by: vec![None; levels.len()],
            trials: 0,
            clock: Duration::ZERO,
            thread_time: Duration::ZERO,
            levels,
        }
    }

    /// Whether the choice needs CPU time.
    pub(super) fn is_measured(&self) -> bool {
        self.levels.len() > 1
    }

    /// Threads that work in round number `round`.
    pub(super) fn awake(&self, round: u64) -> usize {
        let all = self.levels[self.levels.len() - 1];
        match self.awake {
            Awake::Planted(digits) => 1 + (digits >> (round % 16 * 4)) as usize % 16 % all,
            Awake::All | Awake::Measured => self.levels[self.level_now()],
        }
    }

    fn level_now(&self) -> usize {
        match &self.trial {
            Some(trial) => trial.fewer + usize::from(has_more(trial.stretches.len())),
            None => self.level,
        }
    }

    /// Records events with their wall time and CPU time; decides how many threads work in the next rounds.
    pub(super) fn passed(&mut self, events: u64, clock: Duration, cpu: Duration) {
        let level = self.level_now();
        self.events[level] += events;
        self.clock += clock;
        self.thread_time += clock * self.levels[level] as u32;
        if !self.is_measured() {
            return;
        }
        let Some(trial) = &mut self.trial else {
            self.left = self.left.saturating_sub(events);
            if self.left == 0 {
                self.begin_trial(self.level.saturating_sub(1), self.level);
            }
            return;
        };
        self.stretch.add(Stretch { events, clock, cpu });
        if self.stretch.events < STRETCH {
            return;
        }
        trial.stretches.push(std::mem::take(&mut self.stretch));
        if trial.stretches.len() == 2 * PAIRS {
            self.end_trial();
        }
    }

    fn begin_trial(&mut self, fewer: usize, before: usize) {
        self.trial = Some(Trial {
            fewer,
            stretches: Vec::with_capacity(2 * PAIRS),
            before,
        });
    }

    fn end_trial(&mut self) {
        let Some(Trial {
            fewer,
            stretches,
            before,
        }) = self.trial.take()
        else {
            return;
        };
        let found = judge(self.levels[fewer], self.levels[fewer + 1], &stretches);
        self.level = fewer + usize::from(found.pays());
        self.chosen_by[self.level] = Some(found);
        self.trials += 1;
        // If twice the threads pay, four times may pay, too.
        if found.pays() && self.level + 1 < self.levels.len() {
            self.begin_trial(self.level, before);
            return;
        }
        self.distance = match self.level == before {
            true => (2 * self.distance).min(MOST_DISTANCE),
            false => LEAST_DISTANCE,
        };
        self.left = self.distance;
    }

    /// Mean number of threads awake over the wall time.
    pub(super) fn mean_awake(&self) -> f64 {
        match self.clock {
            Duration::ZERO => self.levels[self.level] as f64,
            clock => self.thread_time.as_secs_f64() / clock.as_secs_f64(),
        }
    }

    /// The choice and its reason; `None` if all threads always work.
    pub(super) fn figures(&self) -> Option<ThreadFigures> {
        if !self.is_measured() {
            return None;
        }
        let all: u64 = self.events.iter().sum();
        // Of two levels with equal events, the one with fewer threads.
        let most = (0..self.levels.len()).rev().max_by_key(|&level| self.events[level])?;
        Some(ThreadFigures {
            threads: self.levels[most],
            share: if all > 0 {
                self.events[most] as f64 / all as f64
            } else {
                1.0
            },
            trials: self.trials,
            trial: self.chosen_by[most],
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
