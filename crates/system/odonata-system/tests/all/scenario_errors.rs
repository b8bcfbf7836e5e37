//! Every mistake in a scenario is reported with file, line, key, value, expectation and hint.

use odonata_system::scenario::{self, InputError};

/// A scenario of 8 groups of 4 x 2 nodes, 64 in all; line 6 is the first of `rest`.
fn with(rest: &str) -> String {
    format!(
        "[machine.dragonfly]\ngroups = 8\nrouters_per_group = 4\nnodes_per_router = 2\nglobal_ports_per_router = 2\n{rest}"
    )
}

const JOB: &str = "[[jobs]]\nranks = 4\nworkload = { milc = {} }\n";

fn error_with(text: &str, overrides: &[&str]) -> InputError {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    match scenario::load(text, "scenario.toml", &overrides, None, "") {
        Ok(_) => panic!("this scenario should have been refused:\n{text}"),
        Err(error) => error,
    }
}

fn error(text: &str) -> InputError {
    error_with(text, &[])
}

/// Line, key, value.
fn at(error: &InputError) -> (Option<u32>, &str, Option<&str>) {
    assert_eq!(error.file, "scenario.toml", "{error}");
    (error.line, &error.key, error.value.as_deref())
}

/// Asserts that the expectation and the hint contain these texts; an empty text means that there is none.
fn says(error: &InputError, expected: &str, hint: &str) {
    assert!(error.expected.contains(expected), "{error}");
    assert_eq!(error.expected.is_empty(), expected.is_empty(), "{error}");
    assert_eq!(error.hint.is_none(), hint.is_empty(), "{error}");
    assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{error}");
}

#[test]
fn an_unknown_key_is_shown_with_its_neighbours_and_the_nearest() {
    let error = error(&with(&format!("[network]\n  pakcet = \"4 KiB\"\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "network.pakcet", Some("\"pakcet\"")));
    assert_eq!(error.column, Some(3));
    says(
        &error,
        "one of fidelity, analytic, ethernet, packet, header, flit, switching",
        "did you mean \"packet\"?",
    );
    assert_eq!(
        error.to_string(),
        "scenario.toml:7:3: network.pakcet: unknown key \"pakcet\"; expected one of fidelity, analytic, ethernet, packet, header, flit, \
         switching, router, input_queues, arbitration, router_delay, pipeline, links, routing, traffic_classes, congestion_control, reduction, coupling_interval, clock; did you mean \"packet\"?"
    );
}

#[test]
fn a_queue_for_each_output_needs_routers_whose_packets_wait_for_outputs_alone() {
    for keys in ["input_queues = \"fifo\"", "router = \"pipelined\"\nclock = \"1 ns\""] {
        let text = with(&format!(
            "[network]\n{keys}\n[nic]\nsend_queues = \"per-output\"\n{JOB}"
        ));
        let error = error(&text);
        assert_eq!(error.key, "nic.send_queues", "{error}");
        says(&error, "\"one\", or network.router = \"input-queued\"", "");
    }
}

#[test]
fn what_interfaces_and_links_add_to_packets_needs_packets_and_routers_that_take_it() {
    let pipelined = "router = \"pipelined\"\nclock = \"1 ns\"";
    let (flow, analytic) = ("fidelity = \"flow\"", "fidelity = \"analytic\"");
    for (network, nic, key, expected) in [
        (
            flow,
            "queues = \"per-peer\"",
            "nic.queues",
            "\"fifo\", or fidelity = \"packet\"",
        ),
        (
            analytic,
            "queues = \"per-peer\"",
            "nic.queues",
            "\"fifo\", or fidelity = \"packet\"",
        ),
        (
            flow,
            "message_gap = \"5 ns\"",
            "nic.message_gap",
            "\"0 s\", or fidelity = \"packet\"",
        ),
        (
            flow,
            "message_rates = [{ above = \"1 MiB\", rate = \"5 GB/s\" }]",
            "nic.message_rates",
            "no such key, or fidelity = \"packet\"",
        ),
        (
            pipelined,
            "receive_rate = \"1 GB/s\"",
            "nic.receive_rate",
            "a smaller network.links.terminal.bandwidth",
        ),
        (
            &format!("{pipelined}\nheader = \"8 B\""),
            "",
            "network.header",
            "none, or another network.router",
        ),
        (
            &format!("{analytic}\nheader = \"8 B\""),
            "",
            "network.header",
            "none, or fidelity = \"packet\"",
        ),
        (
            "header = \"5 KiB\"",
            "",
            "network.header",
            "up to network.packet, 4 KiB",
        ),
    ] {
        let error = error(&with(&format!("[network]\n{network}\n[nic]\n{nic}\n{JOB}")));
        assert_eq!(error.key, key, "{error}");
        says(&error, expected, "");
    }
    let routing = "[network.routing]\nalgorithm = \"ugal\"\nin_group = \"adaptive\"\nvc_rule = \"phase\"\n\
                   deadlock_check = \"warn\"\n";
    let error = error(&with(&format!("{routing}{JOB}")));
    assert_eq!(error.key, "network.routing.in_group", "{error}");
    says(&error, "\"minimal\", or vc_rule = \"stage\"", "");
}

#[test]
fn rates_of_long_sums_need_a_first_rate_and_increasing_sizes() {
    let rate = "{ above = \"1 MiB\", rate = \"5 GB/s\" }";
    let wrong = error(&with(&format!("[mpi]\nreduce_rates = [{rate}]\n{JOB}")));
    assert_eq!(wrong.key, "mpi.reduce_rates", "{wrong}");
    says(&wrong, "with mpi.reduce_rate", "");
    let wrong = error(&with(&format!(
        "[mpi]\nreduce_rate = \"9 GB/s\"\nreduce_rates = [{rate}, {rate}]\n{JOB}"
    )));
    assert_eq!(wrong.key, "mpi.reduce_rates.1.above", "{wrong}");
    let wrong = error(&with(&format!("[mpi]\ncopy_rates = [{rate}]\n{JOB}")));
    assert_eq!(wrong.key, "mpi.copy_rates", "{wrong}");
    let wrong = error(&with(&format!("[nic]\nmessage_rates = [{rate}, {rate}]\n{JOB}")));
    assert_eq!(wrong.key, "nic.message_rates.1.above", "{wrong}");
    let wrong = error(&with(&format!("[mpi]\nlibrary = \"openmpi\"\n{JOB}")));
    assert_eq!(at(&wrong), (Some(7), "mpi.library", Some("\"openmpi\"")));
}

