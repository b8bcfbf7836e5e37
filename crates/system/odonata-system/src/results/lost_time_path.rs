//! The table `lost_time_path`: the last waits of ranks, each with the wait it stems from.

use super::row::row;
use super::sources::{CLASSES, Sources, ends};
use odonata_blame::lost::{LostAt, Origin};
use odonata_engine::{NIL, Time};
use odonata_host::{PathCall, PathRecord};

row! {
    /// The last waits of every rank in which it lost time, up to run.lost_time_path: the losses at the end of each, in
    /// rows that add up. Rows of kind `inherited` give the part caused by the previous wait, of this rank or of the
    /// sender of the awaited message: losses to others, and to the job itself (also to other ranks that would have come
    /// last alone). The other rows give the losses since then, by culprit and place. From the `end` of a rank
    /// backwards, wait by wait, they are the chain that ends it: `odonata explain` prints it.
    "lost_time_path" => pub struct LostTimePathRow {
        /// Name of the job.
        job: String,
        /// Rank in the job.
        rank: u64,
        /// Number of the wait at the rank, from 1; only the last ones are kept.
        wait: u64,
        /// Name of the call: MPI_Recv, MPI_Allreduce, write, ...; iteration: the end of one; end: of the rank, or of
        /// the run.
        call: &'static str,
        /// Number of the call in the rank's program, or of the iteration; -1: of end.
        number: i64,
        /// When it was called, simulated time; for end, when the previous wait ended.
        #[unit = "s"]
        begin_s: f64,
        /// When it ended.
        #[unit = "s"]
        end_s: f64,
        /// Rank of the job with the inherited losses; -1: none.
        from_rank: i64,
        /// The wait of that rank whose end has the losses; 0: since the start.
        from_wait: u64,
        /// Job that held the resource; empty for several other jobs.
        culprit: String,
        /// mpi or io: the culprit's traffic; empty: both.
        culprit_class: &'static str,
        /// As in the table lost_time; inherited: losses by the end of the previous wait; elsewhere: losses at further
        /// places together.
        kind: &'static str,
        /// link, server (a storage server) or metadata (a metadata server); empty for several places.
        place: &'static str,
        /// Link, as in the table links; -1: none.
        link: i64,
        /// Name of the link.
        name: String,
        /// Storage server or metadata server, as in their tables; -1: none.
        server: i64,
        /// Delay of the end of this wait.
        #[unit = "s"]
        lost_s: f64,
    }
}

fn place_of(from: &Sources<'_>, place: LostAt) -> (&'static str, i64, String, i64) {
    match place.parts() {
        (1, link) => {
            let name = ends(from.topology, link).map_or_else(String::new, |ends| ends.name());
            ("link", i64::from(link), name, -1)
        }
        (2, server) => ("server", -1, String::new(), i64::from(server)),
        (3, server) => ("metadata", -1, String::new(), i64::from(server)),
        _ => ("", -1, String::new(), -1),
    }
}

pub(super) fn rows(from: &Sources<'_>) -> Vec<LostTimePathRow> {
    from.hosts
        .lost_path
        .iter()
        .flat_map(|record| of_wait(from, record))
        .collect()
}

fn of_wait(from: &Sources<'_>, record: &PathRecord) -> Vec<LostTimePathRow> {
    let local = |origin: Origin| match origin.rank {
        NIL => -1,
        rank => i64::from(from.hosts.job_of(rank).1),
    };
    let (call, number) = match record.call {
        PathCall::Operation(kind, number) => (kind.name(), i64::from(number)),
        PathCall::Iteration(number) => ("iteration", i64::from(number)),
        PathCall::End => ("end", -1),
    };
    let (job, rank) = from.hosts.job_of(record.at.rank);
    let row = |what: (String, &'static str, &'static str), place: LostAt, time: Time| {
        let (culprit, culprit_class, kind) = what;
        let (place, link, name, server) = place_of(from, place);
        LostTimePathRow {
            job: from.scenario.jobs[usize::from(job)].name.to_string(),
            rank: u64::from(rank),
            wait: u64::from(record.at.number),
            call,
            number,
            begin_s: record.begin.seconds(),
            end_s: record.end.seconds(),
            from_rank: local(record.from),
            from_wait: u64::from(record.from.number),
            culprit,
            culprit_class,
            kind,
            place,
            link,
            name,
            server,
            lost_s: time.seconds(),
        }
    };
    let anonymous = |kind| (String::new(), "", kind);
    let itself = |kind| (from.scenario.jobs[usize::from(job)].name.to_string(), "", kind);
    let mut rows = vec![row(anonymous("inherited"), LostAt::NOWHERE, record.inherited.others)];
    rows.extend(record.losses().map(|(culprit, kind, place, time)| {
        let job = from.scenario.jobs[usize::from(culprit / 2)].name.to_string();
        row((job, CLASSES[usize::from(culprit % 2)], kind.name()), place, time)
    }));
    for (what, time) in [
        (itself("inherited"), record.inherited.own),
        (anonymous("elsewhere"), record.rest.others),
        (itself("elsewhere"), record.rest.own),
    ] {
        if time > Time::ZERO {
            rows.push(row(what, LostAt::NOWHERE, time));
        }
    }
    rows
}
