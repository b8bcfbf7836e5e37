//! The decision itself: a pure function of numbers.

use crate::scenario::Problem;
use crate::scenario::resolved::Scheduler;
use odonata_engine::{ThreadTrial, Time};

/// Bytes of state above which a single queue works out of the caches: there, parts are faster even on one thread.
const LARGE_STATE: u64 = 16 << 20;

/// Events of a run that is over before a second thread is of use: half a second.
const SHORT_RUN: f64 = 3e6;

/// What agreeing on a window costs each thread, in events as they are reckoned (1.85 of a packet-hop): some 2 us at 108 ns per
/// event, for threads of one computer.
const WINDOW_COST: f64 = 18.5;

/// What sending a packet or a credit to another part costs more than inside of one, in events likewise. Measured on one thread
/// (2026-11-28, `examples/interference.toml` in four parts): 7.1 million of them made 31.7 million events take 28% longer.
const CROSSING_COST: f64 = 1.25;

/// Least expected factor over sequential for which the machine is divided among threads: they save a quarter of the time on the
/// clock. The run then measures what they gain.
const WORTH: f64 = 1.0 / (1.0 - ThreadTrial::LEAST_GAIN);

/// What is known of a run and of where it runs.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The scheduler that the scenario asks for.
    pub scheduler: Scheduler,
    /// Nodes of the machine.
    pub nodes: u32,
    /// About what the state of one takes, with its share of the routers.
    pub bytes_of_a_node: u32,
    /// Events of the whole run.
    pub events: f64,
    /// Events per simulated second, at a moment at which there are some.
    pub events_per_s: f64,
    /// Cores that the process may use.
    pub cores: u32,
    /// Threads of each process, at most.
    pub threads: u32,
    /// Processes that share the run, at least 1.
    pub processes: u32,
    /// Whether the scenario says how the machine is divided.
    pub divided: bool,
}

/// A way to divide the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Number of parts.
    pub parts: u32,
    /// The shortest delay between two of them; [`Time::NEVER`] if there is one part.
    pub lookahead: Time,
    /// All that there is to do over what the busiest part has to do.
    pub parallelism: f64,
    /// Packets and credits to other parts, per event.
    pub crossings: f64,
}

impl Candidate {
    /// Events of a window: of as much time as the lookahead.
    pub fn events_of_a_window(&self, events_per_s: f64) -> f64 {
        events_per_s * self.lookahead.seconds()
    }

    /// Threads that have something to do all the time, of `threads`.
    pub fn busy(&self, threads: u32) -> f64 {
        f64::from(threads.min(self.parts)).min(self.parallelism)
    }

