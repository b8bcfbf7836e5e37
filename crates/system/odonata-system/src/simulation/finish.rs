//! The end of a run: its outcome, and the combined measurements of all parts.

use super::overload::Explanation;
use super::start::{ranges, share_of};
use super::{Results, Simulation};
use crate::build::link_period;
use crate::cost::Cost;
use crate::outcome::{self, Outcome};
use crate::packet_diagnosis;
use crate::process_group::ProcessGroup;
use crate::results;
use crate::scenario::Resolved;
use odonata_engine::saved::{Loader, Saver};
use odonata_engine::{Digest, Figures, Pause, Saved, Time};
use odonata_host::TimelineMeasured;
use odonata_machine::{Machine, MachineMeasured};
use odonata_network::HALT_QUEUE;
use odonata_topology::Topology;

impl Simulation {
    /// Ends a run of this process alone and collects its results. `interrupted`: the user stopped it.
    ///
    /// # Panics
    /// Other processes share the run.
    pub fn finish(self, interrupted: bool) -> Results {
        let results = self.finish_shared(interrupted);
        results
            .expect("a single process cannot be lost")
            .expect("this is the first of one process")
    }

    /// Ends the run and collects its results, which the first of several processes gets; `interrupted`: the user
    /// stopped it.
    ///
    /// # Errors
    /// Another process is lost, and with it the run.
    pub fn finish_shared(mut self, interrupted: bool) -> Result<Option<Results>, String> {
        if let Some(Pause::Lost(text)) = self.pause {
            return Err(text);
        }
        let look = self.look_everywhere()?;
        let (now, progress) = (self.now(&look), look.progress(&self));
        let cost = self.group.share(Cost {
            spent: self.meter.spent(),
            events: self.scheduler.events(),
        })?;
        let figures = self.group.share(self.scheduler.figures())?;
        let mut figures = figures.into_iter().reduce(Figures::join).unwrap_or_default();
        figures.thread_choice = figures.thread_choice.or(self.threads_tried);
        let mut parts = self.scheduler.into_parts();
        let held_up = |parts: &[Machine]| packet_diagnosis::explain(parts, &self.scenario, self.plan.topology(), now);
        // A run without a limit of its own goes on to the end of simulated time.
        let overflow = self.pause == Some(Pause::TimeLimit) && self.scenario.run.time_limit.is_none();
        let mut explanation = Explanation {
            scenario: &self.scenario,
            placement: &self.placement,
            group: &mut self.group,
        };
        let ending = match self.pause {
            None if self.out_of_memory => Some((
                Outcome::OutOfMemory,
                Some(explanation.memory(&parts, self.exceeded.take())?),
            )),
            Some(Pause::Halted(HALT_QUEUE)) => Some((Outcome::QueueOverflow, Some(explanation.overflow(&parts)?))),
            None => {
                debug_assert!(interrupted, "only an interruption ends a run that could go on");
                Some((Outcome::Interrupted, held_up(&parts)))
            }
            Some(Pause::TimeLimit) if !overflow => Some((Outcome::TimeLimit, held_up(&parts))),
            Some(_) if !overflow && self.group.all(outcome::is_complete(&parts))? => None,
            Some(_) => {
                // A deadlock can be found only from all parts together.
                let (_, processes) = self.group.place();
                parts = match gather_parts(&mut self.group, parts, |process| {
                    Ok(self
                        .plan
                        .parts(&ranges(&self.schedule, share_of(&self.schedule, process, processes)?)))
                })? {
                    Some(parts) => parts,
                    None => return Ok(None),
                };
                self.group = ProcessGroup::default();
                let (outcome, mut details) = if overflow {
                    (Outcome::TimeOverflow, outcome::explain_overflow(&parts))
                } else {
                    let (outcome, detail) = outcome::explain_failure(&parts);
                    (outcome, detail.into_iter().collect())
                };
                details.extend(packet_diagnosis::deadlock(&parts, &self.scenario, self.plan.topology()));
                Some((outcome, together(details)))
            }
        };
        for part in &mut parts {
            part.hosts.fail_servers(now);
            part.fabric.end_recording(now);
        }
        if ending.is_some() && *self.scenario.run.blame {
            for part in &mut parts {
                part.fabric.close_waits(now);
                part.hosts.charge_open_waits(now);
            }
        }
        let audit = match ending {
            None => outcome::audit(&mut parts).err(),
            Some(_) => None,
        };
        let deadlock = match (&ending, &audit) {
            (None, Some(_)) => packet_diagnosis::deadlock(&parts, &self.scenario, self.plan.topology()),
            _ => None,
        };
        let cut = cut_series(&parts[0], now);
        let cut_links = cut_link_series(&self.scenario, self.plan.topology(), now);
        let hosts = &parts[0].hosts;
        let starts: Vec<Option<Time>> = (0..hosts.jobs())
            .map(|job| look.jobs.started(hosts.plans(), job))
            .collect();
        let (unfinished, unsent) = (
            look.jobs.unfinished_work(hosts.plans()),
            look.jobs.unsent(hosts.plans()),
        );
        let measured = parts.into_iter().map(|part| part.measured(now));
        let measured = MachineMeasured::join(measured).expect("a process has at least one part");
        let Some(gathered) = self.group.gather((audit, deadlock, measured))? else {
            return Ok(None);
        };
        let (mut audits, mut deadlocks, mut each) = (Vec::new(), Vec::new(), Vec::new());
        for (audit, deadlock, measured) in gathered {
            audits.push(audit);
            deadlocks.push(deadlock);
            each.push(measured);
        }
        let measured = each;
        let measured = MachineMeasured::join(measured).expect("there is at least one process");
        let ending = ending.map(|(outcome, detail)| match outcome {
            Outcome::TimeLimit => {
                let traffic = measured.fabric.traffic.iter();
                let in_network = traffic.map(|t| t.bytes_sent - t.bytes.min(t.bytes_sent)).sum();
                let mut details = outcome::cut_off(unfinished, in_network, look.file_transfers, look.drains);
                details.extend(detail);
                (outcome, together(details))
            }
            _ => (outcome, detail),
        });
        let (outcome, detail) = ending.unwrap_or_else(|| {
            let audits = audits.into_iter().flatten();
            let measured_is = || measured.fabric.audit().and_then(|()| measured.hosts.audit_tiers());
            let violated = audits.chain(measured_is().err()).next();
            // Sources end when all messages are handed over, and nothing else waits for packets that never arrive.
            match (deadlocks.into_iter().flatten().next(), violated) {
                (Some(text), _) => (Outcome::Stalled, Some(text)),
                (None, Some(text)) => (Outcome::ConservationViolated, Some(text)),
                (None, None) => (Outcome::Completed, together(unsent)),
            }
        });
        let cut_timeline = cut_timeline(&measured.hosts.timeline);
        let mut digest = Digest::new();
        measured.results(&mut digest);
        let rows = results::collect(
            &self.scenario,
            &self.placement,
            self.plan.topology(),
            &measured,
            &starts,
            now,
        );
        Ok(Some(Results {
            outcome,
            timeline_cut: cut_timeline.is_some(),
            detail: together(
                (detail.into_iter())
                    .chain(cut)
                    .chain(cut_links)
                    .chain(cut_timeline)
                    .collect(),
            ),
            digest: digest.hex(),
            progress,
            bytes_delivered: measured.fabric.traffic.iter().map(|t| t.bytes).sum(),
            state_bytes: measured.fabric.memory,
            nodes: self.scenario.layout.nodes(),
            cost,
            schedule: self.schedule,
            figures,
            scenario: self.scenario,
            rows,
        }))
    }
}

