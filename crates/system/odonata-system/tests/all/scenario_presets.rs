//! The presets and their resolved values.

use odonata_system::scenario::resolved::{
    Algorithm, CheckpointOffset, CosmoFlowIo, DeviceModel, Divert, Intermediate, Kind, RouterModel, Switching, Workload,
};
use odonata_system::scenario::{self, Scenario};
use odonata_units::{Bandwidth, Bytes, Time};
use odonata_workload::skeletons::Skeleton;

fn load(text: &str) -> Scenario {
    scenario::load(text, "scenario.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"))
}

const JOB: &str = "[[jobs]]\nranks = 300\nworkload = { milc = {} }\n";

#[test]
fn codes_compatible_is_the_stored_runs_to_the_picosecond() {
    let Scenario {
        resolved, placement, ..
    } = load(&format!("preset = \"codes-compatible\"\n{JOB}"));
    let Kind::Dragonfly(dragonfly) = &resolved.machine.kind else {
        panic!("a dragonfly")
    };
    assert_eq!((*dragonfly.groups, dragonfly.cables.count()), (33, Some(1)));
    let links = &resolved.network.links;
    // 4096 B / (16, 5.25, 4.7 GiB/s), rounded to 1 ps.
    assert_eq!(
        [&links.terminal, &links.local, &links.global].map(|link| (link.latency.0, link.buffer.0, link.credit_delay.0)),
        [
            (238_419, 32_768, 1_419),
            (726_609, 16_384, 1_419),
            (811_638, 16_384, 1_419)
        ]
    );
    for link in [&links.terminal, &links.local, &links.global] {
        assert_eq!(link.latency, link.bandwidth.time_for(resolved.network.packet));
    }
    assert_eq!(links.global.bandwidth, Bandwidth::gib_per_s(4.7));
    assert_eq!(resolved.mpi.send_delay, Time::from_ns(3_510));
    assert_eq!(resolved.mpi.eager_threshold, None);
    assert_eq!(resolved.mpi.send_per_byte.time_for(Bytes(497_664)), Time(273_715_200));
    let storage = resolved.storage.expect("the preset has servers");
    let DeviceModel::Rate(device) = storage.device.model() else {
        panic!("a device with fixed rates")
    };
    assert_eq!(
        (device.write.0, storage.device.capacity.given().unwrap().0),
        (5_700.0 * 1_048_576.0, 6_400_000_000_000)
    );
    // Server 2g on the last node of group g, server 2g + 1 before it; client c uses server c / 15.
    assert_eq!(placement.servers[..4], [31, 30, 63, 62]);
    assert_eq!(placement.servers.len(), 66);
    let job = &placement.jobs[0];
    for client in 0..300u32 {
        assert_eq!(job.nodes[client as usize], 32 * (client / 30) + client % 30);
        assert_eq!(job.servers[client as usize], client / 15);
    }
}

