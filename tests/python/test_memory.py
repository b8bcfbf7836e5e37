"""Memory of a run: estimated before, refused if impossible, and ended in order if exceeded."""

import json
import resource
import sys

import launcher
import pytest
from conftest import ODONATA, OVERLOADED, ROOT, SMALL

import odonata

MIB, GIB = 2**20, 2**30


def test_a_run_that_comes_to_its_memory_limit_keeps_what_it_measured(shell):
    shell.write(OVERLOADED)
    done = shell("run", "scenario.toml", "-o", "out", "--quiet", "--set", "run.memory_limit=260 MB")
    assert done.code == 3, done.err
    assert "out-of-memory" in done.err
    run = json.loads((shell.folder / "out" / "run.json").read_text())
    assert run["outcome"] == "out-of-memory"
    assert "which run.memory_limit allows" in run["detail"]
    assert "messages wait at NICs" in run["detail"]
    assert "(job flood)" in run["detail"]
    assert run["packets"] > 0
    assert 100e6 < run["peak_rss_bytes"] < 260e6
    assert (shell.folder / "out" / "jobs.parquet").is_file()
    assert not [name for name in shell.files() if "partial" in name]


def test_a_run_ends_before_its_address_space_does(shell):
    shell.write(OVERLOADED)
    command = [*ODONATA, "run", "scenario.toml", "-o", "out", "--quiet"]
    done = launcher.run(
        command,
        cwd=shell.folder,
        before=lambda: resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE)),
    )
    assert done.returncode == 3, done.stderr
    run = json.loads((shell.folder / "out" / "run.json").read_text())
    assert run["outcome"] == "out-of-memory"
    assert "ulimit -v" in run["detail"]
    assert not [name for name in shell.files() if "partial" in name]


#: The address space of a small test: that of Python and its libraries, and half a gigabyte.
SPACE = 768 * MIB


def test_a_baseline_that_takes_too_much_ends_under_a_name(shell):
    quiet = '[[jobs]]\nname = "quiet"\nranks = 2\nworkload = { stencil = { dims = [2], iterations = 1 } }\n'
    text = OVERLOADED.replace("ranks = 40", "ranks = 38").replace("[run]", "[run]\nblame = false") + quiet
    shell.write(text)
    settings = ("--baselines", "--set", "run.memory_limit=260 MB", "--processes", "1")
    done = shell("run", "scenario.toml", "-o", "out", "--quiet", *settings)
    assert done.code == 3, done.err
    baselines = json.loads((shell.folder / "out" / "run.json").read_text())["baselines"]
    assert baselines["flood"]["outcome"] == "out-of-memory"
    assert baselines["quiet"]["outcome"] == "completed"
    assert not [name for name in shell.files() if "partial" in name]


def test_messages_that_wait_at_an_interface_have_a_bound_that_no_scheduler_changes(shell):
    shell.write(OVERLOADED)
    runs = []
    for scheduler in ("sequential", "conservative", "optimistic"):
        settings = ("--set", "nic.message_queue=500", "--scheduler", scheduler, "--threads", "2")
        done = shell("run", "scenario.toml", "-o", scheduler, "--quiet", *settings)
        assert done.code == 3, done.err
        runs.append(json.loads((shell.folder / scheduler / "run.json").read_text()))
    assert [run["outcome"] for run in runs] == ["queue-overflow"] * 3
    assert len({run["digest"] for run in runs}) == 1
    assert len({run["detail"] for run in runs}) == 1
    assert "nic.message_queue allows, 500" in runs[0]["detail"]
    assert "(job flood)" in runs[0]["detail"]


PEAK_MEMORY = ROOT / "benches" / "peak_memory.py"


def check_in_little_memory(shell, *arguments):
    """Runs `odonata check` of the scenario; returns its end, and its largest memory."""
    peak = shell.folder.parent / f"{shell.folder.name}.peak"
    done = launcher.run(
        [sys.executable, PEAK_MEMORY, peak, *ODONATA, "check", "scenario.toml", "--json", *arguments],
        cwd=shell.folder,
    )
    return done.returncode, json.loads(done.stdout), done.stderr, int(peak.read_text())


