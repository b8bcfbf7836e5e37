"""`odonata check`, `bench`, `schema`, `--version`."""

import importlib
import json
import re

import pytest
from conftest import ROOT, SMALL

import odonata
from odonata import cli
from odonata.commands import declared
from odonata.commands.listed import LISTED

#: Detours over a router whose two local hops share a channel.
DEADLOCK = """
[machine.dragonfly]
groups = 5
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1

[network.routing]
algorithm = "valiant"
via = "router"
vc_rule = "codes"
deadlock_check = "warn"

[[jobs]]
ranks = 40
workload = { uniform = { load = 0.2, messages = 10 } }
"""


def test_an_error_names_the_kind_of_a_path_that_is_no_scenario(shell):
    """A sweep or batch file instead of a scenario, and of each other; a folder of another kind."""
    shell.write(SMALL)
    shell.write('scenario = "scenario.toml"\n[grid]\njobs.halo.ranks = [8]\n', "points.toml")
    shell.write('jobs = "day.csv"\npreset = "theta"\n[queue]\npolicy = "fcfs"\n', "day.toml")
    # Which key the reader meets first does not matter.
    shell.write('assumptions = []\nscenario = "scenario.toml"\njobs = "day.csv"\n', "other.toml")
    sweep = "a sweep", "odonata sweep {} runs it"
    batch = "a batch file", "odonata batch {} simulates it"
    for command, file, (kind, hint), wanted in [
        *((name, "points.toml", sweep, "a scenario") for name in ("check", "run", "describe")),
        *((name, "day.toml", batch, "a scenario") for name in ("check", "run", "sweep")),
        ("check", "other.toml", batch, "a scenario"),
        ("sweep", "other.toml", batch, "a sweep"),
        ("batch", "points.toml", sweep, "a batch file"),
    ]:
        done = shell(command, file)
        assert done.code == 2
        assert f"error: it is {kind}, not {wanted}\n  --> {file}\n" in done.err
        assert f"hint      {hint.format(file)}" in done.err
    # A wrong setting of a batch file's machine is an error about that setting.
    shell.write('jobs = "day.csv"\npreset = "theta"\nset = { jobs.a.ranks = 3, machine.x = 1 }\n', "day.toml")
    assert "it is a batch file" not in shell("batch", "day.toml").err
    done = shell("describe", "torus")
    assert "torus is a family of networks: odonata init --machine torus writes" in done.err
    # A folder that is no result is never replaced, so --force is not offered.
    (shell.folder / "taken").mkdir()
    (shell.folder / "taken" / "thesis.tex").write_text("years")
    done = shell("run", "scenario.toml", "-o", "taken")
    assert "choose another with -o" in done.err
    assert "--force" not in done.err
    done = shell("run", "scenario.toml", "-o", "taken", "--force")
    assert (done.code, (shell.folder / "taken" / "thesis.tex").read_text()) == (2, "years")


def test_an_error_names_the_kind_of_a_load_sweep(shell):
    curve = """\
preset = "booksim"
machine = { mesh = { dims = [3, 3] } }
[[jobs]]
name = "traffic"
ranks = 9
workload = { uniform = { load = 0.1 } }
"""
    shell.write(curve)
    assert shell("load-sweep", "scenario.toml", "--loads", "0.1", "-o", "curve", "-q").code == 0
    done = shell("summary", "curve")
    assert done.code == 2
    assert "it is a load sweep: odonata report curve shows it" in done.err
    assert shell("report", "curve").code == 0


def test_a_starter_names_its_options_and_no_line_of_a_file_that_is_not_there(shell):
    done = shell("init", "new.toml", "--job", "stencil:10000000")
    assert done.code == 2
    assert "found     stencil:10000000" in done.err
    assert "new.toml" not in done.err
    done = shell("init", "new.toml", "--machine", "torus", "--job", "transpose:7")
    assert "not 7" in done.err
    assert "new.toml" not in done.err
    assert shell.files() == []


