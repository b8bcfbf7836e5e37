//! The results of a run: its tables and `run.json`.

use super::Progress;
use crate::check::proof;
use crate::cost::Cost;
use crate::outcome::Outcome;
use crate::results::{ArrowError, ETHERNET_TABLES, QueueSeriesRow, Row, Rows, TIMELINE_TABLES, Table};
use crate::scenario::Resolved;
use crate::scenario::resolved::Fidelity;
use crate::scenario::resolved::Scheduler as SchedulerKind;
use crate::schedule;
use odonata_engine::{Figures, Time};

/// The results of a run.
pub struct Results {
    pub(super) outcome: Outcome,
    pub(super) detail: Option<String>,
    /// Whether rows of a timeline were not kept.
    pub(super) timeline_cut: bool,
    pub(super) digest: String,
    pub(super) progress: Progress,
    pub(super) bytes_delivered: u64,
    pub(super) state_bytes: u64,
    pub(super) nodes: u32,
    /// Of every process.
    pub(super) cost: Vec<Cost>,
    pub(super) schedule: schedule::Plan,
    pub(super) figures: Figures,
    pub(super) scenario: Resolved,
    pub(super) rows: Rows,
}

impl Results {
    /// How the run ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The digest of all results: always equal for equal scenarios and seeds.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The measurements, row by row.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The progress of the run at its end.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// CPU seconds from the construction of the machine to the end.
    pub fn cpu_s(&self) -> f64 {
        self.cost.iter().map(|cost| cost.spent.cpu.as_secs_f64()).sum()
    }

    fn wall_s(&self) -> f64 {
        self.cost
            .iter()
            .map(|cost| cost.spent.wall.as_secs_f64())
            .fold(0.0, f64::max)
    }

    fn peak_rss_bytes(&self) -> u64 {
        self.cost.iter().map(|cost| cost.spent.peak_rss).max().unwrap_or(0)
    }

    /// Bytes of simulation state per node of the machine.
    pub fn bytes_per_node(&self) -> f64 {
        self.state_bytes as f64 / f64::from(self.nodes)
    }

    /// The tables; those of a timeline, of queues and of an Ethernet only if they were recorded.
    ///
    /// # Errors
    /// The texts of a column exceed 2 GiB.
    pub fn tables(&self) -> Result<Vec<Table>, ArrowError> {
        let mut tables = self.rows.tables()?;
        if self.scenario.run.timeline.is_none() {
            tables.retain(|table| !TIMELINE_TABLES.contains(&table.name));
        }
        if !self.scenario.has_fidelity(Fidelity::Ethernet) {
            tables.retain(|table| !ETHERNET_TABLES.contains(&table.name));
        }
        if self.scenario.run.queue_links.is_empty() {
            tables.retain(|table| table.name != QueueSeriesRow::TABLE);
        }
        Ok(tables)
    }

    /// Threads of each process; for a run that measured several numbers, the one that handled most events.
    fn threads(&self) -> usize {
        let choice = self.figures.thread_choice;
        choice.map_or(self.figures.threads, |choice| choice.threads)
    }

    /// How the run was executed, which does not affect its results.
    fn schedule_json(&self) -> serde_json::Value {
        let (plan, figures) = (&self.schedule, &self.figures);
        let mut json = serde_json::json!({
            "reasons": plan.reasons,
            "parts": plan.partition.len(),
            "lookahead_s": Some(plan.partition.lookahead()).filter(|&t| t != Time::NEVER).map(Time::seconds),
            "rounds": figures.rounds,
            "events_per_window": figures.events_per_window(),
            "sent_between_parts": figures.sent,
            "waiting_share": figures.waiting,
            "processes": self.cost.iter().map(|cost| serde_json::json!({
                "events": cost.events,
                "cpu_s": cost.spent.cpu.as_secs_f64(),
                "peak_rss_bytes": cost.spent.peak_rss,
            })).collect::<Vec<_>>(),
        });
        if let Some(choice) = &figures.thread_choice {
            json["measured"] = serde_json::json!({
                "share_of_events": choice.share,
                "trials": choice.trials,
                "trial": choice.trial,
                "why": schedule::in_words(choice),
            });
        }
        if plan.scheduler == SchedulerKind::Optimistic {
            json["optimistic"] = serde_json::json!({
                "speculated": figures.speculated,
                "rolled_back": figures.rolled_back,
                "rollbacks": figures.rollbacks,
                "anti_messages": figures.anti_messages,
                "gvt_rounds": figures.gvt_rounds,
                "efficiency": figures.efficiency(),
                "peak_journal_bytes": figures.peak_journal_bytes,
            });
        }
        json
    }

    /// The content of `run.json`.
    pub fn run_json(&self) -> serde_json::Value {
        let mut json = serde_json::json!({
            "outcome": self.outcome.name(),
            "detail": self.detail,
            "digest": self.digest,
            "simulated_s": self.progress.simulated_s,
            "wall_s": self.wall_s(),
            "cpu_s": self.cpu_s(),
            "events": self.cost.iter().map(|cost| cost.events).sum::<u64>(),
            "packets": self.progress.packets,
            "packet_hops": self.progress.packet_hops,
            "packet_hops_per_cpu_s": self.progress.packet_hops as f64 / self.cpu_s().max(1e-9),
            "messages": self.progress.messages,
            "bytes_delivered": self.bytes_delivered,
            "peak_rss_bytes": self.peak_rss_bytes(),
            "state_bytes_per_node": self.bytes_per_node(),
            "nodes": self.nodes,
            "scheduler": self.schedule.scheduler,
            "threads": self.threads(),
            "processes": self.figures.processes,
            "schedule": self.schedule_json(),
            "blame": self.scenario.run.blame,
            "deadlock_cycle": proof::tolerated_cycle(&self.scenario),
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": self.scenario,
        });
        if self.scenario.run.timeline.is_some() {
            json["timeline_cut"] = self.timeline_cut.into();
        }
        json
    }
}