MISTYPED = {
    # 250 million ports instead of 7,000.
    "machine.torus": SMALL.partition("[machine.dragonfly]")[0]
    + "[machine.torus]\ndims = [600, 600, 100]\n[[jobs]]\nranks = 4\nworkload.stencil = { dims = [4] }\n",
    "machine.fat-tree": SMALL.partition("[machine.dragonfly]")[0]
    + "[machine.fat-tree]\nk = 64\nn = 4\n[[jobs]]\nranks = 4\nworkload.stencil = { dims = [4] }\n",
    # A million ranks on each of 40 nodes.
    "jobs.0.ranks": OVERLOADED.replace("ranks = 40", "ranks = 16_000_000\nranks_per_node = 1_000_000"),
}


@pytest.mark.parametrize("key", list(MISTYPED))
def test_what_certainly_does_not_fit_is_refused_before_it_is_built(shell, key):
    shell.write(MISTYPED[key])
    code, answer, err, peak = check_in_little_memory(shell, "--set", "run.memory_limit=1 GiB")
    assert code == 2
    assert answer["error"]["key"] == key
    assert "of memory would be needed" in answer["error"]["message"]
    assert "1.0 GiB, which run.memory_limit allows" in answer["error"]["expected"]
    assert "GiB for" in answer["error"]["hint"]
    assert "error:" in err
    assert peak < 500 * MIB
    done = shell("run", "scenario.toml", "-o", "out", "--set", "run.memory_limit=1 GiB")
    assert done.code == 2
    assert shell.files() == ["scenario.toml"]


def test_the_address_space_bounds_what_is_built(shell):
    shell.write(MISTYPED["machine.torus"])
    done = launcher.run(
        [*ODONATA, "check", "scenario.toml"],
        cwd=shell.folder,
        before=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * GIB, 2 * GIB)),
    )
    assert done.returncode == 2, done.stderr
    assert "ulimit -v" in done.stderr


def test_check_says_how_much_memory_a_run_takes(shell):
    shell.write(SMALL)
    memory = shell("check", "scenario.toml", "--json").json["memory"]
    assert 80 * MIB < memory["bytes"] < 150 * MIB
    assert memory["bytes"] == sum(item["bytes"] for item in memory["items"])
    assert memory["available"] > memory["bytes"]
    assert memory["bound"] in ("free", "control-group", "address-space")
    text = shell("check", "scenario.toml").out
    assert "memory: about 1" in text or "memory: about 9" in text or "memory: about 8" in text
    limited = shell("check", "scenario.toml", "--json", "--set", "run.memory_limit=4 GiB").json["memory"]
    assert (limited["available"], limited["bound"]) == (4 * GIB, "run.memory_limit")


def test_a_run_that_will_hardly_fit_is_warned_of(shell):
    shell.write(OVERLOADED)
    settings = ("--set", "run.memory_limit=1 GiB", "--set", "jobs.0.workload.uniform.stop=200 ms")
    [warning] = shell("check", "scenario.toml", "--json", *settings).json["warnings"]
    assert warning["key"] == "jobs.0.workload"
    assert "messages of flood that wait for their links" in warning["message"]


def test_the_time_follows_from_rates_and_counts(tmp_path, monkeypatch):
    from odonata.running import speed

    monkeypatch.setattr(speed, "place", lambda: tmp_path / "cache" / "odonata" / "rates.json")
    measured = []

    def measure(unit, rates):
        measured.append(unit)
        return [speed.Rate(1.0, 1e-6, 3e-6)]

    monkeypatch.setattr(speed, "measure", measure)
    scenario = "examples/uniform.toml"
    cost = odonata.check(scenario)["cost"]
    # Synthetic traffic of packets: a router visited by a packet is the only unit of work.
    assert measured == ["packet_hops"]
    detour = cost["longest_packet_hops"] / cost["packet_hops"]
    assert cost["time"]["least_s"] == pytest.approx(1e-6 * cost["packet_hops"])
    assert cost["time"]["most_s"] == pytest.approx(3e-6 * cost["packet_hops"] * detour)
    assert (cost["time"]["source"], cost["time"]["trial"]) == ("rates", None)
    # The rates are measured once.
    assert odonata.check(scenario)["cost"] == cost
    assert measured == ["packet_hops"]
    # A damaged file counts as none.
    speed.place().write_text("[1, 2")
    assert odonata.check(scenario)["cost"] == cost
    assert measured == ["packet_hops"] * 2
    # Without a place for the file, each check measures.
    monkeypatch.setattr(speed, "place", lambda: tmp_path / "cache" / "odonata" / "rates.json" / "no" / "file")
    assert odonata.check(scenario)["cost"] == cost
    assert measured == ["packet_hops"] * 3


