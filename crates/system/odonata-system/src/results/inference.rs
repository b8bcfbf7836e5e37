//! The table `inference`: latencies of requests to a model with separate prefill and decode instances.

use std::collections::BTreeMap;

use super::row::row;
use super::sources::Sources;
use crate::scenario::resolved::Workload;
use odonata_engine::Time;
use odonata_workload::skeletons::inference::reports;
use odonata_workload::skeletons::{InferenceParams, Skeleton};

row! {
    /// One row per answered request of a job whose workload is inference.
    "inference" => pub struct InferenceRow {
        /// Name of the job.
        job: String,
        /// The request, from 0 in the order of arrivals.
        request: u64,
        /// The instance that computed its prompt.
        prefill: u64,
        /// The instance that computed its other tokens.
        decode: u64,
        /// When it arrived, simulated time.
        #[unit = "s"]
        arrival_s: f64,
        /// When its first token was computed.
        #[unit = "s"]
        first_token_s: f64,
        /// When the keys and values of its batch had arrived at the decode instance, and it computed no earlier batch.
        #[unit = "s"]
        decode_s: f64,
        /// When its last token was computed.
        #[unit = "s"]
        end_s: f64,
        /// Time to first token: from arrival_s to first_token_s.
        #[unit = "s"]
        time_to_first_token_s: f64,
        /// Time per output token: from first_token_s to end_s, over the tokens after the first; 0 without any.
        #[unit = "s"]
        time_per_token_s: f64,
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<InferenceRow> {
    let jobs = (0u16..).zip(&from.scenario.jobs);
    jobs.filter_map(|(number, job)| match &*job.workload {
        Workload::Skeleton(Skeleton::Inference(params)) => Some(rows_of(from, number, params)),
        _ => None,
    })
    .flatten()
    .collect()
}

fn rows_of(from: &Sources<'_>, job: u16, params: &InferenceParams) -> Vec<InferenceRow> {
    let times: BTreeMap<(u32, u32), Time> = (from.hosts.reports.iter())
        .filter(|record| record.job == job)
        .map(|record| ((record.report, f64::from_bits(record.value) as u32), record.time))
        .collect();
    let time = |report: u32, number: u32| times.get(&(report, number)).map(|time| time.seconds());
    let start = from.starts[usize::from(job)];
    let row = |request: u32| {
        let batch = request / params.batch;
        let arrival_s = (start + params.interval.times(request.into())).seconds();
        let first_token_s = time(reports::FIRST_TOKEN, request)?;
        let end_s = time(reports::END, batch)?;
        let others = f64::from(params.output - 1);
        Some(InferenceRow {
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            request: request.into(),
            prefill: (request % params.prefill).into(),
            decode: (batch % params.decode).into(),
            arrival_s,
            first_token_s,
            decode_s: time(reports::DECODE, batch)?,
            end_s,
            time_to_first_token_s: first_token_s - arrival_s,
            time_per_token_s: if others > 0.0 {
                (end_s - first_token_s) / others
            } else {
                0.0
            },
        })
    };
    (0..params.requests).filter_map(row).collect()
}