#[test]
fn the_papers_preset_lacks_the_features_of_the_runs_alone() {
    let jobs =
        "[[jobs]]\nranks = 300\nworkload = { checkpoint = {} }\n[[jobs]]\nranks = 300\nworkload = { cosmoflow = {} }\n";
    let Scenario {
        resolved, placement, ..
    } = load(&format!("preset = \"mfnetsim\"\n{jobs}"));
    let Kind::Dragonfly(dragonfly) = &resolved.machine.kind else {
        panic!("a dragonfly")
    };
    assert_eq!((*dragonfly.groups, dragonfly.cables.count()), (33, Some(1)));
    let network = &resolved.network;
    assert_eq!(network.switching, Switching::CutThrough);
    assert_eq!(network.router, RouterModel::InputQueued);
    let links = [&network.links.terminal, &network.links.local, &network.links.global];
    assert_eq!(
        links.map(|link| link.bandwidth),
        [16.0, 5.25, 4.37].map(Bandwidth::gib_per_s)
    );
    // 2, 3 and 15 m of cable at 5 ns/m, both ways.
    for (link, metres) in links.into_iter().zip([2, 3, 15]) {
        assert_eq!(link.latency, Time::from_ns(5 * metres));
        assert_eq!(link.credit_delay, link.latency);
    }
    let routing = &network.routing;
    assert_eq!(
        (*routing.algorithm, routing.via),
        (Algorithm::ProgressiveAdaptive, Some(Intermediate::Router))
    );
    assert_eq!((routing.candidates, routing.divert), (Some(1), Some(Divert::Any)));
    // No copy on the way to the interface; all messages eager.
    assert_eq!(resolved.mpi.send_per_byte.time_for(Bytes(29_516_800)), Time::ZERO);
    assert_eq!(resolved.mpi.eager_threshold, None);
    // The first two nodes of a group are servers, the other 30 compute; 15 of them use one server, 15 the other.
    assert_eq!(placement.servers[..4], [0, 1, 32, 33]);
    for client in 0..300u32 {
        let job = &placement.jobs[0];
        assert_eq!(job.nodes[client as usize], 32 * (client / 30) + 2 + client % 30);
        assert_eq!(job.servers[client as usize], client / 15);
    }
    let storage = resolved.storage.expect("the preset has servers");
    assert!(storage.manager.object_per_file);
    let DeviceModel::Rate(device) = storage.device.model() else {
        panic!("a device with fixed rates")
    };
    assert_eq!((device.seek, device.overhead), (Time::ZERO, Time::from_ns(20_000)));
    let Workload::Skeleton(Skeleton::Checkpoint(checkpoint)) = &*resolved.jobs[0].workload else {
        panic!("a checkpoint")
    };
    assert!(checkpoint.coordinated);
    assert_eq!(checkpoint.offset, CheckpointOffset::ByRank);
    let Workload::Skeleton(Skeleton::Cosmoflow(training)) = &*resolved.jobs[1].workload else {
        panic!("a training")
    };
    assert!(training.pipelined);
    assert_eq!(training.io, CosmoFlowIo::Read);
}

#[test]
fn a_users_keys_replace_those_of_the_preset_one_by_one() {
    let scenario = load(&format!(
        "preset = \"codes-compatible\"\n[network]\nrouter_delay = \"50 ns\"\n[network.links.local]\nbuffer = \"8 KiB\"\n\
         [storage.nodes]\nlist = [0, 5]\n{JOB}"
    ));
    let network = &scenario.resolved.network;
    assert_eq!(network.router_delay, Time::from_ns(50));
    assert_eq!(network.links.local.buffer, Bytes::kib(8));
    assert_eq!(network.links.local.bandwidth, Bandwidth::gib_per_s(5.25));
    assert_eq!(scenario.placement.servers, [0, 5]);
}

#[test]
fn overrides_come_last_and_need_no_quotes() {
    let overrides = [
        "preset=mfnetsim",
        "network.packet=2 KiB",
        "network.routing.algorithm=valiant",
        "jobs.0.ranks=64",
        "jobs.0.workload.stencil.dims=[4, 4, 4]",
        "storage.manager.pieces_in_flight=2",
    ]
    .map(String::from);
    let text = format!("preset = \"codes-compatible\"\n{JOB}");
    let scenario = scenario::load(&text, "scenario.toml", &overrides, Some(9), "").unwrap_or_else(|e| panic!("{e}"));
    let resolved = &scenario.resolved;
    assert_eq!((resolved.seed, resolved.preset.as_deref()), (9, Some("mfnetsim")));
    assert_eq!(resolved.network.packet, Bytes::kib(2));
    assert_eq!(resolved.jobs[0].ranks, 64);
    let Workload::Skeleton(Skeleton::Stencil(stencil)) = &*resolved.jobs[0].workload else {
        panic!("a stencil")
    };
    assert_eq!(stencil.dims, Some(vec![4, 4, 4]));
}

