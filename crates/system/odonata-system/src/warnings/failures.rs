//! Probably unintended settings for faults of storage and for the reactions of clients.

use super::Warning;
use super::storage::{Users, requests_of};
use crate::scenario::Scenario;
use odonata_engine::Time;
use odonata_storage::settings::{Acknowledge, Storage};

/// Warnings about the faults of `scenario`.
pub(super) fn warnings(scenario: &Scenario) -> Vec<Warning> {
    let Some(storage) = &scenario.resolved.storage else {
        return Vec::new();
    };
    let mut warnings = unused(scenario, storage);
    warnings.extend(hasty(scenario, storage));
    warnings
}

/// Servers of the first tier that fail and are not used.
fn unused(scenario: &Scenario, storage: &Storage) -> Vec<Warning> {
    if !storage.has_failures() {
        return Vec::new();
    }
    let users = Users::of(scenario);
    if users.sampled {
        return Vec::new();
    }
    let fails = storage.faults.iter().enumerate();
    let first = 0..scenario.placement.servers.len() as u32;
    let fails = fails.filter(|(_, fault)| {
        let fails = fault.outage().is_some() && first.contains(&fault.server);
        fails && !users.of_server.contains_key(&fault.server)
    });
    let warning = |(number, fault): (usize, &odonata_storage::Fault)| Warning {
        key: format!("storage.faults.{number}.server"),
        message: format!(
            "server {} fails, and no rank uses it in its first operations",
            fault.server
        ),
        expected: "a server that the layout and the assignment give to a job".into(),
    };
    fails.map(warning).collect()
}

/// A timeout that is shorter than the device alone needs for a request.
fn hasty(scenario: &Scenario, storage: &Storage) -> Option<Warning> {
    let client = storage.client?;
    // The fastest of several devices: rules may send the request to any.
    let alone = |write: bool, bytes: u64| -> Time {
        if write && storage.manager.acknowledge == Acknowledge::Memory {
            return Time::ZERO;
        }
        let devices = storage.all_devices().iter();
        let times = devices.map(|device| device.model().about(write, bytes));
        times.min().unwrap_or(Time::ZERO)
    };
    let servers = scenario.placement.servers.len() as u32;
    for (job, place) in scenario.resolved.jobs.iter().zip(&scenario.placement.jobs) {
        let Ok(Some(program)) = job.program() else { continue };
        let layout = scenario.resolved.layout_of_files(job, servers);
        let requests = requests_of(program.as_ref(), 0, &place.servers, layout);
        let Some((write, part)) = requests
            .into_iter()
            .max_by_key(|(write, part)| alone(*write, part.bytes))
        else {
            continue;
        };
        let time = alone(write, part.bytes);
        if client.timeout < time {
            let what = if write { "write" } else { "read" };
            return Some(Warning {
                key: "storage.client.timeout".into(),
                message: format!(
                    "an idle device takes {:.3e} s for a {what} of {} B by rank 0 of job \"{}\", longer than the \
                     timeout of {} s: every attempt times out",
                    time.seconds(),
                    part.bytes,
                    job.name,
                    client.timeout.seconds()
                ),
                expected: "longer than a request takes at a busy server".into(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn warnings_of(storage: &str) -> Vec<(String, String)> {
        let text = format!(
            "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 4\nglobal_ports_per_router = 2\n\
             [storage]\nnodes = {{ per_group = 1 }}\n{storage}\n[[jobs]]\nname = \"a\"\nranks = 4\n\
             workload = {{ checkpoint = {{ total = \"40 MB\" }} }}\n"
        );
        let loaded = scenario::load(&text, "s.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
        warnings(&loaded)
            .into_iter()
            .map(|warning| (warning.key, warning.message))
            .collect()
    }

    #[test]
    fn a_failure_without_effect_is_reported() {
        let text = |server: u32| {
            format!(
                "client = {{ timeout = \"1 s\" }}\nfaults = [{{ server = {server}, at = \"1 ms\", kind = \"fail\" }}]\n"
            )
        };
        assert_eq!(warnings_of(&text(0)), []);
        let found = warnings_of(&text(7));
        assert_eq!(found[0].0, "storage.faults.0.server");
        assert_eq!(
            found[0].1,
            "server 7 fails, and no rank uses it in its first operations"
        );
        // An object server, which ranks do not access directly.
        let system = "file_system = { object_servers = 2 }\n";
        assert_eq!(warnings_of(&format!("{system}{}", text(10))), []);
    }

    /// A device of 1 GB/s takes 10 ms for 10 MB.
    #[test]
    fn a_timeout_shorter_than_any_request_is_reported() {
        let text = |timeout: &str, manager: &str| {
            format!(
                "client = {{ timeout = {timeout:?} }}\ndevice = {{ rate = {{ write = \"1 GB/s\", overhead = \"0 s\" }} }}\n{manager}"
            )
        };
        assert_eq!(warnings_of(&text("10 ms", "")), []);
        let found = warnings_of(&text("9999 us", ""));
        assert_eq!(found[0].0, "storage.client.timeout");
        assert!(
            found[0]
                .1
                .contains("takes 1.000e-2 s for a write of 10000000 B by rank 0 of job \"a\""),
            "{found:?}"
        );
        assert_eq!(
            warnings_of(&text("9999 us", "manager = { acknowledge = \"memory\" }")),
            []
        );
    }
}
