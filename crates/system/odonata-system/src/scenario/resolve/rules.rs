//! Rules between jobs: start dependencies, and jobs whose end stops the traffic of others.

use std::collections::BTreeMap;
use std::ops::Range;

use odonata_network::settings::{Fidelity, RouterModel};
use odonata_topology::Topology;
use odonata_units::OneOrMany;
use odonata_workload::collective::choice::{Allreduce, Barrier};

use crate::link_choice::links_named;
use crate::scenario::error::{Problem, nearest, quoted};
use crate::scenario::job::{Job, OtherJobs};
use crate::scenario::resolved::{Resolved, Run};
use crate::scenario::timeline::Timeline;

/// Maximum number of dependencies between jobs: enough for two arrays of a thousand jobs.
const MOST_PAIRS: usize = 1 << 20;

/// A table `[[jobs]]`: its key, its name, and the jobs that it makes.
pub(super) struct Entry {
    pub(super) at: String,
    pub(super) name: String,
    pub(super) jobs: Range<usize>,
}

/// Resolves the names of jobs in the rules of the jobs `resolved`, which `entries` have made.
///
/// # Errors
/// Two jobs or arrays have the same name, a rule names a job that does not exist, or jobs wait for each other.
pub(super) fn apply(entries: Vec<Entry>, resolved: &mut [Job]) -> Result<(), Problem> {
    let names = names(&entries, resolved)?;
    let mut pairs = 0;
    for entry in entries {
        for key in ["start_after", "until"] {
            let at = format!("{}.{key}", entry.at);
            let jobs = match rule_of(&mut resolved[entry.jobs.start], key).name() {
                Some(rule) => named(&at, rule, &names)?,
                None => Vec::new(),
            };
            pairs += jobs.len() * entry.jobs.len();
            if pairs > MOST_PAIRS {
                let problem = format!("{pairs} dependencies between jobs");
                let error = Problem::new(at, problem, format!("at most {MOST_PAIRS}"));
                return Err(error.hint("make the array wait for one job, and that job for the others"));
            }
            for job in &mut resolved[entry.jobs.clone()] {
                rule_of(job, key).set(jobs.clone());
            }
        }
    }
    no_cycle(resolved)
}

/// Most links whose queues are recorded.
const MOST_QUEUE_LINKS: usize = 1024;

/// The numbers of the links of `topology` whose queues `run` records, in rising order.
///
/// # Errors
/// There is no interval, no such link, or there are too many.
pub(super) fn queue_links(run: &Run, topology: &Topology) -> Result<Vec<u32>, Problem> {
    const KEY: &str = "run.queue_links";
    if !run.queue_links.is_empty() && run.series_interval.is_none() {
        let error = Problem::new(
            KEY,
            "queues of links without an interval",
            "run.series_interval beside it",
        );
        return Err(error.hint("for example series_interval = \"10 us\""));
    }
    let links = links_named(topology, &run.queue_links).map_err(|(at, problem)| {
        let expected = "the ends of a link, such as \"r3>r7\", \"n5>r1\" or \"r3>*\"";
        let error = Problem::new(format!("{KEY}.{at}"), problem, expected);
        error.hint("the table links of any run names all links of its machine")
    })?;
    if links.len() > MOST_QUEUE_LINKS {
        let problem = format!("{} links", links.len());
        return Err(Problem::new(KEY, problem, format!("at most {MOST_QUEUE_LINKS} links")));
    }
    Ok(links)
}

