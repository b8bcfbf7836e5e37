//! Probably unintended settings of storage: servers that serve too many ranks, or a number of servers that was not
//! given.

use super::Warning;
use crate::scenario::Scenario;
use crate::scenario::resolved::{FileLayout, Job, Workload};
use odonata_storage::Part;
use odonata_storage::settings::Architecture;
use odonata_units::mix64;
use odonata_workload::skeletons::Skeleton;
use odonata_workload::{Cursor, OpKind, Program, Seen};
use std::collections::{BTreeMap, BTreeSet};

/// Number of ranks of a job, and of first operations of each, that are examined.
const RANKS: u32 = 64;
const OPERATIONS: u32 = 256;

/// The busiest server is reported if it has at least this many times its even share.
const SKEW: f64 = 4.0;

/// Warnings about the servers of `scenario` and their users.
pub(super) fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let servers = scenario.placement.servers.len();
    if servers == 0 {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    let compute_side =
        (scenario.resolved.storage.as_ref()).is_some_and(|storage| storage.architecture == Architecture::ComputeSide);
    let has_own = !scenario.resolved.layout.storage_nodes().is_empty();
    if compute_side && !has_own && !scenario.document.has("storage.nodes") {
        let clients = scenario
            .resolved
            .layout
            .compute_nodes(scenario.resolved.storage.as_ref());
        warnings.push(Warning {
            key: "storage.nodes".into(),
            message: format!(
                "not given: {servers} storage servers, one per 32 of {} compute nodes, spread evenly over the machine",
                clients.len()
            ),
            expected: "storage.nodes, with the number or the list of servers".into(),
        });
    }
    warnings.extend(scattered_directories(scenario));
    warnings.extend(free_metadata(scenario));
    warnings.extend(skew(scenario, servers));
    warnings.extend(tiers(scenario));
    warnings
}

/// Lower tiers of which most servers of the tier above use few servers.
fn tiers(scenario: &Scenario) -> Vec<Warning> {
    let settings = scenario.resolved.storage.iter().flat_map(|storage| &storage.tiers);
    let placed = settings.zip(&scenario.placement.tiers).enumerate();
    let crowded = placed.filter_map(|(number, (tier, place))| {
        let mut users = vec![0_u64; place.servers.len()];
        for &home in &place.homes {
            users[home as usize] += 1;
        }
        let (most, even) = (
            users.iter().copied().max()?,
            place.homes.len() as f64 / place.servers.len() as f64,
        );
        let by_layout = tier.layout != Default::default();
        if by_layout || (most as f64) < SKEW * even.max(1.0) {
            return None;
        }
        let used = users.iter().filter(|&&users| users > 0).count();
        Some(Warning {
            key: format!("storage.tiers.{number}.assignment"),
            message: format!(
                "{} servers drain to {used} of {} of tier \"{}\", {most} of them to one; an even share is {even:.1}",
                place.homes.len(),
                place.servers.len(),
                tier.name
            ),
            expected: "round-robin, or a tier layout that depends on the object".into(),
        })
    });
    crowded.collect()
}

/// mdtest on a machine where nothing that it measures takes time.
fn free_metadata(scenario: &Scenario) -> Option<Warning> {
    let resolved = &scenario.resolved;
    if resolved
        .storage
        .as_ref()
        .is_some_and(|storage| storage.metadata.is_some())
    {
        return None;
    }
    let is_mdtest = |workload: &Workload| matches!(workload, Workload::Skeleton(Skeleton::Mdtest(_)));
    let job = resolved.jobs.iter().find(|job| match &*job.workload {
        Workload::Phases(list) => list.iter().any(is_mdtest),
        single => is_mdtest(single),
    })?;
    Some(Warning {
        key: format!("jobs.{}.workload", job.entry),
        message: format!(
            "job \"{}\" runs mdtest, but the machine has no metadata servers: creating and removing files takes no \
             time",
            job.name
        ),
        expected: "a table [storage.metadata]".into(),
    })
}

