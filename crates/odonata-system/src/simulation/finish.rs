//! The end of a run: its outcome, what all parts have measured, put together.

use super::start::{ranges, share_of};
use super::{Results, Simulation};
use crate::company::Company;
use crate::cost::Cost;
use crate::machine::{Machine, MachineMeasured};
use crate::outcome::{self, Outcome};
use crate::results;
use crate::stuck;
use odonata_engine::saved::{Loader, Saver};
use odonata_engine::{Digest, Figures, Pause, Saved, Time};

impl Simulation {
    /// Ends a run of this process alone and collects its results. `interrupted`: the user stopped it.
    ///
    /// # Panics
    /// Other processes share the run.
    pub fn finish(self, interrupted: bool) -> Results {
        let results = self.finish_shared(interrupted);
        results
            .expect("nobody can be lost")
            .expect("this is the first of one process")
    }

    /// Ends the run and collects its results, which the first of several processes has; `interrupted`: the user
    /// stopped it.
    ///
    /// # Errors
    /// Another process is lost, and with it the run.
    pub fn finish_shared(mut self, interrupted: bool) -> Result<Option<Results>, String> {
        if let Some(Pause::Lost(text)) = self.pause {
            return Err(text);
        }
        let look = self.look_everywhere()?;
        let (progress, now) = (look.progress(&self), self.now(look.standing.last_event));
        let cost = self.company.share(Cost {
            spent: self.meter.spent(),
            events: self.scheduler.events(),
        })?;
        let figures = self.company.share(self.scheduler.figures())?;
        let figures = figures.into_iter().reduce(Figures::join).unwrap_or_default();
        let mut parts = self.scheduler.into_parts();
        let held_up = |parts: &[Machine]| stuck::explain(parts, &self.scenario, self.plan.topology(), now);
        let ending = match self.pause {
            None => {
                debug_assert!(interrupted, "only an interruption ends a run that could go on");
                Some((Outcome::Interrupted, held_up(&parts)))
            }
            Some(Pause::TimeLimit) => Some((Outcome::TimeLimit, held_up(&parts))),
            Some(_) if self.company.all(outcome::is_complete(&parts))? => None,
            Some(_) => {
                // Who waits for whom can only be told from all parts together.
                let (_, processes) = self.company.place();
                parts = match gather_parts(&mut self.company, parts, |process| {
                    Ok(self
                        .plan
                        .parts(&ranges(&self.schedule, share_of(&self.schedule, process, processes)?)))
                })? {
                    Some(parts) => parts,
                    None => return Ok(None),
                };
                self.company = Company::default();
                let (outcome, detail) = outcome::explain_failure(&parts);
                let detail = [detail, stuck::deadlock(&parts, &self.scenario, self.plan.topology())];
                let detail: Vec<String> = detail.into_iter().flatten().collect();
                Some((outcome, (!detail.is_empty()).then(|| detail.join("; "))))
            }
        };
        if ending.is_some() && self.scenario.run.blame {
            for part in &mut parts {
                part.fabric.close_books(now);
                part.hosts.close_books(now);
            }
        }
        let audit = match ending {
            None => outcome::audit(&mut parts).err(),
            Some(_) => None,
        };
        let deadlock = match (&ending, &audit) {
            (None, Some(_)) => stuck::deadlock(&parts, &self.scenario, self.plan.topology()),
            _ => None,
        };
        let cut = cut_series(&parts[0], now);
        let hosts = &parts[0].hosts;
        let starts: Vec<Option<Time>> = (0..hosts.jobs())
            .map(|job| hosts.started(job, &look.standing))
            .collect();
        let measured = parts.into_iter().map(|part| part.measured(now));
        let measured = MachineMeasured::join(measured).expect("a process has at least one part");
        let Some(gathered) = self.company.gather((audit, deadlock, measured))? else {
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
        let (outcome, detail) = ending.unwrap_or_else(|| {
            let violated = audits.into_iter().flatten().next().or(measured.fabric.audit().err());
            // Sources have ended when all is handed over, and nobody else waits for packets that never arrive.
            match (deadlocks.into_iter().flatten().next(), violated) {
                (Some(text), _) => (Outcome::Stalled, Some(text)),
                (None, Some(text)) => (Outcome::ConservationViolated, Some(text)),
                (None, None) => (Outcome::Completed, outcome::left_over(look.unmatched)),
            }
        });
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
            detail: detail.or(cut),
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

/// That the time series of `part` end before `now`, in words; `None` where they do not.
fn cut_series(part: &Machine, now: Time) -> Option<String> {
    let end = part.series_end().filter(|&end| end < now)?;
    Some(format!(
        "run.series_interval is short: a table of the time series ends at {} s",
        end.seconds()
    ))
}

/// In the first process, the parts of all, read into what `build` makes of the number of a process; in the others
/// nothing.
fn gather_parts(
    company: &mut Company,
    parts: Vec<Machine>,
    build: impl Fn(usize) -> Result<Vec<Machine>, String>,
) -> Result<Option<Vec<Machine>>, String> {
    let (_, processes) = company.place();
    if processes == 1 {
        return Ok(Some(parts));
    }
    let mut bytes = Vec::new();
    let mut saver = Saver::new(&mut bytes);
    parts.iter().for_each(|part| part.save(&mut saver));
    saver.finish().map_err(|error| error.to_string())?;
    drop(parts);
    let Some(all) = company.gather_bytes(bytes)? else {
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