/// Resolves the jobs that `timeline` names; all of `resolved` if it names none.
///
/// # Errors
/// A named job does not exist, or none of the jobs has such a rank.
pub(super) fn timeline(timeline: &mut Timeline, resolved: &[Job]) -> Result<(), Problem> {
    let mut entries: Vec<Entry> = Vec::new();
    for (number, job) in resolved.iter().enumerate() {
        let array = job.count.and_then(|_| job.name.rsplit_once('-'));
        match entries.get_mut(job.entry as usize) {
            Some(entry) => entry.jobs.end = number + 1,
            None => entries.push(Entry {
                at: String::new(),
                name: array.map_or(&**job.name, |(name, _)| name).to_owned(),
                jobs: number..number + 1,
            }),
        }
    }
    let jobs = match timeline.jobs.name() {
        Some(rule) => named("run.timeline.jobs", rule, &names(&entries, resolved)?)?,
        None => (0..resolved.len() as u16).collect(),
    };
    let most = jobs
        .iter()
        .map(|&job| *resolved[usize::from(job)].ranks)
        .max()
        .unwrap_or(0);
    timeline.jobs.set(jobs);
    for (at, &rank) in timeline.ranks.iter().flatten().enumerate() {
        if rank >= most {
            let key = format!("run.timeline.ranks.{at}");
            let expected = format!("0 to {}, the last rank of the largest of these jobs", most - 1);
            return Err(Problem::new(key, format!("no job has a rank {rank}"), expected));
        }
    }
    Ok(())
}

/// The rule of `job` at `key`.
fn rule_of<'a>(job: &'a mut Job, key: &str) -> &'a mut OtherJobs {
    match key {
        "until" => &mut job.until,
        _ => &mut job.start_after,
    }
}

/// The jobs that each name refers to: the jobs of an array, or one job.
fn names(entries: &[Entry], resolved: &[Job]) -> Result<BTreeMap<String, Range<usize>>, Problem> {
    let mut names: BTreeMap<String, (usize, Range<usize>)> = BTreeMap::new();
    let mut add = |at: usize, name: &str, jobs: Range<usize>| {
        let Some((first, _)) = names.insert(name.to_string(), (at, jobs)) else {
            return Ok(());
        };
        let problem = format!("jobs {first} and {at} (counted from 0) have the same name \"{name}\"");
        let error = Problem::new(format!("jobs.{at}.name"), problem, "a name for every job");
        let array = resolved
            .iter()
            .any(|job| job.entry as usize == first && *job.name != entries[first].name)
            || resolved
                .iter()
                .any(|job| job.entry as usize == at && *job.name != entries[at].name);
        Err(if array {
            error.hint("an array NAME has the jobs NAME-0, NAME-1, ...")
        } else {
            error
        })
    };
    for (at, entry) in entries.iter().enumerate() {
        add(at, &entry.name, entry.jobs.clone())?;
        for number in entry.jobs.clone() {
            if *resolved[number].name != entry.name {
                add(at, &resolved[number].name, number..number + 1)?;
            }
        }
    }
    Ok(names.into_iter().map(|(name, (_, jobs))| (name, jobs)).collect())
}

/// The jobs that the rule at key `at` names, ascending and without duplicates.
fn named(at: &str, rule: &OneOrMany<String>, names: &BTreeMap<String, Range<usize>>) -> Result<Vec<u16>, Problem> {
    let mut jobs = Vec::new();
    for (key, name) in rule.clone().keyed(at) {
        let Some(range) = names.get(&name) else {
            const SHOWN: usize = 12;
            let mut list: Vec<&str> = names.keys().map(String::as_str).take(SHOWN).collect();
            if names.len() > SHOWN {
                list.push("...");
            }
            let problem = format!("there is no job {}", quoted(&name));
            let error = Problem::new(key, problem, format!("one of {}", list.join(", ")));
            return Err(match nearest(&name, names.keys().map(String::as_str)) {
                Some(hint) => error.hint(hint),
                None => error,
            });
        };
        // There are fewer than 2^15 jobs.
        jobs.extend(range.clone().map(|number| number as u16));
    }
    if jobs.is_empty() {
        return Err(Problem::new(at, "names no job", "a name, or a list of names"));
    }
    jobs.sort_unstable();
    jobs.dedup();
    Ok(jobs)
}

