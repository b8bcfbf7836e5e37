//! The clock: cycles, the subcycles of internal speedup, and the ends of pipeline stages.
//!
//! All routers of a part have the same clock.

use crate::settings::Pipeline;
use odonata_engine::Time;

/// A subcycle: a step of allocation; the internal speedup gives the number of steps per cycle.
///
/// Steps are one picosecond apart; a period has more picoseconds than steps. Step `s` of cycle `k` is taken at `k T + s
/// - 1`, and a stage that ends with it is over at `k T + s`.
#[derive(Clone, Copy)]
pub(crate) struct Subcycle {
    pub(crate) cycle: Time,
    /// The step, from 1 on.
    pub(super) step: u32,
    /// Whether it is the last step of the cycle.
    pub(super) last: bool,
}

impl Subcycle {
    #[inline]
    pub(crate) fn taken(self) -> Time {
        Time(self.cycle.0 + u64::from(self.step - 1))
    }

    #[inline]
    pub(super) fn over(self) -> Time {
        Time(self.cycle.0 + u64::from(self.step))
    }
}

/// The clock of a part's routers and the lengths of their stages.
#[derive(Debug)]
pub(crate) struct PipelineTiming {
    clock: Time,
    pipeline: Pipeline,
    /// Steps of every cycle; 0 if cycles differ.
    even: u32,
}

impl PipelineTiming {
    pub(super) fn new(clock: Time, pipeline: Pipeline) -> PipelineTiming {
        let speedup = pipeline.internal_speedup;
        PipelineTiming {
            clock,
            pipeline,
            even: if speedup.fract() == 0.0 { speedup as u32 } else { 0 },
        }
    }

    #[inline]
    pub(crate) fn period(&self) -> Time {
        self.clock
    }

    /// The beginning of the first cycle at or after `at`.
    #[inline]
    pub(crate) fn cycle_at(&self, at: Time) -> Time {
        let period = self.clock.0;
        Time(at.0.div_ceil(period) * period)
    }

    /// The number of the first cycle at or after `at`.
    #[inline]
    pub(super) fn number_at(&self, at: Time) -> u64 {
        at.0.div_ceil(self.clock.0)
    }

    #[inline]
    pub(super) fn beginning(&self, number: u64) -> Time {
        Time(number * self.clock.0)
    }

    /// The steps of allocation in the cycle that begins at `cycle`.
    #[inline]
    pub(super) fn steps(&self, cycle: Time) -> u32 {
        match self.even {
            0 => self.uneven_steps(cycle),
            steps => steps,
        }
    }

    /// The number of steps of cycle `k` with speedup S: the number of integers in `k S .. (k + 1) S`.
    fn uneven_steps(&self, cycle: Time) -> u32 {
        let speedup = self.pipeline.internal_speedup;
        let number = (cycle.0 / self.clock.0) as f64;
        (((number + 1.0) * speedup) as u64 - (number * speedup) as u64) as u32
    }

    /// When the next stage may begin after a stage of `stages` cycles, at least one, that begins in a step, see
    /// [`Subcycle`]. A stage of one cycle takes that step; a longer one ends with the first step of its last cycle, as
    /// in BookSim.
    #[inline]
    pub(super) fn after(&self, begin: Subcycle, stages: u32) -> Time {
        match stages {
            1 => begin.over(),
            _ => Time(begin.cycle.0 + u64::from(stages - 1) * self.clock.0 + 1),
        }
    }

    /// When a packet that reaches the front of its buffer in step `begin` may request a virtual channel.
    #[inline]
    pub(super) fn routed(&self, begin: Subcycle) -> Time {
        match self.pipeline.routing {
            0 => begin.taken(),
            stages => self.after(begin, stages),
        }
    }

    /// When a packet that got its virtual channel in step `granted` may request the crossbar.
    #[inline]
    pub(super) fn allocated(&self, granted: Subcycle) -> Time {
        self.after(granted, self.pipeline.vc_allocation)
    }

    /// When a flit granted the crossbar in step `granted` leaves its buffer and its credit departs.
    #[inline]
    pub(super) fn left(&self, granted: Subcycle) -> Time {
        Time(granted.cycle.0 + u64::from(self.pipeline.switch_allocation) * self.clock.0)
    }

    /// When that flit can start on its link: in the last cycle of the crossbar stage, which begins in the step after
    /// switch allocation.
    #[inline]
    pub(super) fn crossed(&self, granted: Subcycle) -> Time {
        let clock = self.clock;
        let Pipeline {
            switch_allocation,
            crossbar,
            ..
        } = self.pipeline;
        let ends = Time(granted.cycle.0 + u64::from(switch_allocation - 1) * clock.0);
        let last = match switch_allocation {
            1 => granted.last,
            _ => self.steps(ends) == 1,
        };
        Time(ends.0 + u64::from(crossbar - 1 + u32::from(last)) * clock.0)
    }