def test_a_rate_is_the_time_per_unit_by_the_clock(monkeypatch):
    """Planted: a stretch of 1 s has 1,000 packet-hops in fast runs, 500 in slow ones."""
    from odonata.running import speed

    done = iter([1000, 500, 1000, 500])
    monkeypatch.setattr(
        speed, "_run", lambda simulation, clock: ({"packet_hops": next(done), "messages": 0}, 1.0)
    )
    small, large = speed.measure("packet_hops", rates={}.__getitem__)
    assert (small.fast, small.slow) == (large.fast, large.slow) == (1e-3, 2e-3)
    assert small.state_bytes < large.state_bytes


def test_a_stretch_of_a_run_ends_by_the_clock():
    from odonata import _core
    from odonata.running import speed

    ticks = iter(range(1000))
    text = speed._scenario(speed.SMALL, "", speed.UNITS["packet_hops"].workloads[0])
    done, spent = speed._run(_core.Simulation(text, "rates.toml"), lambda: float(next(ticks)))
    assert done["packet_hops"] > 0
    assert done["messages"] > 0
    assert spent == 1.0


@pytest.mark.parametrize(
    ("fidelity", "unit"),
    [("packet", "packet_hops"), ("flow", "flow_messages"), ("analytic", "analytic_messages")],
)
def test_the_units_of_work_are_those_of_the_fidelity(shell, fidelity, unit):
    text = OVERLOADED.replace('mean_interval = "8 ns", stop = "10 s"', "load = 0.1, messages = 20")
    shell.write(text + f'[network]\nfidelity = "{fidelity}"\n')
    cost = shell("check", "scenario.toml", "--json").json["cost"]
    units = ("packet_hops", "flow_messages", "analytic_messages")
    assert (cost["fidelity"], [one for one in units if cost[one]]) == (fidelity, [unit])


def test_pipelined_routers_are_visited_by_flits(shell):
    text = OVERLOADED.replace('mean_interval = "8 ns", stop = "10 s"', "load = 0.1, messages = 20")
    shell.write(text)
    plain = shell("check", "scenario.toml", "--json").json["cost"]
    shell.write(text + '[network]\nrouter = "pipelined"\nclock = "1 ns"\n')
    flits = shell("check", "scenario.toml", "--json").json["cost"]
    assert (plain["flit_hops"], flits["packets"]) == (0.0, plain["packets"])
    assert flits["flit_hops"] > 2 * flits["packet_hops"]
    assert (plain["router"], flits["router"]) == ("input-queued", "pipelined")


def test_a_trial_that_completes_the_run_has_its_time_and_messages(shell):
    shell.write(SMALL)
    cost = shell("check", "scenario.toml", "--trial", "--json").json["cost"]
    trial = cost["time"]["trial"]
    assert (cost["time"]["source"], trial["fraction"]) == ("trial", 1.0)
    assert cost["time"]["least_s"] == cost["time"]["most_s"] == trial["cpu_s"]
    run = shell("run", "scenario.toml", "-o", "out", "--quiet")
    assert run.code == 0
    written = json.loads((shell.folder / "out" / "run.json").read_text())
    assert (trial["messages"], trial["simulated_s"]) == (written["messages"], written["simulated_s"])