#[test]
fn a_machine_of_ones_own_needs_four_sizes_only() {
    let scenario = load(
        "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n\
         [[jobs]]\nranks = 72\nworkload = { uniform = { load = 0.5, messages = 10 } }\n",
    );
    let Workload::Synthetic(synthetic) = &*scenario.resolved.jobs[0].workload else {
        panic!("synthetic traffic")
    };
    // 4096 B at half of 16 GiB/s.
    assert_eq!(
        (*synthetic.mean_interval, *synthetic.bytes),
        (Time(476_837), Bytes(4_096))
    );
    assert_eq!(scenario.resolved.name, "scenario");
    assert_eq!(scenario.resolved.jobs[0].name.as_str(), "uniform");
    assert!(scenario.placement.jobs[0].servers.is_empty());
}

#[test]
fn the_resolved_form_is_json_with_units() {
    let scenario = load(&format!("preset = \"codes-compatible\"\n{JOB}"));
    let json = serde_json::to_value(&scenario.resolved).expect("plain data");
    assert_eq!(json["network"]["links"]["global"]["bandwidth"], "4.7 GiB/s");
    assert_eq!(json["network"]["links"]["terminal"]["latency"], "238.419 ns");
    assert_eq!(json["storage"]["device"]["capacity"], "6400 GB");
    assert_eq!(json["mpi"]["send_per_byte"], "550 ps/B");
}

#[test]
fn the_schema_describes_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&scenario::schema()).expect("JSON");
    fn check(path: &str, value: &serde_json::Value) {
        if let Some(properties) = value.get("properties").and_then(|p| p.as_object()) {
            for (key, property) in properties {
                assert!(property.get("description").is_some(), "{path}.{key} has no description");
            }
        }
        if let Some(object) = value.as_object() {
            for (key, inner) in object {
                check(&format!("{path}.{key}"), inner);
            }
        }
    }
    for definition in schema["$defs"].as_object().expect("definitions") {
        check(definition.0, definition.1);
    }
    check("scenario", &schema);
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn jobs_draw_permutations_of_their_own() {
    let job = |name: &str| {
        format!("[[jobs]]\nname = \"{name}\"\nranks = 50\nworkload.permutation = {{ load = 0.1, messages = 1 }}\n")
    };
    let text = format!("preset = \"mfnetsim\"\n{}{}", job("a"), job("b"));
    let targets: Vec<_> = load(&text).resolved.jobs.into_iter().map(|job| job.workload).collect();
    assert_ne!(targets[0], targets[1]);
    assert_eq!(load(&text).resolved.jobs[0].workload, targets[0]);
}

#[test]
fn the_keys_of_an_mpi_library_lie_below_those_of_preset_file_and_override() {
    let threshold = |text: &str, overrides: &[&str]| {
        let text =
            format!("{text}\n[machine.torus]\ndims = [4]\n[[jobs]]\nranks = 2\nworkload = {{ barrier = {{}} }}\n");
        let overrides: Vec<String> = overrides.iter().map(|one| one.to_string()).collect();
        let scenario = scenario::load(&text, "s.toml", &overrides, None, "").unwrap_or_else(|error| panic!("{error}"));
        scenario.resolved.mpi
    };
    let plain = threshold("", &[]);
    let library = threshold("mpi.library = \"cray-mpich-ofi\"", &[]);
    assert_eq!(
        (plain.acknowledged_above, library.acknowledged_above),
        (None, Some(Bytes(192)))
    );
    let file = threshold(
        "[mpi]\nlibrary = \"cray-mpich-ofi\"\nacknowledged_above = \"none\"",
        &[],
    );
    assert_eq!(
        (file.acknowledged_above, file.eager_threshold),
        (None, library.eager_threshold)
    );
    assert_eq!(threshold("", &["mpi.library=cray-mpich-ofi"]), library);
    // MPICH is what the table has without a library.
    let mpich = threshold("mpi.library = \"mpich\"", &[]);
    assert_eq!(odonata_host::settings::Mpi { library: None, ..mpich }, plain);
}