#[test]
fn noise_leaves_half_of_the_processor() {
    let noise = |sources: &str| error(&with(&format!("[mpi]\nnoise = [{sources}]\n{JOB}")));
    let wrong = noise("{ period = \"500 ns\", duration = \"1 ns\" }");
    assert_eq!(wrong.key, "mpi.noise.0.period", "{wrong}");
    says(&wrong, "at least 1 us", "");
    let wrong = noise("{ period = \"1 ms\", duration = \"0 s\" }");
    assert_eq!(wrong.key, "mpi.noise.0.duration", "{wrong}");
    let third = "{ period = \"3 ms\", duration = \"1 ms\" }";
    let wrong = noise(&format!("{third}, {third}"));
    assert_eq!(wrong.key, "mpi.noise.1.duration", "{wrong}");
    assert!(wrong.message.contains("67% of the time"), "{wrong}");
    says(&wrong, "at most 50% of the time", "");
    let wrong = noise(&["{ period = \"1 s\", duration = \"1 ns\" }"; 9].join(", "));
    assert_eq!(wrong.key, "mpi.noise", "{wrong}");
    says(&wrong, "at most 8", "");
    let wrong = noise("{ period = \"1 ms\", duration = \"1 us\", timing = \"randm\" }");
    assert_eq!(wrong.key, "mpi.noise.0.timing", "{wrong}");
}

#[test]
fn a_threshold_of_eager_messages_is_a_size_or_none_and_progress_has_two_names() {
    for (text, value) in [("\"none\"", None), ("\"8 KiB\"", Some(8_192)), ("\"0 B\"", Some(0))] {
        let text = with(&format!("[mpi]\neager_threshold = {text}\n{JOB}"));
        let scenario = scenario::load(&text, "scenario.toml", &[], None, "").unwrap();
        assert_eq!(scenario.resolved.mpi.eager_threshold.map(|bytes| bytes.0), value);
    }
    let wrong = error(&with(&format!("[mpi]\neager_threshold = \"never\"\n{JOB}")));
    assert_eq!(at(&wrong), (Some(7), "mpi.eager_threshold", Some("\"never\"")));
    assert!(
        wrong.expected.contains("a size such as \"8 KiB\"") && wrong.expected.contains("or \"none\""),
        "{wrong}"
    );
    let wrong = error(&with(&format!("[mpi]\neager_threshold = 8192\n{JOB}")));
    assert_eq!(at(&wrong), (Some(7), "mpi.eager_threshold", Some("8192")));
    assert!(wrong.to_string().contains("did you mean \"8192 B\"?"), "{wrong}");
    let wrong = error(&with(&format!("[mpi]\nprogress = \"in-call\"\n{JOB}")));
    assert_eq!(at(&wrong), (Some(7), "mpi.progress", Some("\"in-call\"")));
    assert!(wrong.to_string().contains("did you mean \"in-calls\"?"), "{wrong}");
}

#[test]
fn more_flits_per_packet_than_can_be_counted_are_refused() {
    let error = error(&with(&format!("[network]\npacket = \"1 MiB\"\nflit = \"8 B\"\n{JOB}")));
    assert_eq!(error.key, "network.flit");
    says(&error, "at most 65535 flits", "make flits larger");
}

/// Flits leave one after the other, each taking at least a picosecond. 1 B at 2 TB/s takes 0.5 ps, which is rounded up.
#[test]
fn pipelined_routers_refuse_links_whose_flits_take_no_time() {
    let text = |router: &str, class: &str, bandwidth: &str| {
        with(&format!(
            "[network]\nclock = \"1 ns\"\nflit = \"1 B\"\npacket = \"4 B\"\nrouter = \"{router}\"\n\
             links.{class}.bandwidth = \"{bandwidth}\"\n{JOB}"
        ))
    };
    for class in ["terminal", "local", "global"] {
        let error = error(&text("pipelined", class, "2.1 TB/s"));
        assert_eq!(at(&error).1, format!("network.links.{class}.bandwidth"));
        says(&error, "1 ps at least", "make flits larger");
        for (router, bandwidth) in [
            ("pipelined", "2 TB/s"),
            ("input-queued", "2.1 TB/s"),
            ("output-queued", "2.1 TB/s"),
        ] {
            let text = text(router, class, bandwidth);
            scenario::load(&text, "scenario.toml", &[], None, "").unwrap_or_else(|error| panic!("{error}"));
        }
    }
    // A dragonfly of one dimension has no such links.
    assert!(scenario::load(&text("pipelined", "column", "2.1 TB/s"), "scenario.toml", &[], None, "").is_ok());
}

#[test]
fn a_bandwidth_beyond_a_thousand_terabytes_per_second_is_refused() {
    let error = error(&with(&format!(
        "[network.links]\nlocal.bandwidth = \"1001 TB/s\"\n{JOB}"
    )));
    assert_eq!(
        at(&error),
        (Some(7), "network.links.local.bandwidth", Some("\"1001 TB/s\""))
    );
    says(&error, "at most 1000 TB/s", "");
}

#[test]
fn the_vc_rule_of_codes_is_refused_on_detours_over_a_router() {
    let routing = "[network.routing]\nalgorithm = \"valiant\"\nvia = \"router\"\nvc_rule = \"codes\"\n";
    let error = error(&with(&format!("{routing}{JOB}")));
    assert_eq!(error.key, "network.routing.vc_rule");
    assert_eq!(error.line, Some(9));
    says(&error, "stage", "virtual channel 2");
}

#[test]
fn the_first_mistake_of_the_file_is_reported_first() {
    let error = error("zebra = 1\nseed = \"x\"\napple = 2\n");
    assert_eq!(at(&error), (Some(1), "zebra", Some("\"zebra\"")));
}

#[test]
fn a_wrong_unit_is_shown_with_the_right_ones() {
    let error = error(&with(&format!("[network]\npacket = \"4 KIB\"\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "network.packet", Some("\"4 KIB\"")));
    says(
        &error,
        "a size such as \"8 KiB\" (units: B, kB, KiB",
        "did you mean \"4 KiB\"?",
    );
}

