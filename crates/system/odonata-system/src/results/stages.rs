//! The table `stages`: data staged into the buffers for each job, before its start and ahead of its reads, and staged
//! out at its end.

use super::row::row;
use super::sources::Sources;
use odonata_engine::Time;
use odonata_storage::StageMetrics;

row! {
    /// One row per job that stages in or out (jobs.io.stage_in, stage_out) or whose files are read ahead.
    "stages" => pub struct StageRow {
        /// Job.
        job: String,
        /// Bytes of input files requested by the job.
        #[unit = "bytes"]
        asked_bytes: u64,
        /// Bytes of them staged from the lower tier.
        #[unit = "bytes"]
        brought_bytes: u64,
        /// Bytes of them already in the buffers.
        #[unit = "bytes"]
        found_bytes: u64,
        /// Bytes of them without room in the buffers: reads fetch them.
        #[unit = "bytes"]
        left_bytes: u64,
        /// When the first rank requested its files; -1: none did.
        #[unit = "s"]
        in_begin_s: f64,
        /// When the last rank had its files; -1: none has.
        #[unit = "s"]
        in_end_s: f64,
        /// Bytes read ahead (storage.policy.read_ahead).
        #[unit = "bytes"]
        read_ahead_bytes: u64,
        /// Bytes handed down by the first tier after the end of the job.
        #[unit = "bytes"]
        out_bytes: u64,
        /// When the job ended, the start of its stage-out; -1: it does not stage out, or has not ended.
        #[unit = "s"]
        out_begin_s: f64,
        /// When the last byte was safe in the last tier; -1: nothing to stage out.
        #[unit = "s"]
        out_end_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<StageRow> {
    let seconds = |time: Option<Time>| time.map_or(-1.0, |time| time.seconds());
    let mut rows = Vec::new();
    for (&number, stage) in &from.hosts.stages {
        let job = &from.scenario.jobs[usize::from(number)];
        let StageMetrics {
            brought,
            found,
            left,
            read_ahead,
            taken_out,
            out_until,
        } = stage.metrics;
        if job.io.stage_in.is_empty() && !job.io.stage_out && read_ahead == 0 {
            continue;
        }
        let asked = job.io.stage_in.iter().map(|file| match file.per_rank {
            true => file.bytes.0.saturating_mul((*job.ranks).into()),
            false => file.bytes.0,
        });
        let ranks = || from.hosts.of_job(number, *job.ranks);
        let ended = ranks().all(|rank| rank.finished);
        let end = ranks().map(|rank| rank.end).max().filter(|_| ended && job.io.stage_out);
        rows.push(StageRow {
            job: job.name.to_string(),
            asked_bytes: asked.fold(0, u64::saturating_add),
            brought_bytes: brought,
            found_bytes: found,
            left_bytes: left,
            in_begin_s: seconds(stage.times.from),
            in_end_s: seconds(stage.times.until),
            read_ahead_bytes: read_ahead,
            out_bytes: taken_out,
            out_begin_s: seconds(end),
            out_end_s: seconds(out_until),
        });
    }
    rows
}