def test_check_says_what_bounds_each_tier_of_storage(shell):
    page = shell("check", ROOT / "examples" / "tiers.toml", "--verbose").out
    rows = page.partition("Storage tiers\n")[2].splitlines()
    assert rows[0].endswith("limited by")
    # Nine buffers wait for two I/O nodes, and these for their links.
    assert rows[1].endswith("the next tier")
    assert rows[2].endswith("the links of the I/O nodes")


def test_check_says_what_can_be_known(shell):
    shell.write(SMALL)
    done = shell("check", "scenario.toml", "--verbose")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "small: the scenario is valid"
    assert "40 nodes (35 compute, 5 storage servers), 20 routers in 5 groups" in lines
    # 4 routers have 6 pairs; 5 groups have 10, with floor(4 * 2 / 4) = 2 cables each.
    assert "cables: 40 terminal, 30 local, 20 global; free ports: 0" in lines
    assert any(line.startswith("free of deadlock: proved on this machine") for line in lines)
    for name in ("halo", "training", "saver"):
        assert any(line.startswith(name) for line in lines)
    assert shell.files() == ["scenario.toml"]


def test_check_is_short_unless_asked_for_all(shell):
    shell.write(SMALL)
    done = shell("check", "scenario.toml")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "small: the scenario is valid"
    assert "on 35 compute nodes and 5 storage servers, 20 routers in 5 groups" in lines
    for name in ("halo", "training", "saver"):
        assert any(line.startswith(name) for line in lines)
    text = " ".join(done.out.split())
    assert re.search(r"time: .* on one core", text)
    assert "memory: about" in text
    assert "baselines" not in text
    assert "Warnings" not in text
    assert "virtual channels" not in text
    assert len(lines) < 20
    # Three jobs have three baselines, which do as much together as the run itself.
    options = ("--set", "run.baselines=true")
    assert shell("check", "scenario.toml", *options, "--json").json["cost"]["baselines"] == 3
    text = " ".join(shell("check", "scenario.toml", *options).out.split())
    assert "with 3 baselines, each job alone: " in text
    assert "with baselines, " in text


def test_check_shows_that_a_routing_can_deadlock_without_being_asked(shell):
    shell.write(DEADLOCK)
    done = shell("check", "scenario.toml")
    assert done.code == 0
    assert "Warnings" in done.out
    assert "CAN DEADLOCK" in done.out


def test_check_tells_when_jobs_start_and_stop(shell):
    shell.write((ROOT / "examples/background.toml").read_text())
    done = shell("check", "scenario.toml", "--set", "jobs.0.start=5 ms")
    assert done.code == 0
    assert "when" in done.out
    assert "from 5 ms" in done.out
    assert "until solver has ended" in " ".join(done.out.split())


def test_check_answers_in_json(shell):
    shell.write(SMALL)
    report = shell("check", "scenario.toml", "--json").json
    assert report["routing"]["deadlock_free"] is True
    # Progressive adaptive by group, Kim's dragonfly: 4 local and 2 global channels.
    assert report["routing"]["virtual_channels_needed"][1:] == [4, 2, 0]
    assert report["machine"]["compute_nodes"] == 35
    assert [job["ranks"] for job in report["jobs"]] == [16, 8, 4]


def test_check_needs_no_jobs_and_takes_presets(shell):
    shell.write("[machine.mesh]\ndims = [4, 4]\n[network.routing]\nvcs = 4\n")
    assert "no jobs: nothing to run" in shell("check", "scenario.toml").out.splitlines()
    done = shell("check", "scenario.toml", "--verbose")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert "no jobs: nothing to run" in lines
    # A mesh has no global links; a value for all classes may include them.
    assert "virtual channels: 4 terminal, 4 local (needed: 1 terminal, 1 local)" in lines
    assert any(line.startswith("free of deadlock: proved on this machine") for line in lines)
    assert "Cost" not in lines
    report = shell("check", "mfnetsim", "--json").json
    assert (report["name"], report["machine"]["nodes"], report["servers"]) == ("mfnetsim", 1056, 66)
    assert (report["jobs"], report["parallel"], report["cost"]) == ([], None, None)
    assert report["routing"]["deadlock_free"] is True
    done = shell("run", "scenario.toml")
    assert done.code == 2
    assert "there are no jobs" in done.err