/// Checks that the jobs can be put in an order in which each comes after the jobs whose end it waits for, at its start
/// or at its own end.
fn no_cycle(jobs: &[Job]) -> Result<(), Problem> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let awaited = |job: usize| {
        jobs[job]
            .start_after
            .iter()
            .chain(jobs[job].until.iter())
            .map(|&other| usize::from(other))
    };
    let mut seen = vec![Seen::Not; jobs.len()];
    for first in 0..jobs.len() {
        // Depth first with an explicit path: chains of jobs may be longer than the stack.
        let mut path = vec![(first, 0)];
        while let Some((job, next)) = path.last_mut() {
            let job = *job;
            if *next == 0 {
                match seen[job] {
                    Seen::Done => {
                        path.pop();
                        continue;
                    }
                    _ => seen[job] = Seen::Open,
                }
            }
            let Some(other) = awaited(job).nth(*next) else {
                seen[job] = Seen::Done;
                path.pop();
                continue;
            };
            *next += 1;
            if seen[other] == Seen::Open {
                let start = path.iter().position(|&(on, _)| on == other).unwrap_or(0);
                return Err(cycle(jobs, path[start..].iter().map(|&(on, _)| on).collect()));
            }
            path.push((other, 0));
        }
    }
    Ok(())
}

/// Checks jobs that set a fidelity of their own.
pub(super) fn fidelity(resolved: &mut Resolved) -> Result<(), Problem> {
    let [packet, flow, analytic, ethernet] = [Fidelity::Packet, Fidelity::Flow, Fidelity::Analytic, Fidelity::Ethernet]
        .map(|fidelity| resolved.has_fidelity(fidelity));
    let network = &resolved.network;
    if ethernet && (packet || flow || analytic) {
        let problem = "messages over an Ethernet share no link with others, and jobs differ";
        let expected = "fidelity = \"ethernet\" of all jobs, or of none";
        return Err(Problem::new("network.fidelity", problem, expected));
    }
    if ethernet {
        network.check_without_packets(Fidelity::Ethernet)?;
    }
    if !ethernet && !network.ethernet.is_none() {
        let problem = "nothing in the scenario uses an Ethernet";
        let expected = "no such table, or network.fidelity = \"ethernet\"";
        return Err(Problem::new("network.ethernet", problem, expected));
    }
    if flow {
        network.check_without_packets(Fidelity::Flow)?;
    }
    if analytic && !packet {
        network.check_without_packets(Fidelity::Analytic)?;
    }
    if flow || analytic || ethernet {
        resolved.nic.check_without_packets()?;
    }
    if !analytic && !network.analytic.is_none() {
        let problem = "nothing in the scenario uses the LogGP model";
        let expected = "no such table, or fidelity = \"analytic\" of the network or of a job";
        return Err(Problem::new("network.analytic", problem, expected));
    }
    let in_packets = |job: &Job| resolved.fidelity_of(job) == Fidelity::Packet;
    if let Some(job) = (resolved.jobs.iter()).find(|job| !in_packets(job) && !job.traffic_class.are_first()) {
        let key = format!("jobs.{}.traffic_class", job.entry);
        let problem = "traffic classes share links by packet, and this job sends no packets";
        return Err(Problem::new(key, problem, "none, or fidelity = \"packet\""));
    }
    resolved.network.fill_coupling(packet && flow)
}

/// Checks sums in routers.
pub(super) fn reduction(resolved: &Resolved) -> Result<(), Problem> {
    let network = &resolved.network;
    let Some(reduction) = network.reduction else {
        let collectives = &resolved.mpi.collectives;
        let key = match (collectives.barrier, collectives.allreduce) {
            (Barrier::Switches, _) => "mpi.collectives.barrier",
            (_, Allreduce::Switches) => "mpi.collectives.allreduce",
            _ => return Ok(()),
        };
        let problem = "\"switches\", and routers do not sum";
        return Err(Problem::new(key, problem, "a table [network.reduction]"));
    };
    reduction.check(network)?;
    let without = resolved
        .jobs
        .iter()
        .find(|job| resolved.fidelity_of(job) != Fidelity::Packet);
    if network.fidelity != Fidelity::Packet || without.is_some() {
        let problem = "routers sum packets, and some messages are none";
        return Err(Problem::new(
            "network.reduction",
            problem,
            "fidelity = \"packet\" of all jobs",
        ));
    }
    Ok(())
}