#[test]
fn a_number_without_unit_is_shown_with_one() {
    let error = error(&with(&format!("[network]\nrouter_delay = 100\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "network.router_delay", Some("100")));
    says(
        &error,
        "a time such as \"30 ns\"",
        "the unit is missing: did you mean \"100 ns\"?",
    );
}

#[test]
fn a_negative_size_is_refused() {
    let error = error(&with(&format!("[network]\npacket = \"-4 KiB\"\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "network.packet", Some("\"-4 KiB\"")));
    says(&error, "a size", "must not be negative");
}

#[test]
fn a_negative_number_is_refused_with_its_range() {
    let error = error(&with("[[jobs]]\nranks = -4\nworkload = { milc = {} }\n"));
    assert_eq!(at(&error), (Some(7), "jobs.0.ranks", Some("-4")));
    says(&error, "a whole number from 1 to 16777216", "");
    // The error is the same as for text and for a number that is too large for the type.
    for wrong in ["\"4\"", "5000000000"] {
        let error = self::error(&with(&format!(
            "[[jobs]]\nranks = {wrong}\nworkload = {{ milc = {{}} }}\n"
        )));
        assert_eq!(at(&error), (Some(7), "jobs.0.ranks", Some(wrong)));
        says(&error, "a whole number from 1 to 16777216", "");
    }
    let error = self::error(&with(&format!("[nic]\nqueue = -4\n{JOB}")));
    says(&error, "a whole number from 0 to 4294967295", "");
}

#[test]
fn an_error_of_a_program_names_its_key() {
    let error = error(&with("[[jobs]]\nranks = 4\n[jobs.workload.milc]\niterations = 0\n"));
    assert_eq!(at(&error), (Some(9), "jobs.0.workload.milc.iterations", Some("0")));
    assert_eq!(error.message, "iterations is 0");
    says(&error, "at least 1", "");
}

#[test]
fn an_error_in_a_factor_of_a_training_job_names_its_key_and_place() {
    let job = "[[jobs]]\nranks = 16\n[jobs.workload.training]\nmodel = \"llama-3-8b\"\n";
    let error = error(&with(&format!("{job}tensor = 7\n")));
    assert_eq!(at(&error), (Some(10), "jobs.0.workload.training.tensor", Some("7")));
    says(&error, "tensor x data x pipeline = ranks of the job", "");
    let error = self::error(&with(&format!("{job}heads = 7\n")));
    assert_eq!(at(&error), (Some(10), "jobs.0.workload.training.heads", Some("7")));
    says(&error, "8 or more; or kv_heads of at most 7", "");
    let setting = "jobs.0.workload.training.tensor=7";
    let error = error_with(&with(job), &[setting]);
    assert_eq!(error.file, format!("--set {setting}"));
}

#[test]
fn a_value_that_is_not_a_table_gets_the_form_of_its_type() {
    let error = error(&with(&format!("[run]\ntimeline = true\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "run.timeline", Some("true")));
    says(&error, "a table: {} records all", "");
    let error = self::error(&format!("[machine]\nfailed_links = [[0, 1]]\n{}", with(JOB)));
    assert_eq!(at(&error).0, Some(2));
    assert_eq!(error.key, "machine.failed_links.0");
    says(&error, "a table: { routers = [A, B] }", "");
    let error = self::error(&with(&format!("[network]\nrouting = 3\n{JOB}")));
    says(&error, "a table", "");
}

#[test]
fn a_bandwidth_of_zero_is_refused() {
    let error = error(&with(&format!(
        "[network.links.global]\nbandwidth = \"0 GiB/s\"\n{JOB}"
    )));
    assert_eq!(
        at(&error),
        (Some(7), "network.links.global.bandwidth", Some("\"0 GiB/s\""))
    );
    says(&error, "a bandwidth such as", "must be positive");
}

#[test]
fn a_job_larger_than_the_machine_is_refused_with_the_bound() {
    let error = error(&with(
        "[[jobs]]\nranks = 65\nworkload = { uniform = { load = 0.1, messages = 1 } }\n",
    ));
    assert_eq!(at(&error), (Some(7), "jobs.0.ranks", Some("65")));
    says(&error, "at most 64", "ranks_per_node");
    assert!(
        error.message.contains("65 ranks need 65 nodes, the machine has 64"),
        "{error}"
    );
}

#[test]
fn a_job_that_the_others_leave_no_room_for_is_refused() {
    let job = |ranks: u32, name: &str| {
        format!("[[jobs]]\nname = \"{name}\"\nranks = {ranks}\nworkload = {{ milc = {{}} }}\n")
    };
    let error = error(&with(&format!("{}{}", job(60, "a"), job(5, "b"))));
    assert_eq!(at(&error), (Some(12), "jobs.1.ranks", Some("5")));
    says(&error, "at most 4", "");
}

#[test]
fn two_jobs_on_the_same_node_are_refused_with_both_names() {
    let job = |name: &str, nodes: &str| {
        format!(
            "[[jobs]]\nname = \"{name}\"\nranks = 2\nplacement = {{ nodes = {nodes} }}\nworkload = {{ milc = {{}} }}\n"
        )
    };
    let error = error(&with(&format!("{}{}", job("first", "[3, 4]"), job("second", "[5, 4]"))));
    assert_eq!(at(&error), (Some(14), "jobs.1.placement.nodes.1", Some("4")));
    says(&error, "nodes of no other job", "");
    assert!(error.message.contains("node 4 belongs to job \"first\""), "{error}");
}

#[test]
fn a_list_with_duplicates_is_refused_at_the_second() {
    let error = error(&with(
        "[[jobs]]\nranks = 3\nplacement = { nodes = [7, 8, 7] }\nworkload = { milc = {} }\n",
    ));
    assert_eq!(at(&error), (Some(8), "jobs.0.placement.nodes.2", Some("7")));
    says(&error, "every node once", "");
    let targets = "[[jobs]]\nranks = 3\nworkload.permutation = { load = 0.1, messages = 1, targets = [1, 2, 1] }\n";
    let error = self::error(&with(targets));
    assert_eq!(
        at(&error),
        (Some(8), "jobs.0.workload.permutation.targets.2", Some("1"))
    );
    says(&error, "every rank once", "");
}

#[test]
fn a_node_that_does_not_exist_is_refused_with_the_range() {
    let error = error(&with(
        "[[jobs]]\nranks = 1\nplacement.nodes = [64]\nworkload = { milc = {} }\n",
    ));
    assert_eq!(at(&error), (Some(8), "jobs.0.placement.nodes.0", Some("64")));
    says(&error, "0 to 63", "");
    let clients = "[storage]\n[[jobs]]\nranks = 1\nplacement.clients = [62]\nworkload = { milc = {} }\n";
    let error = self::error(&with(clients));
    assert_eq!(at(&error), (Some(9), "jobs.0.placement.clients.0", Some("62")));
    says(&error, "0 to 61", "");
}

#[test]
fn a_storage_server_is_not_given_to_a_job() {
    let error = error(&with(
        "[storage]\n[[jobs]]\nranks = 1\nplacement.nodes = [32]\nworkload = { milc = {} }\n",
    ));
    assert_eq!(at(&error), (Some(9), "jobs.0.placement.nodes.0", Some("32")));
    says(&error, "compute nodes", "");
}

#[test]
fn a_buffer_smaller_than_a_packet_is_refused() {
    let error = error(&with(&format!("[network.links.local]\nbuffer = \"2 KiB\"\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "network.links.local.buffer", Some("\"2 KiB\"")));
    says(&error, "at least network.packet, 4 KiB", "per virtual channel");
    // The error names the packet if the buffer has its default.
    let error = self::error(&with(&format!("[network]\npacket = \"64 KiB\"\n{JOB}")));
    assert_eq!(error.key, "network.links.terminal.buffer");
    assert_eq!(error.value, None);
}

#[test]
fn more_groups_than_global_ports_reach_are_refused() {
    let text = with(JOB).replace("groups = 8", "groups = 10");
    let error = error(&text);
    assert_eq!(at(&error), (Some(2), "machine.dragonfly.groups", Some("10")));
    says(
        &error,
        "at most 9 groups",
        "4 routers_per_group x 2 global_ports_per_router",
    );
}

#[test]
fn an_unknown_preset_is_shown_with_those_there_are() {
    let error = error(&format!("preset = \"codes-compatable\"\n{JOB}"));
    assert_eq!(at(&error), (Some(1), "preset", Some("\"codes-compatable\"")));
    says(
        &error,
        "one of codes-compatible, mfnetsim",
        "did you mean \"codes-compatible\"?",
    );
}

#[test]
fn an_unknown_workload_is_shown_with_those_there_are() {
    let error = error(&with("[[jobs]]\nranks = 4\nworkload = { mlic = {} }\n"));
    assert_eq!(at(&error), (Some(8), "jobs.0.workload.mlic", Some("\"mlic\"")));
    says(&error, "one of milc, nekbone, checkpoint", "did you mean \"milc\"?");
}

#[test]
fn an_unknown_name_is_shown_with_the_nearest() {
    let error = error(&with(&format!("[network.routing]\nalgorithm = \"minimall\"\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "network.routing.algorithm", Some("\"minimall\"")));
    says(
        &error,
        "one of minimal, valiant, progressive-adaptive",
        "did you mean \"minimal\"?",
    );
}

#[test]
fn a_workload_without_its_table_gets_a_hint() {
    let error = error(&with("[[jobs]]\nranks = 4\nworkload = \"milc\"\n"));
    assert_eq!(at(&error), (Some(8), "jobs.0.workload", Some("\"milc\"")));
    says(&error, "{ milc = ... }", "keys of its own");
}

#[test]
fn ranks_that_do_not_fit_the_grid_are_refused_at_the_grid() {
    let error = error(&with(
        "[[jobs]]\nranks = 4\n[jobs.workload.milc]\ndims = [3, 1, 1, 1]\n",
    ));
    assert_eq!(
        at(&error),
        (Some(9), "jobs.0.workload.milc.dims", Some("an array of 4"))
    );
    says(&error, "extents that make 4 ranks", "balanced");
}

#[test]
fn an_array_of_the_wrong_length_is_refused() {
    for (dims, entries) in [("[2, 2]", "2 entries"), ("[1, 1, 1, 2, 2]", "5 entries")] {
        let error = error(&with(&format!(
            "[[jobs]]\nranks = 4\n[jobs.workload.milc]\ndims = {dims}\n"
        )));
        assert_eq!(
            (error.line, error.key.as_str()),
            (Some(9), "jobs.0.workload.milc.dims"),
            "{error}"
        );
        assert!(
            error.message.contains(entries) && error.expected.contains('4'),
            "{error}"
        );
    }
}

#[test]
fn broken_toml_is_reported_where_it_breaks() {
    let error = error("seed = 1\n[network\npacket = 1\n");
    assert_eq!((error.file.as_str(), error.line), ("scenario.toml", Some(2)));
    assert!(error.message.starts_with("not TOML"), "{error}");
    let error = self::error("seed = 1\n[network]\npacket = 4 KiB\n");
    assert_eq!(error.line, Some(3), "{error}");
    assert_eq!(error.hint.as_deref(), Some("quantities are strings: \"30 ns\""));
}

#[test]
fn an_override_of_an_unknown_key_is_called_an_override() {
    let error = error_with(&with(JOB), &["network.pakcet=2 KiB"]);
    assert_eq!((error.file.as_str(), error.line), ("--set network.pakcet=2 KiB", None));
    assert_eq!(
        (error.key.as_str(), error.value.as_deref()),
        ("network.pakcet", Some("\"pakcet\""))
    );
    says(
        &error,
        "one of fidelity, analytic, ethernet, packet, header, flit",
        "did you mean \"packet\"?",
    );
    assert!(
        error
            .to_string()
            .starts_with("--set network.pakcet=2 KiB: network.pakcet: unknown key"),
        "{error}"
    );
}

#[test]
fn an_override_with_a_wrong_value_or_form_is_called_an_override() {
    let error = error_with(&with(JOB), &["network.links.local.buffer=1 KiB"]);
    assert_eq!(error.file, "--set network.links.local.buffer=1 KiB");
    let error = error_with(&with(JOB), &["jobs.1.ranks=3"]);
    assert_eq!(
        (error.key.as_str(), error.expected.as_str()),
        ("jobs.1", "a position from 0 to 0")
    );
    // A job may be selected by its name, as in sweeps; the error lists the names.
    let named = |name: &str, ranks| format!("[[jobs]]\nname = \"{name}\"\nranks = {ranks}\nworkload.barrier = {{}}\n");
    let two = with(&format!("{}{}", named("halo", 2), named("ring", 3)));
    let setting = vec!["jobs.ring.ranks=5".to_string()];
    let loaded = scenario::load(&two, "x.toml", &setting, None, "").unwrap();
    let ranks: Vec<u32> = loaded.resolved.jobs.iter().map(|job| *job.ranks).collect();
    assert_eq!(ranks, [2, 5]);
    let error = error_with(&two, &["jobs.rings.ranks=5"]);
    assert_eq!(
        (error.key.as_str(), error.expected.as_str()),
        ("jobs.rings", "one of halo, ring, or a position from 0 to 1")
    );
    let error = error_with(&with(&named("halo", 2)), &["jobs.ring.ranks=5"]);
    assert_eq!(error.expected, "halo, or its position 0");
    for argument in ["seed", "=1", "a..b=1", ""] {
        let error = error_with(&with(JOB), &[argument]);
        assert!(
            error.file.starts_with("--set") && error.expected.contains("KEY=VALUE"),
            "{error}"
        );
    }
    // A value cannot contain further keys.
    let error = error_with(&with(JOB), &["seed=1\nname='x'"]);
    assert_eq!((error.key.as_str(), error.line), ("seed", None));
}

#[test]
fn missing_keys_are_reported_at_the_table_they_are_missing_from() {
    let error = error(&with("[[jobs]]\nranks = 4\n"));
    assert_eq!(error.line, Some(6), "{error}");
    assert!(error.message.contains("\"workload\" is missing"), "{error}");
    let error = self::error(JOB);
    assert_eq!(error.key, "machine");
    assert!(error.hint.as_deref().unwrap_or("").contains("preset"), "{error}");
    let error = self::error(&with(""));
    assert_eq!(error.key, "jobs");
}

/// The error contains the file, the line in it and the key that names it.
#[test]
fn a_graph_that_cannot_be_read_is_reported_with_its_own_line() {
    let folder = std::env::temp_dir().join(format!("odonata-graphs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("graph.txt");
    let error = |content: &str| {
        std::fs::write(&file, content).unwrap();
        let text = format!("[machine.graph]\nfile = \"graph.txt\"\n{JOB}");
        scenario::load(&text, "scenario.toml", &[], None, &folder)
            .map(|_| ())
            .unwrap_err()
    };
    let two = "<graphml><graph><node id=\"a\"/></graph>\n<graph><node id=\"b\"/></graph></graphml>";
    for (content, line, message) in [
        ("{\"nodes\": [], \"links\": []}", Some(1), "the text begins like JSON"),
        (two, Some(2), "a second graph, after the one of line 1"),
        (
            "a b\nrouter c block=1\nb c\n",
            Some(1),
            "router a has no block, but router c has one (line 2)",
        ),
        ("# nothing\n", None, "there is no router"),
    ] {
        let found = error(content);
        assert!(found.message.starts_with(message), "{found}");
        assert_eq!(
            (found.line, found.key.as_str()),
            (line, "machine.graph.file"),
            "{found}"
        );
        assert_eq!(found.file, file.display().to_string());
        assert!(found.expected.starts_with("GraphML or an edge list"), "{found}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn io_without_servers_is_refused() {
    let error = error(&with("[[jobs]]\nranks = 4\nworkload = { checkpoint = {} }\n"));
    assert_eq!((error.line, error.key.as_str()), (Some(8), "jobs.0.workload"));
    assert_eq!(error.hint.as_deref(), Some("add a table [storage]"));
}

#[test]
fn layouts_and_files_that_cannot_be_are_refused_at_their_keys() {
    let storage = "[storage]\nnodes = { per_group = 1 }\n";
    let io = |keys: &str| format!("{storage}[[jobs]]\nranks = 4\nio = {keys}\nworkload = {{ checkpoint = {{}} }}\n");
    let two = |second: &str| {
        let job = |name: &str, io: &str| {
            format!("[[jobs]]\nname = \"{name}\"\nranks = 4\n{io}workload = {{ checkpoint = {{}} }}\n")
        };
        format!("{storage}{}{}", job("a", ""), job("b", second))
    };
    let checkpoint = |keys: &str| format!("{storage}[[jobs]]\nranks = 4\nworkload = {{ checkpoint = {{ {keys} }} }}\n");
    for (text, key, message, expected) in [
        (
            format!("{storage}layout = \"stripe\"\n{JOB}"),
            "storage.layout",
            "unknown name \"stripe\"",
            "one of assigned, hash, random, round-robin, striped",
        ),
        (
            format!("{storage}layout = {{ striped = {{ stripe = \"0 B\" }} }}\n{JOB}"),
            "storage.layout.striped.stripe",
            "a stripe of no bytes",
            "at least 1 B",
        ),
        (
            format!("{storage}layout = {{ striped = {{ count = 9 }} }}\n{JOB}"),
            "storage.layout.striped.count",
            "stripes on 9 of 8 servers",
            "1 to 8, or \"all\"",
        ),
        (
            format!("{storage}layout = {{ striped = {{ count = \"many\" }} }}\n{JOB}"),
            "storage.layout.striped.count",
            "\"many\"",
            "a number of servers, or \"all\"",
        ),
        (
            format!("{storage}layout = {{ striped = {{ count = -1 }} }}\n{JOB}"),
            "storage.layout.striped.count",
            "-1",
            "a number of servers, or \"all\"",
        ),
        (
            format!("{storage}layout = {{ striped = {{ start = {{ server = 8 }} }} }}\n{JOB}"),
            "storage.layout.striped.start.server",
            "there is no server 8",
            "0 to 7",
        ),
        (
            format!("{storage}locks = {{ granularity = \"0 B\" }}\n{JOB}"),
            "storage.locks.granularity",
            "locks on ranges of no bytes",
            "at least 1 B",
        ),
        (
            format!("{storage}metadata = {{ threads = 0 }}\n{JOB}"),
            "storage.metadata.threads",
            "a server without threads serves no call",
            "at least 1",
        ),
        (
            format!("{storage}metadata = {{ nodes = {{ list = [7, 7] }} }}\n{JOB}"),
            "storage.metadata.nodes.list.1",
            "node 7 is listed twice",
            "every node once",
        ),
        (
            format!("{storage}metadata = {{ distribution = \"by-fil\" }}\n{JOB}"),
            "storage.metadata.distribution",
            "unknown name \"by-fil\"",
            "by-file",
        ),
        (
            format!("{storage}metadata = {{ opens = \"1 us\" }}\n{JOB}"),
            "storage.metadata.opens",
            "unknown key \"opens\"",
            "open",
        ),
        (
            format!("{storage}faults = [{{ server = 8, at = \"1 s\", kind = {{ slow = 2.0 }} }}]\n{JOB}"),
            "storage.faults.0.server",
            "there is no server 8",
            "0 to 7",
        ),
        (
            format!("{storage}faults = [{{ server = 0, at = \"1 s\", kind = \"stall\" }}]\n{JOB}"),
            "storage.faults.0.duration",
            "a component that stalls forever",
            "the time for which it stalls",
        ),
        (
            format!("{storage}faults = [{{ server = 0, at = \"1 s\", kind = {{ slow = 0.5 }} }}]\n{JOB}"),
            "storage.faults.0.kind",
            "0.5 is out of range",
            "slow = 1 to 1,000,000",
        ),
        (
            format!(
                "{storage}faults = [{{ server = 0, device = \"ssd\", at = \"1 s\", kind = {{ slow = 2.0 }} }}]\n{JOB}"
            ),
            "storage.faults.0.device",
            "server 0 has no device \"ssd\"",
            "a server has one device",
        ),
        (
            format!("{storage}faults = [{{ server = 0, at = \"1 s\", kind = \"fail\" }}]\n{JOB}"),
            "storage.client",
            "its clients would wait forever",
            "timeout",
        ),
        (
            format!(
                "{storage}client = {{ timeout = \"1 s\", on_failure = \"re-route\" }}\nmanager = {{ object_per_file = false }}\n{JOB}"
            ),
            "storage.manager.object_per_file",
            "a failed server does not tell which bytes",
            "true",
        ),
        (
            format!(
                "{storage}client = {{ timeout = \"1 s\" }}\n\
                 faults = [{{ server = 0, device = \"x\", at = \"1 s\", kind = \"fail\" }}]\n{JOB}"
            ),
            "storage.faults.0.device",
            "server 0 has no device \"x\"",
            "a server has one device",
        ),
        (
            format!(
                "{storage}client = {{ timeout = \"1 s\" }}\nfile_system = {{ object_servers = 2 }}\n\
                 faults = [{{ server = 10, at = \"1 s\", kind = \"fail\" }}]\n{JOB}"
            ),
            "storage.faults.0.server",
            "there is no server 10",
            "0 to 9",
        ),
        (
            format!("{storage}metadata = {{}}\nfaults = [{{ server = 8, at = \"1 s\", kind = \"fail\" }}]\n{JOB}"),
            "storage.client",
            "its clients would wait forever",
            "timeout",
        ),
        (
            format!("{storage}client = {{ retries = 1 }}\n{JOB}"),
            "storage.client",
            "timeout",
            "",
        ),
        (
            format!("{storage}client = {{ timeout = \"0 s\" }}\n{JOB}"),
            "storage.client.timeout",
            "no time for an answer",
            "more than 0 s",
        ),
        (
            format!("{storage}client = {{ timeout = \"1 s\", retries = 31 }}\n{JOB}"),
            "storage.client.retries",
            "31 retries",
            "at most 30",
        ),
        (
            format!("{storage}client = {{ timeout = \"1 s\", on_failure = \"reroute\" }}\n{JOB}"),
            "storage.client.on_failure",
            "unknown name \"reroute\"",
            "re-route",
        ),
        (
            format!("{storage}assignment = \"nearst\"\n{JOB}"),
            "storage.assignment",
            "unknown name \"nearst\"",
            "nearest, random, round-robin",
        ),
        (io("{ directory = \"\" }"), "jobs.0.io.directory", "", ""),
        (
            io("{ layout = { striped = { count = 0 } } }"),
            "jobs.0.io.layout.striped.count",
            "stripes on 0 of 8 servers",
            "1 to 8, or \"all\"",
        ),
        (
            io("{ assignment = { list = [0] } }"),
            "jobs.0.io.assignment",
            "a list of servers is one of all compute nodes",
            "nearest",
        ),
        (
            two("io = { directory = \"a\", layout = \"hash\" }\n"),
            "jobs.1.io.layout",
            "jobs \"a\" and \"b\" share the directory \"a\", but with different layouts",
            "the same layout",
        ),
        (
            "[[jobs]]\nranks = 4\nio = { directory = \"x\" }\nworkload = { milc = {} }\n".to_string(),
            "jobs.0.io",
            "there are no storage servers",
            "a table [storage]",
        ),
        (
            checkpoint("file = \"per-rank\", offset = \"strided\""),
            "jobs.0.workload.checkpoint.offset",
            "offset is strided in files of the ranks' own",
            "by-rank, or file = \"shared\"",
        ),
        (
            checkpoint("record = \"0 B\""),
            "jobs.0.workload.checkpoint.record",
            "record is 0 B",
            "at least 1 B",
        ),
    ] {
        let found = error(&with(&text));
        assert_eq!(found.key, key, "{found}\n{text}");
        assert!(found.message.contains(message), "{found}");
        assert!(found.expected.contains(expected), "{found}");
        assert!(found.line.is_some(), "{found}");
    }
}

#[test]
fn arbitration_outside_the_pipeline_gets_a_hint() {
    let error = error(&with("[network.pipeline]\narbitration = \"age\"\n"));
    assert!(
        error.hint.as_deref().unwrap_or("").contains("network.arbitration"),
        "{error}"
    );
}

#[test]
fn a_number_of_storage_servers_gets_the_hint_that_they_are_nodes() {
    let error = error(&with("[storage]\nservers = 2\n"));
    assert_eq!(error.key, "storage.servers");
    says(
        &error,
        "one of nodes, assignment",
        "storage servers are nodes, for example nodes = { per_group = 1 }",
    );
}

#[test]
fn a_mistake_below_in_a_preset_is_reported_where_the_user_made_it() {
    // The packet is the user's, the buffer the preset's.
    let error = error(&format!("preset = \"mfnetsim\"\n[network]\npacket = \"32 KiB\"\n{JOB}"));
    assert_eq!(
        (error.file.as_str(), error.key.as_str()),
        ("preset mfnetsim", "network.links.local.buffer")
    );
    assert!(error.expected.contains("network.packet, 32 KiB"), "{error}");
}

#[test]
fn a_builder_can_report_at_any_key() {
    let scenario = scenario::load(&with(JOB), "scenario.toml", &[], None, "").unwrap_or_else(|e| panic!("{e}"));
    let error = scenario
        .document
        .error_at("jobs.0.ranks", None, "an even number", Some("add one".into()));
    assert_eq!(at(&error), (Some(7), "jobs.0.ranks", Some("4")));
    assert_eq!(
        error.to_string(),
        "scenario.toml:7:9: jobs.0.ranks: invalid value 4; expected an even number; add one"
    );
    // A key that the file leaves out: the line of the table around it.
    let error = scenario.document.error_at("machine.dragonfly.cables", None, "2", None);
    assert_eq!((error.line, error.value), (Some(1), None));
}

#[test]
fn errors_are_json_as_well() {
    let error = error(&with(&format!("[network]\npakcet = 1\n{JOB}")));
    let json = serde_json::to_value(&error).expect("plain data");
    for key in ["file", "line", "column", "key", "message", "value", "expected", "hint"] {
        assert!(!json[key].is_null(), "{key}: {json}");
    }
}

#[test]
fn hostile_texts_end_in_errors() {
    let long = "x".repeat(1 << 20);
    let texts = [
        String::new(),
        "\u{0}".into(),
        "jobs = 1".into(),
        "jobs = [1]".into(),
        "machine = []".into(),
        "machine = {}".into(),
        "[machine.dragonfly]\ngroups = 9223372036854775807".into(),
        format!("{long} = 1"),
        format!("name = \"{long}\""),
        format!("[network]\npacket = \"{long}\""),
        "[[jobs]]\nranks = 4294967295\nworkload = { milc = {} }".into(),
        with("[[jobs]]\nranks = 4294967295\nranks_per_node = 4294967295\nworkload = { milc = {} }"),
        with("[storage]\nnodes = { per_group = 4294967295 }"),
        with("[network.routing]\nbias = nan"),
        with("[network.routing]\nbias = -1"),
        with("[[jobs]]\nranks = 4\nworkload = { uniform = { load = 1e-300, messages = 1 } }"),
        with("[[jobs]]\nranks = 1\nworkload = { permutation = { load = 1, messages = 1 } }"),
        with("[[jobs]]\nranks = 4\nplacement = { file = \"\" }\nworkload = { milc = {} }"),
    ];
    for text in texts {
        let error = error(&text);
        assert!(
            error.to_string().len() < 2_000,
            "an error of {} bytes",
            error.to_string().len()
        );
    }
}

#[test]
fn an_algorithm_of_another_collective_is_refused_with_those_that_fit() {
    let error = error(&with(&format!("[mpi.collectives]\nallgather = \"binomial\"\n{JOB}")));
    assert_eq!(at(&error), (Some(7), "mpi.collectives.allgather", Some("\"binomial\"")));
    says(
        &error,
        "one of auto, recursive-doubling, bruck, ring, neighbor-exchange",
        "",
    );
    let error = self::error(&with(&format!("[mpi.collectives]\nlibrary = \"openmpi\"\n{JOB}")));
    assert_eq!(error.key, "mpi.collectives.library");
    says(&error, "one of mpich, open-mpi", "did you mean \"open-mpi\"?");
    let error = self::error(&with(&format!("[mpi.collectives]\nsegment = \"4 GiB\"\n{JOB}")));
    assert_eq!(error.key, "mpi.collectives.segment");
    says(&error, "less than 4 GiB", "");
    let error = self::error(&with(&format!("[mpi.collectives]\nwindow = 0\n{JOB}")));
    assert_eq!(error.key, "mpi.collectives.window");
    says(&error, "at least 1", "");
}

#[test]
fn knowledge_between_routers_has_bounds_and_needs_groups() {
    let ugal = "network.routing.algorithm=\"ugal\"";
    let with_keys = |keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|key| format!("network.routing.{key}")).collect();
        let mut overrides: Vec<&str> = vec![ugal];
        overrides.extend(keys.iter().map(String::as_str));
        error_with(&with(JOB), &overrides).to_string()
    };
    let late = with_keys(&["knowledge=\"global\"", "knowledge_delay=\"49 ns\""]);
    assert!(
        late.contains("49 ns is out of range") && late.contains("50 ns to 1 s"),
        "{late}"
    );
    let never = with_keys(&["knowledge=\"piggyback\"", "knowledge_interval=\"0 s\""]);
    assert!(never.contains("network.routing.knowledge_interval"), "{never}");
    let idle = with_keys(&["knowledge_interval=\"1 us\""]);
    assert!(idle.contains("the knowledge is local"), "{idle}");
    let bits = with_keys(&["knowledge=\"global\"", "congestion_factor=2.0"]);
    assert!(bits.contains("knowledge = \"piggyback\""), "{bits}");
    let far = with_keys(&["knowledge=\"piggyback\"", "congestion_factor=1001.0"]);
    assert!(far.contains("0 to 1000"), "{far}");
    let minimal = error_with(&with(JOB), &["network.routing.knowledge=\"global\""]).to_string();
    assert!(minimal.contains("the routing \"minimal\""), "{minimal}");
    let fly = "[machine.slim-fly]\nq = 5\nnodes_per_router = 1\n[network.routing]\nalgorithm = \"ugal\"\nknowledge = \"global\"\n\
               [[jobs]]\nranks = 2\nworkload = { milc = {} }\n";
    let fly = error(fly).to_string();
    assert!(fly.contains("slim-fly have no groups"), "{fly}");
}

const TWO_CLASSES: &str = "[[network.traffic_classes]]\nname = \"latency\"\nshare = 0.7\n\
                           [[network.traffic_classes]]\nname = \"bulk\"\nshare = 0.3\npriority = -1\n";

#[test]
fn jobs_are_in_the_first_traffic_class_unless_they_name_another() {
    let text = with(&format!(
        "{TWO_CLASSES}{JOB}traffic_class = {{ io = \"bulk\" }}\n[[jobs]]\nname = \"other\"\nranks = 2\nworkload = {{ milc = {{}} }}\n"
    ));
    let resolved = scenario::load(&text, "scenario.toml", &[], None, "").unwrap().resolved;
    let classes = &resolved.network.traffic_classes;
    assert_eq!(
        (classes[1].name.as_str(), classes[1].share, classes[1].priority),
        ("bulk", 0.3, -1)
    );
    let of = |job: usize| {
        (
            *resolved.jobs[job].traffic_class.mpi,
            *resolved.jobs[job].traffic_class.io,
        )
    };
    assert_eq!((of(0), of(1)), ((0, 1), (0, 0)));
    // Without any, a scenario has no such text.
    let none = scenario::load(&with(JOB), "scenario.toml", &[], None, "")
        .unwrap()
        .resolved;
    let json = serde_json::to_string(&none).unwrap();
    assert!(
        !json.contains("traffic_class") && !json.contains("congestion"),
        "{json}"
    );
}

#[test]
fn mistakes_in_traffic_classes_are_refused() {
    let error = self::error(&with(&format!(
        "{TWO_CLASSES}{JOB}traffic_class = {{ mpi = \"bulky\" }}\n"
    )));
    assert_eq!(error.key, "jobs.0.traffic_class.mpi");
    says(&error, "one of latency, bulk", "");
    let error = self::error(&with(&format!("{JOB}traffic_class = {{ io = \"bulk\" }}\n")));
    assert_eq!(error.key, "jobs.0.traffic_class.io");
    says(&error, "none is declared", "");
    let class = |name: &str, share: &str| format!("[[network.traffic_classes]]\nname = \"{name}\"\nshare = {share}\n");
    let error = self::error(&with(&format!("{}{}{JOB}", class("a", "0.7"), class("b", "0.4"))));
    assert_eq!(error.key, "network.traffic_classes.1.share");
    says(&error, "at most 1 in all", "");
    for share in ["0", "-0.5", "nan", "2"] {
        let error = self::error(&with(&format!("{}{JOB}", class("a", share))));
        assert_eq!(error.key, "network.traffic_classes.0.share");
    }
    let error = self::error(&with(&format!("{}{}{JOB}", class("a", "0.2"), class("a", "0.4"))));
    assert_eq!(error.key, "network.traffic_classes.1.name");
    let nine: String = (0..9).map(|i| class(&format!("c{i}"), "0.1")).collect();
    let error = self::error(&with(&format!("{nine}{JOB}")));
    assert_eq!(error.key, "network.traffic_classes");
    says(&error, "at most 8", "");
    let text = with(&format!("{TWO_CLASSES}{JOB}"));
    let error = error_with(&text, &["network.router=\"output-queued\""]);
    assert_eq!(error.key, "network.traffic_classes");
    says(&error, "network.router = \"input-queued\"", "");
}

#[test]
fn mistakes_in_congestion_control_are_refused() {
    let error = |keys: &str| self::error(&with(&format!("[network.congestion_control]\n{keys}\n{JOB}")));
    let unused = error("threshold = \"8 KiB\"");
    assert_eq!(unused.key, "network.congestion_control.threshold");
    says(&unused, "kind = \"ecn\", \"per-flow\" or \"per-pair\"", "");
    let unused = error("kind = \"per-flow\"\ndecrease = 0.5");
    assert_eq!(unused.key, "network.congestion_control.decrease");
    for decrease in ["0", "1", "-0.5", "1.5"] {
        let wrong = error(&format!("kind = \"ecn\"\ndecrease = {decrease}"));
        assert_eq!(wrong.key, "network.congestion_control.decrease");
        says(&wrong, "more than 0 and less than 1", "");
    }
    let wrong = error("kind = \"ecn\"\ninterval = \"0 s\"");
    assert_eq!(wrong.key, "network.congestion_control.interval");
    let wrong = error("kind = \"per_flow\"");
    says(
        &wrong,
        "one of none, ecn, per-flow, per-pair",
        "did you mean \"per-flow\"?",
    );
}

/// A number is shown as it was written, and never expanded into zeros.
#[test]
fn numbers_are_shown_as_they_were_written() {
    let whole = error(&with("[[jobs]]\nranks = 4.0\nworkload = { milc = {} }\n"));
    assert_eq!(at(&whole), (Some(7), "jobs.0.ranks", Some("4.0")));
    assert_eq!(whole.message, "wrong type of value: 4.0");
    says(&whole, "a whole number from 1", "");
    let uniform = |keys: &str| {
        with(&format!(
            "[[jobs]]\nranks = 4\nworkload = {{ uniform = {{ {keys} }} }}\n"
        ))
    };
    let pipelined = "[network]\nrouter = \"pipelined\"\nclock = ";
    for (text, value, message) in [
        (
            uniform("load = 1e-300, messages = 1"),
            "1e-300",
            "messages of 4 KiB at a load of 1e-300",
        ),
        (uniform("load = 1e300, messages = 1"), "1e300", "the load is 1e300"),
        (uniform("load = -4e-7, messages = 1"), "-4e-7", "the load is -4e-7"),
        (
            uniform("load = 0.1, messages = 1, bytes = 1e-300"),
            "1e-300",
            "wrong type of value: 1e-300",
        ),
        (
            uniform("load = 0.1, messages = 1, bytes = 1e-300"),
            "1e-300",
            "did you mean \"1e-300 B\"?",
        ),
        (
            with(&format!("[mpi]\neager_threshold = 16384.0\n{JOB}")),
            "16384.0",
            "wrong type of value: 16384.0",
        ),
        (
            with(&format!("{pipelined}\"1e-300 Hz\"\n{JOB}")),
            "\"1e-300 Hz\"",
            "a cycle of inf ps",
        ),
        (
            with(&format!(
                "[network]\nclock = \"1 ns\"\nrouter_delay = \"1e-300 cycles\"\n{JOB}"
            )),
            "\"1e-300 cycles\"",
            "are 1e-297 ps",
        ),
        (
            with(&format!(
                "[network]\nclock = \"1 ns\"\nrouter_delay = \"1e300 cycles\"\n{JOB}"
            )),
            "\"1e300 cycles\"",
            "at most 4611686 s (53 days) can be simulated",
        ),
    ] {
        let error = error(&text);
        assert_eq!(error.value.as_deref(), Some(value), "{error}");
        let words = error.to_string();
        assert!(words.contains(message), "{message}: {words}");
        assert!(!words.contains("000000"), "{words}");
    }
    // Of an unusually long number, the start is enough.
    let long = format!("0.{}1", "0".repeat(300));
    let error = error(&uniform(&format!("load = {long}, messages = 1")));
    let value = error.value.as_deref().unwrap_or_default();
    assert!(
        value.starts_with("0.0000") && value.ends_with('…') && value.len() < 80,
        "{value}"
    );
    assert_eq!(error.message, "messages of 4 KiB at a load of 1e-301");
}

#[test]
fn blocks_that_do_not_fit_are_named() {
    let text = |placement: &str| {
        format!(
            "[machine.mesh]\ndims = [4, 4]\nnodes_per_router = 4\n[[jobs]]\nranks = 64\nplacement = {placement}\n\
             workload = {{ uniform = {{ load = 0.1, messages = 1 }} }}\n"
        )
    };
    for (placement, key, problem) in [
        ("{ dims = [8, 8] }", "jobs.0.placement", "no single rule"),
        (
            "{ dims = [8, 8], block = [2, 2], nodes = [1] }",
            "jobs.0.placement",
            "no single rule",
        ),
        (
            "{ dims = [8, 8], block = [2] }",
            "jobs.0.placement.block",
            "1 extents for 2 dimensions",
        ),
        (
            "{ dims = [8, 8], block = [2, 3] }",
            "jobs.0.placement.block.1",
            "3 of 8 nodes",
        ),
        (
            "{ dims = [], block = [] }",
            "jobs.0.placement.dims",
            "a grid of 0 dimensions",
        ),
        (
            "{ dims = [8, 4], block = [2, 2] }",
            "jobs.0.placement.dims",
            "a grid of [8, 4] nodes for a job on 64",
        ),
        (
            "{ dims = [8, 8], block = [4, 2] }",
            "jobs.0.placement.block",
            "blocks of 8 nodes",
        ),
        (
            "{ dims = [8, 8], block = [2, 1] }",
            "jobs.0.placement",
            "32 blocks for 16 routers",
        ),
    ] {
        let error = error(&text(placement));
        assert_eq!(error.key, key, "{placement}: {error}");
        assert!(error.message.contains(problem), "{placement}: {error}");
    }
}

#[test]
fn an_unreadable_traffic_matrix_is_reported_with_its_line() {
    let folder = std::env::temp_dir().join(format!("odonata-matrix-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("matrix.csv");
    let text = |keys: &str| {
        format!(
            "[machine.mesh]\ndims = [2, 2]\n[[jobs]]\nranks = 4\nworkload = {{ matrix = {{ {keys}load = 0.1, messages = 1 }} }}\n"
        )
    };
    assert_eq!(error(&text("")).message, "the key \"file\" is missing");
    let named = text(&format!("file = {:?}, ", file.display().to_string()));
    assert!(error(&named).message.contains("it cannot be read"));
    for (rows, problem) in [
        (
            "source,target,weight\n0,4,1\n",
            "line 2: the target is \"4\", expected a rank, 0 to 3",
        ),
        (
            "source,target,weight\n2,2,1\n",
            "rank 2 sends to itself: expected no such pair, or self = true",
        ),
    ] {
        std::fs::write(&file, rows).unwrap();
        let error = error(&named);
        assert!(error.message.contains(problem), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Like blame, and where blame is off.
#[test]
fn lost_time_is_refused_where_waits_are_not_charged() {
    for (more, message, expected) in [
        (
            "[run]\nlost_time = true\nblame = true\n[network]\nfidelity = \"analytic\"\n",
            "the analytic model",
            "false",
        ),
        (
            "[run]\nlost_time = true\nblame = false\n",
            "lost time needs the waits charged by run.blame, which is off",
            "run.blame = true",
        ),
        // There is only one job.
        ("[run]\nlost_time = true\n", "which is off", "run.blame = true"),
    ] {
        let error = error(&with(&format!("{more}{JOB}")));
        assert_eq!(at(&error), (Some(7), "run.lost_time", Some("true")), "{error}");
        assert!(error.message.contains(message), "{error}");
        says(&error, expected, "");
    }
    for more in ["", "lost_time_path = 100\n"] {
        let text = with(&format!("[run]\nlost_time = true\nblame = true\n{more}{JOB}"));
        assert!(scenario::load(&text, "scenario.toml", &[], None, "").is_ok());
    }
}

/// A sample covers packets whose waits are charged, and only gives sums.
#[test]
fn a_sample_of_waits_is_refused_where_all_are_needed_or_none_are_charged() {
    for (more, expected) in [
        ("", "run.blame = true"),
        ("blame = true\nlost_time = true\n", "run.lost_time = false"),
        (
            "blame = true\n[network]\nrouter = \"pipelined\"\nclock = \"1 GHz\"\n",
            "another network.router",
        ),
    ] {
        let error = error(&with(&format!("[run]\nblame_sampling = 16\n{more}{JOB}")));
        assert_eq!(at(&error), (Some(7), "run.blame_sampling", Some("16")), "{error}");
        says(&error, expected, "");
    }
    for wrong in ["0", "1025"] {
        let error = error(&with(&format!("[run]\nblame = true\nblame_sampling = {wrong}\n{JOB}")));
        assert_eq!(at(&error), (Some(8), "run.blame_sampling", Some(wrong)), "{error}");
        says(&error, "1024", "");
    }
}

#[test]
fn waits_are_kept_for_lost_time() {
    for (waits, message, expected) in [
        ("100", "run.lost_time is off", "run.lost_time = true"),
        ("1000001", "1000001", "1000000"),
    ] {
        let error = error(&with(&format!("[run]\nlost_time_path = {waits}\n{JOB}")));
        assert_eq!(at(&error), (Some(7), "run.lost_time_path", Some(waits)), "{error}");
        says(&error, expected, "");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn a_job_without_double_brackets_and_a_workload_among_the_keys_of_a_job_have_hints() {
    let table = error(&with("[jobs.all_to_all]\nranks = 4\n"));
    assert_eq!(at(&table), (Some(6), "jobs", Some("a table")));
    says(
        &table,
        "an array",
        "every table of an array has a header of its own, [[NAME]]",
    );
    let key = error(&with(&format!("{JOB}[jobs.all_to_all]\n")));
    assert_eq!(at(&key), (Some(9), "jobs.0.all_to_all", Some("\"all_to_all\"")));
    says(&key, "one of name, count", "[jobs.workload.stencil]");
}