def test_check_shows_traffic_classes_and_congestion_control(shell):
    shell.write(
        SMALL
        + """
[[network.traffic_classes]]
name = "fast"
share = 0.3
priority = 1
[[network.traffic_classes]]
name = "bulk"
share = 0.5
[network.congestion_control]
kind = "ecn"
threshold = "24 KiB"
"""
    )
    settings = ("--set", 'jobs.0.traffic_class={ mpi = "bulk", io = "bulk" }')
    text = " ".join(shell("check", "scenario.toml", *settings, "--verbose").out.split())
    channels = "channels of its own: 1 terminal, 4 local, 2 global"
    jobs = "messages of training, saver, I/O of training, saver"
    assert f"fast: at least 30% of a link, priority 1, {channels}; {jobs}" in text
    assert f"bulk: at least 50% of a link, priority 0, {channels}; messages of halo, I/O of halo" in text
    assert "ecn: a port marks packets with more than 24 KiB queued behind them" in text
    assert "loses 50% of its rate, at most once in 5 us, and recovers in 500 us" in text
    report = shell("check", "scenario.toml", *settings, "--json").json
    assert [(one["name"], one["share"], one["mpi"]) for one in report["traffic_classes"]] == [
        ("fast", 0.3, ["training", "saver"]),
        ("bulk", 0.5, ["halo"]),
    ]
    times = {"interval": "5 us", "recovery": "500 us"}
    assert report["congestion_control"] == {"kind": "ecn", "threshold": "24 KiB", "decrease": 0.5, **times}
    control = ("--set", "network.congestion_control.kind=per-flow")
    text = " ".join(shell("check", "scenario.toml", *settings, *control, "--verbose").out.split())
    assert "per-flow: if more than 24 KiB wait for the link to a node" in text
    control = ("--set", "network.congestion_control.kind=per-pair")
    text = " ".join(shell("check", "scenario.toml", *settings, *control, "--verbose").out.split())
    assert "in flight to it, together to those of 5 us" in text


def test_what_is_probably_not_meant_is_reported_by_check_and_run(shell):
    shell.write(
        '[machine.torus]\ndims = [4, 4]\n[[jobs]]\nranks = 16\nplacement = "random"\n'
        "workload = { worst-case = { load = 0.3, messages = 3 } }\n"
    )
    output = "jobs.0.workload.worst-case: job grid: not the worst case: rank"
    done = shell("check", "scenario.toml")
    assert (done.code, done.err) == (0, "")
    assert output in " ".join(done.out.split())
    [warning] = shell("check", "scenario.toml", "--json").json["warnings"]
    assert (warning["key"], warning["expected"]) == (
        "jobs.0.workload.worst-case",
        'placement = "contiguous"',
    )
    done = shell("run", "scenario.toml", "-o", "out")
    assert done.code == 0
    assert f"warning: {output}" in done.err
    assert "warning" not in shell("run", "scenario.toml", "-o", "out", "--force", "--quiet").err
    sweep = ("load-sweep", "scenario.toml", "--loads", "0.1", "--max-samples", "5")
    done = shell(*sweep, "--json")
    assert f"warning: {output}" in done.err
    assert done.json["warnings"] == [warning]
    assert "warning" not in shell(*sweep, "--set", "jobs.0.placement=contiguous").err


def test_describe_says_what_the_machine_is(shell):
    shell.write(SMALL)
    done = shell("describe", "scenario.toml")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "small: a machine of kind dragonfly"
    assert "40 nodes, 2 per router" in lines
    # Nodes, the three others of the group, two global ports.
    assert "20 routers of 7 ports, 0 ports free" in lines
    assert "diameter: 3 cables between routers with nodes, 3 between any two" in lines
    assert shell.files() == ["scenario.toml"]