/// Fills in whether waits are charged; those in an Ethernet are not.
pub(super) fn blame(resolved: &mut Resolved) -> Result<(), Problem> {
    let ethernet = resolved.has_fidelity(Fidelity::Ethernet);
    let several = resolved.jobs.len() > 1;
    if *resolved.run.blame.fill(several && !ethernet) && ethernet {
        let problem = "waits in an Ethernet are not charged to jobs";
        return Err(Problem::new("run.blame", problem, "false"));
    }
    if ethernet && !resolved.run.queue_links.is_empty() {
        let problem = "queues of an Ethernet have no credits; the table ethernet_links has their largest fill";
        return Err(Problem::new("run.queue_links", problem, "none"));
    }
    Ok(())
}

/// Checks the conditions of lost time, which is computed from waits charged to individual jobs.
pub(super) fn lost_time(resolved: &Resolved) -> Result<(), Problem> {
    if !resolved.run.lost_time {
        return match resolved.run.lost_time_path {
            0 => Ok(()),
            _ => {
                let problem = "the path keeps waits of the lost-time analysis, and run.lost_time is off";
                Err(Problem::new(
                    "run.lost_time_path",
                    problem,
                    "0, or run.lost_time = true",
                ))
            }
        };
    }
    let refused = |problem: &str| Err(Problem::new("run.lost_time", problem, "false"));
    if resolved.has_fidelity(Fidelity::Analytic) {
        return refused("messages of the analytic model never wait in the network");
    }
    if resolved.has_fidelity(Fidelity::Flow) {
        return refused("flows share links and never wait");
    }
    if resolved.has_fidelity(Fidelity::Ethernet) {
        return refused("waits in an Ethernet are not charged to jobs");
    }
    if !*resolved.run.blame {
        let problem = "lost time needs the waits charged by run.blame, which is off";
        return Err(Problem::new("run.lost_time", problem, "false, or run.blame = true"));
    }
    Ok(())
}

/// Checks blame sampling: a sample covers packets whose waits are charged, and cannot show what single messages lose.
pub(super) fn blame_sampling(resolved: &Resolved) -> Result<(), Problem> {
    let refused = |problem: &str, expected: &str| Err(Problem::new("run.blame_sampling", problem, expected));
    match resolved.run.blame_sampling {
        1 => Ok(()),
        _ if !*resolved.run.blame => refused("run.blame, which charges waits, is off", "1, or run.blame = true"),
        _ if resolved.run.lost_time => refused(
            "run.lost_time needs every wait of every packet",
            "1, or run.lost_time = false",
        ),
        _ if resolved.network.router == RouterModel::Pipelined => refused(
            "pipelined routers charge every wait of every flit",
            "1, or another network.router",
        ),
        _ => Ok(()),
    }
}

fn cycle(jobs: &[Job], path: Vec<usize>) -> Problem {
    let (first, after) = (path[0], path.get(1).copied().unwrap_or(path[0]));
    let starts = jobs[first].start_after.contains(&(after as u16));
    let key = if starts { "start_after" } else { "until" };
    let mut names: Vec<&str> = path.iter().take(8).map(|&job| jobs[job].name.as_str()).collect();
    if path.len() > names.len() {
        names.push("...");
    }
    names.push(&jobs[first].name);
    let problem = match path.len() {
        1 => format!("job \"{}\" waits for itself", jobs[first].name),
        _ => format!("jobs wait for each other: {}", names.join(" for ")),
    };
    Problem::new(
        format!("jobs.{}.{key}", jobs[first].entry),
        problem,
        "jobs that do not depend on this one",
    )
}