    /// The first step at or after `ready`.
    fn step_at(&self, ready: Time) -> Subcycle {
        let cycle = Time(ready.0 / self.clock.0 * self.clock.0);
        let (step, steps) = ((ready - cycle).0 + 1, self.steps(cycle));
        if step <= u64::from(steps) {
            let (step, last) = (step as u32, step == u64::from(steps));
            return Subcycle { cycle, step, last };
        }
        let cycle = cycle + self.clock;
        let last = self.steps(cycle) == 1;
        Subcycle { cycle, step: 1, last }
    }

    /// Earliest start on its link of a flit that may request the crossbar at `ready`.
    pub(crate) fn earliest_flit(&self, ready: Time) -> Time {
        self.crossed(self.step_at(ready))
    }

    /// The same for the head of a packet that may request a virtual channel at `ready`.
    pub(crate) fn earliest_head(&self, ready: Time) -> Time {
        self.earliest_flit(self.allocated(self.step_at(ready)))
    }

    /// The time from which a packet that may be routed in step `begin` is at the front of its buffer. It is after the
    /// beginning of the cycle by as much as its head can start later on its link.
    pub(crate) fn in_front_since(&self, begin: Subcycle) -> Time {
        let starts = |begin: Subcycle| self.earliest_head(self.routed(begin));
        let first = Subcycle { step: 1, ..begin };
        begin.cycle + (starts(begin) - starts(first))
    }

    /// The step after this one.
    #[inline]
    pub(crate) fn following(&self, Subcycle { cycle, step, last }: Subcycle) -> Subcycle {
        if !last {
            // Whether that step is the last of its cycle matters only to crossbars.
            return Subcycle {
                cycle,
                step: step + 1,
                last,
            };
        }
        Subcycle {
            cycle: cycle + self.clock,
            step: 1,
            last,
        }
    }
}

/// Cycles that a due credit may stay uncounted. Counting each credit separately costs more than its flit; counting them
/// only when a buffer seems full would fill the caches.
const OVERDUE: u64 = 8;

/// The times of all flits that traverse the crossbar of a router in one subcycle.
#[derive(Clone, Copy)]
pub(crate) struct Traversal {
    pub(crate) granted: Subcycle,
    /// When they leave their buffers.
    pub(super) left: Time,
    /// When they can start on their links.
    pub(crate) crossed: Time,
    /// Credits due by then are counted.
    pub(super) overdue: Time,
}

impl Traversal {
    /// The times of the flits granted the crossbar in subcycle `granted`.
    #[inline(always)]
    pub(super) fn of(timing: &PipelineTiming, granted: Subcycle) -> Traversal {
        let overdue = granted.cycle.0.saturating_sub(OVERDUE * timing.period().0);
        Traversal {
            granted,
            left: timing.left(granted),
            crossed: timing.crossed(granted),
            overdue: Time(overdue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(speedup: f64) -> PipelineTiming {
        let pipeline = Pipeline {
            internal_speedup: speedup,
            ..Pipeline::default()
        };
        PipelineTiming::new(Time(7), pipeline)
    }

    /// `floor((k + 1) S) - floor(k S)`, also late in a run.
    #[test]
    fn steps_are_spread_over_the_cycles() {
        for (speedup, expected) in [
            (1.0, [1, 1, 1, 1]),
            (1.5, [1, 2, 1, 2]),
            (2.0, [2; 4]),
            (2.25, [2, 2, 2, 3]),
        ] {
            for first in [0, 40_000_000_000_u64] {
                let steps = |k| timing(speedup).steps(Time((first + k) * 7));
                assert_eq!([0, 1, 2, 3].map(steps), expected, "{speedup} from cycle {first}");
            }
        }
    }

    /// `ceil(t / T)` periods.
    #[test]
    fn a_cycle_begins_at_a_multiple_of_the_period() {
        let timing = timing(1.0);
        for now in [0, 1, 6, 7, 8, 14, 15, 21, 22, 100, 3, 98, 99, 104, 105, 106] {
            let number = timing.number_at(Time(now));
            assert_eq!(number, now / 7 + u64::from(now % 7 != 0), "{now}");
            assert_eq!(timing.beginning(number), timing.cycle_at(Time(now)), "{now}");
        }
    }
}