/// Jobs that share a directory although the location of its files depends on the rank that accesses them.
fn scattered_directories(scenario: &Scenario) -> Option<Warning> {
    let resolved = &scenario.resolved;
    let mut first: BTreeMap<&str, &Job> = BTreeMap::new();
    for job in &resolved.jobs {
        let other = *first.entry(job.directory()).or_insert(job);
        let assigned = resolved.layout_of_files(job, 1) == FileLayout::Assigned;
        if assigned && !std::ptr::eq(other, job) {
            return Some(Warning {
                key: format!("jobs.{}.io.directory", job.entry),
                message: format!(
                    "jobs \"{}\" and \"{}\" share the directory \"{}\", but each rank reads and writes at its own \
                     server",
                    other.name,
                    job.name,
                    job.directory()
                ),
                expected: "a layout that depends on the file: hash, random, round-robin or striped".into(),
            });
        }
    }
    None
}

/// Ranks that use each server.
#[derive(Default)]
pub(super) struct Users {
    ranks: u64,
    pub(super) of_server: BTreeMap<u32, u64>,
    /// Whether the layout determines the location of files independently of the accessing rank.
    by_file: bool,
    /// Whether some ranks were left out.
    pub(super) sampled: bool,
}

fn skew(scenario: &Scenario, servers: usize) -> Option<Warning> {
    let users = Users::of(scenario);
    let (used, servers) = (users.of_server.len(), servers as u64);
    let (&server, &most) = users
        .of_server
        .iter()
        .max_by_key(|&(server, count)| (*count, std::cmp::Reverse(*server)))?;
    // A rank may use several.
    let even = users.of_server.values().sum::<u64>() as f64 / servers as f64;
    if (most as f64) < SKEW * even.max(1.0) {
        return None;
    }
    let (key, expected) = match users.by_file {
        true => ("storage.layout", "files on more servers: striped, or a file per rank"),
        false => (
            "storage.assignment",
            "ranks on more groups, another assignment, or a layout that depends on the file",
        ),
    };
    let looked_at = if users.sampled { " of the sample" } else { "" };
    let ranks = users.ranks;
    let message = if used == 1 {
        format!("{ranks} ranks{looked_at} use one of {servers} storage servers, server {server}")
    } else {
        let even = match even {
            even if even < 1.0 => "less than one".to_string(),
            even => format!("{even:.1}"),
        };
        format!(
            "{ranks} ranks{looked_at} use {used} of {servers} storage servers, {most} of them server {server}; an \
             even share is {even}"
        )
    };
    Some(Warning {
        key: key.into(),
        message,
        expected: expected.into(),
    })
}

impl Users {
    /// The users of the servers of `scenario`.
    pub(super) fn of(scenario: &Scenario) -> Users {
        let mut users = Users::default();
        for (job, place) in scenario.resolved.jobs.iter().zip(&scenario.placement.jobs) {
            let layout = scenario
                .resolved
                .layout_of_files(job, scenario.placement.servers.len() as u32);
            users.add(job, &place.servers, layout);
        }
        users
    }

    /// Adds the ranks of `job`, whose assigned servers are `home`.
    fn add(&mut self, job: &Job, home: &[u32], layout: FileLayout) {
        if matches!(*job.workload, Workload::Synthetic(_)) {
            return;
        }
        let Ok(Some(program)) = job.program() else { return };
        let ranks = *job.ranks;
        let step = ranks.div_ceil(RANKS).max(1);
        // One of each `step`, at varying positions: files may repeat with a period.
        let sampled = (0..ranks).step_by(step as usize).map(|first| {
            let offset = (mix64(first.into()) % u64::from(step)) as u32;
            (first + offset).min(ranks - 1)
        });
        let found = sampled.map(|rank| servers_of(program.as_ref(), rank, home, layout));
        let found: Vec<BTreeSet<u32>> = found.filter(|servers| !servers.is_empty()).collect();
        if found.is_empty() {
            return;
        }
        // Where every rank uses the server of its node, the users are known for all ranks.
        if layout == FileLayout::Assigned && step > 1 {
            self.ranks += home.len() as u64;
            for &server in home {
                *self.of_server.entry(server).or_default() += 1;
            }
            return;
        }
        self.by_file |= layout != FileLayout::Assigned;
        self.sampled |= step > 1;
        self.ranks += found.len() as u64;
        for server in found.into_iter().flatten() {
            *self.of_server.entry(server).or_default() += 1;
        }
    }
}

