"""The comparison of speed with BookSim 2: both simulate the same, and BookSim's output is read correctly."""

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))

import booksim_speed

import odonata
from odonata.imports import booksim

#: The end of BookSim 2's output, by the format strings of its source.
OUTPUT = """\
Warmed up ...Time used is 30000 cycles
Average latency = 125.1
Draining all recorded packets ...
Draining remaining packets ...
Time taken is 60134 cycles
====== Traffic class 0 ======
Overall average latency = 125.1 (1 samples)
"""


def program(folder: Path, text: str) -> Path:
    """A program that reads a configuration, works a while and prints this."""
    file = folder / "booksim"
    script = "import sys; sys.argv[1]; sum(range(3_000_000)); print(open(%r).read(), end='')"
    (folder / "output").write_text(text)
    # The kernel accepts no interpreter path with a space.
    (folder / "booksim.py").write_text(script % str(folder / "output"))
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/booksim.py" "$@"\n')
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("routing", booksim_speed.CHANNELS)
def test_both_get_the_same_report(routing, tmp_path):
    """The importer turns BookSim's configuration into the scenario of the comparison."""
    file = tmp_path / "dragonfly.cfg"
    text = booksim_speed.configuration(routing, 0.3, 1000)
    made = tmp_path / "made.toml"
    made.write_text(booksim.load(file, text).text())
    scenario = booksim_speed.SCENARIOS / f"dragonfly_{routing}_uniform.toml"
    traffic = {"uniform": {"load": 0.3, "arrival": "bernoulli", "self": True, "messages": 10}}
    first, second = (
        odonata.run(path, overrides={"jobs.0.workload": traffic, "run.threads": 1}, must_succeed=False).run
        for path in (made, scenario)
    )
    assert first["scenario"]["machine"] == second["scenario"]["machine"]
    assert first["scenario"]["network"] == second["scenario"]["network"]
    assert first["digest"] == second["digest"]


def test_cycles_are_read_and_cpu_time_is_that_of_the_program(tmp_path):
    rate = booksim_speed.booksim(program(tmp_path, OUTPUT), "min", 0.1, 30000)
    assert rate.cycles == 60134
    assert rate.cpu_s > 0
    assert rate.per_cpu_s == pytest.approx(60134 / rate.cpu_s)


def test_an_unfinished_run_is_reported(tmp_path):
    unstable = "Average latency exceeded 2000 cycles. Aborting simulation.\nSimulation unstable, ending ...\n"
    with pytest.raises(SystemExit, match="exceeded 2000 cycles"):
        booksim_speed.booksim(program(tmp_path, unstable), "min", 0.9, 30000)


def test_both_routings_run_30_000_cycles_twice_by_default():
    arguments = booksim_speed.parse([])
    assert arguments.cycles == 30000
    assert arguments.routings == ["min", "ugal"]
    assert "sample_period = 30000;" in booksim_speed.configuration("ugal", 0.1, arguments.cycles)


@pytest.mark.slow
def test_a_binary_is_run_at_every_load(tmp_path):
    """Its rates are shown beside Odonata's, marked as measured."""
    words = ["--booksim", str(program(tmp_path, OUTPUT)), "--cycles", "50", "--loads", "0.1", "--rounds", "2"]
    rows = booksim_speed.compare(booksim_speed.parse(words))
    assert [(row["routing"], row["load"], row["measured"]) for row in rows] == [
        ("min", 0.1, True),
        ("ugal", 0.1, True),
    ]
    assert all(len(row["theirs"]) == len(row["ours"]) == 2 for row in rows)
    assert all(row["times"] == pytest.approx(row["cycles_per_cpu_s"] / row["booksim"]) for row in rows)


def test_what_is_no_program_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        booksim_speed.parse(["--booksim", str(tmp_path / "none")])
    assert ended.value.code == 2
    assert "is no program" in capsys.readouterr().err