/// Joins texts; `None` if there is none.
fn together(texts: Vec<String>) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// A warning that the time series of `part` end before `now`; `None` if they do not.
fn cut_series(part: &Machine, now: Time) -> Option<String> {
    let end = part.series_end().filter(|&end| end < now)?;
    Some(format!(
        "run.series_interval is too short: a table of the time series ends at {} s",
        end.seconds()
    ))
}

/// A warning that links are counted individually for less time than `scenario` requests.
fn cut_link_series(scenario: &Resolved, topology: &Topology, now: Time) -> Option<String> {
    let period = link_period(scenario, topology)?;
    let (_, until) = scenario.run.timeline.as_ref()?.period();
    let end = u64::from(period.first) + u64::from(period.count);
    let end = Time(scenario.run.series_interval?.0.saturating_mul(end));
    (end < until.min(now)).then(|| {
        format!(
            "run.series_interval is too short: the busiest links are recorded until {} s",
            end.seconds()
        )
    })
}

/// A warning about rows of a timeline that were not kept.
fn cut_timeline(timeline: &TimelineMeasured) -> Option<String> {
    let kept = [timeline.calls.len(), timeline.steps.len(), timeline.accesses.len()];
    let names = ["calls", "steps of messages", "accesses of servers"];
    let cut: Vec<String> = (names.into_iter().zip(timeline.seen).zip(kept))
        .filter(|&((_, seen), kept)| seen > kept as u64)
        .map(|((name, seen), kept)| format!("{kept} of {seen} {name}"))
        .collect();
    (!cut.is_empty()).then(|| format!("run.timeline.rows is too small: the timeline has {}", cut.join(", ")))
}

/// In the first process, the parts of all processes, each read into the result of `build` for the process's number;
/// nothing in the others.
fn gather_parts(
    group: &mut ProcessGroup,
    parts: Vec<Machine>,
    build: impl Fn(usize) -> Result<Vec<Machine>, String>,
) -> Result<Option<Vec<Machine>>, String> {
    let (_, processes) = group.place();
    if processes == 1 {
        return Ok(Some(parts));
    }
    let mut bytes = Vec::new();
    let mut saver = Saver::new(&mut bytes);
    parts.iter().for_each(|part| part.save(&mut saver));
    saver.finish().map_err(|error| error.to_string())?;
    drop(parts);
    let Some(all) = group.gather_bytes(bytes)? else {
        return Ok(None);
    };
    let mut gathered = Vec::new();
    for (process, bytes) in all.iter().enumerate() {
        let (mut bytes, mut parts) = (&bytes[..], build(process)?);
        let mut loader = Loader::new(&mut bytes);
        for part in &mut parts {
            part.load(&mut loader).map_err(|error| error.to_string())?;
        }
        gathered.extend(parts);
    }
    Ok(Some(gathered))
}