    /// How much faster than sequential conservative windows are expected to be on `threads` threads: the threads that
    /// are busy, times the share of their time that is not for the cuts' and the next window's sake.
    pub fn speed_up(&self, events_per_s: f64, threads: u32) -> f64 {
        let busy = self.busy(threads);
        let events = self.events_of_a_window(events_per_s);
        if events == 0.0 {
            return 0.0;
        }
        busy * events / (events * (1.0 + self.crossings * CROSSING_COST) + busy * WINDOW_COST)
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The scheduler; never [`Scheduler::Auto`].
    pub scheduler: Scheduler,
    /// Threads of each process, at most.
    pub threads: u32,
    /// Whether the run measures how many of them pay.
    pub measured: bool,
    /// Which of the candidates; `None`: one part. The parts of a sequential run take turns.
    pub candidate: Option<usize>,
    /// Why, in sentences without a full stop.
    pub reasons: Vec<String>,
}

/// Decides who runs the events, on how many threads, over which of the `candidates`, of which there is at least one.
///
/// # Errors
/// There are several processes, and the scheduler asked for is the sequential one, or there are fewer parts.
pub fn decide(situation: &Situation, candidates: &[Candidate]) -> Result<Decision, Problem> {
    let Situation {
        scheduler, processes, ..
    } = *situation;
    let all_threads = situation.threads.saturating_mul(processes);
    let mut reasons = vec![threads_in_words(situation)];
    match scheduler {
        Scheduler::Sequential if processes > 1 => {
            let problem = format!("{processes} processes share the run, and the sequential scheduler runs in one");
            Err(Problem::new(
                "run.scheduler",
                problem,
                "\"auto\", \"conservative\" or \"optimistic\"",
            ))
        }
        Scheduler::Sequential => {
            let asked = "run.scheduler asks for the sequential scheduler".to_owned();
            Ok(sequential(situation, candidates, vec![asked]))
        }
        Scheduler::Optimistic => {
            // What may be taken back need not be waited for: the lookahead is no matter.
            let value = |one: &Candidate| one.busy(all_threads) / (1.0 + one.crossings * CROSSING_COST);
            let chosen = best(situation, candidates, value);
            reasons.push("run.scheduler asks for the optimistic scheduler".into());
            parallel(scheduler, situation, candidates, chosen, reasons)
        }
        Scheduler::Conservative => {
            let chosen = fastest(situation, candidates);
            reasons.push("run.scheduler asks for the conservative scheduler".into());
            reasons.push(window_in_words(situation, &candidates[chosen], all_threads));
            parallel(scheduler, situation, candidates, chosen, reasons)
        }
        Scheduler::Auto => auto(situation, candidates, all_threads, reasons),
    }
}

fn auto(
    situation: &Situation,
    candidates: &[Candidate],
    threads: u32,
    mut reasons: Vec<String>,
) -> Result<Decision, Problem> {
    let events_per_s = situation.events_per_s;
    let chosen = fastest(situation, candidates);
    let one = &candidates[chosen];
    if situation.processes > 1 {
        reasons.push("several processes share the run, which needs parts".into());
        reasons.push(window_in_words(situation, one, threads));
        return parallel(Scheduler::Conservative, situation, candidates, chosen, reasons);
    }
    if situation.events < SHORT_RUN {
        let events = about(situation.events);
        reasons.push(format!("the run has about {events} events, too few to gain from parts"));
        return Ok(one_part(reasons));
    }
    if threads > 1 {
        if one.parts > 1 {
            reasons.push(window_in_words(situation, one, threads));
        }
        let speed_up = one.speed_up(events_per_s, threads);
        if speed_up >= WORTH {
            reasons.push(format!(
                "windows should be {speed_up:.1} times as fast as one part; the run measures it, and uses more threads \
                 if they shorten the elapsed time by at least {:.0}%",
                100.0 * ThreadTrial::LEAST_GAIN
            ));
            let decision = parallel(Scheduler::Conservative, situation, candidates, chosen, reasons)?;
            return Ok(Decision {
                measured: true,
                ..decision
            });
        }
        reasons.push(if one.parts == 1 {
            "there is nothing to divide".into()
        } else if one.busy(threads) < WORTH {
            "one part has nearly all of the work".into()
        } else {
            format!("a lookahead of {} leaves too little parallelism", one.lookahead)
        });
    }
    Ok(sequential(situation, candidates, reasons))
}

/// On one thread parts gain by working inside its caches, and lose by turning to the next.
fn sequential(situation: &Situation, candidates: &[Candidate], mut reasons: Vec<String>) -> Decision {
    let nodes = situation.nodes;
    let large = u64::from(nodes) * u64::from(situation.bytes_of_a_node) > LARGE_STATE;
    let fewest = (0..candidates.len())
        .min_by_key(|&at| candidates[at].parts)
        .unwrap_or(0);
    let one = &candidates[fewest];
    let events_of_a_part = one.events_of_a_window(situation.events_per_s) / f64::from(one.parts);
    let in_words = format!("{} parts take turns, {} at a time", one.parts, one.lookahead);
    let candidate = if situation.divided && one.parts > 1 {
        reasons.push(format!("run.parts asks for it: {in_words}"));
        Some(fewest)
    } else if !large {
        reasons.push(format!("the state of {nodes} nodes fits into the caches of a core"));
        None
    } else if one.parts == 1 {
        let nothing = "there is nothing to divide".to_owned();
        if !reasons.contains(&nothing) {
            reasons.push(nothing);
        }
        None
    } else if events_of_a_part < WINDOW_COST {
        let events = about(events_of_a_part);
        reasons.push(format!(
            "{} parts would have about {events} events in a window of {}",
            one.parts, one.lookahead
        ));
        None
    } else {
        reasons.push(format!(
            "the state of {nodes} nodes exceeds the caches of a core: {in_words}"
        ));
        Some(fewest)
    };
    Decision {
        candidate,
        ..one_part(reasons)
    }
}

fn one_part(reasons: Vec<String>) -> Decision {
    Decision {
        scheduler: Scheduler::Sequential,
        threads: 1,
        measured: false,
        candidate: None,
        reasons,
    }
}

fn parallel(
    scheduler: Scheduler,
    situation: &Situation,
    candidates: &[Candidate],
    chosen: usize,
    reasons: Vec<String>,
) -> Result<Decision, Problem> {
    let (parts, processes) = (candidates[chosen].parts, situation.processes);
    if parts < processes {
        let problem = format!("{parts} parts for {processes} processes");
        let expected = format!("at least {processes} parts, or fewer processes");
        return Err(Problem::new("run.parts", problem, expected));
    }
    Ok(Decision {
        scheduler,
        threads: situation.threads.min(parts.div_ceil(processes)),
        measured: false,
        candidate: Some(chosen),
        reasons,
    })
}

/// The candidate with which the conservative scheduler is fastest.
pub(super) fn fastest(situation: &Situation, candidates: &[Candidate]) -> usize {
    let threads = situation.threads.saturating_mul(situation.processes);
    best(situation, candidates, |one| {
        one.speed_up(situation.events_per_s, threads)
    })
}

/// The first of the candidates with the greatest `value`, of those that do divide, and have a part for each process.
fn best(situation: &Situation, candidates: &[Candidate], value: impl Fn(&Candidate) -> f64) -> usize {
    let order = |at: usize| {
        let one = &candidates[at];
        (one.parts >= situation.processes.max(2), value(one))
    };
    let better = |chosen: usize, next: usize| if order(next) > order(chosen) { next } else { chosen };
    (0..candidates.len()).reduce(better).unwrap_or(0)
}

fn threads_in_words(situation: &Situation) -> String {
    let Situation {
        cores,
        threads,
        processes,
        ..
    } = *situation;
    let plural = |n: u32, what: &str| {
        if n == 1 {
            format!("1 {what}")
        } else {
            format!("{n} {what}s")
        }
    };
    let of_each = if processes > 1 {
        format!(" in each of {processes} processes")
    } else {
        String::new()
    };
    format!("{}{of_each} on {}", plural(threads, "thread"), plural(cores, "core"))
}

fn window_in_words(situation: &Situation, one: &Candidate, threads: u32) -> String {
    if one.lookahead == Time::NEVER {
        return match one.parts {
            1 => "there is one part".into(),
            parts => format!("{parts} parts cannot influence each other"),
        };
    }
    let events = one.events_of_a_window(situation.events_per_s);
    format!(
        "{} parts affect each other after {} at the earliest; a window of that length has about {} events, {} for each \
         busy thread; synchronization costs as much as {WINDOW_COST} events, crossings of cuts as much as {:.0}% of the window",
        one.parts,
        one.lookahead,
        about(events),
        about(events / one.busy(threads).max(1.0)),
        100.0 * one.crossings * CROSSING_COST,
    )
}

/// A number of events, to two digits.
fn about(count: f64) -> String {
    let (value, unit) = match count {
        count if count >= 1e9 => (count / 1e9, " G"),
        count if count >= 1e6 => (count / 1e6, " M"),
        count if count >= 1e3 => (count / 1e3, " k"),
        count => (count, ""),
    };
    if value >= 9.95 {
        format!("{value:.0}{unit}")
    } else {
        format!("{value:.1}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,056 nodes under uniform traffic: 10^10 events per second, 3,000 in 300 ns.
    const BUSY: Situation = Situation {
        scheduler: Scheduler::Auto,
        nodes: 1_056,
        bytes_of_a_node: 2 << 10,
        events: 1e9,
        events_per_s: 1e10,
        cores: 2,
        threads: 2,
        processes: 1,
        divided: false,
    };

    const GROUPS: Candidate = Candidate {
        parts: 8,
        lookahead: Time::from_ns(300),
        parallelism: 6.6,
        crossings: 0.25,
    };

    const INSIDE_GROUPS: Candidate = Candidate {
        parts: 16,
        lookahead: Time::from_ns(50),
        parallelism: 15.0,
        crossings: 0.5,
    };

    const WHOLE: Candidate = Candidate {
        parts: 1,
        lookahead: Time::NEVER,
        parallelism: 1.0,
        crossings: 0.0,
    };

    fn decided(situation: Situation, candidates: &[Candidate]) -> (Scheduler, u32, Option<usize>, String) {
        let Decision {
            scheduler,
            threads,
            candidate,
            reasons,
            ..
        } = decide(&situation, candidates).unwrap();
        (scheduler, threads, candidate, reasons.join("; "))
    }

    #[test]
    fn full_windows_on_two_threads_run_conservatively() {
        let (scheduler, threads, chosen, why) = decided(BUSY, &[GROUPS]);
        assert_eq!((scheduler, threads, chosen), (Scheduler::Conservative, 2, Some(0)));
        for part in [
            "2 threads on 2 cores",
            "8 parts",
            "300 ns",
            "3.0 k events, 1.5 k for each busy thread",
            "1.5 times",
        ] {
            assert!(why.contains(part), "{part} is not in: {why}");
        }
        // 2 threads, 3,000 events, 1.25 of a quarter more for what crosses, and agreeing for 2 x 18.5.
        assert!((GROUPS.speed_up(1e10, 2) - 2.0 * 3_000.0 / 3_974.5).abs() < 1e-9);
    }

    #[test]
    fn a_short_lookahead_leaves_no_parallelism() {
        let codes = Candidate {
            lookahead: Time(1_419),
            ..GROUPS
        };
        let (scheduler, threads, chosen, why) = decided(BUSY, &[codes]);
        assert_eq!((scheduler, threads, chosen), (Scheduler::Sequential, 1, None));
        assert!(
            why.contains("a lookahead of 1.419 ns leaves too little parallelism"),
            "{why}"
        );
        assert!(why.contains("14 events, 7.1 for each"), "{why}");
    }

    #[test]
    fn sparse_events_leave_no_parallelism_either() {
        let sparse = Situation {
            events_per_s: 5e7,
            ..BUSY
        };
        assert_eq!(decided(sparse, &[GROUPS]).0, Scheduler::Sequential);
    }

    #[test]
    fn short_runs_stay_sequential() {
        let short = Situation { events: 2e6, ..BUSY };
        let (scheduler, _, _, why) = decided(short, &[GROUPS]);
        assert_eq!(scheduler, Scheduler::Sequential);
        assert!(why.contains("about 2.0 M events, too few"), "{why}");
    }

    #[test]
    fn one_thread_runs_small_networks_whole_and_large_ones_part_by_part() {
        let one = Situation {
            cores: 1,
            threads: 1,
            ..BUSY
        };
        let (scheduler, threads, chosen, why) = decided(one, &[WHOLE]);
        assert_eq!((scheduler, threads, chosen), (Scheduler::Sequential, 1, None));
        assert!(
            why.contains("1 thread on 1 core") && why.contains("1056 nodes fits"),
            "{why}"
        );
        let large = Situation { nodes: 9_702, ..one };
        let (scheduler, threads, chosen, why) = decided(large, &[GROUPS]);
        assert_eq!((scheduler, threads, chosen), (Scheduler::Sequential, 1, Some(0)));
        assert!(
            why.contains("9702 nodes exceeds") && why.contains("8 parts take turns, 300 ns at a time"),
            "{why}"
        );
        // As many bytes in few nodes.
        let pipelined = Situation {
            bytes_of_a_node: 20 << 10,
            ..one
        };
        assert_eq!(decided(pipelined, &[GROUPS]).2, Some(0));
        let asked = Situation { divided: true, ..one };
        assert_eq!(decided(asked, &[GROUPS]).2, Some(0));
        // In turn, but with so little in a window that the caches are changed all the time.
        let sparse = Situation {
            events_per_s: 2e8,
            ..large
        };
        let (scheduler, _, chosen, why) = decided(sparse, &[GROUPS]);
        assert_eq!((scheduler, chosen), (Scheduler::Sequential, None));
        assert!(
            why.contains("8 parts would have about 7.5 events in a window of 300 ns"),
            "{why}"
        );
    }

    #[test]
    fn groups_are_divided_only_where_that_gains_more_than_it_costs() {
        let many = Situation {
            cores: 16,
            threads: 16,
            ..BUSY
        };
        let few_groups = Candidate {
            parts: 5,
            parallelism: 5.0,
            ..GROUPS
        };
        // 5 x 3000 / 4030 = 3.7 against 15 x 500 / 1090 = 6.9.
        let (_, threads, chosen, _) = decided(many, &[few_groups, INSIDE_GROUPS]);
        assert_eq!((threads, chosen), (16, Some(1)));
        // 5 x 300 / 486 = 3.1 against 15 x 50 / 359 = 2.1.
        let calm = Situation {
            events_per_s: 1e9,
            ..many
        };
        let (_, threads, chosen, _) = decided(calm, &[few_groups, INSIDE_GROUPS]);
        assert_eq!((threads, chosen), (5, Some(0)));
    }

    #[test]
    fn a_machine_on_which_one_part_has_all_the_work_is_not_divided() {
        let lopsided = Candidate {
            parallelism: 1.1,
            ..GROUPS
        };
        let (scheduler, _, _, why) = decided(BUSY, &[lopsided]);
        assert_eq!(scheduler, Scheduler::Sequential);
        assert!(why.contains("one part has nearly all of the work"), "{why}");
        let (scheduler, _, _, why) = decided(BUSY, &[WHOLE]);
        assert_eq!(scheduler, Scheduler::Sequential);
        assert!(why.contains("nothing to divide"), "{why}");
    }

    #[test]
    fn several_processes_need_parts() {
        let shared = Situation {
            processes: 4,
            threads: 1,
            events: 10.0,
            ..BUSY
        };
        let (scheduler, threads, chosen, why) = decided(shared, &[GROUPS]);
        assert_eq!((scheduler, threads, chosen), (Scheduler::Conservative, 1, Some(0)));
        assert!(why.contains("1 thread in each of 4 processes on 2 cores"), "{why}");
        let asked = Situation {
            scheduler: Scheduler::Sequential,
            ..shared
        };
        let problem = decide(&asked, &[GROUPS]).unwrap_err();
        assert_eq!(problem.key, "run.scheduler");
        assert!(problem.problem.contains("4 processes"), "{problem:?}");
        // Four groups would be faster, but leave processes without a part.
        let eight = Situation {
            processes: 8,
            events_per_s: 1e9,
            ..shared
        };
        let groups = Candidate {
            parts: 4,
            parallelism: 4.0,
            ..GROUPS
        };
        assert!(groups.speed_up(1e9, 8) > INSIDE_GROUPS.speed_up(1e9, 8));
        assert_eq!(decided(eight, &[groups, INSIDE_GROUPS]).2, Some(1));
        let problem = decide(&eight, &[groups]).unwrap_err();
        assert_eq!(
            (problem.key.as_str(), problem.problem.as_str()),
            ("run.parts", "4 parts for 8 processes")
        );
    }

    #[test]
    fn who_names_a_scheduler_gets_it() {
        for (scheduler, chosen, threads) in [
            (Scheduler::Sequential, None, 1),
            (Scheduler::Conservative, Some(0), 2),
            (Scheduler::Optimistic, Some(1), 2),
        ] {
            let short = Situation {
                scheduler,
                events: 1.0,
                events_per_s: 1e9,
                ..BUSY
            };
            // So much less parallelism than there are threads that dividing groups is worth what it cuts, if nobody waits.
            let groups = Candidate {
                parallelism: 1.4,
                ..GROUPS
            };
            let (found, on, candidate, why) = decided(short, &[groups, INSIDE_GROUPS]);
            assert_eq!((found, on, candidate), (scheduler, threads, chosen));
            assert!(why.contains("run.scheduler asks for"), "{why}");
            // Only "auto" measures what threads gain.
            assert!(!decide(&short, &[groups, INSIDE_GROUPS]).unwrap().measured);
        }
        assert!(decide(&BUSY, &[GROUPS]).unwrap().measured);
        // Never more threads than parts.
        let asked = Situation {
            scheduler: Scheduler::Conservative,
            threads: 64,
            ..BUSY
        };
        assert_eq!(decided(asked, &[GROUPS]).1, 8);
        assert_eq!(decided(asked, &[WHOLE]).1, 1);
    }

    #[test]
    fn nothing_to_do_is_no_reason_to_divide_by_zero() {
        let idle = Situation {
            events: 0.0,
            events_per_s: 0.0,
            ..BUSY
        };
        assert_eq!(decided(idle, &[GROUPS]).0, Scheduler::Sequential);
        assert_eq!(GROUPS.speed_up(0.0, 2), 0.0);
    }

    #[test]
    fn numbers_are_told_to_two_digits() {
        let told = [0.9, 9.94, 14.2, 950.0, 1_500.0, 123_456.0, 2.0e6, 3.1e9].map(about);
        assert_eq!(told, ["0.9", "9.9", "14", "950", "1.5 k", "123 k", "2.0 M", "3.1 G"]);
    }
}