def test_describe_takes_scenarios_without_jobs_and_presets(shell):
    shell.write("[machine.torus]\ndims = [4, 4, 4]\n")
    report = shell("describe", "scenario.toml", "--json").json
    assert (report["routers"], report["diameter"]["routers"], report["bisection"]["cables"]) == (64, 6, 32)
    report = shell("describe", "mfnetsim", "--json").json
    assert (report["name"], report["nodes"], report["groups"]) == ("mfnetsim", 1056, 33)
    done = shell("describe", "no-such-preset")
    assert done.code == 2


def test_a_described_machine_can_be_exported_and_read_back(shell):
    shell.write("[machine.torus]\ndims = [4, 4]\n")
    shell("describe", "scenario.toml", "--export", "torus.graphml")
    assert "torus.graphml" in shell.files()
    report = shell("describe", "scenario.toml", "--json").json
    shell.write('[machine]\ngraph = { file = "torus.graphml" }\n')
    copy = shell("describe", "scenario.toml", "--json").json
    for key in ("routers", "nodes", "links", "free_ports", "diameter", "groups"):
        assert copy[key] == report[key], key


@pytest.mark.slow
def test_bench_measures_hops_and_memory(shell):
    report = shell("bench", "uniform-minimal-0.3", "--quick", "--json").json
    assert [case["name"] for case in report["cases"]] == ["uniform-minimal-0.3"]
    case = report["cases"][0]
    assert case["packet_hops_per_cpu_s"] > 1e5
    assert 0 < case["bytes_per_node"] < 50_000
    assert report["version"] == odonata.__version__
    assert report["machine"]["cores"] >= 1


def test_a_name_that_is_no_choice_is_reported_in_plain_words(shell):
    for command in (("schema", "foo"), ("fidelity", "x.toml", "--tier", "foo"), ("device", "bench", "foo")):
        refused = shell(*command)
        assert refused.code == 2
        assert "foo" in refused.err
        assert "Value error" not in refused.err
    assert "'foo' is not one of 'scenario', 'run'" in shell("schema", "foo").err


def test_schema_is_json_schema_with_descriptions(shell):
    schema = json.loads(shell("schema").out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"machine", "network", "storage", "jobs"} <= set(schema["properties"])
    for key, value in schema["properties"].items():
        assert value.get("description"), key


def test_version_and_module(shell):
    assert shell("--version").out == f"odonata {odonata.__version__}\n"


def test_help_lists_the_commands(shell):
    done = shell("--help")
    assert done.code == 0
    for command in ("run", "check", "summary", "compare", "bench", "schema"):
        assert f"\n  {command} " in done.out
    # No line is cut.
    groups = [done.out, *(shell(name, "--help").out for name in cli.GROUPS)]
    assert not [line for text in groups for line in text.splitlines() if re.search(r"\w\.\.\.$", line)]


def test_the_help_of_a_command_begins_with_its_line_in_the_list(shell):
    for name, (place, line) in LISTED.items():
        importlib.import_module(f"odonata.{place}")
        if command := declared.COMMANDS.get(name):
            assert command.help.split("\n\n")[0] == line, name
            assert line not in command.help.split("\n\n")[1:], name
    for name in ("run", "check", "trace"):
        text = " ".join(shell(name, "--help").out.split())
        assert LISTED[name][1] in text, name


def test_a_name_that_no_file_can_have_is_neither_a_file_nor_a_preset(shell):
    done = shell("describe", 300 * "a")
    assert done.code == 2
    assert "neither a file nor a preset" in done.err


def test_a_shell_completes_commands_and_options(shell, monkeypatch):
    script = shell("--completion", "bash")
    assert (script.code, "_ODONATA_COMPLETE=bash_complete" in script.out) == (0, True)
    monkeypatch.setenv("_ODONATA_COMPLETE", "bash_complete")
    for words, expected in (
        ("odonata su", ["plain,summary"]),
        ("odonata run --se", ["plain,--set", "plain,--seed"]),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert shell().out.split() == expected