def test_a_trial_ends_by_the_clock():
    """By a clock that ticks a second with every look, two looks are the build and the first slice."""
    from odonata.running import trial

    text = OVERLOADED.replace('mean_interval = "8 ns", stop = "10 s"', "load = 0.1, messages = 1_000_000")
    ticks = iter(range(1000))
    found = trial.run(text, "scenario.toml", [], None, seconds=2.0, clock=lambda: float(next(ticks)))
    assert found["trial"]["cpu_s"] == 2.0
    assert 0.0 < found["trial"]["fraction"] < 1.0
    assert 2.0 < found["least_s"] <= found["most_s"]


def test_a_load_at_which_messages_pile_up_is_saturated(shell):
    shell.write(OVERLOADED.replace('mean_interval = "8 ns", stop = "10 s"', "load = 0.5"))
    settings = ("--set", "nic.message_queue=5", "--loads", "0.9", "--json", "--quiet")
    done = shell("load-sweep", "scenario.toml", *settings)
    (point,) = done.json["points"]
    assert (point["saturated"], point["failed"]) == (True, False)
    assert point["reason"] == "more messages wait at a NIC than nic.message_queue allows"


#: Runs of a few seconds, with settings.
RUNS = {
    "small": (SMALL, ()),
    "rows": (
        OVERLOADED.replace("message_rows = 0", ""),
        ("jobs.0.workload.uniform={load=0.3,messages=5000}",),
    ),
    "overloaded": (OVERLOADED, ("run.time_limit=200 us",)),
    "torus": (
        "[machine.torus]\ndims = [24, 24, 24]\n[run]\nmessage_rows = 0\n[[jobs]]\nranks = 13824\n"
        "workload.uniform = { load = 0.1, messages = 2 }\n",
        (),
    ),
    "parts": (
        "[machine.torus]\ndims = [24, 24, 24]\n[run]\nmessage_rows = 0\n[[jobs]]\nranks = 13824\n"
        "workload.uniform = { load = 0.1, messages = 2 }\n",
        ("run.scheduler=conservative", "run.threads=2"),
    ),
    "stencil": (
        OVERLOADED.partition("[run]")[0] + "[[jobs]]\nranks = 40_000\nranks_per_node = 1000\n"
        'workload.stencil = { dims = [200, 200], iterations = 1, message = "1 KiB", compute = "1 us" }\n',
        (),
    ),
    "ethernet": (
        '[machine.fat-tree]\nk = 16\nn = 3\n[network]\nfidelity = "ethernet"\npacket = "4086 B"\n'
        "[run]\nmessage_rows = 0\n[[jobs]]\nranks = 4096\n"
        'workload.stencil = { dims = [16, 16, 16], iterations = 1, message = "1 MiB", compute = "1 us" }\n',
        ("run.time_limit=30 us",),
    ),
    "pipelined": (
        '[machine.torus]\ndims = [16, 16, 16]\n[network]\nrouter = "pipelined"\nclock = "1 ns"\n'
        "[run]\nmessage_rows = 0\n[[jobs]]\nranks = 4096\n"
        'workload.uniform = { bytes = "256 B", load = 0.1, messages = 2 }\n',
        (),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(RUNS))
def test_the_memory_that_check_tells_is_that_of_the_run(shell, name):
    text, settings = RUNS[name]
    shell.write(text)
    arguments = [part for setting in settings for part in ("--set", setting)]
    estimated = shell("check", "scenario.toml", "--json", *arguments).json["memory"]["bytes"]
    # Not from wait4: it counts the parent of the child, which may be larger.
    measure = "; print(int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]))"
    run = "import re, sys; from odonata.cli import app; app(sys.argv[1:], standalone_mode=False)"
    done = launcher.run(
        [sys.executable, "-c", run + measure, "run", "scenario.toml", "-o", "out", "--quiet", *arguments],
        cwd=shell.folder,
        check=True,
    )
    taken = int(done.stdout.split()[-1]) / 1024
    ratio = estimated / (taken * MIB)
    assert 1 / 1.5 < ratio < 1.5, f"{estimated / MIB:.0f} MiB estimated, {taken:.0f} MiB taken"
