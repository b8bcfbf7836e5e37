//! Rules for how a run is spread over cores.

use super::within;
use crate::scenario::error::Problem;
use crate::scenario::parallel::{Parallel, Parts, Threads};
use crate::scenario::written as w;
use odonata_units::Bytes;

/// Most threads of a process: more than any computer of today has, fewer than a slip of the finger asks for.
const MOST_THREADS: u32 = 4_096;

/// Least memory for taking events back.
const LEAST_JOURNAL: Bytes = Bytes::mib(1);

pub(super) fn parallel(run: &w::Run, routers: u32) -> Result<Parallel, Problem> {
    let threads = match run.threads {
        Threads::Auto => Threads::Auto,
        Threads::Count(count) => Threads::Count(within("run.threads", count, 1, MOST_THREADS)?),
    };
    match &run.parts {
        Parts::Auto => {}
        Parts::Count(count) if *count > routers => {
            let problem = format!("{count} parts of {routers} routers");
            let error = Problem::new("run.parts", problem, format!("1 to {routers}"));
            return Err(error.hint("a part has at least one router, with all its nodes"));
        }
        Parts::Count(_) => {}
        Parts::Listed(listed) => first_routers(&listed.first_routers, routers)?,
    }
    if run.optimism.events_per_round == 0 {
        let problem = "rounds of no event do not end";
        return Err(Problem::new("run.optimism.events_per_round", problem, "at least 1"));
    }
    if run.optimism.journal < LEAST_JOURNAL {
        let problem = format!("{} do not suffice to take events back", run.optimism.journal);
        return Err(Problem::new("run.optimism.journal", problem, "at least 1 MiB"));
    }
    Ok(Parallel {
        scheduler: run.scheduler,
        threads,
        parts: run.parts.clone(),
        optimism: run.optimism,
    })
}

/// Checks that the parts which begin at `first` cover the machine, in order.
fn first_routers(first: &[u32], routers: u32) -> Result<(), Problem> {
    let key = "run.parts.first_routers";
    if first.is_empty() {
        return Err(Problem::new(key, "no part", "the first router of each part, from 0"));
    }
    for (at, &router) in first.iter().enumerate() {
        let key = format!("{key}.{at}");
        let least = at.checked_sub(1).map_or(0, |before| first[before] + 1);
        if at == 0 && router != 0 {
            let problem = format!("routers below {router} are in no part");
            return Err(Problem::new(key, problem, "0 as the first router of the first part"));
        }
        if router >= routers {
            let problem = format!("there is no router {router}");
            return Err(Problem::new(key, problem, format!("{least} to {}", routers - 1)));
        }
        if router < least {
            let problem = format!(
                "a part begins at router {router}, behind one that begins at {}",
                least - 1
            );
            return Err(Problem::new(key, problem, format!("{least} to {}", routers - 1)));
        }
    }
    Ok(())
}