/// The servers that `rank` uses among its first operations.
fn servers_of(program: &dyn Program, rank: u32, home: &[u32], layout: FileLayout) -> BTreeSet<u32> {
    let requests = requests_of(program, rank, home, layout);
    requests.into_iter().map(|(_, part)| part.server).collect()
}

/// The requests of `rank` among its first operations: whether it writes, and the amount at each server.
pub(super) fn requests_of(program: &dyn Program, rank: u32, home: &[u32], layout: FileLayout) -> Vec<(bool, Part)> {
    let mut requests = Vec::new();
    let (mut cursor, mut memory) = (Cursor::default(), vec![0; program.memory()]);
    for _ in 0..OPERATIONS {
        let mut seen = Seen {
            memory: &mut memory,
            now: None,
            answer: 0,
            lost: false,
            failure: None,
        };
        let Some(op) = program.next_with(rank, &mut cursor, &mut seen) else {
            break;
        };
        if let OpKind::Read { file, offset, bytes }
        | OpKind::Write { file, offset, bytes }
        | OpKind::Iread {
            file, offset, bytes, ..
        }
        | OpKind::Iwrite {
            file, offset, bytes, ..
        } = op.kind
        {
            let own = home.get(rank as usize).copied().unwrap_or(0);
            let write = matches!(op.kind, OpKind::Write { .. } | OpKind::Iwrite { .. });
            requests.extend(layout.parts(file, (offset, bytes), own).map(|part| (write, part)));
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    const MACHINE: &str =
        "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 4\nglobal_ports_per_router = 2\n";

    fn warnings_of(text: &str) -> Vec<Warning> {
        let loaded = scenario::load(text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        warnings(&loaded)
    }

    fn job(name: &str, ranks: u32, keys: &str) -> String {
        let workload = "workload = { checkpoint = { total = \"1 MB\" } }";
        format!("[[jobs]]\nname = \"{name}\"\nranks = {ranks}\n{keys}\n{workload}\n")
    }

    #[test]
    fn mdtest_without_metadata_servers_is_reported() {
        let text = |metadata: &str| {
            let storage = format!("[storage]\nnodes = {{ per_group = 2 }}\n{metadata}");
            format!("{MACHINE}{storage}[[jobs]]\nname = \"m\"\nranks = 2\nworkload = {{ mdtest = \"-n 3\" }}\n")
        };
        let found = warnings_of(&text(""));
        assert_eq!((found.len(), found[0].key.as_str()), (1, "jobs.0.workload"));
        assert_eq!(found[0].expected, "a table [storage.metadata]");
        assert_eq!(warnings_of(&text("metadata = {}\n")), []);
    }

    #[test]
    fn default_servers_are_reported() {
        let text = |storage: &str| format!("{MACHINE}{storage}{}", job("a", 4, "placement = \"random\""));
        let found = warnings_of(&text("[storage]\n"));
        assert_eq!(found[0].key, "storage.nodes");
        assert_eq!(
            found[0].message,
            "not given: 5 storage servers, one per 32 of 139 compute nodes, spread evenly over the machine"
        );
        assert_eq!(warnings_of(&text("[storage]\nnodes = { per_group = 2 }\n")), []);
    }

    #[test]
    fn ranks_concentrated_on_few_servers_are_reported() {
        let text = |assignment: &str, ranks| {
            let storage = format!("[storage]\nnodes = {{ per_group = 2 }}\nassignment = {assignment:?}\n");
            format!("{MACHINE}{storage}{}", job("a", ranks, ""))
        };
        // Two groups of 14 compute nodes: the servers of two groups of nine.
        let found = warnings_of(&text("by-group", 28));
        assert_eq!((found.len(), found[0].key.as_str()), (1, "storage.assignment"));
        assert_eq!(
            found[0].message,
            "28 ranks use 4 of 18 storage servers, 7 of them server 0; an even share is 1.6"
        );
        assert_eq!(warnings_of(&text("round-robin", 28)), []);
        assert_eq!(warnings_of(&text("by-group", 126)), []);
        // Also with more ranks than are examined.
        let many = "ranks_per_node = 10";
        let text = text("by-group", 280).replace("ranks = 280", &format!("ranks = 280\n{many}"));
        let found = warnings_of(&text);
        assert!(
            found[0].message.starts_with("280 ranks use 4 of 18 storage servers"),
            "{found:?}"
        );
    }

    #[test]
    fn servers_that_drain_to_few_of_the_next_tier_are_reported() {
        let text = |assignment: &str| {
            let tier = format!(
                "[[storage.tiers]]\nname = \"io\"\nnodes = {{ list = [1, 2, 3, 4, 5, 6] }}\ndevice = {{}}\nassignment = {assignment:?}\n"
            );
            format!(
                "{MACHINE}[storage]\nnodes = {{ list = [0, 16, 32, 48, 64, 80, 96, 112, 128] }}\n{tier}{}",
                job("a", 4, "placement = \"random\"")
            )
        };
        let found = warnings_of(&text("by-group"));
        let warning = found.iter().find(|warning| warning.key == "storage.tiers.0.assignment");
        assert_eq!(
            warning.map(|warning| warning.message.as_str()),
            Some("9 servers drain to 1 of 6 of tier \"io\", 9 of them to one; an even share is 1.5")
        );
        assert!(
            warnings_of(&text("round-robin"))
                .iter()
                .all(|warning| warning.key != "storage.tiers.0.assignment")
        );
    }

    #[test]
    fn a_shared_file_on_one_server_is_reported_and_a_file_per_rank_is_not() {
        let text = |layout: &str, file: &str| {
            let storage = format!("[storage]\nnodes = {{ per_group = 2 }}\nlayout = {layout}\n");
            let job = job("a", 126, "").replace("total", &format!("file = {file:?}, total"));
            format!("{MACHINE}{storage}{job}")
        };
        let found = warnings_of(&text("\"hash\"", "shared"));
        assert_eq!((found.len(), found[0].key.as_str()), (1, "storage.layout"));
        let expected = "63 ranks of the sample use one of 18 storage servers, server";
        assert!(found[0].message.starts_with(expected), "{found:?}");
        assert_eq!(warnings_of(&text("\"round-robin\"", "per-rank")), []);
        assert_eq!(warnings_of(&text("\"hash\"", "per-rank")), []);
        assert_eq!(warnings_of(&text("{ striped = { stripe = \"1 kB\" } }", "shared")), []);
    }

    #[test]
    fn a_shared_directory_needs_a_layout_by_file() {
        let text = |layout: &str| {
            let storage =
                format!("[storage]\nnodes = {{ per_group = 2 }}\nassignment = \"random\"\nlayout = {layout:?}\n");
            let reader = job("b", 3, "io = { directory = \"a\" }");
            format!("{MACHINE}{storage}{}{reader}", job("a", 3, ""))
        };
        let found = warnings_of(&text("assigned"));
        assert_eq!((found.len(), found[0].key.as_str()), (1, "jobs.1.io.directory"));
        assert!(
            found[0]
                .message
                .starts_with("jobs \"a\" and \"b\" share the directory \"a\""),
            "{found:?}"
        );
        let found = warnings_of(&text("round-robin"));
        assert!(
            found.iter().all(|warning| warning.key != "jobs.1.io.directory"),
            "{found:?}"
        );
    }
}
